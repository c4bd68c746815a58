// `awb quickstart`: the whole job over recorded rows, with baselines and a tiny random model; no key, no network, no GPU.

import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BASELINES } from '../baselines.js';
import { openDataset } from '../bench/dataset.js';
import type { RowRef } from '../bench/row-index.js';
import { domainName } from '../domains.js';
import { EXIT, type ExitCode } from '../errors.js';
import { twoDecimals } from '../figures.js';
import { type Column, dimensionName, NONE, type Table } from '../report/table.js';
import { terminal } from '../report/terminal.js';
import { hasRuntime } from '../serve/runtime.js';
import { defineCommand, type RunAwb, type ShownSettings } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { programName } from '../settings/program-name.js';
import { shownPath } from '../settings/shown-path.js';
import { shellLine } from '../shell.js';
import { keptModel, RANDOM_MODELS } from '../tiny-model/model.js';
import { DIMENSIONS, DOMAINS, type Io, type TextSink } from '../types.js';

const OPTIONS = {
  'output-dir': { kind: 'text', value: 'DIR', default: './quickstart', help: 'folder for what it makes' },
} as const satisfies OptionTable;

const RECORDED = fileURLToPath(new URL('../../fixtures/recorded', import.meta.url));
const MEASURE = 'chrf';
const TINY = 'tiny random';
/** What the tiny model says of its own predictions. */
const RATED = 'rated';

/** What `awb score --json` says of a run, as far as it is shown here. */
interface ScoreDocument {
  readonly domains: Readonly<
    Record<string, { readonly measures: Readonly<Record<string, { readonly value: number }>> }>
  >;
  readonly overall: Readonly<Record<string, unknown>>;
  readonly overall_measures: Readonly<Record<string, { readonly value: number }>>;
}

/** A command line of awb; what `score` prints is kept under a name. */
interface Step {
  readonly args: readonly string[];
  readonly keepAs?: string;
}

export const command = defineCommand({
  description:
    'Runs infer, judge and score over the recorded rows that come with the tool: baselines measured by text metrics, then a tiny random model that is served here, and judged by itself. No key, no network, no GPU.',
  examples: [{ line: 'awb quickstart', does: 'writes ./quickstart' }],
  options: OPTIONS,
  run: quickstart,
});

async function quickstart(
  settings: Settings<typeof OPTIONS>,
  io: Io,
  _shown: ShownSettings,
  awb: RunAwb,
): Promise<ExitCode> {
  const dir = settings.outputDir;
  const db = join(dir, 'awb.sqlite');
  const steps = Object.keys(BASELINES).flatMap((baseline) => baselineSteps(baseline, join(dir, baseline), db));
  if (hasRuntime()) {
    const model = await keptModel(RANDOM_MODELS.tiny, resolve(io.cwd, dir, 'models'));
    steps.push(...tinySteps(model, await shortestRows(), join(dir, 'tiny-random'), db));
  }
  const flags = [...(settings.color ? [] : ['--no-color']), ...(settings.quiet ? ['--quiet'] : [])];
  const kept = new Map<string, ScoreDocument>();
  const program = programName(io);
  for (const { args, keepAs } of steps) {
    if (!settings.quiet) io.stderr.write(`$ ${program} ${shellLine(args.map((word) => shown(word, io)))}\n`);
    const printed: string[] = [];
    const stdout: TextSink = { isTTY: false, columns: io.stdout.columns, write: (text) => void printed.push(text) };
    const code = await awb([...args, ...flags], { ...io, stdout });
    if (code !== EXIT.done) return code;
    // `score` has printed one document, by the schema that it keeps.
    if (keepAs !== undefined) kept.set(keepAs, JSON.parse(printed.join('')) as ScoreDocument);
  }
  report(settings, io, db, kept);
  return EXIT.done;
}

function baselineSteps(baseline: string, folder: string, db: string): Step[] {
  const predictions = ['--predictions', join(folder, 'predictions.jsonl')];
  const output = ['--output-dir', folder];
  return [
    { args: ['infer', '--data-dir', RECORDED, '--baseline', baseline, ...output, '--label', baseline] },
    { args: ['judge', ...predictions, '--mode', 'metrics', ...output] },
    scored(join(folder, 'judged.jsonl'), db, baseline),
  ];
}

function scored(judged: string, db: string, keepAs: string): Step {
  return { args: ['score', '--predictions', judged, '--db', db, '--json'], keepAs };
}

/** The model is served for each of the two steps that ask it; it never ends its thinking, so it is asked not to think. */
function tinySteps(model: string, rows: readonly RowRef[], folder: string, db: string): Step[] {
  const predictions = ['--predictions', join(folder, 'predictions.jsonl')];
  const local = ['--local', model, '--seed', '1', '--extra-body', '{"chat_template_kwargs":{"enable_thinking":false}}'];
  const data = ['--data-dir', RECORDED, '--ids', rows.map((row) => row.key).join(',')];
  const output = ['--output-dir', folder];
  return [
    { args: ['infer', ...data, ...local, '--max-tokens', '128', ...output, '--label', TINY] },
    // A random model fills every checklist to its end, which takes minutes: the first edition asks for none.
    { args: ['judge', ...predictions, ...local, '--rubrics', 'awb-1', '--max-tokens', '2048', ...output] },
    scored(join(folder, 'judged.jsonl'), db, RATED),
    { args: ['judge', ...predictions, '--mode', 'metrics', '--label', 'metrics', ...output] },
    scored(join(folder, 'judged.metrics.jsonl'), db, TINY),
  ];
}

/** One row of each domain. */
async function shortestRows(): Promise<RowRef[]> {
  const dataset = await openDataset(RECORDED);
  await dataset.close();
  const rows = [...dataset.rows];
  return DOMAINS.map((domain) =>
    rows
      .filter((row) => row.domain === domain)
      .reduce((shortest, row) => (row.length < shortest.length ? row : shortest)),
  );
}

function report(
  settings: Settings<typeof OPTIONS>,
  io: Io,
  db: string,
  kept: ReadonlyMap<string, ScoreDocument>,
): void {
  if (settings.json) {
    const document = { schema: 'awb.quickstart/1', db: resolve(io.cwd, db), runs: Object.fromEntries(kept) };
    io.stdout.write(`${JSON.stringify(document)}\n`);
    return;
  }
  const look = { columns: io.stdout.columns, color: settings.color && io.stdout.isTTY };
  const rated = kept.get(RATED);
  io.stdout.write(`\n${terminal(measureTable(kept), look)}\n`);
  if (rated !== undefined) io.stdout.write(`${terminal(ratingTable(rated), look)}\n`);
  else io.stdout.write('Left out: a tiny model served here; node-llama-cpp is not installed.\n');
  io.stdout.write(`SQLite file: ${shown(resolve(io.cwd, db), io)}\n`);
  const awb = programName(io);
  io.stdout.write(
    `Next, the benchmark (402 MB) and your own model:\n  ${awb} data fetch\n  ${awb} infer --model-base-url http://localhost:8000/v1 --model-name NAME --output-dir results\n`,
  );
}

/** A word of a command line; a path below the current folder as one would type it. */
function shown(word: string, io: Io): string {
  return isAbsolute(word) ? shownPath(word, io) : word;
}

function number(heading: string): Column {
  return { heading, short: heading, align: 'right' };
}

function measureTable(kept: ReadonlyMap<string, ScoreDocument>): Table {
  const measured = [...kept].filter(([name]) => name !== RATED);
  return {
    columns: [
      { heading: 'World model', short: 'Model', align: 'left' },
      ...DOMAINS.map((domain) => number(domainName(domain))),
      number('Mean'),
    ],
    groups: [
      measured.map(([name, document]) => [
        name,
        ...DOMAINS.map((domain) => textOf(document.domains[domain]?.measures[MEASURE]?.value)),
        textOf(document.overall_measures[MEASURE]?.value),
      ]),
    ],
    footnotes: [
      `chrF of prediction against ground truth, 0-100, over 63 recorded rows${kept.has(TINY) ? `; ${TINY}: over one a domain` : ''}.`,
    ],
  };
}

function ratingTable(rated: ScoreDocument): Table {
  const headings = [...DIMENSIONS.map(dimensionName), 'Total'];
  const ratings = [...DIMENSIONS, 'total_score'].map((name) => textOf(rated.overall[name]));
  return {
    columns: [{ heading: 'Judged', short: 'Judged', align: 'left' }, ...headings.map(number)],
    groups: [[[TINY, ...ratings]]],
    footnotes: ['Ratings, 0-100, that a tiny random model gave itself: they only show that the path works.'],
  };
}

function textOf(value: unknown): string {
  return typeof value === 'number' ? twoDecimals(value) : NONE;
}
