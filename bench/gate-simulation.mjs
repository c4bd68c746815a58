// How often intervals hold the truth, and how often the gate errs, over simulated runs; the figures stand in bench/README.md.
// node bench/gate-simulation.mjs [coverage] [gate] [domain] [repeats] [small]   (all where none is named; `npm run build` first)

import { clusteredEstimate } from '../dist/score/clusters.js';
import { compareRuns } from '../dist/score/compare.js';
import { decide } from '../dist/score/gate.js';
import { defaultPolicy } from '../dist/score/policy.js';
import { randomOf } from '../dist/score/random.js';
import { bootstrapInterval, signFlipP } from '../dist/score/resampling.js';
import { PUBLISHED, SAMPLE_MEAN, simulatedPoints, simulateRuns, simulateSample } from './simulated-runs.mjs';

const SETS = 2_000;
const DOMAINS = Object.keys(PUBLISHED);
const wanted = process.argv.slice(2);
const does = (name) => wanted.length === 0 || wanted.includes(name);

if (does('coverage')) coverage();
if (does('gate')) gate();
if (does('domain')) domain();
if (does('repeats')) repeats();
if (does('small')) small();

/** Two-sided 95 % intervals around the mean of clustered, skewed scores of 0 to 100; and p of identical runs. */
function coverage() {
  table('intervals', ['clusters', 'rows in each', 't interval holds', 'bootstrap holds', 'p < 0.05 of identical runs']);
  for (const uneven of [false, true]) {
    for (const clusters of [8, 12, 20, 50, 120]) {
      const { uniform } = randomOf(clusters);
      let analytic = 0;
      let resampled = 0;
      let alarms = 0;
      for (let set = 0; set < SETS; set++) {
        const sample = simulateSample(uniform, clusters, uneven);
        analytic += holds(clusteredEstimate(sample)) ? 1 : 0;
        // Ten thousand draws of every size would take many minutes and say the same.
        resampled += holds(bootstrapInterval([sample], { draws: clusters === 50 ? 10_000 : 1_000, seed: set })) ? 1 : 0;
        const { base, candidate } = simulateRuns({ random: uniform, sizes: { one: [clusters * 5, clusters] } });
        const shifts = base.rows.map(({ total, trajectory }, index) => ({
          value: candidate.rows[index].total - total,
          cluster: trajectory,
        }));
        alarms += signFlipP([shifts], { draws: 999, seed: set }) < 0.05 ? 1 : 0;
      }
      row([clusters, uneven ? '1 to 9' : '4 to 6', percent(analytic), percent(resampled), percent(alarms)]);
    }
  }
}

function holds({ low, high }) {
  return low <= SAMPLE_MEAN && SAMPLE_MEAN <= high;
}

/** Every domain loses the same: what the default policy says. */
function gate() {
  table('default policy, every domain loses alike', ['true drop', 'GO', 'INCONCLUSIVE', 'NO-GO']);
  for (const drop of [0, 1, 2, 3, 5, 8]) verdicts(drop, { drops: all(drop) });
  verdicts('0, ratings cut off at 100', { bounded: true });
  // Two domains at their bound and Overall at its own: every NO-GO is a false alarm.
  verdicts('2, two domains 5', { drops: { ...all(0.8), search: 5, os: 5 } });
}

/** One domain loses, the others nothing. */
function domain() {
  table('default policy, one domain loses', ['domain and true drop', 'GO', 'INCONCLUSIVE', 'NO-GO']);
  for (const name of ['swe', 'os'])
    for (const drop of [5, 8, 12, 16]) verdicts(`${name} ${drop}`, { drops: { [name]: drop } });
}

/** Each run with three repeats of every row. */
function repeats() {
  table('three repeats', ['true drop', 'GO', 'INCONCLUSIVE', 'NO-GO']);
  for (const drop of [0, 1, 2, 3, 5, 8]) verdicts(drop, { drops: all(drop), repeats: 3 });
}

/** A subset of 350 rows, as a CI job might take. */
function small() {
  table('350 rows, 50 in 12 trajectories of each domain', ['true drop', 'GO', 'INCONCLUSIVE', 'NO-GO']);
  const sizes = Object.fromEntries(DOMAINS.map((name) => [name, [50, 12]]));
  for (const drop of [0, 1, 2, 3, 5, 8]) verdicts(drop, { drops: all(drop), sizes });
  verdicts('2, two domains 5', { drops: { ...all(0.8), search: 5, os: 5 }, sizes });
}

function verdicts(name, settings) {
  const { uniform } = randomOf(20_261_120);
  const policy = defaultPolicy();
  const counts = { GO: 0, INCONCLUSIVE: 0, 'NO-GO': 0 };
  for (let set = 0; set < SETS; set++) {
    const { base, candidate } = simulateRuns({ ...settings, random: uniform });
    const comparison = compareRuns(base, candidate, { draws: 0, pointsOf: simulatedPoints });
    counts[decide({ comparison }, policy).verdict]++;
  }
  row([name, percent(counts.GO), percent(counts.INCONCLUSIVE), percent(counts['NO-GO'])]);
}

function all(drop) {
  return Object.fromEntries(DOMAINS.map((name) => [name, drop]));
}

function percent(count) {
  return `${((count / SETS) * 100).toFixed(1)} %`;
}

function table(title, columns) {
  console.log(`\n${title} (${SETS} data sets a line)\n`);
  row(columns);
  row(columns.map(() => '--:'));
}

function row(cells) {
  console.log(`| ${cells.join(' | ')} |`);
}
