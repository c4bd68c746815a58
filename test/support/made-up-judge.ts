// A judge with built-in, and therefore known, ceiling, losses, attack gain and noise, for simulations.

import type { CalibratedRow, VariantFacts } from '../../src/core/calibration.js';
import { ratingToPoints } from '../../src/core/points.js';
import { randomOf } from '../../src/core/random.js';
import { DIMENSIONS, type Dimension } from '../../src/core/types.js';
import { normalDensity, normalTail } from '../../src/stats/distributions.js';
import { facts, judged } from './known-ratings.js';

/** The judge's opinion of a variant: the centre of its ratings before rounding to 1 to 5. */
export interface Opinion {
  readonly variant: VariantFacts;
  readonly centre: number;
  /** Added to the centre in single dimensions. */
  readonly shifts?: Readonly<Partial<Record<Dimension, number>>>;
  /** How often each prediction is judged; once if absent. */
  readonly judgements?: number;
}

/** SDs on the rating scale: of trajectories, of rows, of one variant of a row, and of one rating (the judge's noise). */
const SPREADS = { trajectory: 0.5, row: 0.4, prediction: 0.3, noise: 0.6 };

export const OPINIONS: readonly Opinion[] = [
  { variant: facts('truth', 'truth'), centre: 4.6, judgements: 2 },
  { variant: facts('rewrite-keys', 'rewrite'), centre: 4.4 },
  { variant: facts('light', 'order'), centre: 4.0, shifts: { factuality: -1.2 } },
  { variant: facts('lost-fence', 'single'), centre: 4.6 },
  { variant: facts('shuffled', 'baseline'), centre: 1.8, judgements: 2 },
  { variant: facts('flattery', 'attack'), centre: 2.3 },
  { variant: facts('padding', 'attack'), centre: 1.8 },
];

/** Ratings of 1 to 3 rows in each trajectory. */
export function simulateJudge(seed: number, domains: Readonly<Record<string, number>>): CalibratedRow[] {
  const { uniform } = randomOf(seed);
  const normal = (sd: number) => sd * normalFrom(uniform);
  const rows: CalibratedRow[] = [];
  for (const [domain, trajectories] of Object.entries(domains)) {
    for (let place = 0; place < trajectories; place++) {
      const trajectory = `${domain}-${place}`;
      const ofTrajectory = normal(SPREADS.trajectory);
      const count = 1 + Math.floor(3 * uniform());
      for (let row = 0; row < count; row++) {
        const ofRow = ofTrajectory + normal(SPREADS.row);
        for (const { variant, centre, shifts = {}, judgements = 1 } of OPINIONS) {
          const ofPrediction = centre + ofRow + normal(SPREADS.prediction);
          for (let index = 0; index < judgements; index++) {
            const ratings = DIMENSIONS.map((dimension) =>
              rounded(ofPrediction + (shifts[dimension] ?? 0) + normal(SPREADS.noise)),
            );
            rows.push(
              judged({ key: `${trajectory}-${row}`, trajectory, domain, variant: variant.name, index }, ratings),
            );
          }
        }
      }
    }
  }
  return rows;
}

/** The seeds of a rating: its random parts depend on nothing else. */
export interface Seeds {
  readonly trajectory: number;
  readonly row: number;
  readonly prediction: number;
  readonly judgement: number;
}

/** The ratings of one judgement. */
export function ratingsOf(name: string, seeds: Seeds, opinions: readonly Opinion[]): number[] {
  const { centre, shifts = {} } = opinionOf(name, opinions);
  const drawn = (seed: number, sd: number) => sd * normalFrom(randomOf(seed).uniform);
  const latent =
    centre +
    drawn(seeds.trajectory, SPREADS.trajectory) +
    drawn(seeds.row, SPREADS.row) +
    drawn(seeds.prediction, SPREADS.prediction);
  const { uniform } = randomOf(seeds.judgement);
  return DIMENSIONS.map((dimension) =>
    rounded(latent + (shifts[dimension] ?? 0) + SPREADS.noise * normalFrom(uniform)),
  );
}

/** A standard normal figure (Box & Muller). */
function normalFrom(uniform: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

function rounded(latent: number): number {
  return Math.min(5, Math.max(1, Math.round(latent)));
}

/** The expected points of a variant in a dimension, or in total, after rounding. */
export function expectedPoints(name: string, dimension?: Dimension, opinions = OPINIONS): number {
  const { centre, shifts = {} } = opinionOf(name, opinions);
  const { trajectory, row, prediction, noise } = SPREADS;
  const sd = Math.hypot(trajectory, row, prediction, noise);
  const means = DIMENSIONS.filter((each) => dimension === undefined || each === dimension).map(
    (each) => momentsOf(centre + (shifts[each] ?? 0), sd).mean,
  );
  return ratingToPoints(means.reduce((sum, one) => sum + one, 0) / means.length);
}

/**
 * The SD of judgements of one prediction, over the predictions of the variants that are judged twice; `countOf` gives the number of
 * predictions of each, if the numbers differ.
 */
export function expectedNoise(opinions = OPINIONS, countOf: (name: string) => number = () => 1): number {
  const repeated = opinions.filter(({ judgements }) => judgements === 2);
  const counts = repeated.map(({ variant }) => countOf(variant.name));
  const sum = repeated.reduce((total, opinion, place) => total + varianceOf(opinion) * (counts[place] ?? 0), 0);
  return 25 * Math.sqrt(sum / counts.reduce((total, count) => total + count, 0));
}

/** The variance between judgements of a prediction's total, averaged over its predictions. */
function varianceOf({ centre, shifts = {} }: Opinion): number {
  const spread = Math.hypot(SPREADS.trajectory, SPREADS.row, SPREADS.prediction);
  const step = 1 / 32;
  let sum = 0;
  for (let z = -8; z <= 8; z += step) {
    for (const dimension of DIMENSIONS) {
      const { variance } = momentsOf(centre + (shifts[dimension] ?? 0) + spread * z, SPREADS.noise);
      sum += normalDensity(z) * variance;
    }
  }
  return (sum * step) / DIMENSIONS.length ** 2;
}

/** Mean and variance of a normal figure rounded to 1 to 5. */
function momentsOf(centre: number, sd: number) {
  const above = [1.5, 2.5, 3.5, 4.5].map((bound) => normalTail((bound - centre) / sd));
  const mean = above.reduce((sum, chance) => sum + chance, 1);
  const squares = above.reduce((sum, chance, place) => sum + chance * (2 * place + 3), 1);
  return { mean, variance: squares - mean ** 2 };
}

function opinionOf(name: string, opinions: readonly Opinion[]): Opinion {
  const found = opinions.find(({ variant }) => variant.name === name);
  if (found === undefined) throw new Error(`the judge has no opinion on ${name}`);
  return found;
}
