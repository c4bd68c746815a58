// Runs whose truth is known, for the simulations of the gate: two checkpoints over the same rows, and clustered samples.

/** The published benchmark: rows and trajectories by domain (the trajectories of four domains are a guess of 5 rows each). */
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
 * Variances of a row's score in points squared: 25 points a row, and 0.6 correlation between two runs of a row. `SHARED` is the
 * row's own difficulty, `OWN` what a checkpoint adds to it, and `SAMPLING` is drawn anew in each repeat.
 */
const SHARED = { trajectory: 625 * 0.2, row: 625 * 0.4 };
const OWN = { trajectory: 625 * 0.08, row: 625 * 0.08 };
const SAMPLING = 625 * 0.24;
/** Only differences matter. */
const MEAN = 300;

/**
 * The rows of two runs, by domain: each with its trajectory and the points of its repeats in the base and in the candidate. `random` is a
 * stream of numbers from 0 to 1; `repeats` is of both runs, or of each: `{ base: 4, candidate: 1 }`. What is true of them: `drops`
 * gives by domain how many points the candidate is worse, and `carriedBy` the chance of a trajectory to be one of those that
 * carry all of it; with `sameWeights` both runs are one checkpoint asked twice, so that sampling alone differs. Points move in
 * steps of 5, as means of five ratings do; they are rounded up or down at random, so that the means stay true. They are not cut off
 * at 0 and 100 unless `bounded`, which moves a mean near the top, so it is for identical checkpoints only.
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

/** Such rows as two runs of judged rows, as `compareRuns` takes them (with `pointsOf: simulatedPoints`). */
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

/** By trajectory: what its rows share in either run, and what the candidate loses on each of them. */
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

/** What a simulated row is worth: its total, also beyond 0 and 100, where no real rating lies. */
export function simulatedPoints({ total }, figure) {
  return figure === 'total' ? (total - 1) * 25 : undefined;
}

/**
 * How many rows the trajectories of a sample have, about 5 each: alike, 1 to 9, skewed (log-normal, so that a few are long), or one
 * of them as long as all others together.
 */
export const SIZES = {
  '4 to 6': (random, clusters) => Array.from({ length: clusters }, () => 4 + Math.floor(random() * 3)),
  '1 to 9': (random, clusters) => Array.from({ length: clusters }, () => 1 + Math.floor(random() * 9)),
  skewed: (random, clusters) =>
    Array.from({ length: clusters }, () => Math.max(1, Math.round(3 * Math.exp(normal(random, 1))))),
  'one huge': (random, clusters) =>
    Array.from({ length: clusters }, (_, index) => (index === 0 ? 5 * (clusters - 1) : 4 + Math.floor(random() * 3))),
};

/** Differences whose mean is 0 in truth, with an intra-cluster correlation of 0.6. */
export function simulateDifferences(random, sizes) {
  return sizes.flatMap((rows, index) => {
    const shared = normal(random, 625 * 0.6);
    return Array.from({ length: rows }, () => ({ value: shared + normal(random, 625 * 0.4), cluster: `t${index}` }));
  });
}

/** Scores of 21 steps from 0 to 100 whose mean is `centre` in truth: skewed, and rows of a cluster alike (correlation 0.4 to 0.6). */
export function simulateScores(random, sizes, centre) {
  return sizes.flatMap((rows, index) => {
    // Beta(a, 1) or, below the middle, its mirror image, by inversion.
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

/** Rows to trajectories: each has one, the others fall by weight, so that some trajectories are long. */
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
