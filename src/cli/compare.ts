// awb compare: how two runs differ on the rows of both, and how certain that is.

import { PROVENANCE } from '../core/decision.js';
import { EXIT, heedStop } from '../core/errors.js';
import { keysOf } from '../core/groups.js';
import { isModelCaused } from '../core/points.js';
import { oneLine } from '../core/printable.js';
import { rowIdOf } from '../core/row-id.js';
import { lookOf } from '../core/terminal.js';
import { COMPARISON_FORMATS } from '../report/comparison.js';
import {
  notesOn,
  nothingToCompare,
  requireShared,
  sameBytesNote,
  sharedBy,
  shownRun,
} from '../results/comparability.js';
import { ONE_OF_TWO, provenanceIn, RUN_OPTIONS } from '../results/databases.js';
import { readPair } from '../results/find.js';
import { deliver, formatOf } from '../results/output.js';
import { type Pair, type ReadRun, warningsOn } from '../results/read-run.js';
import { defineCommand, EXPLAIN, option, under } from '../settings/command.js';
import { compareRuns, type MovedRow } from '../stats/compare.js';

export const command = defineCommand({
  description:
    'Compares two judged runs on their common rows, paired row by row: differences with intervals by domain and dimension, and the rows that moved most.',
  examples: {
    'awb compare step-100 step-200': 'two checkpoints that awb score stored',
    'awb compare base/judged.jsonl new/judged.jsonl -o comparison.md': 'two judged files, as Markdown',
  },
  options: {
    base: {
      ...ONE_OF_TWO,
      required: true,
      help: 'the run to compare with: a label or number in --db, or a judged file or its folder',
    },
    candidate: { ...ONE_OF_TWO, required: true, help: 'the run to compare, named in the same way' },
    ...RUN_OPTIONS,
    ...under('Output', {
      moved: option.integer('how many of the rows that moved most to show', { min: 0, default: 10 }),
      dimensions: option.flag("also show each domain's five dimensions"),
      seed: option.integer('seed of the permutation test and the bootstrap', { min: 0, default: 1 }),
      format: option.choice(keysOf(COMPARISON_FORMATS), "form of the output (default: by the file's extension)"),
      output: option.text('FILE', 'file to write instead of stdout', { short: 'o' }),
    }),
    ...EXPLAIN,
  },
  operands: ['base', 'candidate'],
  async run(settings, io) {
    const format = formatOf(settings, COMPARISON_FORMATS);
    const pair = await readPair(settings.base, settings.candidate, settings, io);
    const { base, candidate } = pair;
    const shared = sharedBy(pair);
    const allowed = provenanceIn(settings.allowDifferent);
    requireShared(shared, allowed);
    const comparison = compareRuns(base, candidate, { moved: settings.moved, seed: settings.seed });
    await heedStop(io);
    if (comparison.status !== 'ok') throw nothingToCompare(pair, comparison.reason);
    const view = {
      base: shownRun(base),
      candidate: shownRun(candidate),
      comparison,
      weaknesses: reasonsFor(pair, comparison.moved),
      shared: Object.fromEntries(PROVENANCE.map((name) => [name, shared[name].state])),
      notes: [...[base, candidate].flatMap(warningsOn), ...sameBytesNote(pair), ...notesOn(shared, allowed)],
      dimensions: settings.dimensions,
    };
    const isScreen = format === 'terminal' && settings.output === undefined;
    const look = lookOf({ ...settings, color: settings.color && isScreen }, io);
    await deliver(COMPARISON_FORMATS[format].print(view, look), settings, io);
    return EXIT.done;
  },
});

/** Why rows moved, by key, in their judges' words: what is wrong now with rows that fell, and was wrong before with rows that rose. */
function reasonsFor({ base, candidate }: Pair, moved: readonly MovedRow[]): ReadonlyMap<string, string> {
  return new Map(
    moved.flatMap(({ key, difference }) => {
      const why = difference < 0 ? weaknessOf(candidate, key) : weaknessOf(base, key);
      return why === undefined ? [] : [[key, `${difference < 0 ? 'now' : 'before'}: ${why}`] as const];
    }),
  );
}

/** The first weakness of a row's worst repeat, or why that failed; undefined if neither is known. */
function weaknessOf({ rows, excerpts }: ReadRun, key: string): string | undefined {
  // Failures that do not count as the model's own give no reason.
  const own = rows.filter((row) => row.key === key && (row.failure === undefined || isModelCaused(row.failure.class)));
  const [worst] = own.sort((a, b) => a.total - b.total);
  if (worst?.failure !== undefined) return oneLine(`${worst.failure.class}: ${worst.failure.reason}`, 400);
  return worst && excerpts?.get(rowIdOf(worst))?.note;
}
