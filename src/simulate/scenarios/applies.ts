// Where a scenario applies, and what it says there: conditions held to a row, and slots filled by what they caught.

import { withoutMarker } from '../../reply.js';
import { actionOf, earlierTurns, groundTruthOf, textsOf } from '../../turn.js';
import type { Domain, Sample } from '../../types.js';
import { readTurnPrompt } from '../turn-prompt.js';
import { compilePattern, type Groups } from './pattern.js';
import type { Conditions, Scenario } from './scenario.js';
import { verifierWithSlots, withSlots } from './slots.js';

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
      ...(action === undefined ? {} : { action: withSlots(action, groups) }),
      verify: verify.map((verifier) => verifierWithSlots(verifier, groups)),
    })),
  };
}
