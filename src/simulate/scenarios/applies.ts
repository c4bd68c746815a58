// Where a scenario applies, and what it says there: conditions held to a row, and slots filled by what they caught.

import { withoutMarker } from '../../core/reply.js';
import { actionOf, earlierTurns, groundTruthOf, textsOf } from '../../core/turn.js';
import type { Domain, Sample } from '../../core/types.js';
import { readTurnPrompt } from '../../infer/world.js';
import type { Conditions, Verifier } from './forms.js';
import { compilePattern, type Groups, type Pattern } from './pattern.js';
import type { Scenario } from './scenario.js';
import { sourceWithSlots, withSlots } from './slots.js';

/** The scenario as it is put to this row, its slots filled; undefined where it does not apply, or brings a start of its own. */
export function scenarioAt(scenario: Scenario, sample: Sample): Scenario | undefined {
  const groups = groupsAt(scenario, sample.domain, textsOfRow(sample));
  return groups === undefined ? undefined : filled(scenario, groups);
}

/** Those of the scenarios that apply to this row. */
export function applyingTo(sample: Sample, scenarios: readonly Scenario[]): Scenario[] {
  const texts = textsOfRow(sample);
  return scenarios.filter((scenario) => groupsAt(scenario, sample.domain, texts) !== undefined);
}

/** What the scenario's conditions catch; undefined where it does not apply. */
function groupsAt({ at, domains }: Scenario, domain: Domain, texts: RowTexts): Groups | undefined {
  if (!('applies' in at) || !domains.includes(domain)) return undefined;
  const { not, ...wanted } = at.applies;
  if (PLACES.some((place) => not?.[place] !== undefined && caught({ [place]: not[place] }, texts) !== undefined)) {
    return undefined;
  }
  return caught(wanted, texts);
}

/** What conditions look at, the shortest first. */
const PLACES = ['action', 'truth', 'history'] as const;

/** Each text is made when the first asks for it, and once. */
type RowTexts = Readonly<Record<(typeof PLACES)[number], () => string>>;

function textsOfRow(sample: Sample): RowTexts {
  const parts = once(() => readTurnPrompt(actionOf(sample)));
  return {
    action: () => parts().action,
    truth: once(() => withoutMarker(groundTruthOf(sample))),
    history: once(() => [...textsOf(earlierTurns(sample)), parts().preface].join('\n')),
  };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** What the groups of all conditions caught; undefined where one is not met. Where several have a group of one name, the first that caught holds. */
function caught(conditions: Omit<Conditions, 'not'>, texts: RowTexts): Groups | undefined {
  let groups: Groups = {};
  for (const place of PLACES) {
    const pattern = conditions[place];
    if (pattern === undefined) continue;
    const found = compilePattern(pattern).groups(texts[place]());
    if (found === undefined) return undefined;
    groups = { ...found, ...groups };
  }
  return groups;
}

function filled(scenario: Scenario, groups: Groups): Scenario {
  return {
    ...scenario,
    instruction: withSlots(scenario.instruction, groups),
    steps: scenario.steps.map(({ action, verify }) => ({
      action: action && withSlots(action, groups),
      verify: verify.map((verifier) => verifierWithSlots(verifier, groups)),
    })),
  };
}

/** The verifier with the slots of its texts filled, in patterns by values that stand for themselves. */
export function verifierWithSlots(verifier: Verifier, groups: Groups): Verifier {
  return mapped(
    verifier,
    (text) => withSlots(text, groups),
    (source) => sourceWithSlots(source, groups),
  );
}

/** The texts of a verifier that may hold slots. */
export function textsIn(verifier: Verifier): readonly string[] {
  const texts: string[] = [];
  const note = (text: string) => {
    texts.push(text);
    return text;
  };
  mapped(verifier, note, note);
  return texts;
}

type Change = (text: string) => string;

/** The verifier with its texts and the sources of its patterns changed. */
function mapped(verifier: Verifier, text: Change, source: Change): Verifier {
  const pattern = (old: Pattern): Pattern => ({ ...old, source: source(old.source) });
  switch (verifier.kind) {
    case 'contains':
    case 'lacks':
      return { ...verifier, texts: verifier.texts.map(text) };
    case 'matches':
      return { ...verifier, pattern: pattern(verifier.pattern) };
    case 'json_path': {
      const { path, expect } = verifier;
      const isText = 'equals' in expect && typeof expect.equals === 'string';
      const changed = 'matches' in expect ? { matches: pattern(expect.matches) } : expect;
      return { ...verifier, path: text(path), expect: isText ? { equals: text(String(expect.equals)) } : changed };
    }
    case 'unchanged_elsewhere':
      return verifier.except === undefined ? verifier : { ...verifier, except: pattern(verifier.except) };
    case 'exit_status':
      return verifier;
    default:
      return verifier satisfies never;
  }
}
