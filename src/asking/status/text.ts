// The status of runs in words, for a terminal of 80 columns.

import { domainName } from '../../domains.js';
import { counted, grouped } from '../../figures.js';
import { dollars } from '../../money.js';
import { printable, shortened, widthOf } from '../../printable.js';
import { wrapped } from '../../report/terminal.js';
import type { DomainStatus, RunState, RunStatus, StatusSum } from './status.js';

const BAR_COLUMNS = 20;
const MOST_FAILURES = 5;

/** A block a run, and a line on all together where there are several. */
export function statusText(runs: readonly RunStatus[], sum: StatusSum, now: number, columns: number): string {
  const blocks = runs.map((run) => runLines(run, now, columns).join('\n'));
  const all = runs.length > 1 ? [sentence(`all ${sum.runs} runs: ${sumLine(sum)}`, columns).join('\n')] : [];
  return `${[...blocks, ...all].join('\n\n')}\n`;
}

/** Nothing of it is cut off: state and time left stand at its end. */
function sentence(text: string, columns: number): string[] {
  return wrapped(printable(text), columns, 4);
}

function runLines(run: RunStatus, now: number, columns: number): string[] {
  const nameColumns = Math.max(0, ...[...run.domains.keys()].map((domain) => widthOf(domainName(domain))));
  const spent = [`${grouped(run.tokens)} tokens`, ...(run.usd === undefined ? [] : [dollars(run.usd)])].join(', ');
  const last = run.lastAt === undefined ? '' : `; last record ${ago(now - Date.parse(run.lastAt))} ago`;
  const domains = [...run.domains].map(([name, status]) => `  ${domainLine(domainName(name), status, nameColumns)}`);
  const failures = run.failures
    .slice(0, MOST_FAILURES)
    .map(({ class: name, rows, reason }) => `  ${name} ${grouped(rows)}${reason === undefined ? '' : `: ${reason}`}`);
  return [
    ...sentence(
      `${run.dir}: ${run.kind}${run.name === DEFAULT_NAMES[run.kind] ? '' : ` ${run.name}`}${run.label === undefined ? '' : ` "${run.label}"`}, ${stateText(run)}`,
      columns,
    ),
    ...sentence(`  ${sumLine(run)}`, columns),
    ...domains.map((line) => shortened(line, columns)),
    ...sentence(`  ${spent}${last}`, columns),
    ...failures.map((line) => shortened(line, columns)),
  ];
}

const DEFAULT_NAMES: Readonly<Record<RunStatus['kind'], string>> = {
  infer: 'predictions',
  judge: 'judged',
  calibrate: 'calibration',
  likelihood: 'likelihood',
  scenarios: 'scenarios',
  simulate: 'episodes',
};

const STATES: Readonly<Record<RunState, string>> = {
  running: 'running',
  killed: 'killed; the same command continues',
  awaiting: 'awaits batch results',
  complete: 'complete',
  incomplete: 'incomplete; the same command asks again for what failed',
  interrupted: 'interrupted; the same command continues',
  stopped: 'stopped; the same command continues',
};

function stateText({ state, isElsewhere, process: worker }: RunStatus): string {
  if (state !== 'running' || worker === undefined) return STATES[state];
  return isElsewhere
    ? `running on ${worker.host}, if process ${worker.pid} lives there`
    : `running (process ${worker.pid})`;
}

function sumLine({ total, ok, failed, left, rowsPerSecond, secondsLeft }: StatusSum | RunStatus): string {
  const share = total === 0 ? 100 : Math.floor(((ok + failed) / total) * 100);
  return [
    `${grouped(ok + failed)} of ${grouped(total)} (${share} %)`,
    ...(failed > 0 ? [`${grouped(failed)} failed`] : []),
    ...(left > 0 ? [`${grouped(left)} left`] : []),
    ...(rowsPerSecond === undefined ? [] : [rateText(rowsPerSecond)]),
    ...(secondsLeft === undefined || left === 0 ? [] : [`about ${ago(secondsLeft * 1000)} left`]),
  ].join(', ');
}

function rateText(rowsPerSecond: number): string {
  if (rowsPerSecond >= 10) return `${rowsPerSecond.toFixed(0)} rows/s`;
  return rowsPerSecond >= 0.1
    ? `${rowsPerSecond.toPrecision(2)} rows/s`
    : `${(rowsPerSecond * 60).toPrecision(2)} rows/min`;
}

function domainLine(name: string, { total, ok, failed }: DomainStatus, nameColumns: number): string {
  const padded = `${name}${' '.repeat(nameColumns - widthOf(name))}`;
  const done = ok + failed;
  const failures = failed > 0 ? `, ${grouped(failed)} failed` : '';
  if (total === undefined) return `${padded} ${grouped(done)}${failures}`;
  const filled = total === 0 ? BAR_COLUMNS : Math.min(BAR_COLUMNS, Math.floor((done / total) * BAR_COLUMNS));
  return `${padded} ${'#'.repeat(filled)}${'.'.repeat(BAR_COLUMNS - filled)} ${grouped(done)}/${grouped(total)}${failures}`;
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
