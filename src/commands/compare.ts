// awb compare: how a run differs from another on the rows of both, how sure that is, and which rows moved most.

import { extname } from 'node:path';
import { IDENTITIES, type Identity } from '../decision.js';
import { EXIT, type ExitCode, UserError } from '../errors.js';
import { keysOf } from '../keys.js';
import { printable } from '../printable.js';
import { COMPARISON_FORMATS, type ComparisonFormat } from '../report/comparison/formats.js';
import {
  coverageWarning,
  heedStop,
  notesOn,
  nothingToCompare,
  type ReadRun,
  RUN_OPTIONS,
  ratingWarning,
  readRuns,
  type Shared,
  sameBytesNote,
  sharedBy,
  shownRun,
  weaknessesOf,
  writeText,
} from '../runs/runs.js';
import { compareRuns } from '../score/compare.js';
import { defineCommand } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import type { Io } from '../types.js';

const OPTIONS = {
  base: {
    kind: 'text',
    value: 'RUN',
    required: true,
    group: 'Runs',
    help: 'the run to compare with: a label or number in --db, or a judged file or its folder',
  },
  candidate: { kind: 'text', value: 'RUN', required: true, group: 'Runs', help: 'the run to compare, named alike' },
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
    help: "form of the output (default: by the file's ending, else terminal)",
  },
  output: { kind: 'text', value: 'FILE', short: 'o', group: 'Output', help: 'write it to a file instead of stdout' },
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

const ENDINGS: Readonly<Record<string, ComparisonFormat>> = { '.md': 'md', '.csv': 'csv', '.json': 'json' };

async function compare(settings: CompareSettings, io: Io): Promise<ExitCode> {
  const format = formatOf(settings);
  const [base, candidate] = (await readRuns([settings.base, settings.candidate], settings, io)) as [ReadRun, ReadRun];
  const shared = sharedBy(base, candidate);
  const allowed = settings.allowDifferent as readonly Identity[];
  requireShared(shared, allowed);
  const comparison = compareRuns(base, candidate, { moved: settings.moved, seed: settings.seed });
  await heedStop(io);
  if (comparison.status !== 'ok') throw nothingToCompare(base, candidate, comparison.reason);
  const { weaknesses, notes } = await reasonsFor(base, candidate, comparison.moved, io);
  const page = {
    base: shownRun(base),
    candidate: shownRun(candidate),
    comparison,
    shared: Object.fromEntries(IDENTITIES.map((name) => [name, shared[name].state])),
    weaknesses,
    notes: [
      ...[base, candidate].flatMap((run) => [...coverageWarning(run), ...ratingWarning(run)]),
      ...sameBytesNote(base, candidate),
      ...notesOn(shared, allowed),
      ...notes,
    ],
    dimensions: settings.dimensions,
  };
  const isText = format === 'terminal';
  const color = isText && settings.color && io.stdout.isTTY && settings.output === undefined;
  const text = COMPARISON_FORMATS[format](page, { columns: io.stdout.columns, color });
  await deliver(text, settings, io);
  return EXIT.done;
}

function formatOf({ format, json, output }: CompareSettings): ComparisonFormat {
  if (json && format !== undefined && format !== 'json') {
    throw new UserError(`--json and --format ${format} exclude each other; leave one out`);
  }
  if (json) return 'json';
  return format ?? ENDINGS[extname(output ?? '').toLowerCase()] ?? 'terminal';
}

/** @throws UserError (78) where the runs differ in what is not allowed to differ. */
function requireShared(shared: Readonly<Record<Identity, Shared>>, allowed: readonly Identity[]): void {
  const refused = IDENTITIES.filter((name) => shared[name].state === 'different' && !allowed.includes(name));
  if (refused.length === 0) return;
  throw new UserError(
    [
      'these runs cannot be compared as they are:',
      ...refused.map((name) => {
        const { base, candidate } = shared[name];
        return `  ${name}: base has ${base}, candidate has ${candidate}`;
      }),
      `Judge them alike; or compare them all the same with --allow-different ${refused.join(',')}, which the output will say.`,
    ].join('\n'),
    EXIT.identityDiffers,
  );
}

/** Of what fell, what is wrong with it now; of what rose, what was wrong before. */
async function reasonsFor(
  base: ReadRun,
  candidate: ReadRun,
  moved: readonly { readonly key: string; readonly difference: number }[],
  io: Io,
): Promise<{ weaknesses: ReadonlyMap<string, string>; notes: string[] }> {
  const keys = (fell: boolean) => moved.filter(({ difference }) => difference < 0 === fell).map(({ key }) => key);
  const before = await weaknessesOf(base, keys(false), io);
  const now = await weaknessesOf(candidate, keys(true), io);
  const reasons = [before.why, now.why].filter((why) => why !== undefined);
  return {
    weaknesses: new Map([
      ...[...before.byKey].map(([key, said]) => [key, `before: ${said}`] as const),
      ...[...now.byKey].map(([key, said]) => [key, `now: ${said}`] as const),
    ]),
    notes: reasons.map((why) => `Without what the judge said of the rows that moved: ${why}.`),
  };
}

async function deliver(text: string, { output, quiet }: CompareSettings, io: Io): Promise<void> {
  if (output === undefined) {
    io.stdout.write(text);
    return;
  }
  await writeText(output, text, '--output', io);
  if (!quiet) io.stderr.write(`written: ${printable(output)}\n`);
}
