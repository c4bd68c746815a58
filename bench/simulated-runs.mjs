// Simulated runs with known truth for the gate's simulations: two checkpoints over the same rows, and clustered samples.

/** The published benchmark: rows and trajectories by domain (trajectories of four domains are guessed from 5 rows each). */
export const PUBLISHED = {
  mcp: [286, 57],
  search: [458, 92],
  terminal: [354, 76],
  swe: [472, 94],
  android: [200, 92],
  web: [200, 118],
  os: [200, 40],
};

/**
 * Variances of a row's score in points squared: an SD of 25 points per row, and a correlation of 0.6 between two runs of a row.
 * `SHARED` is the row's own difficulty, `OWN` is what a checkpoint adds, and `SAMPLING` is drawn again in each repeat.
 */
const SHARED = { trajectory: 625 * 0.2, row: 625 * 0.4 };
const OWN = { trajectory: 625 * 0.08, row: 625 * 0.08 };
const SAMPLING = 625 * 0.24;
/** Arbitrary: only differences matter. */
const MEAN = 300;

/**
 * The rows of two runs by domain, each with its trajectory and the points of its repeats in the base and in the candidate. `random`
 * returns numbers from 0 to 1; `repeats` applies to both runs, or is given for each: `{ base: 4, candidate: 1 }`. The truth: `drops`
 * is the candidate's loss in points by domain, and `carriedBy` the probability that a trajectory is one of those that carry the
 * loss. With `sameWeights` both runs are the same checkpoint, so only sampling differs. Points have steps of 5, like means of five
 * ratings; random rounding keeps the means true. They are cut off at 0 and 100 only if `bounded`, which shifts a mean near the top,
 * so use it for identical checkpoints only.
 */
export function simulateRows({ random, sizes = PUBLISHED, repeats = 1, ...truth }) {
  return Object.entries(sizes).map(([domain, [count, trajectories]]) => {
    const places = assign(random, count, trajectories);
    const effects = effectsOf(random, trajectories, { ...truth, drop: truth.drops?.[domain] ?? 0 });
    const rows = places.map((trajectory) => {
      const centres = centresOf(random, effects[trajectory], truth);
      const points = (side) =>
        Array.from({ length: repeats[side] ?? repeats }, () => {
          const score = stepped(random, centres[side] + normal(random, SAMPLING));
          return truth.bounded ? Math.min(100, Math.max(0, score)) : score;
        });
      return { trajectory, base: points('base'), candidate: points('candidate') };
    });
    return { domain, rows };
  });
}

/** Converts such rows to two runs of judged rows for `compareRuns` (with `pointsOf: simulatedPoints`). */
export function runsOf(domains) {
  const run = (side) => ({
    rows: domains.flatMap(({ domain, rows }) =>
      rows.flatMap((row, index) =>
        row[side].map((points, repeat) => ({
          key: `${domain}-${index}`,
          trajectory: `${domain}-t${row.trajectory}`,
          repeat,
          index: 0,
          domain,
          turnIdx: 1,
          failed: 0,
          total: 1 + points / 25,
          ratings: {},
          flags: [],
        })),
      ),
    ),
  });
  return { base: run('base'), candidate: run('candidate') };
}

export function simulateRuns(settings) {
  return runsOf(simulateRows(settings));
}

/** By trajectory: the effects that its rows share in each run, and the candidate's loss on each row. */
function effectsOf(random, trajectories, { drop, carriedBy = 1, sameWeights = false }) {
  const own = () => (sameWeights ? 0 : normal(random, OWN.trajectory));
  return Array.from({ length: trajectories }, () => ({
    shared: normal(random, SHARED.trajectory),
    base: own(),
    candidate: own(),
    drop: carriedBy === 1 || random() < carriedBy ? drop / carriedBy : 0,
  }));
}

function centresOf(random, effect, { sameWeights = false, bounded = false }) {
  const shared = (bounded ? 80 : MEAN) + effect.shared + normal(random, SHARED.row);
  const own = () => (sameWeights ? 0 : normal(random, OWN.row));
  return { base: shared + effect.base + own(), candidate: shared + effect.candidate + own() - effect.drop };
}

/** The points of a simulated row: its total, which may lie outside 0 to 100, unlike a real rating. */
export function simulatedPoints({ total }, figure) {
  return figure === 'total' ? (total - 1) * 25 : undefined;
}

/**
 * Rows of each trajectory of a sample, about 5 on average: 4 to 6, 1 to 9, skewed (log-normal, so a few are long), or one trajectory
 * as long as all others together.
 */
export const SIZES = {
  '4 to 6': (random, clusters) => Array.from({ length: clusters }, () => 4 + Math.floor(random() * 3)),
  '1 to 9': (random, clusters) => Array.from({ length: clusters }, () => 1 + Math.floor(random() * 9)),
  skewed: (random, clusters) =>
    Array.from({ length: clusters }, () => Math.max(1, Math.round(3 * Math.exp(normal(random, 1))))),
  'one huge': (random, clusters) =>
    Array.from({ length: clusters }, (_, index) => (index === 0 ? 5 * (clusters - 1) : 4 + Math.floor(random() * 3))),
};

/** Differences with a true mean of 0 and an intra-cluster correlation of 0.6. */
export function simulateDifferences(random, sizes) {
  return sizes.flatMap((rows, index) => {
    const shared = normal(random, 625 * 0.6);
    return Array.from({ length: rows }, () => ({ value: shared + normal(random, 625 * 0.4), cluster: `t${index}` }));
  });
}

/** Skewed scores in 21 steps from 0 to 100 with a true mean of `centre` and an intra-cluster correlation of 0.4 to 0.6. */
export function simulateScores(random, sizes, centre) {
  return sizes.flatMap((rows, index) => {
    // Beta(a, 1) by inversion, or its mirror image below the middle.
    const share = Math.max(centre, 100 - centre) / 100;
    const power = random() ** ((1 - share) / share);
    const level = centre >= 50 ? power : 1 - power;
    return Array.from({ length: rows }, () => ({ value: 5 * successes(random, 20, level), cluster: `t${index}` }));
  });
}

function successes(random, trials, chance) {
  let found = 0;
  for (let trial = 0; trial < trials; trial++) found += random() < chance ? 1 : 0;
  return found;
}

/** Assigns rows to trajectories: one each, and the others by random weights, so that some trajectories are long. */
function assign(random, rows, trajectories) {
  const weights = Array.from({ length: trajectories }, () => -Math.log(1 - random()));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const ends = weights.map((_, index) => weights.slice(0, index + 1).reduce((sum, weight) => sum + weight, 0) / total);
  return Array.from({ length: rows }, (_, row) => {
    if (row < trajectories) return row;
    const place = random();
    const found = ends.findIndex((end) => place < end);
    return found === -1 ? trajectories - 1 : found;
  });
}

function stepped(random, points) {
  const steps = points / 5;
  const below = Math.floor(steps);
  return 5 * (below + (random() < steps - below ? 1 : 0));
}

function normal(random, variance) {
  return Math.sqrt(-2 * Math.log(1 - random()) * variance) * Math.cos(2 * Math.PI * random());
}
