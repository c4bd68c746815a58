// Parts of an inference put together: the rows that they chose of the data, each with what was predicted of it.

import type { Dataset } from '../../bench/dataset.js';
import type { JournalRecord } from '../../run/journal-record.js';
import { madeWith } from '../../run/made-with.js';
import type { Manifest } from '../../run/manifest.js';
import { inferOutput, predictionState } from '../infer/inferring.js';
import type { InferJob } from '../infer/jobs.js';
import { STAMP_KEY } from '../run.js';
import { mostOf, type PartSettings, wholeChoice } from './choice.js';
import type { MergedKind } from './joining.js';

/** @param manifest of the merged run @param parts the settings of its parts */
export function mergedInference(
  manifest: Manifest,
  parts: readonly PartSettings[],
  dataset: Dataset,
): MergedKind<InferJob> {
  const mark = madeWith(manifest).dropped.join(' ');
  const settings = mostOf(parts);
  const chosen = wholeChoice(dataset, parts);
  return {
    stateOf: predictionState,
    isDone(record: JournalRecord) {
      const { [STAMP_KEY.infer]: stamp = '' } = record.log;
      return predictionState(record).status === 'ok' && stamp === mark;
    },
    stageOf: (run) => ({
      ...inferOutput({ settings, dataset, chosen }, run.journal),
      isStale: (_job, { stamp }) => stamp !== mark,
    }),
    close: async () => {},
  };
}
