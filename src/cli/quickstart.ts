// `awb quickstart`: all steps on recorded rows, with baselines and a tiny random model; no key, no network, no GPU.

import { mkdir, writeFile } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BASELINES } from '../benchmark/baselines.js';
import { openDataset, type RowRef } from '../benchmark/dataset.js';
import { RELEASED } from '../core/domains.js';
import { cannotCreate, codeOf, EXIT } from '../core/errors.js';
import { shellLine, shortenedByWords, shownPath } from '../core/printable.js';
import { type Random, randomOf } from '../core/random.js';
import { DIMENSIONS, DOMAINS, type Io } from '../core/types.js';
import { DEFAULT_DB } from '../results/databases.js';
import { hasRuntime } from '../serve/inner-calls.js';
import { defineCommand, keptText, option, programName } from '../settings/command.js';

const RECORDED = fileURLToPath(new URL('../../fixtures/recorded', import.meta.url));
const TINY_MODEL = fileURLToPath(new URL('../../fixtures/tiny-random.gguf', import.meta.url));
const TINY = 'tiny random';

export const command = defineCommand({
  description:
    'Runs infer, judge and score on the recorded rows that come with the tool, for baselines and a tiny random model served here, measured by text metrics. Three made-up runs with ratings let you try the commands that compare checkpoints. No key, no network, no GPU.',
  examples: { 'awb quickstart': 'writes ./quickstart' },
  options: { 'output-dir': option.text('DIR', 'folder for its files', { default: './quickstart' }) },
  async run(settings, io, _shown, awb) {
    const dir = resolve(io.cwd, settings.outputDir);
    const env = { AWB_DATA_DIR: RECORDED, AWB_DB: DEFAULT_DB, AWB_GPU: 'off' };
    const inside = { ...io, cwd: dir, env: { ...io.env, ...env } };
    const steps = Object.keys(BASELINES).flatMap((name) => stepsOf(name, name, ['--baseline', name]));
    if (hasRuntime()) steps.push(...tinySteps(await shortestRows()));
    for (const step of MADE_UP_STEPS) {
      const label = await writeMadeUpRun(step, dir);
      steps.push(['score', label, '--json']);
    }
    const flags = [...(settings.color ? [] : ['--no-color']), ...(settings.quiet ? ['--quiet'] : [])];
    const kept = new Map<string, unknown>();
    const say = (line: string) => {
      if (!settings.quiet) io.stderr.write(`$ ${line}\n`);
    };
    const variables = Object.entries(env).map(([name, value]) => `${name}=${shellLine([shown(value, inside)])}`);
    say(`cd ${shellLine([shown(dir, io)])}`);
    say(`export ${variables.join(' ')}`);
    for (const args of steps) {
      const line = `awb ${shellLine(args.map((word) => shown(word, inside)))}`;
      say(settings.verbose ? line : shortenedByWords(line, io.stderr.columns - '$ '.length));
      const stdout = keptText(io.stdout.columns);
      const code = await awb([...args, ...flags], { ...inside, stdout });
      if (code !== EXIT.done) return code;
      if (args[0] !== 'score') continue;
      const scored = JSON.parse(stdout.text());
      kept.set(scored.run.label, scored);
    }
    say('awb view . --bundle .');
    const looked = await awb(['view', '.', '--bundle', '.', ...flags], {
      ...inside,
      stdout: keptText(io.stdout.columns),
    });
    if (looked !== EXIT.done) return looked;
    const page = join(dir, 'index.html');
    if (settings.json) {
      const runs = Object.fromEntries(kept);
      const document = { schema: 'awb.quickstart/1', db: join(dir, DEFAULT_DB), page, runs };
      io.stdout.write(`${JSON.stringify(document)}\n`);
      return EXIT.done;
    }
    say('awb leaderboard');
    const code = await awb(['leaderboard', ...flags], inside);
    if (!kept.has(TINY)) io.stdout.write('Left out: the tiny model; node-llama-cpp is not installed.\n');
    io.stdout.write(`\n${nextText(dir, page, io)}`);
    return code;
  },
});

/** The awb command lines that predict rows and measure the predictions by text metrics. */
function stepsOf(folder: string, label: string, asking: readonly string[]): (readonly string[])[] {
  return [
    ['infer', ...asking, '--output-dir', folder, '--label', label],
    ['judge', folder, '--mode', 'metrics'],
    ['score', folder, '--json'],
  ];
}

/** The steps of the tiny model. It never ends its thinking, so thinking is turned off. */
function tinySteps(rows: readonly RowRef[]) {
  const body = '{"chat_template_kwargs":{"enable_thinking":false}}';
  const local = ['--local', TINY_MODEL, '--seed', '1', '--extra-body', body, '--max-tokens', '128'];
  return stepsOf('tiny-random', TINY, [...local, '--ids', rows.map((row) => row.key).join(',')]);
}

/** One row of each domain. */
async function shortestRows(): Promise<RowRef[]> {
  const { rows, close } = await openDataset(RECORDED);
  await close();
  const shorter = (one: RowRef, other: RowRef) => (other.length < one.length ? other : one);
  return DOMAINS.map((domain) => rows.filter((row) => row.domain === domain).reduce(shorter));
}

function nextText(dir: string, page: string, io: Io): string {
  const program = programName({ ...io, cwd: dir });
  return `The made-up runs are for trying out comparisons: no model predicted their rows,
and no judge rated them. Try
  cd ${shellLine([shown(dir, io)])}
  awb compare made-up-100 made-up-200
  awb gate made-up-100 made-up-200   # GO
  awb gate made-up-200 made-up-300   # NO-GO: one domain got worse
  awb report --run made-up-300 --compare made-up-200
Next, the benchmark (402 MB) and your own model:
  awb data fetch
  awb infer --model-base-url http://localhost:8000/v1 --model-name NAME
${program === 'awb' ? '' : `Here, awb stands for: ${program}\n`}
Everything in a browser, down to each row:
  open ${shellLine([shown(page, io)])}
`;
}

/** A word of a command line; a path below the current folder is shown relative to it. */
function shown(word: string, io: Io): string {
  return isAbsolute(word) ? shownPath(word, io) : word;
}

// Made-up judged runs: no model predicted these rows and no judge rated them. They show how checkpoints are compared.

type Domain = (typeof DOMAINS)[number];

/** How much better the rows of a made-up checkpoint are than those of the first, in points of rating (1 to 5), by domain. */
const LIFTS = { 100: () => 0, 200: () => 0.12, 300: (domain: Domain) => (domain === 'android' ? -0.25 : 0.25) };
/** The checkpoints, by step. */
const MADE_UP_STEPS = [100, 200, 300] as const;

// biome-ignore format: a table
const LEVELS: Readonly<Record<Domain, number>> = { mcp: 3.6, search: 2.5, terminal: 3.2, swe: 3.6, android: 3.3, web: 3, os: 3.7 };

/** Rows of a trajectory. */
const TURNS = 4;

/**
 * Writes a judged file with as many rows as the benchmark, and its manifest; the same each time. All checkpoints share the difficulty
 * of each row.
 * @returns the name of their folder in `dir`
 */
async function writeMadeUpRun(step: (typeof MADE_UP_STEPS)[number], dir: string): Promise<string> {
  const [shared, own] = [randomOf(0), randomOf(step)];
  const around = (random: Random, width: number) => width * (random.uniform() - 0.5);
  const rows = DOMAINS.flatMap((domain) => {
    let trajectory = 0;
    return Array.from({ length: RELEASED.rows[domain] }, (_, at) => {
      if (at % TURNS === 0) trajectory = around(shared, 1) + around(own, 0.4);
      const level = LEVELS[domain] + LIFTS[step](domain) + trajectory + around(shared, 1.6) + around(own, 0.8);
      return rowOf(domain, at, () => Math.min(5, Math.max(1, Math.round(level + around(own, 1.5)))));
    });
  });
  const label = `made-up-${step}`;
  await mkdir(join(dir, label), { recursive: true }).catch((error) => {
    throw cannotCreate(`cannot write ${dir} (${codeOf(error)}); name another folder with --output-dir`);
  });
  await writeFile(join(dir, label, 'judged.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  await writeFile(join(dir, label, 'judged.manifest.json'), JSON.stringify(manifestOf(step)));
  return label;
}

/** A row as the official script writes it: its key and trajectory follow from the prompt. */
function rowOf(domain: Domain, at: number, rating: () => number) {
  const [id, turn] = [Math.floor(at / TURNS), 1 + (at % TURNS)];
  const ratings = DIMENSIONS.map((dimension) => [dimension, rating()] as const);
  const texts = (kind: string) => Array.from({ length: turn }, (_, earlier) => `made-up ${kind} ${id}.${earlier + 1}`);
  return {
    ...{ task: domain, id, system_str: 'A made-up environment.', turn_idx: turn, total_turns: TURNS },
    ...{ prompt: texts('action'), response: texts('observation'), gen: `made-up prediction ${id}.${turn}` },
    ...Object.fromEntries(ratings),
    total_score: ratings.reduce((sum, [, value]) => sum + value, 0) / ratings.length,
    ...{ failed: 0, strengths: [], weaknesses: ['made up'] },
  };
}

/** The manifest. No other run has this judge, so that nothing else can be compared with it. */
function manifestOf(step: number) {
  const at = { startedAt: `2026-01-01T00:${step / 10}:00.000Z`, endedAt: `2026-01-01T00:${step / 10}:30.000Z` };
  const common = { schema: 'awb.manifest/1', meta: { step: String(step) }, state: 'complete', ...at };
  const rubrics = { name: 'made-up', fingerprint: 'made-up' };
  const rows = Object.values(RELEASED.rows).reduce((sum, count) => sum + count, 0);
  const counts = { chosen: rows, ok: rows, failed: 0, notDone: 0, absent: 0, failures: {}, flags: {} };
  return {
    ...{ ...common, kind: 'judge', label: `made-up-${step}`, chosen: RELEASED.rows, counts },
    identity: { mode: 'rubric', judge: 'made-up judge', rubrics, verdicts: 'strict', sampling: {} },
    predictions: {
      ...{ ...common, kind: 'infer', label: `made-up-${step}` },
      identity: { model: 'made-up model', protocol: 'history', system_prompt: 'row', data: 'made-up' },
    },
  };
}
