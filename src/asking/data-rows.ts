// What stages over rows of the data have in common: where a row lies, and what the manifest says of the data and of who is asked.

import { basename, resolve } from 'node:path';
import type { Dataset, RowRef } from '../bench/dataset.js';
import { present } from '../present.js';
import type { ShownSettings } from '../settings/command.js';
import type { Io } from '../types.js';
import { priceOf } from './pricing.js';
import type { Pricing, Run } from './run.js';
import type { Stage, StageJob } from './stage-contract.js';
import type { Target } from './target.js';

/** What such a stage works on, as far as its manifest tells. */
interface DataWork {
  readonly settings: { readonly dataDir: string };
  readonly io: Io;
  readonly shown: ShownSettings;
  /** Which part of the rows it takes, as `I/N`. */
  readonly shard: string | undefined;
  readonly dataset: Dataset;
  readonly target: Target;
  readonly pricing: Pricing;
}

/** The line of a file that a row is, and its length. */
export function placeOfRow(
  { files }: Dataset,
  { file, line, length }: RowRef,
): { readonly place: string; readonly bytes: number } {
  return { place: `${basename(present(files[file]))}:${line}`, bytes: length };
}

/** What the manifest holds beside the counts; a calibration has no label. */
export function manifestOfData(
  { settings: { dataDir }, io, shown, shard, dataset, target, pricing }: DataWork,
  run: Run,
  { label, meta }: Pick<Stage<StageJob>['manifest'], 'label' | 'meta'>,
): Stage<StageJob>['manifest'] {
  return {
    label,
    meta,
    settings: shard === undefined ? shown : { ...shown, shard },
    endpoints: target.hosts,
    get price() {
      return priceOf(run, pricing);
    },
    data: { dir: resolve(io.cwd, dataDir), rows: dataset.rows.length, fingerprint: dataset.fingerprint },
  };
}
