// The output file of a run, assembled from its journal in output order.

import { sha256Of, sizeOf } from '../run/file-reading.js';
import { writeLines } from '../run/files.js';
import { fingerprintOf } from '../run/identity.js';
import type { Manifest } from '../run/manifest.js';
import { type RunOutput, type StageJob, summaryOf } from './stage-contract.js';

type Output = NonNullable<Manifest['output']>;

/** Writes the output file, unless no row has changed and the file on disk is already that. @throws UserError (74, 65) */
export async function assemble<J extends StageJob>(stage: RunOutput<J>, changed: boolean): Promise<Output> {
  const { run } = stage;
  const lines = async function* () {
    for (const job of stage.rows) {
      if (summaryOf(stage, job) !== undefined) yield await stage.compose(job, run.journal.read(job.id));
    }
  };
  return written(run.outputPath, formOf(stage), changed ? undefined : run.stored?.output, lines);
}

/** The same of the file beside it; undefined where the stage has none. */
export async function assembleBeside<J extends StageJob>(
  stage: RunOutput<J>,
  changed: boolean,
): Promise<Output | undefined> {
  const { beside, run } = stage;
  if (beside === undefined) return undefined;
  return written(beside.path, formOf(stage), changed ? undefined : run.stored?.beside, beside.lines);
}

function formOf<J extends StageJob>({ outputForm, rows }: RunOutput<J>): string {
  return fingerprintOf({ ...outputForm, rows: rows.length });
}

/** @param before what is known of the file that may be left as it is */
async function written(
  file: string,
  form: string,
  before: Output | undefined,
  lines: () => AsyncIterable<string>,
): Promise<Output> {
  if (before?.form === form && (await isAsWritten(file, before))) return before;
  return { file, ...(await writeLines(file, lines())), form };
}

async function isAsWritten(path: string, { bytes, sha256 }: Output): Promise<boolean> {
  return (await sizeOf(path)) === bytes && (await sha256Of(path)) === sha256;
}
