// `awb quickstart`: the whole job over recorded rows, with baselines and a tiny random model; no key, no network, no GPU.

import { mkdir, writeFile } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BASELINES } from '../benchmark/baselines.js';
import { openDataset, type RowRef } from '../benchmark/dataset.js';
import { EXIT, type ExitCode } from '../core/errors.js';
import { shortenedByWords } from '../core/printable.js';
import { shellLine } from '../core/shell.js';
import { DOMAINS, type Io, type TextSink } from '../core/types.js';
import { DEFAULT_DB } from '../results/databases.js';
import { hasRuntime } from '../serve/runtime.js';
import { defineCommand, type RunAwb, type ShownSettings } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { programName } from '../settings/program-name.js';
import { shownPath } from '../settings/shown-path.js';
import { MADE_UP_STEPS, type MadeUpRun, madeUpRun } from './made-up.js';

const OPTIONS = {
  'output-dir': { kind: 'text', value: 'DIR', default: './quickstart', help: 'folder for what it makes' },
} as const satisfies OptionTable;

const RECORDED = fileURLToPath(new URL('../../fixtures/recorded', import.meta.url));
const TINY_MODEL = fileURLToPath(new URL('../../fixtures/tiny-random.gguf', import.meta.url));
const TINY = 'tiny random';

/** A command line of awb; what `score` prints is kept under a name. */
interface Step {
  readonly args: readonly string[];
  readonly keepAs?: string;
}

export const command = defineCommand({
  description:
    'Runs infer, judge and score over the recorded rows that come with the tool: baselines and a tiny random model that is served here, measured by text metrics. Three made-up runs with ratings are for trying what compares checkpoints. No key, no network, no GPU.',
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
  const dir = resolve(io.cwd, settings.outputDir);
  const env = { AWB_DATA_DIR: RECORDED, AWB_DB: DEFAULT_DB, AWB_GPU: 'off' };
  const inside = { ...io, cwd: dir, env: { ...io.env, ...env } };
  const steps = Object.keys(BASELINES).flatMap(baselineSteps);
  if (hasRuntime()) steps.push(...tinySteps(await shortestRows()));
  const madeUp = MADE_UP_STEPS.map(madeUpRun);
  for (const run of madeUp) steps.push(scored(await written(run, dir), run.label));
  const flags = [...(settings.color ? [] : ['--no-color']), ...(settings.quiet ? ['--quiet'] : [])];
  const kept = new Map<string, unknown>();
  const say = (line: string) => {
    if (!settings.quiet) io.stderr.write(`$ ${line}\n`);
  };
  say(`cd ${shellLine([shown(dir, io)])}`);
  say(
    `export ${Object.entries(env)
      .map(([name, value]) => `${name}=${shellLine([shown(value, inside)])}`)
      .join(' ')}`,
  );
  for (const { args, keepAs } of steps) {
    const line = `awb ${shellLine(args.map((word) => shown(word, inside)))}`;
    say(settings.verbose ? line : shortenedByWords(line, io.stderr.columns - '$ '.length));
    const printed: string[] = [];
    const stdout: TextSink = { isTTY: false, columns: io.stdout.columns, write: (text) => void printed.push(text) };
    const code = await awb([...args, ...flags], { ...inside, stdout });
    if (code !== EXIT.done) return code;
    if (keepAs !== undefined) kept.set(keepAs, JSON.parse(printed.join('')));
  }
  if (settings.json) {
    const document = { schema: 'awb.quickstart/1', db: join(dir, DEFAULT_DB), runs: Object.fromEntries(kept) };
    io.stdout.write(`${JSON.stringify(document)}\n`);
    return EXIT.done;
  }
  say('awb leaderboard');
  const code = await awb(['leaderboard', ...flags], inside);
  if (!kept.has(TINY)) io.stdout.write('Left out: a tiny model served here; node-llama-cpp is not installed.\n');
  io.stdout.write(`\n${nextText(dir, io)}`);
  return code;
}

function baselineSteps(baseline: string): Step[] {
  const output = ['--output-dir', baseline];
  return [
    { args: ['infer', '--baseline', baseline, ...output, '--label', baseline] },
    { args: ['judge', baseline, '--mode', 'metrics'] },
    scored(baseline, baseline),
  ];
}

function scored(folder: string, keepAs: string): Step {
  return { args: ['score', folder, '--json'], keepAs };
}

/** It never ends its thinking, so it is asked not to think. */
function tinySteps(rows: readonly RowRef[]): Step[] {
  const folder = 'tiny-random';
  const local = [
    '--local',
    TINY_MODEL,
    '--seed',
    '1',
    '--extra-body',
    '{"chat_template_kwargs":{"enable_thinking":false}}',
  ];
  const ids = ['--ids', rows.map((row) => row.key).join(',')];
  return [
    { args: ['infer', ...local, '--max-tokens', '128', '--output-dir', folder, '--label', TINY, ...ids] },
    { args: ['judge', folder, '--mode', 'metrics'] },
    scored(folder, TINY),
  ];
}

/** Writes a made-up run into a folder below `dir`, whose name it returns. */
async function written({ label, rows, manifest }: MadeUpRun, dir: string): Promise<string> {
  await mkdir(join(dir, label), { recursive: true });
  await writeFile(join(dir, label, 'judged.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  await writeFile(join(dir, label, 'judged.manifest.json'), JSON.stringify(manifest));
  return label;
}

/** One row of each domain. */
async function shortestRows(): Promise<RowRef[]> {
  const { rows, close } = await openDataset(RECORDED);
  await close();
  return DOMAINS.map((domain) =>
    rows
      .filter((row) => row.domain === domain)
      .reduce((shortest, row) => (row.length < shortest.length ? row : shortest)),
  );
}

function nextText(dir: string, io: Io): string {
  const program = programName({ ...io, cwd: dir });
  return `The made-up runs are for trying what compares checkpoints: no model predicted
their rows, and no judge rated them. Try
  cd ${shellLine([shown(dir, io)])}
  awb compare made-up-100 made-up-200
  awb gate made-up-100 made-up-200   # GO
  awb gate made-up-200 made-up-300   # NO-GO: one domain got worse
  awb report --run made-up-300 --compare made-up-200
Next, the benchmark (402 MB) and your own model:
  awb data fetch
  awb infer --model-base-url http://localhost:8000/v1 --model-name NAME
${program === 'awb' ? '' : `Here, awb stands for: ${program}\n`}`;
}

/** A word of a command line; a path below the current folder as one would type it. */
function shown(word: string, io: Io): string {
  return isAbsolute(word) ? shownPath(word, io) : word;
}
