// One file of a suite: read by its form, and checked for what no form says: whether its slots, domains and facts fit together.

import type { z } from 'zod';
import { EXIT } from '../../core/errors.js';
import { canonicalJson } from '../../core/json.js';
import { faultsOf, type Path, unknownName } from '../../core/schema.js';
import type { Domain } from '../../core/types.js';
import { parseYaml } from '../../disk/yaml-file.js';
import { textsIn, verifierWithSlots } from './applies.js';
import {
  fileForm,
  type NeverForm,
  type Put,
  scenarioForm,
  type Verifier,
  type VerifierForms,
  worldForm,
} from './forms.js';
import { compilePattern } from './pattern.js';
import type { Never, Scenario, ScenarioStep } from './scenario.js';
import { ownWordsOf, slotsIn, withSlots } from './slots.js';
import { leakIn } from './verify.js';

interface Wording {
  readonly framing: Readonly<Record<Put, string>>;
  readonly never: Pick<Never, 'phrases' | 'words'>;
}

/** The heading is the one by which the bundled system prompts know an instruction. */
const BUNDLED_WORDING: Wording = {
  framing: {
    system: `# Simulation Instruction

From the coming action on, this holds in the environment. Show it in what the environment returns, in the form that such output always has there, and leave everything else as it would be without it. The observation never mentions that anybody asked for it.

{instruction}`,
    'before-action': `**Simulation Instruction:**
{instruction}
(Show it in what the environment returns, in the form that such output always has there, and leave everything else as it would be. The observation never mentions that anybody asked for it.)`,
  },
  never: {
    phrases: [
      'as requested',
      'as instructed',
      'as you asked',
      'as specified in the instruction',
      'per the instruction',
      'per your instruction',
      'according to the instruction',
      'following the instruction',
      'the instruction',
      'simulat',
      'hypothetical',
      'for the purpose of this',
      'world model',
      'language model',
      'in this scenario',
      'fictional',
      'pretend',
    ],
    words: 5,
  },
};

/** Domains in which no command ends with a status that could be seen. */
const WITHOUT_STATUS: readonly Domain[] = ['search', 'android', 'web', 'os'];

/** A scenario, and where it stands. */
interface Placed {
  readonly scenario: Scenario;
  readonly line: number;
}

interface SuiteFile {
  readonly scenarios: readonly Placed[];
  /** Each as `file:line: what; remedy`, in the order of the lines: a user mends them all at once. */
  readonly faults: readonly string[];
}

/** A file while it is read, and what it says for all of its scenarios. */
interface Reading {
  readonly known: readonly Domain[];
  readonly domains: readonly Domain[] | undefined;
  readonly wording: Wording;
  lineOf(path: Path): number;
  fault(path: Path, what: string): undefined;
  /** How many faults there are by now. */
  count(): number;
}

/**
 * The scenarios of a file, and what is wrong in it.
 * @param path as messages name it
 * @throws UserError (65), with its line, for a text that is not YAML
 */
export async function readSuiteFile(text: string, path: string, known: readonly Domain[]): Promise<SuiteFile> {
  const file = await parseYaml(text, path, EXIT.badData);
  const faults: { readonly line: number; readonly text: string }[] = [];
  const fault: Reading['fault'] = (at, what) => {
    const line = file.lineOf(at);
    faults.push({ line, text: `${path}:${line}: ${what}` });
    return undefined;
  };
  const read = <Form extends z.ZodType>(form: Form, value: unknown, at: Path): z.infer<Form> | undefined => {
    const found = form.safeParse(value);
    if (found.success) return found.data;
    for (const each of faultsOf(found.error)) fault([...at, ...each.path], each.text);
    return undefined;
  };

  const scenarios: Placed[] = [];
  const form = read(fileForm, file.plain(file.document), []);
  if (form !== undefined) {
    const reading: Reading = {
      known,
      domains: form.domains,
      wording: {
        framing: { ...BUNDLED_WORDING.framing, ...form.framing },
        never: withNever(BUNDLED_WORDING.never, form.never === undefined ? [] : [form.never]),
      },
      lineOf: file.lineOf,
      fault,
      count: () => faults.length,
    };
    requireKnown(form.domains ?? [], ['domains'], reading);
    for (const [index, item] of form.scenarios.entries()) {
      const at = ['scenarios', index];
      const found = read(scenarioForm, item, at);
      const scenario = found && scenarioOf(found, at, reading);
      if (scenario !== undefined) scenarios.push({ scenario, line: file.lineOf(at) });
    }
    const world = form.world === undefined ? undefined : read(worldForm, form.world, ['world']);
    if (world !== undefined) scenarios.push(...questionsOf(world, ['world'], reading));
  }
  return { scenarios, faults: faults.toSorted((a, b) => a.line - b.line).map((each) => each.text) };
}

function requireKnown(domains: readonly Domain[], at: Path, { known, fault }: Reading): void {
  const stranger = domains.find((domain) => !known.includes(domain));
  if (stranger !== undefined) fault(at, unknownName(`domain "${stranger}"`, stranger, known));
}

function scenarioOf(form: z.infer<typeof scenarioForm>, at: Path, reading: Reading): Scenario | undefined {
  const { name, about, put, instruction, applies, then } = form;
  const soundBefore = reading.count();
  if (form.domains !== undefined) requireKnown(form.domains, [...at, 'domains'], reading);
  const domains = form.domains ?? reading.domains;
  if (domains === undefined) {
    return reading.fault(at, 'the scenario has no "domains"; name them here or at the top of the file');
  }
  const { verify, never } = sortedOut(form.verify, [...at, 'verify'], domains, reading);
  const framing = reading.wording.framing[put];
  const scenario: Scenario = {
    ...{ name, about, put, instruction, domains, framing },
    at: { applies },
    steps: [{ verify }, ...then.map((action) => ({ action, verify }))],
    holds: then.length > 0 ? 'any' : 'each',
    never: neverOf(withNever(reading.wording.never, never), instruction, framing),
  };
  checkWanted(scenario, [...at, 'verify'], reading);
  if (reading.count() === soundBefore) checkSlots(scenario, form, at, reading);
  return scenario;
}

/** The verifiers of a list, and what stands among them of what must not be said. */
function sortedOut(forms: VerifierForms, at: Path, domains: readonly Domain[], { fault }: Reading) {
  const verify: Verifier[] = [];
  const never: NeverForm[] = [];
  const without = domains.find((domain) => WITHOUT_STATUS.includes(domain));
  for (const [index, form] of forms.entries()) {
    if (form.kind === 'never') never.push(form);
    else verify.push(form);
    if (form.kind === 'exit_status' && without !== undefined) {
      fault([...at, index], `the domain ${without} shows no exit status; use "contains" or "matches"`);
    }
  }
  return { verify, never };
}

/** What a scenario wants to see must not count as a leak. */
function checkWanted({ steps, never }: Scenario, at: Path, { fault }: Reading): void {
  const texts = (steps[0]?.verify ?? []).flatMap((each) => (each.kind === 'contains' ? each.texts : []));
  for (const text of texts) {
    const leak = leakIn(never, text, []);
    if (leak === undefined) continue;
    fault(at, `what "contains" wants counts as a leak, since ${leak.why}; put it in quotes in the instruction`);
  }
}

/** Every slot is filled by a group, and every group fills one. */
function checkSlots(
  { instruction, steps }: Scenario,
  { applies: { not: _, ...wanted } }: z.infer<typeof scenarioForm>,
  at: Path,
  { fault, count }: Reading,
): void {
  const groups = [...new Set(Object.values(wanted).flatMap((pattern) => compilePattern(pattern).names))];
  const soundBefore = count();
  const used = Object.entries({
    instruction: [instruction],
    // biome-ignore lint/suspicious/noThenProperty: the file has this key.
    then: steps.flatMap(({ action }) => action ?? []),
    verify: (steps[0]?.verify ?? []).flatMap(textsIn),
  }).flatMap(([key, texts]) => {
    const slots = [...new Set(texts.flatMap(slotsIn))];
    for (const slot of slots.filter((name) => !groups.includes(name))) {
      const what =
        groups.length > 0
          ? unknownName(`slot {${slot}} in "${key}"`, slot, groups)
          : `nothing fills the slot {${slot}} in "${key}"; name a group (?<${slot}>...) in "applies"`;
      fault([...at, key], what);
    }
    return slots;
  });
  if (count() > soundBefore) return;
  for (const group of groups.filter((name) => !used.includes(name))) {
    fault(
      [...at, 'applies'],
      `no text uses the group "${group}"; write {${group}} where it belongs, or (?:...) instead of the group`,
    );
  }
}

type WorldForm = z.infer<typeof worldForm>;
/** A fact with its place, and whether a question has asked for it. */
type KnownFact = WorldForm['facts'][number] & { readonly at: Path; asked: boolean };

/** A scenario for each of a world's questions, under the world's name and its own. */
function questionsOf(form: WorldForm, at: Path, reading: Reading): Placed[] {
  const { fault, wording } = reading;
  const { name, about, put, domain, system, task, state, instruction } = form;
  const soundBefore = reading.count();
  requireKnown([domain], [...at, 'domain'], reading);
  const facts = factsOf(form, at, reading);
  const verify = worldVerifiers(form, at, reading);
  if (slotsIn(instruction).join() !== 'facts') {
    fault([...at, 'instruction'], '"instruction" has to hold the slot {facts}, and no other');
  }
  if (reading.count() > soundBefore) return [];
  const framing = wording.framing[put];
  const told = form.facts.map(({ subject, relation, object }) => `- ${subject}, ${relation}: ${object}`).join('\n');
  const found = form.questions.map((question, index) => {
    const place = [...at, 'questions', index];
    const scenario: Scenario = {
      ...{ about, put, framing },
      name: `${name}-${question.name}`,
      domains: [domain],
      instruction: withSlots(instruction, { facts: told }),
      at: { start: { domain, systemPrompt: system, task, state } },
      steps: question.steps.flatMap((step, number) => stepOf(step, [...place, 'steps', number], facts, verify, fault)),
      holds: 'each',
      never: neverOf(wording.never, instruction, framing),
    };
    return { scenario, line: reading.lineOf(place) };
  });
  if (reading.count() > soundBefore) return [];
  for (const { subject, relation, at: place, asked } of facts.values()) {
    if (!asked) fault(place, `no question asks for the ${relation} of ${subject}; ask for it, or leave it out`);
  }
  return found;
}

function worldVerifiers({ verify: forms, domain }: WorldForm, at: Path, reading: Reading): readonly Verifier[] {
  if (forms === undefined) return [{ kind: 'contains', texts: ['{object}'] }];
  const place = [...at, 'verify'];
  const { verify } = sortedOut(forms, place, [domain], reading);
  if ([...new Set(verify.flatMap(textsIn).flatMap(slotsIn))].join() !== 'object') {
    const what = 'what the fact that is asked for says';
    reading.fault(place, `"verify" has to hold the slot {object}, and no other: ${what}`);
  }
  return verify;
}

/** Facts by what they are of. */
function factsOf({ facts: forms }: WorldForm, at: Path, { fault, lineOf }: Reading): ReadonlyMap<string, KnownFact> {
  const facts = new Map<string, KnownFact>();
  for (const [index, form] of forms.entries()) {
    const { subject, relation, object } = form;
    const place = [...at, 'facts', index];
    const before = facts.get(keyOf(subject, relation));
    if (before === undefined) {
      facts.set(keyOf(subject, relation), { ...form, at: place, asked: false });
      continue;
    }
    const what = before.object === object ? 'is told twice' : `is "${before.object}" already`;
    fault(place, `the ${relation} of ${subject} ${what} (line ${lineOf(before.at)}); leave one of them out`);
  }
  return facts;
}

function keyOf(subject: string, relation: string): string {
  return canonicalJson([subject, relation]);
}

function stepOf(
  { action, asks: [subject = '', relation = '', ...others] }: WorldForm['questions'][number]['steps'][number],
  at: Path,
  facts: ReadonlyMap<string, KnownFact>,
  verify: readonly Verifier[],
  fault: Reading['fault'],
): ScenarioStep[] {
  // The pair of its subject and relation.
  const fact = others.length > 0 ? undefined : facts.get(keyOf(subject, relation));
  if (fact === undefined) {
    fault(
      [...at, 'asks'],
      `there is no fact of the ${relation} of ${subject}; name the subject and the relation of a fact, as [SUBJECT, RELATION]`,
    );
    return [];
  }
  fact.asked = true;
  const { object } = fact;
  if (action.includes(object)) {
    fault(at, `the action names what it asks for ("${object}"); ask for it in other words`);
  }
  return [{ action, verify: verify.map((verifier) => verifierWithSlots(verifier, { object })) }];
}

/** With the phrases that further fields add; the last that tells a number of words holds. */
function withNever(before: Wording['never'], added: readonly NeverForm[]): Wording['never'] {
  return {
    phrases: [...before.phrases, ...added.flatMap(({ phrases }) => phrases ?? [])],
    words: added.findLast(({ words }) => words !== undefined)?.words ?? before.words,
  };
}

/** What a scenario's predictions must not say. */
function neverOf({ phrases, words }: Wording['never'], instruction: string, framing: string): Never {
  return { phrases, words, own: words === 0 ? [] : [...ownWordsOf(instruction), ...ownWordsOf(framing)] };
}
