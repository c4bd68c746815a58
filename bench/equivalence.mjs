// How often the 95 % interval of decision equivalence contains the truth, and how often an agent that ignores observations gets one.
//
//   node bench/equivalence.mjs [data sets] [seed]
//
// A simulated agent takes a row's own action with its trajectory's probability; otherwise its action is new each time. After a
// prediction it acts as after the truth in a known share of the rows, and as after another row's observation in the rest.

import { randomOf } from '../dist/core/random.js';
import { equivalenceCard } from '../dist/stats/equivalence.js';

const [dataSets = 1000, seed = 1] = process.argv.slice(2).map(Number);
const DRAWS = 1000;

/** Rows of trajectories of 1 to 5 turns. A `share` of the predictions lead to the same action as the truth. */
function rowsOf(random, { clusters, share, heed }) {
  const { uniform } = random;
  const rows = [];
  for (let cluster = 0; cluster < clusters; cluster++) {
    // Each trajectory has its own certainty, habit and share, so its rows are similar.
    const certain = 0.6 + 0.38 * uniform();
    const habit = heed ? 0.3 * uniform() : certain;
    const own = Math.min(1, Math.max(0, share + 0.4 * (uniform() - 0.5)));
    const turns = 1 + Math.floor(uniform() * 5);
    for (let turn = 0; turn < turns; turn++) {
      const act = (chance) => (uniform() < chance ? 0 : 1 + uniform());
      const [one, two] = [act(certain), act(certain)];
      const predicted = act(uniform() < own ? certain : habit);
      const other = act(habit);
      const agree = (action) => 50 * ((action === one) + (action === two));
      rows.push({
        key: `${cluster}/${turn}`,
        trajectory: `${cluster}`,
        domain: 'web',
        repeat: 0,
        index: 0,
        turnIdx: turn + 1,
        total: 0,
        ratings: {},
        flags: [],
        measures: { agreement: agree(predicted), agent_ceiling: one === two ? 100 : 0, agent_floor: agree(other) },
      });
    }
  }
  return rows;
}

/** The true mean equivalence. It is a mean over rows, which gives certain trajectories more weight, so it is measured on very many. */
function truthOf(options) {
  const random = randomOf(seed + 77);
  const rows = rowsOf(random, { ...options, clusters: 400_000 });
  const mean = (name) => rows.reduce((sum, row) => sum + row.measures[name], 0) / rows.length;
  return (100 * (mean('agreement') - mean('agent_floor'))) / (mean('agent_ceiling') - mean('agent_floor'));
}

console.log('truth  trajectories  given    coverage below    above    mean width');
for (const share of [0.4, 0.7]) {
  const truth = truthOf({ share, heed: true });
  for (const clusters of [8, 12, 20, 50, 100]) {
    const random = randomOf(seed + clusters);
    let [given, held, below, above, width] = [0, 0, 0, 0, 0];
    for (let set = 0; set < dataSets; set++) {
      const card = equivalenceCard(rowsOf(random, { clusters, share, heed: true }), { draws: DRAWS, seed: set });
      const { found } = card.domains[0];
      if (typeof found === 'string' || found.interval === undefined) continue;
      given++;
      const { low, high } = found.interval;
      if (truth < low) above++;
      else if (truth > high) below++;
      else held++;
      width += high - low;
    }
    const percent = (count, of) => `${((100 * count) / of).toFixed(1)} %`;
    console.log(
      `${truth.toFixed(1).padEnd(6)} ${String(clusters).padEnd(13)} ${percent(given, dataSets).padEnd(8)} ${percent(held, given).padEnd(8)} ${percent(below, given).padEnd(8)} ${percent(above, given).padEnd(8)} ${(width / given).toFixed(1)}`,
    );
  }
}

console.log('\nan agent that ignores observations: how often it still gets an equivalence');
for (const clusters of [8, 12, 20, 50, 100]) {
  const random = randomOf(seed + clusters);
  let given = 0;
  for (let set = 0; set < dataSets; set++) {
    const card = equivalenceCard(rowsOf(random, { clusters, share: 0.7, heed: false }), { draws: DRAWS, seed: set });
    if (typeof card.domains[0].found !== 'string') given++;
  }
  console.log(`${String(clusters).padEnd(4)} ${((100 * given) / dataSets).toFixed(1)} %`);
}
