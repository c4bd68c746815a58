// A judge whose ceiling, losses, gullibility and noise are known, because they were put into it: for simulations.

import type { CalibratedRow, VariantFacts } from '../../src/calibration.js';
import { ratingToPoints } from '../../src/points.js';
import { randomOf } from '../../src/random.js';
import { normalDensity, normalTail } from '../../src/score/normal.js';
import { DIMENSIONS, type Dimension } from '../../src/types.js';
import { facts, judged } from './known-ratings.js';

/** What the judge makes of a variant: where its ratings would lie, were they no whole numbers of 1 to 5. */
export interface Opinion {
  readonly variant: VariantFacts;
  readonly centre: number;
  /** What is added to the centre in single dimensions. */
  readonly shifts?: Readonly<Partial<Record<Dimension, number>>>;
  /** How often each prediction is judged; once where absent. */
  readonly judgements?: number;
}

/** SDs on the scale of ratings: of trajectories, of rows, of one variant of a row, and of one rating (the judge's noise). */
export const SPREADS = { trajectory: 0.5, row: 0.4, prediction: 0.3, noise: 0.6 };

export const OPINIONS: readonly Opinion[] = [
  { variant: facts('truth', 'truth'), centre: 4.6, judgements: 2 },
  { variant: facts('rewrite-keys', 'rewrite'), centre: 4.4 },
  { variant: facts('light', 'order'), centre: 4.0, shifts: { factuality: -1.2 } },
  { variant: facts('lost-fence', 'single'), centre: 4.5 },
  { variant: facts('shuffled', 'baseline'), centre: 1.8, judgements: 2 },
  { variant: facts('flattery', 'canary'), centre: 2.3 },
  { variant: facts('padding', 'canary'), centre: 1.8 },
];

/** Ratings of 1 to 4 rows in each trajectory. */
export function simulateJudge(seed: number, domains: Readonly<Record<string, number>>): CalibratedRow[] {
  const { uniform } = randomOf(seed);
  const normal = (sd: number) => sd * Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const rows: CalibratedRow[] = [];
  for (const [domain, trajectories] of Object.entries(domains)) {
    for (let place = 0; place < trajectories; place++) {
      const trajectory = `${domain}-${place}`;
      const ofTrajectory = normal(SPREADS.trajectory);
      const count = 1 + Math.floor(4 * uniform());
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

function rounded(latent: number): number {
  return Math.min(5, Math.max(1, Math.round(latent)));
}

/** The expected points of a variant in a dimension, or in total: of what is left after rounding. */
export function expectedPoints(name: string, dimension?: Dimension): number {
  const { centre, shifts = {} } = opinionOf(name);
  const { trajectory, row, prediction, noise } = SPREADS;
  const sd = Math.hypot(trajectory, row, prediction, noise);
  const means = DIMENSIONS.filter((each) => dimension === undefined || each === dimension).map(
    (each) => momentsOf(centre + (shifts[each] ?? 0), sd).mean,
  );
  return ratingToPoints(means.reduce((sum, one) => sum + one, 0) / means.length);
}

/** The SD of judgements of one prediction, over all predictions of the variants that are judged twice. */
export function expectedNoise(): number {
  const repeated = OPINIONS.filter(({ judgements }) => judgements === 2);
  const variances = repeated.map(({ centre }) => {
    const spread = Math.hypot(SPREADS.trajectory, SPREADS.row, SPREADS.prediction);
    const step = 1 / 32;
    let sum = 0;
    for (let z = -8; z <= 8; z += step) {
      sum += normalDensity(z) * momentsOf(centre + spread * z, SPREADS.noise).variance;
    }
    return (sum * step) / DIMENSIONS.length;
  });
  return 25 * Math.sqrt(variances.reduce((sum, one) => sum + one, 0) / variances.length);
}

/** Mean and variance of a normal figure that is rounded to 1 to 5. */
function momentsOf(centre: number, sd: number) {
  const above = [1.5, 2.5, 3.5, 4.5].map((bound) => normalTail((bound - centre) / sd));
  const mean = above.reduce((sum, chance) => sum + chance, 1);
  const squares = above.reduce((sum, chance, place) => sum + chance * (2 * place + 3), 1);
  return { mean, variance: squares - mean ** 2 };
}

function opinionOf(name: string): Opinion {
  const found = OPINIONS.find(({ variant }) => variant.name === name);
  if (found === undefined) throw new Error(`the judge has no opinion on ${name}`);
  return found;
}
