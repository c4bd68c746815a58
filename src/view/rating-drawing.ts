// Draws the predictions that people rate, by a seed, and gathers their samples for the rating page.

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
  /** Which of two runs it belongs to. */
  readonly run: 0 | 1;
}

/** The number of predictions to draw, and the seed. */
interface Draw {
  readonly samples: number;
  readonly seed: number;
}

/**
 * Draws predictions of a run, alternating between domains, and within a domain between trajectories, so that any prefix of the list is
 * spread as widely as the full list. Only predictions that the judge has rated are drawn.
 */
export function drawSamples(rows: readonly JudgedRow[], { samples, seed }: Draw): Drawn[] {
  return spread(ratedIn(rows), samples, randomOf(seed)).map((judgements) => ({ judgements, run: 0 }));
}

/**
 * Draws rows, with the predictions of both runs. Which run's comes first is random; the other one follows after all rows have had a turn,
 * so that the two are far apart.
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

/** Most characters of a page: a JavaScript string is limited to about 500 million, and JSON escapes some. */
const MOST_TEXT = 250e6;

/**
 * Reads the drawn samples of one or two runs, without duplicate texts; undefined if the user stopped it.
 * @param readers readers of each run's texts
 * @param most limit on the page's characters
 * @returns samples, and the number of predictions that are identical in both runs and shown once
 * @throws UserError: 65 if a file was changed meanwhile, 2 if there is more text than fits
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
        `the texts of these samples exceed ${most / 1e6} MB, too much for one page; draw fewer --samples`,
      );
    }
  }
  return { strings: [...places.keys()], samples: [...samples.values()], shared: drawn.length - samples.size };
}
