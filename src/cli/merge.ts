// awb merge: run folders of parts, such as the shards of several machines, joined into the folder of one run.

import type { ExitCode } from '../core/errors.js';
import type { Io } from '../core/types.js';
import { defineCommand } from '../settings/command.js';
import { MERGE_OPTIONS, type MergeSettings, mergeRuns } from './merge/merging.js';
import { mergeDocument, mergeExit, mergeText } from './merge/telling.js';

export const command = defineCommand({
  description:
    'Joins the output folders of parts of one run, predictions and judgings alike, into one folder with the same files that an unsharded run would have written. Every later command reads it, and the unsharded awb infer goes on with what is missing in it.',
  examples: [
    { line: 'awb merge out/part-* --output-dir out/whole', does: 'eight shards, inferred and judged' },
    { line: 'awb merge out/part-3 --output-dir out/whole', does: 'a part that came late' },
    {
      line: 'awb merge judged-* --predictions predictions.jsonl --output-dir whole',
      does: 'judgings of parts of a file that lies elsewhere',
    },
  ],
  options: MERGE_OPTIONS,
  operands: ['runs'],
  run: merge,
});

async function merge(settings: MergeSettings, io: Io): Promise<ExitCode> {
  const { runs, notes } = await mergeRuns(settings, io);
  io.stdout.write(settings.json ? `${JSON.stringify(mergeDocument(runs, notes))}\n` : mergeText(runs, notes, io));
  return mergeExit(runs);
}
