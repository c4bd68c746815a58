// awb status: the progress of runs, read from their folders during the run or afterwards.

import { readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { domainName } from '../core/domains.js';
import { EXIT, type ExitCode, inputMissing } from '../core/errors.js';
import { counted, dollars, grouped, printable, shortened } from '../core/printable.js';
import { aligned, barLines, blocksText, hasBlocks, type Look, withRedFailures, wrapped } from '../core/terminal.js';
import type { Io } from '../core/types.js';
import { waitOf } from '../model/schedule/outages.js';
import { type RunStatus, readStatuses, sumOf } from '../results/status.js';
import { defineCommand, type OptionTable, option, type Settings } from '../settings/command.js';

const OPTIONS = {
  dirs: option.list('DIR', 'folders of runs (default: results and the folders in it)', { whole: true }),
} as const satisfies OptionTable;

export const command = defineCommand({
  description:
    'Shows the progress of the runs in folders, even while another process is working there: rows by domain, speed, time left, tokens, dollars and failures. Nothing is locked or written. Exit codes: 0 all complete, 75 one is running or awaits results, 3 one is neither complete nor running.',
  examples: {
    'awb status': 'all runs in results',
    'awb status results/step-100': 'one run, from another terminal',
    'awb status shards/*': 'several runs, and their sum',
    'watch -n 10 awb status results/step-100': 'every ten seconds',
    "awb status results/step-100 --json | jq '.total.left'": 'for programs',
  },
  options: OPTIONS,
  operands: ['dirs'],
  run: status,
});

async function status(settings: Settings<typeof OPTIONS>, io: Io): Promise<ExitCode> {
  const now = Date.now();
  const runs: RunStatus[] = [];
  const without: string[] = [];
  const isNamed = settings.dirs.length > 0;
  for (const dir of isNamed ? settings.dirs : await usualFolders(io)) {
    const found = await readStatuses(resolve(io.cwd, dir), dir, now);
    if (typeof found === 'string') without.push(found);
    else runs.push(...found);
  }
  if (runs.length === 0) {
    const remedy = 'name the --output-dir of a run; a run has a manifest once it has started sending requests';
    throw inputMissing(`${without.join('; ')}; ${remedy}`);
  }
  // Globs may name other folders, which are only noted. The default folders were not typed, so they are left out silently.
  if (isNamed && without.length > 0 && !settings.quiet) io.stderr.write(`left out: ${printable(without.join('; '))}\n`);
  const total = sumOf(runs);
  const { columns, isTTY } = io.stdout;
  const look = { columns, color: settings.color && isTTY, blocks: isTTY && hasBlocks(io.env) };
  const document = { schema: 'awb.status/1', runs, total };
  io.stdout.write(settings.json ? `${JSON.stringify(document)}\n` : statusText(runs, total, now, look));
  if (runs.some(({ state }) => state === 'running' || state === 'awaiting')) return EXIT.later;
  return runs.every(({ state }) => state === 'complete') ? EXIT.done : EXIT.incomplete;
}

/** `results` and the folders in it, except those that --fresh has set aside. */
async function usualFolders({ cwd }: Io): Promise<string[]> {
  const entries = await readdir(resolve(cwd, 'results'), { withFileTypes: true }).catch(() => []);
  const folders = entries.filter((entry) => !entry.isFile() && !/^(\.|before-)/.test(entry.name));
  const names = folders.map(({ name }) => name).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  return ['results', ...names.map((name) => join('results', name))];
}

type Left = Pick<RunStatus, 'failed' | 'left' | 'rows_per_second' | 'seconds_left'>;

const MOST_FAILURES = 5;

/** A line for each run that has ended, a block with bars for each running one, and a line for the sum of several. */
export function statusText(
  runs: readonly RunStatus[],
  sum: ReturnType<typeof sumOf>,
  now: number,
  look: Look & { readonly blocks: boolean },
): string {
  const isAtWork = ({ state }: RunStatus) => state === 'running' || state === 'awaiting';
  const ended = runs.filter((run) => !isAtWork(run));
  const cells = ended.map((run) => endedCells(run, now));
  const lines = aligned(cells, 2, [3]);
  const { ok, failed, total } = sum;
  const share = total === 0 ? 100 : Math.floor(((ok + failed) / total) * 100);
  const done = `all ${sum.runs} runs: ${grouped(ok + failed)} of ${grouped(total)} (${share} %)`;
  const sections = [
    ended.flatMap((run, at) => [...sentence(lines[at] ?? '', look), ...remedyLines(run, look)]),
    ...runs.filter(isAtWork).map((run) => workLines(run, now, look)),
    runs.length > 1 ? sentence([done, ...leftParts(sum)].join(', '), look) : [],
  ];
  return blocksText(sections.map((section) => section.map((line) => withRedFailures(line, look))));
}

/** Wrapped instead of cut off, since state and time left are at its end. */
function sentence(text: string, { columns }: Look): string[] {
  return wrapped(printable(text), columns, 4);
}

/** The cells of a run that has ended: its folder, name, state, rows, and the rest as one text. */
function endedCells(run: RunStatus, now: number): string[] {
  const { dir, state, total, left } = run;
  const rest = [...leftParts(run), ...spentParts(run).slice(-1), ...lastParts(run, now)].join(', ');
  return [dir, nameOf(run), state, `${grouped(total - left)}/${grouped(total)}`, rest].map((cell) => printable(cell));
}

/** The next step for a run that has ended without being complete. */
function remedyLines(run: RunStatus, look: Look): string[] {
  if (run.state === 'complete') return [];
  const remedy = run.state === 'incomplete' ? 'asks again for failed rows' : 'continues';
  return [`    the same command ${remedy}`, ...failureLines(run, look)];
}

function workLines(run: RunStatus, now: number, look: Look & { readonly blocks: boolean }): string[] {
  const { dir, state, process: worker } = run;
  const where =
    worker?.host === hostname()
      ? ` (process ${worker.pid})`
      : ` on ${worker?.host}, if process ${worker?.pid} is alive there`;
  const words = state === 'awaiting' ? 'awaits batch results' : `${state}${worker === undefined ? '' : where}`;
  const domains = Object.entries(run.domains).map(([name, status]) => ({ ...status, name: domainName(name) }));
  const bars = [{ ...run, name: 'all' }, ...domains].map((part) => ({ ...part, done: part.ok + part.failed }));
  const rest = [...leftParts({ ...run, failed: 0 }), ...spentParts(run)];
  return [
    ...sentence(`${dir}: ${nameOf(run)}, ${words}`, look),
    ...barLines(bars, look.columns - 2, look.blocks).map((line) => shortened(`  ${line}`, look.columns)),
    ...sentence(`  ${[...rest, ...lastParts(run, now).map((last) => `last record ${last}`)].join(', ')}`, look),
    ...failureLines(run, look),
  ];
}

function failureLines({ failures }: RunStatus, { columns }: Look): string[] {
  return failures
    .slice(0, MOST_FAILURES)
    .map(({ class: name, rows, reason }) => `    ${name} ${grouped(rows)}${reason === undefined ? '' : `: ${reason}`}`)
    .map((line) => shortened(line, columns));
}

/** Default names, which add nothing to the kind. */
const USUAL_NAMES = ['predictions', 'judged', 'calibration', 'likelihood', 'scenarios', 'episodes'];

/** The run's kind, name and label; a label that the folder already shows is left out. */
function nameOf({ dir, kind, name, label }: RunStatus): string {
  const isSaid = label === undefined || dir.endsWith(label);
  return `${kind}${USUAL_NAMES.includes(name) ? '' : ` ${name}`}${isSaid ? '' : ` "${label}"`}`;
}

function spentParts({ tokens, usd }: RunStatus): string[] {
  return [counted(tokens, 'token', 'tokens', grouped), ...(usd === undefined ? [] : [dollars(usd)])];
}

function lastParts({ last_record_at: lastAt }: RunStatus, now: number): string[] {
  return lastAt === undefined ? [] : [`${waitOf(Math.max(0, now - Date.parse(lastAt)))} ago`];
}

function leftParts({ failed, left, rows_per_second: rate, seconds_left: wait }: Left): string[] {
  return [
    ...(failed > 0 ? [`${grouped(failed)} failed`] : []),
    ...(left > 0 ? [`${grouped(left)} left`] : []),
    ...(rate === undefined ? [] : [rateText(rate)]),
    ...(wait === undefined || left === 0 ? [] : [`about ${waitOf(wait * 1000)} left`]),
  ];
}

function rateText(rate: number): string {
  if (rate >= 10) return `${rate.toFixed(0)} rows/s`;
  return rate >= 0.1 ? `${rate.toPrecision(2)} rows/s` : `${(rate * 60).toPrecision(2)} rows/min`;
}
