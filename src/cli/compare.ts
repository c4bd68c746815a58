// awb compare: how a run differs from another on the rows of both, and how sure that is.

import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readJudged } from '../benchmark/judged.js';
import type { MovedRow } from '../core/comparison.js';
import { PROVENANCE } from '../core/decision.js';
import { EXIT, heedStop } from '../core/errors.js';
import { keysOf } from '../core/groups.js';
import type { JsonObject } from '../core/json.js';
import { isModelCaused } from '../core/points.js';
import { oneLine } from '../core/printable.js';
import { rowId } from '../core/row-id.js';
import { lookOf } from '../core/terminal.js';
import type { Io, JudgedRow } from '../core/types.js';
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
import { compareRuns } from '../stats/compare.js';

export const command = defineCommand({
  description:
    'Compares two judged runs on the rows of both, paired row by row: differences with intervals by domain and dimension, and the rows that moved most.',
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
      moved: option.integer('rows that moved most to show', { min: 0, default: 10 }),
      dimensions: option.flag("show each domain's five dimensions too"),
      seed: option.integer('seed of the permutation test and the bootstrap', { min: 0, default: 1 }),
      format: option.choice(keysOf(COMPARISON_FORMATS), "form of the output; without it the file's ending decides"),
      output: option.text('FILE', 'write it to a file instead of stdout', { short: 'o' }),
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
    const { weaknesses, notes } = await reasonsFor(pair, comparison.moved, io);
    const view = {
      base: shownRun(base),
      candidate: shownRun(candidate),
      comparison,
      weaknesses,
      shared: Object.fromEntries(PROVENANCE.map((name) => [name, shared[name].state])),
      notes: [...[base, candidate].flatMap(warningsOn), ...sameBytesNote(pair), ...notesOn(shared, allowed), ...notes],
      dimensions: settings.dimensions,
    };
    const isScreen = format === 'terminal' && settings.output === undefined;
    const look = lookOf({ ...settings, color: settings.color && isScreen }, io);
    await deliver(COMPARISON_FORMATS[format].print(view, look), settings, io);
    return EXIT.done;
  },
});

/** Why rows moved, by key, as their judges said: what is wrong now with rows that fell, what was wrong before with rows that rose. */
async function reasonsFor({ base, candidate }: Pair, moved: readonly MovedRow[], io: Io) {
  const rows = (fell: boolean) => moved.filter(({ difference }) => difference < 0 === fell).map(({ key }) => key);
  const before = await weaknessesOf(base, rows(false), io);
  const now = await weaknessesOf(candidate, rows(true), io);
  const reasons = [before.why, now.why].filter((why) => why !== undefined);
  return {
    weaknesses: new Map([
      ...[...before.byKey].map(([key, said]) => [key, `before: ${said}`] as const),
      ...[...now.byKey].map(([key, said]) => [key, `now: ${said}`] as const),
    ]),
    notes: reasons.map((why) => `Without what the judge said of the rows that moved: ${why}.`),
  };
}

/**
 * What was wrong with rows, as their judge said: the first weakness of the worst repeat of each, or why it failed, by key.
 * Empty, with the reason, where the judged file is gone or was changed since.
 */
async function weaknessesOf(
  run: ReadRun,
  keys: readonly string[],
  io: Io,
): Promise<{ readonly byKey: ReadonlyMap<string, string>; readonly why?: string }> {
  const byKey = new Map<string, string>();
  if (keys.length === 0) return { byKey };
  const name = join(basename(dirname(run.source)), basename(run.source));
  if (!existsSync(run.source)) return { byKey, why: `${name} is not there any more` };
  const said = new Map<string, string>();
  const file = await readJudged(run.source, io.stop, ({ key, repeat, index }, fields) => {
    const weakness = keys.includes(key) ? weaknessIn(fields) : undefined;
    if (weakness !== undefined) said.set(rowId(key, repeat, index), weakness);
  });
  if (file.sha256 !== run.sha256) return { byKey, why: `${name} has changed since it was scored` };
  const worst = new Map<string, JudgedRow>();
  for (const row of file.rows) {
    const before = worst.get(row.key);
    // A row that counts for nothing needs no reason.
    if (row.failure !== undefined && !isModelCaused(row.failure.class)) continue;
    if (keys.includes(row.key) && (before === undefined || row.total < before.total)) worst.set(row.key, row);
  }
  for (const { key, repeat, index, failure } of worst.values()) {
    const why = failure ? `${failure.class}: ${failure.reason}` : said.get(rowId(key, repeat, index));
    if (why !== undefined) byKey.set(key, oneLine(why, 400));
  }
  return { byKey };
}

/** The official script writes whatever the judge gave: a list, a text, or something else. */
function weaknessIn({ weaknesses }: JsonObject): string | undefined {
  return [weaknesses].flat().find((one): one is string => typeof one === 'string' && one.trim() !== '');
}
