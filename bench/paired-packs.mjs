// Two calibrations of one judge under two rubric packs, paired: how far what each damage costs differs, on rows that both judged.
// node bench/paired-packs.mjs A/calibration.jsonl B/calibration.jsonl (`npm run build` first). What it showed stands in docs/judge.md.

import { readCalibrated } from '../dist/bench/calibrated.js';
import { variantFacts } from '../dist/calibrate/variants.js';
import { countedPoints } from '../dist/points.js';
import { pairedShift } from '../dist/score/clusters.js';

const [before, after] = await Promise.all(process.argv.slice(2).map(pointsIn));
if (after === undefined) throw new Error('name two files: A/calibration.jsonl B/calibration.jsonl');
const families = new Map(variantFacts().map(({ name, family }) => [name, family]));

/** The mean points of each row's variants, and the row's trajectory. */
async function pointsIn(path) {
  const rows = new Map();
  for (const row of await readCalibrated(path)) {
    const points = countedPoints(row, 'total');
    if (points === undefined) continue;
    const known = rows.get(row.key) ?? { cluster: row.trajectory, variants: new Map() };
    rows.set(row.key, known);
    known.variants.set(row.variant, [...(known.variants.get(row.variant) ?? []), points]);
  }
  return rows;
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** What a row's own truth and rewrites get. */
function topOf({ variants }) {
  const own = [...variants].filter(([name]) => ['truth', 'rewrite'].includes(families.get(name)));
  return own.length === 0 ? undefined : mean(own.map(([, values]) => mean(values)));
}

/** A figure of each row that both have, by pack. */
function pairsOf(figure) {
  return [...before].flatMap(([key, row]) => {
    const other = after.get(key);
    const [a, b] = [figure(row), other && figure(other)];
    return a === undefined || b === undefined ? [] : [{ a, b, cluster: row.cluster }];
  });
}

function lossOf(name) {
  return (row) => {
    const [top, values] = [topOf(row), row.variants.get(name)];
    return top === undefined || values === undefined ? undefined : top - mean(values);
  };
}

const names = [...new Set([...before.values()].flatMap(({ variants }) => [...variants.keys()]))];
const damages = names.filter(
  (name) => !['truth', 'rewrite', 'canary'].includes(families.get(name)) && name !== 'empty',
);
const figures = [['truth and rewrites', topOf], ...damages.map((name) => [`lost by ${name}`, lossOf(name)])];
console.log('| figure | rows | A | B | B less A | 95 % |\n|---|--:|--:|--:|--:|--:|');
for (const [name, figure] of figures) {
  const pairs = pairsOf(figure);
  if (pairs.length === 0) continue;
  const { value, low, high } = pairedShift(pairs);
  const [a, b] = [mean(pairs.map((pair) => pair.a)), mean(pairs.map((pair) => pair.b))];
  const range = low === undefined ? '-' : `${low.toFixed(1)} to ${high.toFixed(1)}`;
  console.log(`| ${name} | ${pairs.length} | ${a.toFixed(1)} | ${b.toFixed(1)} | ${value.toFixed(1)} | ${range} |`);
}
