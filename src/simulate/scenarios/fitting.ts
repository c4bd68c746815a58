// The search for rows that scenarios are fit for: one reading of a row for all of them, of which the user hears where it takes long.

import type { Dataset, RowRef } from '../../bench/dataset.js';
import { throwIfStopped } from '../../errors.js';
import { grouped } from '../../figures.js';
import type { Io } from '../../types.js';
import { applyingTo } from './applies.js';
import type { Scenario } from './scenario.js';

/** So long nothing is said of the search, and then again nothing. */
const SILENT_MS = 3_000;

/**
 * Tells of a row which of the scenarios it is fit for.
 * @param ofRows how many rows are to be looked at; undefined where nobody knows
 * @throws UserError: 130 or 143 once the user has interrupted
 */
export function fittingIn(
  dataset: Pick<Dataset, 'readSample'>,
  scenarios: readonly Scenario[],
  { quiet, ofRows }: { readonly quiet: boolean; readonly ofRows?: number },
  io: Pick<Io, 'stderr' | 'stop'>,
): (row: RowRef) => Promise<ReadonlySet<Scenario>> {
  let last = performance.now();
  let looked = 0;
  return async (row) => {
    throwIfStopped(io.stop);
    if (!quiet && performance.now() - last > SILENT_MS) {
      last = performance.now();
      const all = ofRows === undefined ? '' : ` of ${grouped(ofRows)}`;
      io.stderr.write(`looking for rows that the scenarios are fit for: ${grouped(looked)}${all} looked at\n`);
    }
    const sample = await dataset.readSample(row);
    looked++;
    return new Set(applyingTo(sample, scenarios));
  };
}
