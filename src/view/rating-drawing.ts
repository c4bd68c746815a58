// Which predictions people are given to rate, drawn by a seed, and the samples that the page for raters shows of them.

import { domainName, inTableOrder } from '../core/domains.js';
import { present, UserError } from '../core/errors.js';
import { groupBy, heldIn } from '../core/groups.js';
import { isRated } from '../core/points.js';
import { type Random, randomOf, shuffled } from '../core/random.js';
import { rowId } from '../core/row-id.js';
import { DIMENSIONS, type Io, type JudgedRow } from '../core/types.js';
import { judgeFigures, predictionHash } from '../results/agree.js';
import { type Judgements, predictionsOf } from '../stats/aggregate.js';
import type { JudgeSays, RatingDocument, RatingSample } from './documents.js';
import type { ReadTexts } from './sample-texts.js';

/** A prediction that was drawn. */
interface Drawn {
  readonly judgements: Judgements;
  /** Which of two runs it is of. */
  readonly run: 0 | 1;
}

/** How many predictions are drawn, and by which seed. */
interface Draw {
  readonly samples: number;
  readonly seed: number;
}

/**
 * Predictions of a run, in turn from each domain and within a domain from each trajectory, so that any start of the list is spread as
 * widely as the whole. Only predictions that the judge has rated are drawn.
 */
export function drawSamples(rows: readonly JudgedRow[], { samples, seed }: Draw): Drawn[] {
  return spread(ratedIn(rows), samples, randomOf(seed)).map((judgements) => ({ judgements, run: 0 }));
}

/**
 * Predictions of two runs, both of every row that is drawn. Chance says which run's comes first; the other one follows when every row
 * has had its turn, so that the two stand far apart.
 */
export function drawBlind(rows: readonly JudgedRow[], others: readonly JudgedRow[], { samples, seed }: Draw): Drawn[] {
  const random = randomOf(seed);
  const partners = new Map(ratedIn(others).map((judgements) => [idOf(judgements), judgements]));
  const both = ratedIn(rows).filter((judgements) => partners.has(idOf(judgements)));
  const pairs = spread(both, Math.max(1, Math.floor(samples / 2)), random).flatMap((judgements) => {
    const other = partners.get(idOf(judgements));
    if (other === undefined) return [];
    const sides: Drawn[] = [
      { judgements, run: 0 },
      { judgements: other, run: 1 },
    ];
    return [random.uniform() < 0.5 ? sides : sides.reverse()];
  });
  return [0, 1].flatMap((place) => pairs.flatMap((sides) => sides[place] ?? []));
}

function ratedIn(rows: readonly JudgedRow[]): Judgements[] {
  return predictionsOf(rows).filter((judgements) => judgements.some(isRated));
}

function idOf([{ key, repeat }]: Judgements): string {
  return rowId(key, repeat);
}

function spread(predictions: readonly Judgements[], count: number, random: Random): Judgements[] {
  const domains = [...groupBy(predictions, ([{ domain }]) => domain)].sort(([a], [b]) => inTableOrder(a, b));
  const queues = domains.map(([, own]) => {
    const trajectories = [...groupBy(own, ([{ trajectory }]) => trajectory).values()];
    return inTurn(shuffled(trajectories, random).map((members) => shuffled(members, random)));
  });
  return inTurn(queues).slice(0, count);
}

/** The first item of each list, then the second of each, and so on. */
function inTurn<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat();
}

/** Characters that a page can hold: one text of JavaScript has no room for more than about 500 million, and JSON escapes some. */
const MOST_TEXT = 250e6;

/**
 * Reads what was drawn of one run or two, each different text once; undefined where the user stopped it.
 * @param readers of the texts of each run
 * @param most characters that the page can hold
 * @returns samples, and how many predictions both runs made in the same words, so that they are shown once
 * @throws UserError: 65 where a file was changed meanwhile, 2 for more text than the page can hold
 */
export async function gatherSamples(
  drawn: readonly Drawn[],
  readers: readonly ReadTexts[],
  io: Pick<Io, 'stop'>,
  most = MOST_TEXT,
): Promise<(Pick<RatingDocument, 'strings' | 'samples'> & { readonly shared: number }) | undefined> {
  const samples = new Map<string, RatingSample>();
  const places = new Map<string, number>();
  let size = 0;
  const placeOf = (text: string) =>
    heldIn(places, text, () => {
      size += text.length;
      return places.size;
    });
  for (const { judgements, run } of drawn) {
    if (io.stop.aborted) return undefined;
    const row = judgements.find(isRated) ?? judgements[0];
    const { key, repeat, trajectory, domain, turnIdx } = row;
    const texts = await present(readers[run])(row);
    const sha256 = predictionHash(texts.prediction);
    const id = `${rowId(key, repeat)} ${sha256}`;
    if (samples.has(id)) continue;
    const figures = judgeFigures({ rows: judgements });
    const { strengths, weaknesses } = texts;
    const says: JudgeSays = { ratings: DIMENSIONS.map((name) => figures[name] ?? null), strengths, weaknesses };
    const repeated = repeat > 0 ? ` · repeat ${repeat + 1}` : '';
    samples.set(id, {
      ...{ key, repeat, trajectory, domain, title: `${domainName(domain)} · turn ${turnIdx}${repeated}`, sha256 },
      judge: Buffer.from(JSON.stringify(says)).toString('base64'),
      truth: placeOf(texts.truth),
      action: placeOf(texts.action),
      history: texts.history.flatMap((turn) => [turn.action, turn.observation]).map(placeOf),
      system: texts.systemPrompt === '' ? undefined : placeOf(texts.systemPrompt),
      prediction: texts.prediction === '' ? undefined : placeOf(texts.prediction),
    });
    if (size > most) {
      throw new UserError(
        `the texts of these samples are more than ${most / 1e6} MB, too many for one page; draw fewer --samples`,
      );
    }
  }
  return { strings: [...places.keys()], samples: [...samples.values()], shared: drawn.length - samples.size };
}
