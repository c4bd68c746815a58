// World models that need no model: for calibration, and as the leaderboard's lower and upper marks.

import { present } from '../present.js';
import { groundTruthOf } from '../turn.js';
import type { Sample } from '../types.js';

/**
 * What each baseline answers, as a world model would write it. `donor` is another sample of the same domain.
 * `persistence` says that nothing changed: the previous observation, on a first turn the initial state if the row shows one.
 */
export const BASELINES = {
  persistence: (sample: Sample) => {
    const before = sample.turnIdx === 1 ? initialState(sample) : sample.responses[sample.turnIdx - 2];
    return before === undefined ? '' : tagged(before);
  },
  oracle: (sample: Sample) => tagged(groundTruthOf(sample)),
  shuffled: (_sample: Sample, donor: Sample | undefined) => (donor === undefined ? '' : tagged(groundTruthOf(donor))),
  empty: () => '',
} satisfies Record<string, (sample: Sample, donor: Sample | undefined) => string>;

/**
 * For each row, the row whose truth `shuffled` gives in its place: the next one of its domain from another trajectory, around the
 * end, or from its own trajectory where there is no other. Undefined for a domain's only row.
 */
export function donorsOf<Row extends { readonly domain: string; readonly trajectory: string }>(
  rows: readonly Row[],
): ReadonlyMap<Row, Row> {
  const domains = new Map<string, Row[]>();
  for (const row of rows) {
    const members = domains.get(row.domain);
    if (members === undefined) domains.set(row.domain, [row]);
    else members.push(row);
  }
  const donors = new Map<Row, Row>();
  for (const members of domains.values()) {
    for (const [index, row] of members.entries()) {
      const donor = donorFor(row, index, members);
      if (donor !== undefined) donors.set(row, donor);
    }
  }
  return donors;
}

function donorFor<Row extends { readonly trajectory: string }>(
  row: Row,
  index: number,
  members: readonly Row[],
): Row | undefined {
  for (let step = 1; step < members.length; step++) {
    const other = present(members[(index + step) % members.length]);
    if (other.trajectory !== row.trajectory) return other;
  }
  return members.length > 1 ? members[(index + 1) % members.length] : undefined;
}

function tagged(observation: string): string {
  return `<predicted_observation>\n${observation}\n</predicted_observation>`;
}

/** The text under `**Current State:**` or `**Current Phone State:**`, up to the action or the request to predict. */
function initialState(sample: Sample): string | undefined {
  const turn = sample.currentPrompt === '' ? present(sample.prompts[0]) : sample.currentPrompt;
  const heading = /^\*\*Current (?:Phone )?State:\*\*[ \t]*\r?\n/m.exec(turn);
  if (heading === null) return undefined;
  const rest = turn.slice(heading.index + heading[0].length);
  const end = rest.search(/^\*\*Action:\*\*|\n\nPlease analyze the input above/m);
  return (end === -1 ? rest : rest.slice(0, end)).trimEnd();
}
