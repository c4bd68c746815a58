// A judge on 127.0.0.1 that knows what it is shown, and rates it by built-in opinions and noise.

import { createHash } from 'node:crypto';
import { openDataset } from '../../src/benchmark/dataset.js';
import { shownPrediction, withoutMarker } from '../../src/core/reply.js';
import { groundTruthOf } from '../../src/core/turn.js';
import { DIMENSIONS } from '../../src/core/types.js';
import { openMadePredictions } from '../../src/judge/calibrate/plan.js';
import { marked, verdict } from './judging.js';
import { type LoopbackServer, type SeenRequest, startLoopbackServer } from './loopback-server.js';
import { type Opinion, ratingsOf } from './made-up-judge.js';

/** The variant that a pair of texts belongs to, by their hash. */
type KnownTexts = ReadonlyMap<string, string>;

/** What `awb calibrate --sample-seed` makes of the rows of a folder; the first of two variants with the same text counts. */
export async function knownTexts(dataDir: string, variants: readonly string[], seed = 0): Promise<KnownTexts> {
  const dataset = await openDataset(dataDir);
  try {
    const predictions = openMadePredictions(dataset, seed);
    const known = new Map<string, string>();
    for (const row of dataset.rows) {
      for (const variant of variants) {
        const made = await predictions.make(row, variant);
        if (made === undefined) continue;
        const id = hashOf(
          withoutMarker(groundTruthOf(made.sample)).trim(),
          withoutMarker(shownPrediction(made.gen)).trim(),
        );
        if (!known.has(id)) known.set(id, variant);
      }
    }
    return known;
  } finally {
    await dataset.close();
  }
}

/**
 * Starts the judge. The same trajectory, row and prediction have the same effect in each request about them. The random part of a judgement
 * depends on the request's seed, and on how often the prediction was judged before. A request about anything unknown is refused (400),
 * which stops the run.
 * @param chance another number gives other random values
 */
export async function startBiasedJudge(
  known: KnownTexts,
  opinions: readonly Opinion[],
  chance = 0,
): Promise<LoopbackServer> {
  const asked = new Map<string, number>();
  return startLoopbackServer(
    ({ body }: SeenRequest) => {
      const shown = shownIn(String(body.messages?.at(-1)?.content));
      // Texts are shown with the spaces before their first lines.
      const name = shown && known.get(hashOf(shown.truth.trim(), shown.prediction.trim()));
      if (shown === undefined || name === undefined) {
        return { status: 400, body: { error: { message: 'a prediction that this judge does not know' } } };
      }
      const { history, turn, truth, prediction } = shown;
      const id = hashOf(history, turn, truth, prediction, String(body.seed ?? ''));
      const before = asked.get(id) ?? 0;
      asked.set(id, before + 1);
      const seeds = {
        trajectory: seedOf(String(chance), history),
        row: seedOf(String(chance), history, turn, truth),
        prediction: seedOf(String(chance), history, turn, truth, prediction),
        judgement: seedOf(String(chance), id, String(before)),
      };
      const ratings = ratingsOf(name, seeds, opinions);
      const scores = Object.fromEntries(DIMENSIONS.map((dimension, place) => [dimension, ratings[place]]));
      return { content: marked(verdict(scores), { body }), model: 'biased-judge-1' };
    },
    { record: false },
  );
}

/** The framed texts of a prompt: the mark of the prediction's frame is also around the truth, and no text contains it. */
function shownIn(prompt: string) {
  const mark = /<prediction-(\w+) turn="\d+">/.exec(prompt)?.[1];
  const framed = (name: string) =>
    new RegExp(`<${name}-${mark} turn="(\\d+)">\\n([\\s\\S]*)\\n</${name}-${mark}>`).exec(prompt);
  const [truth, prediction] = [framed('truth'), framed('prediction')];
  // A first turn has no history.
  const history = /<history-(\w+)>/.exec(prompt)?.[1] ?? mark;
  if (mark === undefined || truth === null || prediction === null || history === undefined) return undefined;
  return { history, turn: String(truth[1]), truth: String(truth[2]), prediction: String(prediction[2]) };
}

function hashOf(...texts: readonly string[]): string {
  return createHash('sha256').update(texts.join('\0')).digest('hex');
}

function seedOf(...texts: readonly string[]): number {
  return Number.parseInt(hashOf(...texts).slice(0, 8), 16);
}
