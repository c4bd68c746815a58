// Simulates runs to find how often intervals contain the truth and how often the gate errs. bench/README.md has the figures.
// node bench/gate-simulation.mjs [--sets 2000] [coverage] [scores] [gate] [bounded] [same] [repeats] [looks] [chance] [small] [uniform] [limit]
// (default: all; `npm run build` first)

import { randomOf } from '../dist/core/random.js';
import { meanOfSplits, samplingOf, splitVariance } from '../dist/stats/aggregate.js';
import { clusteredEstimate, meanOfEstimates } from '../dist/stats/clusters.js';
import { compareRuns } from '../dist/stats/compare.js';
import { decide } from '../dist/stats/gate.js';
import { intervalAt } from '../dist/stats/intervals.js';
import { defaultPolicy, parsePolicy } from '../dist/stats/policy.js';
import { bootstrapInterval, signFlipP } from '../dist/stats/resampling.js';
import {
  PUBLISHED,
  runsOf,
  SIZES,
  simulateDifferences,
  simulatedPoints,
  simulateRows,
  simulateScores,
} from './simulated-runs.mjs';

const DOMAINS = Object.keys(PUBLISHED);
const SMALL = Object.fromEntries(DOMAINS.map((name) => [name, [50, 12]]));
const VERDICTS = ['GO', 'INCONCLUSIVE', 'NO-GO'];
/** The levels of the runs do not matter here. */
const NO_LEVELS = { base: 0, candidate: 0 };
/** True loss of each domain of the candidate, by the name of a line. */
const ALIKE = Object.fromEntries([0, 1, 2, 3, 5, 8].map((drop) => [drop, all(drop)]));
/** Two domains and Overall are exactly at their bounds, so every NO-GO is a false alarm. */
const AT_THE_BOUNDS = { '2 overall, 5 in search and os': { ...all(0.8), search: 5, os: 5 } };
const ONE_DOMAIN = Object.fromEntries(
  ['swe', 'os'].flatMap((name) => [5, 8, 12, 16].map((drop) => [`${drop} in ${name} only`, { [name]: drop }])),
);

const sections = { coverage, scores, gate, bounded, same, repeats, looks, chance, small, uniform, limit };
const named = process.argv.slice(2);
const given = named.indexOf('--sets');
const SETS = given === -1 ? 2_000 : Number(named.splice(given, 2)[1]);
for (const [name, section] of Object.entries(sections)) if (named.length === 0 || named.includes(name)) section();

/** Two-sided 95 % intervals of a mean difference, and p of the permutation test without a difference. */
function coverage() {
  table('intervals of differences', ['trajectories', 'rows in each', 't covers', 'bootstrap covers', 'p < 0.05']);
  for (const [name, sizesOf] of Object.entries(SIZES)) {
    for (const clusters of [8, 12, 20, 50]) {
      const { uniform } = randomOf(clusters);
      const found = { t: 0, bootstrap: 0, alarms: 0 };
      for (let set = 0; set < SETS; set++) {
        const sample = simulateDifferences(uniform, sizesOf(uniform, clusters));
        found.t += holds(clusteredEstimate(sample), 0);
        found.bootstrap += holds(bootstrapInterval([sample], { draws: 1_000, seed: set }), 0);
        found.alarms += signFlipP([sample], { draws: 999, seed: set }) < 0.05 ? 1 : 0;
      }
      row([clusters, name, percent(found.t), percent(found.bootstrap), percent(found.alarms)]);
    }
  }
}

/** The interval of a score on the logit scale, and the symmetric one; 4 to 6 rows per trajectory. */
function scores() {
  table('intervals of scores', ['true score', 'trajectories', 'logit covers', 'symmetric covers', 'no interval']);
  for (const centre of [40, 80, 92, 96]) {
    for (const clusters of [8, 12, 20, 50]) {
      const { uniform } = randomOf(centre + clusters);
      const found = { logit: 0, symmetric: 0, none: 0 };
      for (let set = 0; set < SETS; set++) {
        const sample = simulateScores(uniform, SIZES['4 to 6'](uniform, clusters), centre);
        const estimate = clusteredEstimate(sample, 'score');
        found.none += estimate.low === undefined ? 1 : 0;
        found.logit += holds(estimate, centre);
        found.symmetric += holds(intervalAt(estimate, 0.05, 'difference'), centre);
      }
      row([centre, clusters, percent(found.logit), percent(found.symmetric), percent(found.none)]);
    }
  }
}

function holds(interval, truth) {
  return interval?.low <= truth && truth <= interval.high ? 1 : 0;
}

/** Verdicts of the default policy if every domain loses the same, the bounds are met exactly, or only one domain loses. */
function gate() {
  verdicts('default policy', {}, { ...ALIKE, ...AT_THE_BOUNDS, ...ONE_DOMAIN });
}

function bounded() {
  verdicts('scores centred on 80 and cut off at 100', { bounded: true }, { 0: {} });
}

/** The same weights asked again: only sampling differs. */
function same() {
  verdicts('the same weights asked again', { sameWeights: true }, { 0: {} });
}

function repeats() {
  verdicts('3 repeats in both runs', { repeats: 3 }, { ...ALIKE, ...AT_THE_BOUNDS });
  verdicts('4 repeats of the base, 1 of the candidate', { repeats: { base: 4, candidate: 1 } }, ALIKE);
}

/** A subset such as a CI job might use, with trajectories of very unequal length. */
function small() {
  verdicts('350 rows, 50 in 12 trajectories of each domain', { sizes: SMALL }, { ...ALIKE, ...AT_THE_BOUNDS });
}

/**
 * Uniform domains next to varying ones. In a uniform domain no row of the candidate differs from the base, except in rare trajectories
 * that fail completely (100 points less). Overall truly loses its 2 points: one uniform domain, or all of them, carry a part of it, and
 * the others the rest. Shows the case with the most false GOs. In a sample without a rare trajectory these domains look uniform.
 */
function uniform() {
  table('domains that are uniform except for rare trajectories', [
    'uniform domains, with their trajectories',
    'domains that vary',
    'GO at a true drop of 2, the sample uniform',
    'GO at a true drop of 2, any sample',
    'GO where nothing is lost',
  ]);
  const splits = [
    ...[
      [45, 5],
      [40, 10],
      [30, 20],
      [25, 25],
      [49, 49],
      [50, 50],
    ].map(([mcp, os]) => ({ mcp, os })),
    { os: 40 },
    { web: 118 },
  ];
  for (const rare of splits) rareRow(rare, othersThan(rare));
  rareRow({ mcp: 45, os: 5 }, {});
  for (const count of [8, 27]) rareRow(Object.fromEntries(DOMAINS.map((name) => [name, count])), {});
}

/** The other published domains, with two rows per trajectory: only the number of trajectories affects errors. */
function othersThan(rare) {
  const others = Object.entries(PUBLISHED).filter(([name]) => !(name in rare));
  return Object.fromEntries(others.map(([name, [, trajectories]]) => [name, [2 * trajectories, trajectories]]));
}

function rareRow(rare, sizes) {
  const names = Object.keys(rare);
  const carriers = [names, ...names.slice(names.length > 2 ? -1 : 0).map((name) => [name])];
  const parts = Object.keys(sizes).length === 0 ? [1] : [0.1, 0.25, 0.5, 1];
  const lossless = { carrier: [], part: 0, drop: 0, any: 0, uniform: 0 };
  const truths = carriers.flatMap((carrier) => parts.map((part) => ({ carrier, part, drop: 2, any: 0, uniform: 0 })));
  const { uniform: random } = randomOf(20_261_122);
  for (let set = 0; set < SETS; set++) {
    const varied = Object.keys(sizes).length === 0 ? [] : compareRows(simulateRows({ random, sizes })).domains;
    for (const truth of [...truths, lossless]) count(truth, rare, varied, random);
  }
  const worst = (of) => percent(Math.max(...truths.map(of)));
  row([
    names.length === DOMAINS.length
      ? `all, of ${rare.os} each`
      : names.map((name) => `${name} ${rare[name]}`).join(', '),
    Object.keys(sizes).length,
    worst(({ uniform: found }) => found),
    worst(({ any }) => any),
    percent(lossless.any),
  ]);
}

/** Counts whether such a sample passes, and whether it passes without any rare trajectory. `carrier` loses `part` of Overall's drop. */
function count(truth, rare, varied, random) {
  const { carrier, part, drop } = truth;
  const points = drop * (Object.keys(rare).length + varied.length);
  const chance = (part * points) / 100 / carrier.length;
  const steady = Object.entries(rare).map(([domain, trajectories]) => ({
    domain,
    rows: Array.from({ length: trajectories }, (_, trajectory) => ({
      trajectory,
      base: [100],
      candidate: [carrier.includes(domain) && random() < chance ? 0 : 100],
    })),
  }));
  const less = Object.fromEntries(varied.map(({ domain }) => [domain, ((1 - part) * points) / varied.length]));
  const { domains } = lowered(together([...varied, ...steady.map((each) => compareDomain(each))]), less);
  const comparison = together(domains);
  // The rest of the gate takes the most time and can only reject more.
  const { low = Number.NEGATIVE_INFINITY } = comparison.overall.total.difference;
  if (low < -2 || reportOn(comparison, defaultPolicy(), 1).verdict !== 'GO') return;
  truth.any++;
  truth.uniform += steady.every(({ rows }) => rows.every(({ candidate: [score] }) => score === 100)) ? 1 : 0;
}

/** A drop exactly at the bound of one critical domain, carried by few of its trajectories. */
function limit() {
  for (const name of ['swe', 'os']) {
    const policy = parsePolicy({ max_drop: { [name]: 5 } });
    for (const carriedBy of [1, 0.2, 0.05]) {
      const settings = { drops: { [name]: 5 }, sizes: { [name]: PUBLISHED[name] }, carriedBy };
      verdicts(
        `${name} only, its 5 points carried by ${carriedBy * 100} % of its trajectories`,
        settings,
        { 5: {} },
        policy,
      );
    }
  }
}

/**
 * Looks after one repeat and, if that is inconclusive, after three: planned, and at an unchanged alpha. A second look errs most if all
 * variance is sampling, as with the same weights.
 */
function looks() {
  looksAt('looks after 1 and 3 repeats', {}, { ...ALIKE, ...AT_THE_BOUNDS });
  looksAt(
    'looks after 1 and 3 repeats, the same weights apart from the drop',
    { sameWeights: true },
    { 0: {}, 2: all(2) },
  );
}

function looksAt(title, settings, truths) {
  const policies = { planned: defaultPolicy({ looks: [1, 3] }), 'at 0.05 each': defaultPolicy() };
  const lines = Object.keys(policies).flatMap((policy) => Object.keys(truths).map((truth) => ({ policy, truth })));
  for (const line of lines) Object.assign(line, { counts: noCounts(), asked: 0 });
  const { uniform } = randomOf(20_261_121);
  for (let set = 0; set < SETS; set++) {
    const domains = simulateRows({ ...settings, random: uniform, repeats: 3 });
    const [once, thrice] = [1, 3].map((count) => compareRows(domains, count));
    for (const line of lines) {
      const [policy, drops] = [policies[line.policy], truths[line.truth]];
      const first = reportOn(lowered(once, drops), policy, 1).verdict;
      const isOpen = first === 'INCONCLUSIVE';
      line.counts[isOpen ? reportOn(lowered(thrice, drops), policy, 3).verdict : first]++;
      line.asked += isOpen ? 3 : 1;
    }
  }
  table(title, ['looks', 'true drop', ...VERDICTS, 'repeats on average']);
  for (const { policy, truth, counts, asked } of lines)
    row([policy, truth, ...sharesOf(counts), (asked / SETS).toFixed(1)]);
}

/** The chance reported by an undecided gate after 2 repeats, and how often 4 repeats decide; over true drops of 0 to 3. */
function chance() {
  const policy = parsePolicy({ looks: [2, 4], max_drop: { overall: 2 } });
  const { uniform } = randomOf(20_261_122);
  const bins = Array.from({ length: 4 }, () => ({ open: 0, said: 0, came: 0 }));
  for (let set = 0; set < SETS; set++) {
    const domains = simulateRows({ random: uniform, repeats: 4 });
    const [twice, fourTimes] = [2, 4].map((count) => compareRows(domains, count));
    for (const drop of [0, 0.5, 1, 1.5, 2, 2.5, 3]) {
      const report = reportOn(lowered(twice, all(drop)), policy, 2);
      if (report.verdict !== 'INCONCLUSIVE') continue;
      const bin = bins[Math.min(3, Math.floor(report.repeats.chance * 4))];
      bin.open++;
      bin.said += report.repeats.chance;
      bin.came += reportOn(lowered(fourTimes, all(drop)), policy, 4).verdict === 'INCONCLUSIVE' ? 0 : 1;
    }
  }
  table('predictive power of 4 repeats after 2', [
    'chance reported',
    'undecided gates',
    'chance on average',
    'decided',
  ]);
  for (const [index, { open, said, came }] of bins.entries()) {
    row([`${index * 25} to ${index * 25 + 25} %`, open, share(said, open), share(came, open)]);
  }
}

function verdicts(title, settings, truths, policy = defaultPolicy()) {
  const { uniform } = randomOf(20_261_120);
  const lines = Object.entries(truths).map(([name, drops]) => ({ name, drops, counts: noCounts() }));
  holdAgainstCompareRuns(simulateRows({ ...settings, random: uniform }));
  for (let set = 0; set < SETS; set++) {
    const comparison = compareRows(simulateRows({ ...settings, random: uniform }));
    for (const { drops, counts } of lines) counts[reportOn(lowered(comparison, drops), policy, 1).verdict]++;
  }
  table(title, ['true drop', ...VERDICTS]);
  for (const { name, counts } of lines) row([name, ...sharesOf(counts)]);
}

/**
 * Computes what `compareRuns` computes for the totals of simulated rows, from the first `repeats` of each, without the objects in
 * between. `verdicts` checks it against `compareRuns` once.
 */
function compareRows(domains, repeats = Number.POSITIVE_INFINITY) {
  return together(domains.map((each) => compareDomain(each, repeats)));
}

function compareDomain({ domain, rows }, repeats) {
  const [base, candidate] = ['base', 'candidate'].map((side) => rows.map((row) => row[side].slice(0, repeats)));
  const observations = rows.map(({ trajectory }, index) => ({
    value: meanOf(candidate[index]) - meanOf(base[index]),
    cluster: trajectory,
  }));
  const difference = clusteredEstimate(observations);
  // Every generation was judged once.
  const sampling = samplingOf([base, candidate].map((side) => side.map((row) => row.map((value) => [value]))));
  const split = difference.se === undefined ? {} : { split: splitVariance(difference.se ** 2, sampling) };
  const moved = observations.filter(({ value }) => value !== 0).length;
  const total = { difference, ...NO_LEVELS, wins: moved, losses: moved, ...split };
  const whole = { rows: rows.length, compared: rows.length, coverage: 1, missing: { base: 0, candidate: 0 } };
  return { domain, ...whole, figures: { total } };
}

/** The comparison over these domains. */
function together(found) {
  const totals = found.map(({ figures }) => figures.total);
  const difference = meanOfEstimates(totals.map((total) => total.difference));
  const splits = totals.flatMap((total) => total.split ?? []);
  const moved = totals.reduce((sum, { wins }) => sum + wins, 0);
  const overall = {
    difference,
    ...NO_LEVELS,
    wins: moved,
    losses: moved,
    ...(splits.length < totals.length ? {} : { split: meanOfSplits(splits) }),
  };
  return { status: 'ok', domains: found, overall: { total: overall }, macroOf: found.length, coverage: 1, moved: [] };
}

function meanOf(points) {
  return points.reduce((sum, one) => sum + one, 0) / points.length;
}

/** @throws Error if `compareRows` and the program's `compareRuns` differ. */
function holdAgainstCompareRuns(domains) {
  const { base, candidate } = runsOf(domains);
  const known = compareRuns(base, candidate, { draws: 0, moved: 0, pointsOf: simulatedPoints });
  const figures = ({ overall, domains: each }) =>
    [overall, ...each.map((one) => one.figures)].flatMap(({ total: { difference, split } }) =>
      Object.entries({ ...difference, ...split }).sort(([one], [other]) => (one < other ? -1 : 1)),
    );
  const [short, whole] = [compareRows(domains), known].map(figures);
  const isEqual = whole.every(([name, value], index) => {
    const [sameName, sameValue] = short[index] ?? [];
    return sameName === name && Math.abs(sameValue - value) <= 1e-9 * Math.max(1, Math.abs(value));
  });
  if (!isEqual || short.length !== whole.length) throw new Error('compareRows differs from compareRuns');
}

function reportOn(comparison, policy, count) {
  return decide({ comparison, repeats: { base: count, candidate: count } }, policy);
}

/** The comparison as if every row of the candidate had lost these points, by domain; the spread does not change. */
function lowered(comparison, drops) {
  const less = (set, points) => ({
    total: { ...set.total, difference: { ...set.total.difference, value: set.total.difference.value - points } },
  });
  const lost = comparison.domains.map(({ domain }) => drops[domain] ?? 0);
  return {
    ...comparison,
    domains: comparison.domains.map((each, index) => ({ ...each, figures: less(each.figures, lost[index]) })),
    overall: less(comparison.overall, lost.reduce((sum, points) => sum + points, 0) / lost.length),
  };
}

function all(drop) {
  return Object.fromEntries(DOMAINS.map((name) => [name, drop]));
}

function noCounts() {
  return Object.fromEntries(VERDICTS.map((verdict) => [verdict, 0]));
}

function sharesOf(counts) {
  return VERDICTS.map((verdict) => percent(counts[verdict]));
}

function percent(count) {
  return share(count, SETS);
}

function share(count, of) {
  return of === 0 ? '-' : `${((count / of) * 100).toFixed(1)} %`;
}

function table(title, columns) {
  console.log(`\n${title} (${SETS} data sets)\n`);
  row(columns);
  row(columns.map(() => '--:'));
}

function row(cells) {
  console.log(`| ${cells.join(' | ')} |`);
}
