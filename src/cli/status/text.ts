// The status of runs in words, for a terminal of 80 columns.

import { domainName } from '../../core/domains.js';
import { counted, grouped } from '../../core/figures.js';
import { dollars } from '../../core/money.js';
import { printable, shortened } from '../../core/printable.js';
import { aligned, barLines, type Look, withRedFailures, wrapped } from '../../core/terminal.js';
import type { RunStatus, StatusSum } from './status.js';

const MOST_FAILURES = 5;

/** A line for each run that has ended, a block with bars for each at work, and a line on all together where there are several. */
export function statusText(
  runs: readonly RunStatus[],
  sum: StatusSum,
  now: number,
  look: Look & { readonly blocks: boolean },
): string {
  const isAtWork = ({ state }: RunStatus) => state === 'running' || state === 'awaiting';
  const ended = runs.filter((run) => !isAtWork(run));
  const lines = aligned(
    ended.map((run) => endedCells(run, now)),
    '  ',
    [3],
  );
  const sections = [
    ended.flatMap((run, at) => [...sentence(lines[at] ?? '', look.columns), ...remedyLines(run, look.columns)]),
    ...runs.filter(isAtWork).map((run) => workLines(run, now, look)),
    runs.length > 1 ? sentence(`all ${sum.runs} runs: ${sumLine(sum)}`, look.columns) : [],
  ].filter((section) => section.length > 0);
  return `${sections.map((section) => section.map((line) => withRedFailures(line, look)).join('\n')).join('\n\n')}\n`;
}

/** Nothing of it is cut off: state and time left stand at its end. */
function sentence(text: string, columns: number): string[] {
  return wrapped(text, columns, 4);
}

/** Of a run that has ended: its folder, what it is, what became of it, how many rows, and what else is to be said in a line. */
function endedCells(run: RunStatus, now: number): string[] {
  const { dir, state, total, left } = run;
  const rest = [...leftParts(run), ...spentParts(run).slice(-1), ...lastParts(run, now)].join(', ');
  return [dir, nameOf(run), state, `${grouped(total - left)}/${grouped(total)}`, rest].map((cell) => printable(cell));
}

/** What to do about a run that is not complete, and why. */
function remedyLines(run: RunStatus, columns: number): string[] {
  const remedy = REMEDIES[run.state];
  return remedy === undefined ? [] : [`    ${remedy}`, ...failureLines(run, columns)];
}

function workLines(run: RunStatus, now: number, { columns, blocks }: Look & { readonly blocks: boolean }): string[] {
  const { dir, total, ok, failed } = run;
  const domains = [...run.domains].map(([name, status]) => ({ name: domainName(name), ...status }));
  const bars = [{ name: 'all', total, ok, failed }, ...domains].map((each) => ({
    ...each,
    done: each.ok + each.failed,
  }));
  const spent = [...spentParts(run), ...lastParts(run, now).map((last) => `last record ${last}`)];
  return [
    ...sentence(printable(`${dir}: ${nameOf(run)}, ${stateText(run)}`), columns),
    ...barLines(bars, columns - 2, blocks).map((line) => shortened(`  ${line}`, columns)),
    ...sentence(`  ${[...leftParts({ ...run, failed: 0 }), ...spent].join(', ')}`, columns),
    ...failureLines(run, columns),
  ];
}

function failureLines({ failures }: RunStatus, columns: number): string[] {
  return failures
    .slice(0, MOST_FAILURES)
    .map(({ class: name, rows, reason }) => `    ${name} ${grouped(rows)}${reason === undefined ? '' : `: ${reason}`}`)
    .map((line) => shortened(line, columns));
}

const DEFAULT_NAMES: Readonly<Record<RunStatus['kind'], string>> = {
  infer: 'predictions',
  judge: 'judged',
  calibrate: 'calibration',
  likelihood: 'likelihood',
  scenarios: 'scenarios',
  simulate: 'episodes',
};

/** A label that the folder bears is not said again. */
function nameOf({ dir, kind, name, label }: RunStatus): string {
  const isSaid = label === undefined || dir.endsWith(label);
  return `${kind}${name === DEFAULT_NAMES[kind] ? '' : ` ${name}`}${isSaid ? '' : ` "${label}"`}`;
}

const CONTINUES = 'the same command continues';
const REMEDIES: Partial<Record<RunStatus['state'], string>> = {
  killed: CONTINUES,
  incomplete: 'the same command asks again for what failed',
  interrupted: CONTINUES,
  stopped: CONTINUES,
};

function stateText({ state, isElsewhere, process: worker }: RunStatus): string {
  if (state === 'awaiting') return 'awaits batch results';
  if (worker === undefined) return state;
  return isElsewhere
    ? `running on ${worker.host}, if process ${worker.pid} lives there`
    : `running (process ${worker.pid})`;
}

function spentParts({ tokens, usd }: RunStatus): string[] {
  return [counted(tokens, 'token', 'tokens', grouped), ...(usd === undefined ? [] : [dollars(usd)])];
}

function lastParts({ lastAt }: RunStatus, now: number): string[] {
  return lastAt === undefined ? [] : [`${ago(now - Date.parse(lastAt))} ago`];
}

function sumLine(sum: StatusSum): string {
  const { total, ok, failed } = sum;
  const share = total === 0 ? 100 : Math.floor(((ok + failed) / total) * 100);
  return [`${grouped(ok + failed)} of ${grouped(total)} (${share} %)`, ...leftParts(sum)].join(', ');
}

function leftParts({ failed, left, rowsPerSecond, secondsLeft }: StatusSum | RunStatus): string[] {
  return [
    ...(failed > 0 ? [`${grouped(failed)} failed`] : []),
    ...(left > 0 ? [`${grouped(left)} left`] : []),
    ...(rowsPerSecond === undefined ? [] : [rateText(rowsPerSecond)]),
    ...(secondsLeft === undefined || left === 0 ? [] : [`about ${ago(secondsLeft * 1000)} left`]),
  ];
}

function rateText(rowsPerSecond: number): string {
  if (rowsPerSecond >= 10) return `${rowsPerSecond.toFixed(0)} rows/s`;
  return rowsPerSecond >= 0.1
    ? `${rowsPerSecond.toPrecision(2)} rows/s`
    : `${(rowsPerSecond * 60).toPrecision(2)} rows/min`;
}

/** A time span in the unit that suits it. */
function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : counted(Math.round(hours / 24), 'day');
}
