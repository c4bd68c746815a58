// The output file of a run, assembled from its journal in output order.

import { sha256Of, sizeOf } from '../run/file-reading.js';
import { writeLines } from '../run/files.js';
import { fingerprintOf } from '../run/identity.js';
import type { Manifest } from '../run/manifest.js';
import { type Stage, type StageJob, summaryOf } from './stage-contract.js';

type Output = NonNullable<Manifest['output']>;

/** Writes the output file, unless no row has changed and the file on disk is already that. @throws UserError (74, 65) */
export async function assemble<J extends StageJob>(stage: Stage<J>, changed: boolean): Promise<Output> {
  const { run } = stage;
  const before = run.stored?.output;
  const form = fingerprintOf({ ...stage.outputForm, rows: stage.rows.length });
  if (!changed && before?.form === form && (await isAsWritten(run.outputPath, before))) return before;
  const lines = async function* () {
    for (const job of stage.rows) {
      if (summaryOf(stage, job) !== undefined) yield await stage.compose(job, run.journal.read(job.id));
    }
  };
  return { file: run.outputPath, ...(await writeLines(run.outputPath, lines())), form };
}

async function isAsWritten(path: string, { bytes, sha256 }: Output): Promise<boolean> {
  // Earlier versions kept no hash.
  return (await sizeOf(path)) === bytes && (sha256 === undefined || (await sha256Of(path)) === sha256);
}
