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
 * Variances of a row's score in points squared: 25 points a row, and 0.6 correlation between two runs of a row. `shared` is the
 * row's own difficulty, `own` what a run adds to it. Only `sampling` is drawn anew in each repeat.
 */
const SHARED = { trajectory: 625 * 0.2, row: 625 * 0.4 };
const OWN = { trajectory: 625 * 0.08, row: 625 * 0.08, sampling: 625 * 0.24 };
/** Only differences matter. */
const MEAN = 300;

/**
 * Two runs as `compareRuns` takes them (with `pointsOf: simulatedPoints`). `drops` gives by domain how many points the candidate is truly worse. Scores move in
 * steps of 5 points, as means of five ratings do; they are rounded up or down at random, so that the means stay true. They are
 * not cut off at 0 and 100 unless `bounded`, which moves a mean near the top, so it is for identical checkpoints only.
 * `random` is a stream of numbers from 0 to 1.
 */
export function simulateRuns({ random, sizes = PUBLISHED, drops = {}, repeats = 1, bounded = false }) {
  const runs = { base: [], candidate: [] };
  for (const [domain, [rows, trajectories]] of Object.entries(sizes)) {
    const effects = Array.from({ length: trajectories }, () => ({
      shared: normal(random, SHARED.trajectory),
      base: normal(random, OWN.trajectory),
      candidate: normal(random, OWN.trajectory),
    }));
    for (const [index, trajectory] of assign(random, rows, trajectories).entries()) {
      const effect = effects[trajectory];
      const shared = (bounded ? 80 : MEAN) + effect.shared + normal(random, SHARED.row);
      for (const side of ['base', 'candidate']) {
        const drop = side === 'base' ? 0 : (drops[domain] ?? 0);
        const own = shared - drop + effect[side] + normal(random, OWN.row);
        for (let repeat = 0; repeat < repeats; repeat++) {
          const points = stepped(random, own + normal(random, OWN.sampling));
          const score = bounded ? Math.min(100, Math.max(0, points)) : points;
          runs[side].push({
            key: `${domain}-${index}`,
            trajectory: `${domain}-t${trajectory}`,
            repeat,
            domain,
            turnIdx: 1,
            failed: 0,
            total: 1 + score / 25,
            ratings: {},
            flags: [],
          });
        }
      }
    }
  }
  return { base: { rows: runs.base }, candidate: { rows: runs.candidate } };
}

/** What a simulated row is worth: its total, also beyond 0 and 100, where no real rating lies. */
export function simulatedPoints({ total }, figure) {
  return figure === 'total' ? (total - 1) * 25 : undefined;
}

/**
 * A clustered sample whose mean is 40 in truth: skewed, of 21 steps from 0 to 100, and rows of a cluster alike. Clusters have 5
 * rows on average: 4 to 6, or where `uneven` 1 to 9.
 */
export function simulateSample(random, clusters, uneven = false) {
  const spread = uneven ? 4 : 1;
  return Array.from({ length: clusters }, (_, index) => {
    // Beta(1, 1.5) by inversion; its mean is 0.4.
    const level = 1 - (1 - random()) ** (1 / 1.5);
    const rows = 5 - spread + Math.floor(random() * (2 * spread + 1));
    return Array.from({ length: rows }, () => ({ value: 5 * successes(random, 20, level), cluster: `t${index}` }));
  }).flat();
}
export const SAMPLE_MEAN = 40;

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
