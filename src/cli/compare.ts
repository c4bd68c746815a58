// awb compare: how a run differs from another on the rows of both, how sure that is, and which rows moved most.

import { PROVENANCE } from '../core/decision.js';
import { EXIT, type ExitCode, heedStop } from '../core/errors.js';
import { keysOf } from '../core/keys.js';
import type { Io } from '../core/types.js';
import { COMPARISON_FORMATS } from '../report/comparison.js';
import {
  notesOn,
  nothingToCompare,
  requireShared,
  sameBytesNote,
  sharedBy,
  shownRun,
} from '../results/comparability.js';
import { provenanceIn, RUN_OPTIONS } from '../results/databases.js';
import { readPair } from '../results/find.js';
import { deliver, formatOf } from '../results/output.js';
import { warningsOn } from '../results/read-run.js';
import { reasonsFor } from '../results/weaknesses.js';
import { defineCommand } from '../settings/command.js';
import { EXPLAIN, type OptionTable, type Settings } from '../settings/options.js';
import { compareRuns } from '../stats/compare.js';

const OPTIONS = {
  base: {
    kind: 'text',
    namesRun: true,
    value: 'RUN',
    required: true,
    group: 'Runs',
    help: 'the run to compare with: a label or number in --db, or a judged file or its folder',
  },
  candidate: {
    kind: 'text',
    namesRun: true,
    value: 'RUN',
    required: true,
    group: 'Runs',
    help: 'the run to compare, named in the same way',
  },
  ...RUN_OPTIONS,
  moved: { kind: 'integer', min: 0, default: 10, group: 'Output', help: 'rows that moved most to show' },
  dimensions: { kind: 'boolean', group: 'Output', help: "show each domain's five dimensions too" },
  seed: {
    kind: 'integer',
    min: 0,
    default: 1,
    group: 'Output',
    help: 'seed of the permutation test and the bootstrap',
  },
  format: {
    kind: 'choice',
    choices: keysOf(COMPARISON_FORMATS),
    group: 'Output',
    help: "form of the output; without it the file's ending decides, else terminal",
  },
  output: { kind: 'text', value: 'FILE', short: 'o', group: 'Output', help: 'write it to a file instead of stdout' },
  ...EXPLAIN,
} as const satisfies OptionTable;

type CompareSettings = Settings<typeof OPTIONS>;

export const command = defineCommand({
  description:
    'Compares two judged runs on the rows of both, paired row by row: differences with intervals by domain and dimension, and the rows that moved most.',
  examples: [
    { line: 'awb compare step-100 step-200', does: 'two checkpoints that awb score stored' },
    { line: 'awb compare base/judged.jsonl new/judged.jsonl -o comparison.md', does: 'two judged files, as Markdown' },
  ],
  options: OPTIONS,
  operands: ['base', 'candidate'],
  run: compare,
});

async function compare(settings: CompareSettings, io: Io): Promise<ExitCode> {
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
    shared: Object.fromEntries(PROVENANCE.map((name) => [name, shared[name].state])),
    weaknesses,
    notes: [
      ...warningsOn(base),
      ...warningsOn(candidate),
      ...sameBytesNote(pair),
      ...notesOn(shared, allowed),
      ...notes,
    ],
    dimensions: settings.dimensions,
  };
  const isText = format === 'terminal';
  const color = isText && settings.color && io.stdout.isTTY && settings.output === undefined;
  await deliver(
    COMPARISON_FORMATS[format].print(view, { columns: io.stdout.columns, color, explain: settings.explain }),
    settings,
    io,
  );
  return EXIT.done;
}
