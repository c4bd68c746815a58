// The texts of samples: a row's are read from its own line when it is opened, and a trajectory's form one document.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Dataset, openDataset } from '../benchmark/dataset.js';
import { openToRead, readAgain } from '../benchmark/line-file.js';
import { readSampleAgain } from '../benchmark/sample.js';
import type { RowSpent } from '../core/costs.js';
import { badData } from '../core/errors.js';
import { heldIn } from '../core/groups.js';
import { type JsonObject, parseObject } from '../core/json.js';
import { type Remarks, remarksIn } from '../core/judged-row.js';
import { readPredictionRow } from '../core/prediction.js';
import { dollars } from '../core/printable.js';
import { shownPrediction, withoutMarker } from '../core/reply.js';
import { rowIdOf } from '../core/row-id.js';
import { actionOf, earlierTurns, groundTruthOf } from '../core/turn.js';
import type { Io, JudgedRow, Sample } from '../core/types.js';
import type { ReadRun } from '../results/read-run.js';
import { worldModelManifest } from '../run/made-with.js';
import type { AskAgain } from './ask-again.js';
import type { SampleTexts, TrajectoryTexts } from './documents.js';

/** The texts of one judged row. */
export interface RowTexts extends Remarks {
  /** As shown to the judge; empty if there is none. */
  readonly prediction: string;
  /** The model's raw reply; absent if it is the prediction itself. */
  readonly reply?: string;
  readonly truth: string;
  /** The turn sent to the world model, without the request to predict if the row has that separately. */
  readonly action: string;
  readonly history: readonly { readonly action: string; readonly observation: string }[];
  readonly systemPrompt: string;
  /** The row as sent to the world model. */
  readonly sample: Sample;
}

/** Reads the texts of a row. @throws UserError: 65 if the row's line has changed since it was scored */
export type ReadTexts = (row: JudgedRow) => Promise<RowTexts>;

/**
 * Opens the texts of a run; each row is read at the span in its excerpt.
 * @param dataDir folder of the data for lean rows; default: the folder in the run's manifest
 * @throws UserError: 66 if the judged file is missing
 */
export async function openTexts(
  { source, manifest, excerpts }: Pick<ReadRun, 'source' | 'manifest' | 'excerpts'>,
  dataDir: string | undefined,
  io: Pick<Io, 'cwd' | 'stop'>,
): Promise<{ readonly read: ReadTexts; close(): Promise<void> }> {
  const handle = await openToRead(source, 'move it back, or score it where it is now: awb score FILE');
  let dataset: Promise<Dataset> | undefined;
  const close = async () => {
    await handle.close();
    // A dataset that failed to open needs no closing.
    await dataset?.then(
      (data) => data.close(),
      () => undefined,
    );
  };
  const changed = `has changed since it was scored; run awb score ${source} again`;
  const named = worldModelManifest(manifest)?.data?.dir;
  const dir = dataDir ?? (typeof named === 'string' && existsSync(named) ? named : undefined);
  const leanSample = async (key: string): Promise<Sample> => {
    if (dir === undefined) {
      throw badData(`${source} is lean (the trajectory text was left out); name the benchmark folder with --data-dir`);
    }
    dataset ??= openDataset(resolve(io.cwd, dir), io.stop);
    const data = await dataset;
    const ref = data.find(key);
    if (ref === undefined)
      throw badData(`no row of ${dir} has the key ${key}; name the data folder of the awb infer run`);
    return data.readSample(ref);
  };
  const read = async (row: JudgedRow): Promise<RowTexts> => {
    const span = excerpts?.get(rowIdOf(row));
    const fields = span && parseObject(await readAgain(handle, span, source, changed));
    if (fields === undefined) throw badData(`${source} ${changed}`);
    const sample = 'prompt' in fields ? readSampleAgain(fields, row) : await leanSample(row.key);
    if (sample === undefined) throw badData(`${source} ${changed}`);
    return textsIn(fields, { ...sample, key: row.key });
  };
  return { read, close };
}

function textsIn(fields: JsonObject, sample: Sample): RowTexts {
  const { gen = '' } = readPredictionRow(fields) ?? {};
  const prediction = shownPrediction(gen);
  return {
    prediction,
    ...(gen !== prediction && { reply: gen }),
    truth: withoutMarker(groundTruthOf(sample)),
    action: actionOf(sample),
    history: earlierTurns(sample).map(({ prompt: action, response }) => ({
      action,
      observation: withoutMarker(response),
    })),
    systemPrompt: sample.systemPrompt,
    sample,
    ...remarksIn(fields),
  };
}

/**
 * The texts of the rows of one trajectory, without duplicates.
 * @param options costs of rows by record id, and how to ask for them again; each absent if unknown
 * @throws UserError as `read`
 */
export async function trajectoryTexts(
  rows: readonly JudgedRow[],
  read: ReadTexts,
  options: Readonly<{ spent?: ReadonlyMap<string, RowSpent> | undefined; again?: AskAgain | undefined }> = {},
): Promise<TrajectoryTexts> {
  const strings: string[] = [];
  const places = new Map<string, number>();
  const placeOf = (text: string) => heldIn(places, text, () => strings.push(text) - 1);
  const placeIn = (text: string | undefined) => (text ? placeOf(text) : undefined);
  const documents: Record<string, SampleTexts> = {};
  for (const row of rows) {
    const id = rowIdOf(row);
    const texts = await read(row);
    const request = options.again?.request(row, texts.sample);
    documents[id] = {
      truth: placeOf(texts.truth),
      action: placeOf(texts.action),
      history: texts.history.flatMap(({ action, observation }) => [placeOf(action), placeOf(observation)]),
      system: placeIn(texts.systemPrompt),
      prediction: placeIn(texts.prediction),
      reply: placeIn(texts.reply),
      strengths: texts.strengths,
      weaknesses: texts.weaknesses,
      facts: texts.facts?.length ? texts.facts : undefined,
      judgeReply: placeIn(texts.judgeReply),
      judgeThoughts: placeIn(texts.judgeReasoning),
      spent: spentLines(options.spent?.get(id)),
      request: request && {
        ...request,
        messages: request.messages.map(({ role, content }) => ({ role, content: placeOf(content) })),
      },
      commands: options.again?.commands(row) ?? [],
    };
  }
  return { strings, rows: documents };
}

/** The document without histories, the requests that contain them, and the texts that only occur in these. */
export function withoutHistories({ strings, rows }: TrajectoryTexts): TrajectoryTexts {
  const kept: string[] = [];
  const places = new Map<number, number>();
  const moved = (place: number) => heldIn(places, place, () => kept.push(strings[place] ?? '') - 1);
  const left = Object.entries(rows).map(([id, { history: _history, request: _request, ...row }]) => {
    const moves = Object.entries(row).map(([name, value]) => [name, typeof value === 'number' ? moved(value) : value]);
    // The same members: all numbers in a row's texts are indices.
    return [id, Object.fromEntries(moves) as SampleTexts] as const;
  });
  const missing = 'Histories are left out: this page has no room for them.';
  return { strings: kept, rows: Object.fromEntries(left), missing };
}

/** A row's cost, one line each for prediction and judgement; undefined if unknown, or if no model was asked. */
function spentLines(spent: RowSpent | undefined): string[] | undefined {
  const lines = (['prediction', 'judgement'] as const).flatMap((what) => spentLine(what, spent?.[what]) ?? []);
  return lines.length === 0 ? undefined : lines;
}

/** For example `prediction: 19,000 + 280 tokens (70 thinking), $0.034, 4.2 s`. */
function spentLine(what: string, { log, usd, ms }: Partial<RowSpent['prediction']> = {}): string | undefined {
  const { promptTokens, completionTokens, reasoningTokens = 0 } = log?.usage ?? {};
  if (promptTokens === undefined || completionTokens === undefined) return undefined;
  const tokens = `${promptTokens.toLocaleString('en')} + ${completionTokens.toLocaleString('en')} tokens`;
  const thinking = reasoningTokens === 0 ? '' : ` (${reasoningTokens.toLocaleString('en')} thinking)`;
  const price = usd === undefined ? '' : `, ${dollars(usd)}`;
  return `${what}: ${tokens}${thinking}${price}${ms === undefined ? '' : `, ${(ms / 1000).toFixed(1)} s`}`;
}
