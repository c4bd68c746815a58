// The samples of a report in reading order, each with the texts of one run or two.

import type { RowTexts } from '../benchmark/report-rows.js';
import { EXIT, UserError } from '../core/errors.js';
import { countedPoints, isRated } from '../core/points.js';
import { oneLine } from '../core/printable.js';
import { rowId } from '../core/row-id.js';
import type { Io, JudgedRow } from '../core/types.js';
import { measureOf } from '../judge/modes.js';
import { leadingMeasure } from '../report/score-table.js';
import type { ReadRun } from '../results/read-run.js';
import { meanFigure, predictionsOf } from '../stats/predictions.js';
import type { ReportSample } from './contents.js';
import type { Pages } from './files.js';
import type { RunWithTexts } from './reading.js';
import { type SampleTexts, type TextsChunk, textsChunk } from './texts.js';

/** Texts of one chunk, in characters: what the page parses when one of its samples is looked at. */
const CHUNK_CHARACTERS = 1_000_000;
/** Samples, and which of them each chunk of texts begins with. */
export interface Gathered {
  readonly samples: readonly ReportSample[];
  readonly starts: readonly number[];
  /** Characters put to the world model, by record id. */
  readonly contexts: ReadonlyMap<string, number>;
}

/**
 * Reads the texts of every sample, one at a time, and hands them on in chunks; undefined where the user stopped it.
 * @param spentOn what a sample took, by record id
 */
export async function gather(
  run: RunWithTexts,
  other: RunWithTexts | undefined,
  pages: Pages,
  io: Io,
  spentOn: (id: string) => readonly string[] = () => [],
): Promise<Gathered | undefined> {
  const partner = partnersIn(other);
  const lead = leadingMeasure(run.card, measureOf);
  const ownValueOf = predictionValues(run, lead);
  const otherValueOf = predictionValues(other, lead);
  const samples: ReportSample[] = [];
  const starts: number[] = [];
  const contexts = new Map<string, number>();
  let chunk: TextsChunk | undefined;
  for (const row of inReadingOrder(run)) {
    if (io.stop.aborted) return undefined;
    const id = rowId(row.key, row.repeat, row.index);
    const texts = await run.read(id);
    if (texts === undefined) throw changed(run);
    const pair = partner(row);
    const otherTexts = pair === undefined ? undefined : await other?.read(rowId(pair.key, pair.repeat, pair.index));
    if (chunk === undefined || chunk.size > CHUNK_CHARACTERS) {
      if (chunk !== undefined) await pages.add(chunk.json());
      chunk = textsChunk();
      starts.push(samples.length);
    }
    chunk.add({
      ...texts,
      spent: spentOn(id),
      ...(otherTexts === undefined ? {} : { other: otherTexts }),
    } satisfies SampleTexts);
    contexts.set(id, contextLength(texts));
    const change = differenceOf(ownValueOf(row), pair && otherValueOf(pair));
    samples.push(sampleOf(row, pair, texts, { lead, change }));
  }
  if (chunk !== undefined) await pages.add(chunk.json());
  return { samples, starts, contexts };
}

function changed({ source }: ReadRun): UserError {
  return new UserError(`${source} was changed while it was being read; run the same command again`, EXIT.badData);
}

/** By domain as the scores have them, then trajectory by trajectory and turn by turn. */
function inReadingOrder({ rows, card }: ReadRun): JudgedRow[] {
  const domains = new Map(card.domains.map(({ domain }, place) => [domain, place]));
  const trajectories = new Map<string, number>();
  for (const { trajectory } of rows) {
    if (!trajectories.has(trajectory)) trajectories.set(trajectory, trajectories.size);
  }
  return rows
    .map((row) => {
      return { row, domain: domains.get(row.domain) ?? 0, trajectory: trajectories.get(row.trajectory) ?? 0 };
    })
    .sort((a, b) => a.domain - b.domain || a.trajectory - b.trajectory || inTrajectory(a.row, b.row))
    .map(({ row }) => row);
}

function inTrajectory(a: JudgedRow, b: JudgedRow): number {
  return a.turnIdx - b.turnIdx || a.repeat - b.repeat || a.index - b.index;
}

/** The other run's row for a row: of the same repeat and judgement, or else of the same repeat, or else its first. */
function partnersIn(other: ReadRun | undefined): (row: JudgedRow) => JudgedRow | undefined {
  const rows = new Map<string, JudgedRow>();
  for (const row of other?.rows ?? []) {
    rows.set(rowId(row.key, row.repeat, row.index), row);
    if (!rows.has(row.key)) rows.set(row.key, row);
  }
  return ({ key, repeat, index }) =>
    rows.get(rowId(key, repeat, index)) ?? rows.get(rowId(key, repeat)) ?? rows.get(key);
}

function contextLength({ systemPrompt, history, action }: RowTexts): number {
  return history.reduce(
    (sum, turn) => sum + turn.action.length + turn.observation.length,
    systemPrompt.length + action.length,
  );
}

function sampleOf(
  row: JudgedRow,
  other: JudgedRow | undefined,
  texts: RowTexts,
  { lead, change }: { readonly lead: string | undefined; readonly change: number | undefined },
): ReportSample {
  return {
    row,
    points: scoreIn(row, lead),
    other: other && { row: other, points: scoreIn(other, lead) },
    change,
    note: oneLine(row.failure?.reason ?? texts.weaknesses[0] ?? '', 200),
  };
}

/** What the predictions of a run come to, each the mean over its judgements: what `awb compare` takes the differences of. */
function predictionValues(run: ReadRun | undefined, lead: string | undefined) {
  const values = new Map<string, number>();
  for (const judgements of predictionsOf(run?.rows ?? [])) {
    const value = meanFigure(judgements, (row) => countedPoints(row, 'total') ?? scoreIn(row, lead));
    if (value !== undefined) values.set(rowId(judgements[0].key, judgements[0].repeat), value);
  }
  return ({ key, repeat }: JudgedRow): number | undefined => values.get(rowId(key, repeat));
}

function differenceOf(value: number | undefined, other: number | undefined): number | undefined {
  return value === undefined || other === undefined ? undefined : value - other;
}

/** A row's score: of its ratings, in points of 0-100, or where it was measured alone the measure that the report leads with. */
function scoreIn(row: JudgedRow, lead: string | undefined): number | undefined {
  if (row.failed === undefined) return lead === undefined ? undefined : row.measures?.[lead];
  return isRated(row) ? countedPoints(row, 'total') : undefined;
}
