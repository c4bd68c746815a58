// The words of a run's progress: the run in a line, a bar for the whole and for each domain, and the backend's state.

import { domainName } from '../../core/domains.js';
import { counted } from '../../core/figures.js';
import { oneLine, shortened } from '../../core/printable.js';
import { barLines, wrapped } from '../../core/terminal.js';
import type { BackendStatus } from '../../core/types.js';
import type { Tally } from './tally.js';

/** The run in one line: `infer 1234/2170 rows, 4 failed, 3.2 rows/s, 4812 tokens/s, $4.10 of $5.00, about 5 min left`. */
export function summaryLine(tally: Tally): string {
  const { total, done, failed } = tally.sums;
  const failures = failed > 0 ? [`${failed} failed`] : [];
  return [`${tally.counted.title} ${done}/${total} ${unitOf(tally)}`, ...failures, ...paceParts(tally)].join(', ');
}

function unitOf({ counted: { unit = 'rows' } }: Tally): string {
  return unit;
}

function paceParts(tally: Tally): string[] {
  const { total, done } = tally.sums;
  const rate = tally.rates;
  const parts: string[] = [];
  if (rate.rows > 0) parts.push(`${significant(rate.rows)} ${unitOf(tally)}/s`);
  if (rate.tokens > 0) parts.push(`${significant(rate.tokens)} tokens/s`);
  const spending = tally.counted.spending?.();
  if (spending !== undefined) parts.push(spending);
  if (rate.rows > 0 && done < total) parts.push(`about ${duration((total - done) / rate.rows)} left`);
  return parts;
}

function significant(rate: number): string {
  return rate >= 10 ? rate.toFixed(0) : rate.toPrecision(2);
}

/** Seconds in at most two units: `45 s`, `7 min 12 s`, `2 h 05 min`. */
function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, '0')} min`;
}

function backendLines(tally: Tally, columns: number): string[] {
  const status = tally.counted.status();
  if (status === undefined) return ['no calls yet'];
  const { inFlight, paced = 0, limit, pausedMs, failure, outages } = status;
  const held = paced > 0 ? `, ${paced} held back by --rpm, --tpm or the budget` : '';
  const paused = pausedMs > 0 ? `, paused by the server for ${duration(pausedMs / 1000)}` : '';
  const states = [
    `${inFlight} in flight${held}, limit ${limit}${paused}`,
    ...outages.map((outage) => `${outageText(outage, tally)}, next try in ${duration(outage.nextMs / 1000)}`),
  ];
  return [
    ...states.flatMap((line) => wrapped(line, columns, 2)),
    ...(failure === undefined
      ? []
      : [`latest failure, ${duration(failure.agoMs / 1000)} ago: ${oneLine(failure.text, 500)}`]),
  ];
}

/** `localhost:8000 gives no reply since 14:02:11, given up at 14:12:11`. */
export function outageText(
  { host, hasAnswered, forMs, leftMs }: BackendStatus['outages'][number],
  { counted: { date = Date.now } }: Tally,
): string {
  const timeOfDay = (at: number) => new Date(at).toTimeString().slice(0, 8);
  const until = leftMs > 0 ? `, given up at ${timeOfDay(date() + leftMs)}` : '';
  return `${host} ${hasAnswered ? 'silent' : 'not ready'} since ${timeOfDay(date() - forMs)}${until}`;
}

/**
 * The block's lines, none wider than `columns`, no more than `height`: so many bars, the first of the whole, and what else there is to
 * say below them.
 */
export function blockLines(
  tally: Tally,
  columns: number,
  height: number,
  blocks: boolean,
): { readonly lines: readonly string[]; readonly bars: number } {
  const pace = paceParts(tally).join(', ');
  const words = [...(pace === '' ? [] : wrapped(pace, columns, 2)), ...backendLines(tally, columns)];
  // The bar of a single domain would be that of the whole.
  const domains = tally.domains.size > 1 ? [...tally.domains] : [];
  const room = Math.max(0, height - 1 - words.length);
  const shown = domains.length <= room ? domains : domains.slice(0, Math.max(0, room - 1));
  const hidden = domains.length - shown.length;
  const parts = shown.map(([domain, counts]) => ({ name: domainName(domain), ...counts }));
  const bars = barLines([{ name: tally.counted.title, ...tally.sums }, ...parts], columns, blocks);
  const lines = [...bars, ...(hidden > 0 ? [`and ${counted(hidden, 'domain')} more`] : []), ...words];
  return { lines: lines.slice(0, height).map((line) => shortened(line, columns)), bars: bars.length };
}
