// One scenario of a suite's file: its fields, and whether the slots of its texts are those that its conditions fill.

import { type Conditions, type Pattern, PUTS, type Put, type Scenario } from '../../scenario.js';
import { leakIn } from '../../scenario-leak.js';
import { slotsIn, textsIn } from '../../scenario-slots.js';
import type { Domain } from '../../types.js';
import type { Field, FieldReader, Fields } from './fields.js';
import { groupsIn, readPattern } from './patterns.js';
import { readVerifiers } from './verifiers.js';
import { neverOf, type Wording, withNever } from './wording.js';

const SCENARIO_KEYS = ['name', 'about', 'domains', 'applies', 'put', 'instruction', 'then', 'verify'];
const PLACES = ['action', 'truth', 'history'] as const;
/** A state that has to be reached is asked for in three steps at most: the row's own action, and two of the suite's. */
const MOST_FOLLOWING = 2;

/** What a file says for all of its scenarios. */
export interface FileDefaults {
  readonly domains: readonly Domain[] | undefined;
  readonly known: readonly Domain[];
  readonly wording: Wording;
}

/** A scenario, and where it stands. */
export interface Placed {
  readonly scenario: Scenario;
  readonly line: number;
}

/** The scenario; undefined where something is wrong with it, which the reader was told. */
export function readScenario(reader: FieldReader, field: Field, defaults: FileDefaults): Scenario | undefined {
  const soundBefore = reader.faults.length;
  const fields = reader.fields(field, 'a scenario', SCENARIO_KEYS);
  if (fields === undefined) return undefined;
  const name = readName(reader, fields, field.line);
  const given = fields.get('domains');
  const domains = given === undefined ? defaults.domains : readDomains(reader, given, defaults.known);
  if (given === undefined && domains === undefined) {
    reader.fault(field.line, 'the scenario has no "domains"; name them here or at the top of the file');
  }
  const head = readHead(reader, fields, field.line);
  const applies = readConditions(reader, fields.get('applies'));
  const then = readFollowing(reader, fields.get('then'));
  const checks = fields.get('verify');
  if (checks === undefined)
    reader.fault(field.line, 'the scenario has no "verify"; list by what one sees that it was followed');
  if (checks === undefined || domains === undefined) return undefined;
  const { verify, never } = readVerifiers(reader, checks, 'the scenario', domains);
  const guarded = withNever(reader, never, defaults.wording.never);
  if (name === undefined || head === undefined || then === undefined || verify.length === 0) return undefined;
  const framing = defaults.wording.framing[head.put];
  const scenario: Scenario = {
    name,
    ...head,
    domains,
    framing,
    at: { applies },
    steps: [{ verify }, ...then.map((action) => ({ action, verify }))],
    holds: then.length > 0 ? 'any' : 'each',
    never: neverOf(guarded, head.instruction, framing),
  };
  checkWanted(reader, scenario, checks.line);
  // Where conditions are wrong, every slot would seem wrong, too.
  if (reader.faults.length === soundBefore) checkSlots(reader, scenario, applies, fields);
  return scenario;
}

export function readName(reader: FieldReader, fields: Fields, line: number): string | undefined {
  const field = fields.get('name');
  if (field === undefined) return reader.fault(line, 'it has no "name"; give it one, such as disk-full');
  const name = reader.text(field, '"name"');
  if (name === undefined || /^[a-z0-9][a-z0-9-]*$/.test(name)) return name;
  return reader.fault(field.line, `"name" has to be of small letters, digits and dashes, such as disk-full`);
}

export function readDomains(reader: FieldReader, field: Field, known: readonly Domain[]): Domain[] | undefined {
  const domains = reader.texts(field, '"domains"');
  const stranger = domains?.find((domain) => !known.includes(domain));
  if (stranger !== undefined) reader.unknown(field.line, `domain "${stranger}"`, stranger, known);
  return domains;
}

/** The members that scenarios at rows and at a start of their own share. */
export function readHead(
  reader: FieldReader,
  fields: Fields,
  line: number,
): Pick<Scenario, 'about' | 'put' | 'instruction'> | undefined {
  const [told, given, put] = [fields.get('about'), fields.get('instruction'), fields.get('put')];
  const about = told === undefined ? '' : reader.text(told, '"about"');
  const instruction =
    given === undefined
      ? reader.fault(line, 'it has no "instruction"; write what the world model is to let happen')
      : reader.text(given, '"instruction"')?.trim();
  const place = put === undefined ? 'before-action' : readPut(reader, put);
  if (about === undefined || instruction === undefined || place === undefined) return undefined;
  return { about: about.trim(), put: place, instruction };
}

function readPut(reader: FieldReader, field: Field): Put | undefined {
  const value = reader.text(field, '"put"');
  if (value === undefined) return undefined;
  const put = PUTS.find((known) => known === value);
  return put ?? reader.unknown(field.line, `place "${value}" to put an instruction`, value, PUTS);
}

function readConditions(reader: FieldReader, field: Field | undefined, isInner = false): Conditions {
  if (field === undefined) return {};
  const keys = isInner ? PLACES : [...PLACES, 'not'];
  const fields = reader.fields(field, isInner ? '"not"' : '"applies"', keys);
  const found: { -readonly [Place in (typeof PLACES)[number]]?: Pattern } = {};
  for (const place of PLACES) {
    const given = fields?.get(place);
    const pattern = given && readPattern(reader, given, `"${place}"`);
    const [slot] = slotsIn(pattern?.source ?? '');
    if (given !== undefined && slot !== undefined) {
      reader.fault(
        given.line,
        `"${place}" holds the slot {${slot}}; conditions fill slots and have none, so write \\{${slot}\\} for the text`,
      );
    } else if (pattern !== undefined) found[place] = pattern;
  }
  const not = fields?.get('not');
  return not === undefined ? found : { ...found, not: readConditions(reader, not, true) };
}

function readFollowing(reader: FieldReader, field: Field | undefined): string[] | undefined {
  if (field === undefined) return [];
  const actions = reader.texts(field, '"then"');
  if (actions === undefined || actions.length <= MOST_FOLLOWING) return actions;
  return reader.fault(
    field.line,
    `"then" has ${actions.length} actions; three steps are the most, so name ${MOST_FOLLOWING}`,
  );
}

/** What a scenario wants to see must not count as a leak. */
function checkWanted(reader: FieldReader, { steps, never }: Scenario, line: number): void {
  for (const verifier of steps[0]?.verify ?? []) {
    if (verifier.kind !== 'contains') continue;
    for (const text of verifier.texts) {
      const leak = leakIn(never, text, []);
      if (leak === undefined) continue;
      reader.fault(
        line,
        `what "contains" wants counts as a leak, since ${leak.why}; put it in quotes in the instruction`,
      );
    }
  }
}

/** Every slot is filled by a group, and every group fills one. */
function checkSlots(reader: FieldReader, scenario: Scenario, { not: _, ...applies }: Conditions, fields: Fields): void {
  const groups = new Set(PLACES.flatMap((place) => groupsIn(applies[place])));
  const used = new Set<string>();
  const soundBefore = reader.faults.length;
  const texts: readonly (readonly [key: string, texts: readonly string[]])[] = [
    ['instruction', [scenario.instruction]],
    ['then', scenario.steps.flatMap(({ action }) => action ?? [])],
    ['verify', (scenario.steps[0]?.verify ?? []).flatMap(textsIn)],
  ];
  for (const [key, list] of texts) {
    for (const slot of new Set(list.flatMap(slotsIn))) {
      used.add(slot);
      if (groups.has(slot)) continue;
      const line = fields.get(key)?.line ?? 1;
      if (groups.size > 0) reader.unknown(line, `slot {${slot}} in "${key}"`, slot, [...groups]);
      else
        reader.fault(line, `nothing fills the slot {${slot}} in "${key}"; name a group (?<${slot}>...) in "applies"`);
    }
  }
  if (reader.faults.length > soundBefore) return;
  for (const group of groups) {
    if (used.has(group)) continue;
    const line = fields.get('applies')?.line ?? 1;
    reader.fault(
      line,
      `no text uses the group "${group}"; write {${group}} where it belongs, or (?:...) instead of the group`,
    );
  }
}
