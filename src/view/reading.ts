// The runs of a report, read from their judged files, and the texts in these, each row's read when its turn comes.

import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { openDataset } from '../benchmark/dataset.js';
import { readJudged } from '../benchmark/judged.js';
import { openRows, type PredictedRow } from '../benchmark/predictions.js';
import { inputMissing } from '../core/errors.js';
import { parseObject } from '../core/json.js';
import { type Remarks, remarksIn } from '../core/judged-row.js';
import { printable } from '../core/printable.js';
import { shownPrediction, withoutMarker } from '../core/reply.js';
import { rowId } from '../core/row-id.js';
import { actionOf, earlierTurns, groundTruthOf } from '../core/turn.js';
import type { Io } from '../core/types.js';
import { isComparable, isForcedPartner } from '../results/comparability.js';
import { type Naming, readRun } from '../results/find.js';
import type { ReadRun } from '../results/read-run.js';

/**
 * A run read from its judged file, whatever it was named by: the SQLite file holds no texts.
 * @param beside the run that it is to stand beside
 * @throws UserError: 2 for an unknown run, 66 where its judged file is not there any more, 66 and 65 for files.
 */
export async function readFromFile(name: string, naming: Naming, io: Io, beside?: ReadRun): Promise<ReadRun> {
  const suits = (other: ReadRun) =>
    beside !== undefined && (isComparable({ base: other, candidate: beside }, []) || isForcedPartner(beside, other));
  const named = await readRun(name, naming, io, beside && suits);
  if (!existsSync(named.source)) {
    throw inputMissing(
      `the judged file of "${named.name}", ${named.source}, is not there, and the SQLite file holds no texts; move it back, or name it where it is now: --run NEW/${basename(named.source)}`,
    );
  }
  if (named.source === resolve(io.cwd, name)) return { ...named, name: shareable(named) };
  const { rows, sha256 } = await readJudged(named.source, io.stop);
  if (sha256 === named.sha256) return { ...named, rows };
  if (!naming.quiet) {
    const path = printable(named.source);
    io.stderr.write(
      `note: ${path} has changed since it was scored; the report shows it as it is now, and awb score --predictions ${path} brings the SQLite file up to date\n`,
    );
  }
  const now = await readRun(named.source, naming, io);
  return { ...now, name: named.name };
}

/** A page is handed on: where a run has no label, its file is named without the folders above its own. */
function shareable({ name, source }: ReadRun): string {
  return basename(name) === basename(source) ? join(basename(dirname(source)), basename(source)) : name;
}

/** What a reader wants to see of one judged row. */
export interface RowTexts extends Remarks {
  /** Both as the judge was shown them; the prediction is empty where there is none. */
  readonly prediction: string;
  readonly truth: string;
  /** The turn that was put to the world model, without the request to predict where the row has it apart. */
  readonly action: string;
  readonly history: readonly { readonly action: string; readonly observation: string }[];
  readonly systemPrompt: string;
}

/** A run with its texts by record id; undefined for a row that the file no longer holds. */
export type RunWithTexts = ReadRun & { read(id: string): Promise<RowTexts | undefined> };

/**
 * Does something with the texts of one or two runs open.
 * @param dataDir folder of the data, which lean rows need
 * @throws UserError: 66 for a file that is not there, 65 for a lean row without its data.
 */
export async function withTexts<T>(
  run: ReadRun,
  other: ReadRun | undefined,
  dataDir: string | undefined,
  io: Io,
  action: (run: RunWithTexts, other: RunWithTexts | undefined) => Promise<T>,
): Promise<T> {
  const opened: { close(): Promise<void> }[] = [];
  try {
    const data = dataDir === undefined ? undefined : await openDataset(resolve(io.cwd, dataDir), io.stop);
    if (data !== undefined) opened.push(data);
    const withItsTexts = async (each: ReadRun): Promise<RunWithTexts> => {
      const file = await openRows(each.source, data, io.stop);
      opened.push(file);
      const refs = new Map(file.refs.map((ref) => [rowId(ref.key, ref.repeat, ref.index), ref]));
      const read = async (id: string) => {
        const ref = refs.get(id);
        return ref === undefined ? undefined : textsIn(await file.read(ref));
      };
      return { ...each, read };
    };
    return await action(await withItsTexts(run), other && (await withItsTexts(other)));
  } finally {
    for (const each of opened) await each.close();
  }
}

function textsIn({ text, gen, sample }: PredictedRow): RowTexts {
  return {
    prediction: shownPrediction(gen),
    truth: withoutMarker(groundTruthOf(sample)),
    action: actionOf(sample),
    history: earlierTurns(sample).map(({ prompt: action, response }) => ({
      action,
      observation: withoutMarker(response),
    })),
    systemPrompt: sample.systemPrompt,
    ...remarksIn(parseObject(text) ?? {}),
  };
}
