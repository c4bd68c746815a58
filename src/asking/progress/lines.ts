// The words of a run's progress: the run in a line, the backend's state, and a bar for each domain.

import { domainName } from '../../domains.js';
import { oneLine, shortened, widthOf } from '../../printable.js';
import type { BackendStatus, Domain } from '../../types.js';
import { type DomainTally, rates, sums, type Tally } from './tally.js';

/** The run in one line: `infer 1234/2170 rows, 4 failed, 3.2 rows/s, 4812 tokens/s, $4.10 of $5.00, about 5 min left`. */
export function summaryLine(tally: Tally): string {
  const { total, done, failed } = sums(tally);
  const rate = rates(tally);
  const parts = [`${tally.title} ${done}/${total} ${tally.unit}`];
  if (failed > 0) parts.push(`${failed} failed`);
  if (rate.rows > 0) parts.push(`${significant(rate.rows)} ${tally.unit}/s`);
  if (rate.tokens > 0) parts.push(`${significant(rate.tokens)} tokens/s`);
  const spending = tally.spending();
  if (spending !== undefined) parts.push(spending);
  if (rate.rows > 0 && done < total) parts.push(`about ${duration((total - done) / rate.rows)} left`);
  return parts.join(', ');
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

function backendLines(tally: Tally): string[] {
  const status = tally.status();
  if (status === undefined) return ['no calls yet'];
  const { inFlight, paced = 0, limit, pausedMs, failure, outages } = status;
  const held = paced > 0 ? `, ${paced} held back by --rpm or --tpm` : '';
  const paused = pausedMs > 0 ? `, paused by the server for ${duration(pausedMs / 1000)}` : '';
  return [
    `${inFlight} in flight${held}, limit ${limit}${paused}`,
    ...outages.map((outage) => `${outageText(outage, tally)}, next try in ${duration(outage.nextMs / 1000)}`),
    ...(failure === undefined
      ? []
      : [`latest failure, ${duration(failure.agoMs / 1000)} ago: ${oneLine(failure.text, 500)}`]),
  ];
}

/** `localhost:8000 gives no reply since 14:02:11, given up at 14:12:11`. */
export function outageText(
  { host, hasAnswered, forMs, leftMs }: BackendStatus['outages'][number],
  { date }: Tally,
): string {
  const timeOfDay = (at: number) => new Date(at).toTimeString().slice(0, 8);
  const until = leftMs > 0 ? `, given up at ${timeOfDay(date() + leftMs)}` : '';
  return `${host} ${hasAnswered ? 'silent' : 'not ready'} since ${timeOfDay(date() - forMs)}${until}`;
}

const BAR_COLUMNS = 20;

function domainLine(domain: Domain, { total, done, failed }: DomainTally, nameColumns: number): string {
  const filled = total === 0 ? BAR_COLUMNS : Math.floor((done / total) * BAR_COLUMNS);
  const bar = '#'.repeat(filled) + '.'.repeat(BAR_COLUMNS - filled);
  const counts = `${done}/${total}`.padStart(`${total}`.length * 2 + 1);
  const name = domainName(domain);
  return `${name}${' '.repeat(nameColumns - widthOf(name))} ${bar} ${counts}${failed > 0 ? `, ${failed} failed` : ''}`;
}

/** The block's lines, none wider than `columns`, no more than `height`. */
export function blockLines(tally: Tally, columns: number, height: number): string[] {
  const nameColumns = Math.max(...[...tally.domains.keys()].map((domain) => widthOf(domainName(domain))), 0);
  const domains = [...tally.domains].map(([domain, counts]) => domainLine(domain, counts, nameColumns));
  const head = [summaryLine(tally), ...backendLines(tally)];
  const room = height - head.length;
  const shown = domains.length <= room ? domains : domains.slice(0, Math.max(0, room - 1));
  const hidden = domains.length - shown.length;
  const lines = [...head, ...shown, ...(hidden > 0 ? [`and ${hidden} domains more`] : [])];
  return lines.slice(0, height).map((line) => shortened(line, columns));
}
