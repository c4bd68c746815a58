// A fictional world of a suite's file: facts that stand together, and questions whose every step asks for one of them.

import { canonicalJson } from '../../json.js';
import type { Scenario, ScenarioStart, ScenarioStep, Verifier } from '../../scenario.js';
import { slotsIn, textsIn, verifierWithSlots, withSlots } from '../../scenario-slots.js';
import type { Domain } from '../../types.js';
import type { Field, FieldReader, Fields } from './fields.js';
import { type FileDefaults, type Placed, readHead, readName } from './scenario.js';
import { readVerifiers } from './verifiers.js';
import { neverOf } from './wording.js';

const WORLD_KEYS = [
  'name',
  'about',
  'domain',
  'system',
  'task',
  'state',
  'put',
  'instruction',
  'facts',
  'verify',
  'questions',
];
const FACT_KEYS = ['subject', 'relation', 'object'];
const QUESTION_KEYS = ['name', 'steps'];
const STEP_KEYS = ['action', 'asks'];
const MOST_STEPS = 3;
const BUNDLED_VERIFIERS: readonly Verifier[] = [{ kind: 'contains', texts: ['{object}'] }];

interface Fact {
  readonly subject: string;
  readonly relation: string;
  readonly object: string;
}

interface World extends Pick<Scenario, 'about' | 'put' | 'instruction'> {
  readonly name: string;
  readonly start: ScenarioStart;
  readonly facts: Facts;
  /** Of every answer; the slot {object} is what the fact says. */
  readonly verify: readonly Verifier[];
}

/** Facts by what they are of, with the line of each, and which of them a question has asked for. */
type Facts = ReadonlyMap<string, Fact & { readonly line: number; asked: boolean }>;

/** A scenario for each of a world's questions, under the world's name and its own. */
export function readWorld(reader: FieldReader, field: Field, defaults: FileDefaults): Placed[] {
  const fields = reader.fields(field, '"world"', WORLD_KEYS);
  if (fields === undefined) return [];
  const world = readWorldItself(reader, fields, field.line, defaults);
  const questions = fields.get('questions');
  if (questions === undefined) reader.fault(field.line, 'the world has no "questions"; ask for its facts');
  if (world === undefined || questions === undefined) return [];
  const soundBefore = reader.faults.length;
  const found = (reader.items(questions, '"questions"') ?? []).flatMap((item) => {
    const scenario = readQuestion(reader, item, world, defaults);
    return scenario === undefined ? [] : [{ scenario, line: item.line }];
  });
  const isSound = reader.faults.length === soundBefore;
  for (const { subject, relation, line, asked } of world.facts.values()) {
    if (isSound && !asked) {
      reader.fault(line, `no question asks for the ${relation} of ${subject}; ask for it, or leave it out`);
    }
  }
  return found;
}

function readWorldItself(
  reader: FieldReader,
  fields: Fields,
  line: number,
  { known }: FileDefaults,
): World | undefined {
  const name = readName(reader, fields, line);
  const start = readStart(reader, fields, line, known);
  const head = readHead(reader, fields, line);
  const facts = readFacts(reader, fields.get('facts'), line);
  if (name === undefined || start === undefined || head === undefined || facts === undefined) return undefined;
  if (slotsIn(head.instruction).join() !== 'facts') {
    return reader.fault(
      fields.get('instruction')?.line ?? line,
      '"instruction" has to hold the slot {facts}, and no other',
    );
  }
  const checks = fields.get('verify');
  const verify =
    checks === undefined ? BUNDLED_VERIFIERS : readVerifiers(reader, checks, 'the world', [start.domain]).verify;
  const slots = [...new Set(verify.flatMap(textsIn).flatMap(slotsIn))];
  if (checks !== undefined && verify.length > 0 && slots.join() !== 'object') {
    reader.fault(
      checks.line,
      '"verify" has to hold the slot {object}, and no other: what the fact that is asked for says',
    );
  }
  return { ...head, name, start, facts, verify };
}

function readStart(
  reader: FieldReader,
  fields: Fields,
  line: number,
  known: readonly Domain[],
): ScenarioStart | undefined {
  const text = (key: string, remedy: string) => {
    const field = fields.get(key);
    return field === undefined
      ? reader.fault(line, `the world has no "${key}"; ${remedy}`)
      : reader.text(field, `"${key}"`);
  };
  const optional = (key: 'task' | 'state') => {
    const field = fields.get(key);
    const value = field && reader.text(field, `"${key}"`)?.trim();
    return value === undefined ? {} : { [key]: value };
  };
  const domain = text('domain', 'name one, such as mcp');
  const systemPrompt = text('system', 'tell the world model what it is, and its tools');
  if (domain === undefined || systemPrompt === undefined) return undefined;
  if (!known.includes(domain)) {
    return reader.unknown(fields.get('domain')?.line ?? line, `domain "${domain}"`, domain, known);
  }
  return { domain, systemPrompt: systemPrompt.trim(), ...optional('task'), ...optional('state') };
}

function readFacts(reader: FieldReader, field: Field | undefined, line: number): Facts | undefined {
  if (field === undefined) return reader.fault(line, 'the world has no "facts"; list what holds in it');
  const facts = new Map<string, Fact & { line: number; asked: boolean }>();
  for (const item of reader.items(field, '"facts"') ?? []) {
    const fields = reader.fields(item, 'a fact', FACT_KEYS);
    const [subject, relation, object] = FACT_KEYS.map((key) => {
      const given = fields?.get(key);
      if (given === undefined) return fields && reader.fault(item.line, `the fact has no "${key}"; write it`);
      return reader.text(given, `"${key}"`);
    });
    if (subject === undefined || relation === undefined || object === undefined) continue;
    const before = facts.get(keyOf(subject, relation));
    if (before === undefined) {
      facts.set(keyOf(subject, relation), { subject, relation, object, line: item.line, asked: false });
      continue;
    }
    const what = before.object === object ? 'is told twice' : `is "${before.object}" already`;
    reader.fault(item.line, `the ${relation} of ${subject} ${what} (line ${before.line}); leave one of them out`);
  }
  return facts;
}

function keyOf(subject: string, relation: string): string {
  return canonicalJson([subject, relation]);
}

function readQuestion(reader: FieldReader, field: Field, world: World, defaults: FileDefaults): Scenario | undefined {
  const fields = reader.fields(field, 'a question', QUESTION_KEYS);
  if (fields === undefined) return undefined;
  const name = readName(reader, fields, field.line);
  const given = fields.get('steps');
  if (given === undefined) return reader.fault(field.line, 'the question has no "steps"; write what is asked');
  const items = reader.items(given, '"steps"') ?? [];
  if (items.length > MOST_STEPS) {
    reader.fault(given.line, `the question has ${items.length} steps; ${MOST_STEPS} are the most`);
  }
  const steps = items.flatMap((item) => readStep(reader, item, world) ?? []);
  if (name === undefined || steps.length === 0 || steps.length < items.length) return undefined;
  const { put, about, start, facts } = world;
  const framing = defaults.wording.framing[put];
  const told = [...facts.values()].map(({ subject, relation, object }) => `- ${subject}, ${relation}: ${object}`);
  return {
    name: `${world.name}-${name}`,
    about,
    domains: [start.domain],
    put,
    instruction: withSlots(world.instruction, { facts: told.join('\n') }),
    framing,
    at: { start },
    steps,
    holds: 'each',
    never: neverOf(defaults.wording.never, world.instruction, framing),
  };
}

function readStep(reader: FieldReader, field: Field, { facts, verify }: World): ScenarioStep | undefined {
  const fields = reader.fields(field, 'a step', STEP_KEYS);
  const [given, asked] = [fields?.get('action'), fields?.get('asks')];
  if (fields === undefined) return undefined;
  const action =
    given === undefined
      ? reader.fault(field.line, 'the step has no "action"; write it')
      : reader.text(given, '"action"');
  const fact = asked === undefined ? undefined : readAsked(reader, asked, facts);
  if (asked === undefined) reader.fault(field.line, 'the step has no "asks"; name a fact, as [SUBJECT, RELATION]');
  if (action === undefined || fact === undefined) return undefined;
  if (action.includes(fact.object)) {
    return reader.fault(field.line, `the action names what it asks for ("${fact.object}"); ask for it in other words`);
  }
  const { object } = fact;
  return { action: action.trim(), verify: verify.map((verifier) => verifierWithSlots(verifier, { object })) };
}

/** The fact that a step asks for, as the pair of its subject and relation. */
function readAsked(reader: FieldReader, field: Field, facts: Facts): Fact | undefined {
  const [subject = '', relation = '', ...others] = reader.texts(field, '"asks"') ?? [];
  const fact = facts.get(keyOf(subject, relation));
  if (fact === undefined || others.length > 0) {
    return reader.fault(
      field.line,
      `there is no fact of the ${relation} of ${subject}; name the subject and the relation of a fact, as [SUBJECT, RELATION]`,
    );
  }
  fact.asked = true;
  return fact;
}
