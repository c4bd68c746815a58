// World models that need no model: for calibration, and as lower and upper marks of the leaderboard.

import { present } from '../core/errors.js';
import { groupBy } from '../core/groups.js';
import { groundTruthOf } from '../core/turn.js';
import type { Sample } from '../core/types.js';

/**
 * What each baseline answers, formatted like a world model's reply. `donor` is another sample of the same domain. `persistence` says
 * that nothing changed: it gives the previous observation, or on a first turn the initial state if the row shows one.
 */
export const BASELINES = {
  persistence: (sample: Sample) => {
    const before = previousState(sample);
    return before === undefined ? '' : tagged(before);
  },
  oracle: (sample: Sample) => tagged(groundTruthOf(sample)),
  shuffled: (_sample: Sample, donor: Sample | undefined) => (donor === undefined ? '' : tagged(groundTruthOf(donor))),
  empty: () => '',
} satisfies Record<string, (sample: Sample, donor: Sample | undefined) => string>;

/** The observation before the turn to predict; on a first turn the initial state, if the row shows one. */
export function previousState(sample: Sample): string | undefined {
  return sample.turnIdx === 1 ? initialState(sample) : sample.responses[sample.turnIdx - 2];
}

type Row = Pick<Sample, 'domain' | 'trajectory'>;

/**
 * For each row, the row whose truth `shuffled` gives in its place: the next one of its domain from another trajectory (wrapping
 * around), or from its own trajectory if there is no other. Undefined for a domain's only row.
 */
export function donorsOf<R extends Row>(rows: readonly R[]): (row: R) => R | undefined {
  const donors = new Map<R, R>();
  for (const members of groupBy(rows, ({ domain }) => domain).values()) {
    for (const [place, row] of members.entries()) {
      const donor = donorFor(row, place, members);
      if (donor !== undefined) donors.set(row, donor);
    }
  }
  return (row) => donors.get(row);
}

function donorFor<R extends Row>(row: R, place: number, members: readonly R[]): R | undefined {
  for (let step = 1; step < members.length; step++) {
    const other = present(members[(place + step) % members.length]);
    if (other.trajectory !== row.trajectory) return other;
  }
  return members.length > 1 ? members[(place + 1) % members.length] : undefined;
}

/** A world model's complete reply that predicts this observation. */
export function tagged(observation: string): string {
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
