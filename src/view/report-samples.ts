// The samples of a report in reading order, each with the texts of one run or two, and what asking for them took.

import type { Spent } from '../core/costs.js';
import { badData } from '../core/errors.js';
import { countedPoints, isRated } from '../core/points.js';
import { dollars, oneLine } from '../core/printable.js';
import { rowId } from '../core/row-id.js';
import type { Io, JudgedRow } from '../core/types.js';
import { measureOf } from '../judge/modes.js';
import { leadingMeasure } from '../report/score-table.js';
import { countCosts } from '../results/costs.js';
import type { ReadRun } from '../results/read-run.js';
import { meanFigure, predictionsOf } from '../stats/aggregate.js';
import type { RowTexts, RunWithTexts } from './reading.js';
import type { ReportSample } from './report-contents.js';
import type { Texts } from './texts.js';

/** Samples, and how many characters were put to the world model, by record id. */
interface Gathered {
  readonly samples: readonly ReportSample[];
  readonly contexts: ReadonlyMap<string, number>;
}

/**
 * Reads the texts of every sample into `texts`, one at a time; undefined where the user stopped it.
 * @param spentOn what a sample took, by record id
 */
export async function gather(
  run: RunWithTexts,
  other: RunWithTexts | undefined,
  texts: Texts,
  io: Pick<Io, 'stop'>,
  spentOn: (id: string) => readonly string[] = () => [],
): Promise<Gathered | undefined> {
  const partner = partnersIn(other);
  const lead = leadingMeasure(run.card, measureOf);
  const [ownValueOf, otherValueOf] = [predictionValues(run, lead), predictionValues(other, lead)];
  const samples: ReportSample[] = [];
  const contexts = new Map<string, number>();
  for (const row of inReadingOrder(run)) {
    if (io.stop.aborted) return undefined;
    const id = idOf(row);
    const own = await textsOf(run, row);
    const pair = partner(row);
    const others = pair && (await other?.read(idOf(pair)));
    texts.add({ ...own, spent: spentOn(id), other: others });
    contexts.set(id, contextLength(own));
    const [value, before] = [ownValueOf(row), pair && otherValueOf(pair)];
    samples.push({
      row,
      points: scoreIn(row, lead),
      other: pair && { row: pair, points: scoreIn(pair, lead) },
      change: value === undefined || before === undefined ? undefined : value - before,
      note: oneLine(row.failure?.reason ?? own.weaknesses[0] ?? '', 200),
    });
  }
  return { samples, contexts };
}

function idOf({ key, repeat, index }: JudgedRow): string {
  return rowId(key, repeat, index);
}

/** The texts of a row. @throws UserError (65) where the file was changed meanwhile */
export async function textsOf({ read, source }: RunWithTexts, row: JudgedRow): Promise<RowTexts> {
  const texts = await read(idOf(row));
  if (texts !== undefined) return texts;
  throw badData(`${source} was changed while it was being read; run the same command again`);
}

/** By domain as the scores have them, then trajectory by trajectory and turn by turn. */
function inReadingOrder({ rows, card }: ReadRun): JudgedRow[] {
  const domains = new Map(card.domains.map(({ domain }, place) => [domain, place]));
  const trajectories = new Map([...new Set(rows.map((row) => row.trajectory))].map((name, place) => [name, place]));
  const placesOf = ({ domain, trajectory, turnIdx, repeat, index }: JudgedRow) => [
    domains.get(domain) ?? 0,
    trajectories.get(trajectory) ?? 0,
    turnIdx,
    repeat,
    index,
  ];
  const differenceOf = (a: readonly number[], b: readonly number[]) =>
    a.map((place, at) => place - (b[at] ?? 0)).find((difference) => difference !== 0) ?? 0;
  const placed = rows.map((row) => ({ row, places: placesOf(row) }));
  return placed.sort((a, b) => differenceOf(a.places, b.places)).map(({ row }) => row);
}

/** The other run's row for a row: of the same repeat and judgement, or else of the same repeat, or else its first. */
function partnersIn(other: ReadRun | undefined): (row: JudgedRow) => JudgedRow | undefined {
  const rows = new Map<string, JudgedRow>();
  for (const row of other?.rows ?? []) {
    rows.set(idOf(row), row);
    if (!rows.has(row.key)) rows.set(row.key, row);
  }
  return (row) => rows.get(idOf(row)) ?? rows.get(rowId(row.key, row.repeat)) ?? rows.get(row.key);
}

function contextLength({ systemPrompt, history, action }: RowTexts): number {
  return history.reduce(
    (sum, turn) => sum + turn.action.length + turn.observation.length,
    systemPrompt.length + action.length,
  );
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

/** A row's score: of its ratings, in points of 0-100, or where it was measured alone the measure that the report leads with. */
function scoreIn(row: JudgedRow, lead: string | undefined): number | undefined {
  if (row.failed === undefined) return lead === undefined ? undefined : row.measures?.[lead];
  return isRated(row) ? countedPoints(row, 'total') : undefined;
}

/** Reads what a run took, by the prices that it was scored by. @throws UserError: 66 for a journal that cannot be read, 130, 143. */
export async function readSpending(run: ReadRun, { stop }: Pick<Io, 'stop'>) {
  const prices = { world_model: run.costs.world_model?.price, judge: run.costs.judge?.price };
  const { judgements, costs } = await countCosts(run, prices, stop);
  const byId = new Map(judgements.map((one) => [idOf(one.row), one]));
  /** What a sample took, by record id: a line for its prediction, and one for its judgement. */
  const linesOf = (id: string) => {
    const found = byId.get(id);
    const lines = [spentText('prediction', found?.prediction), spentText('judgement', found)];
    return lines.filter((line) => line !== undefined);
  };
  return { costs, linesOf };
}

/** What one sample took, such as `prediction 19,000 + 280 tokens, $0.034`; undefined where nobody knows, or nobody was asked. */
export function spentText(what: string, { log, usd }: Spent = {}): string | undefined {
  const { promptTokens, completionTokens, reasoningTokens = 0 } = log?.usage ?? {};
  if (promptTokens === undefined || completionTokens === undefined) return undefined;
  const [prompt, output, thought] = [promptTokens, completionTokens, reasoningTokens].map((n) =>
    n.toLocaleString('en'),
  );
  const thinking = reasoningTokens === 0 ? '' : ` (${thought} thinking)`;
  return `${what} ${prompt} + ${output} tokens${thinking}${usd === undefined ? '' : `, ${dollars(usd)}`}`;
}
