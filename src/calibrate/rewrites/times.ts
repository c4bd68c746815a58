// The times of day of a text, moved together: their order stays, among themselves and to those that were told before.

import type { Random } from '../../random.js';
import type { Span } from '../json-spans.js';

const CLOCK = /^(\d{1,2}):(\d\d)(?::(\d\d))?([.,]\d+)?$/;
const DAY = 86_400;
/** Times move by less than this, so that what else says how late it is still holds. */
const MOST_SECONDS = 600;

/** How a time at a place is written when all open ones have moved by the same; undefined where it stays. */
export function timeShift(
  text: string,
  open: readonly (Span & { readonly kind: string })[],
  told: readonly string[],
  random: Random,
): (place: Span) => string | undefined {
  const places = open.filter(({ kind, start, end }) => kind === 'time' && canMove(text, start, end));
  const moved = places.flatMap(({ start, end }) => secondsOf(text.slice(start, end)) ?? []);
  const fixed = told.flatMap((token) => secondsOf(token) ?? []).sort((a, b) => a - b);
  const step = places.every(({ start, end }) => hasSeconds(text.slice(start, end))) ? 1 : 60;
  const by = shiftOf(moved, fixed, step, random);
  const known = new Set(places.map(({ start }) => start));
  return ({ start, end }) => (by === undefined || !known.has(start) ? undefined : later(text.slice(start, end), by));
}

/** A time without seconds may be an appointment: it is one of a run's where a file of a listing has it. Halves of days stay. */
function canMove(text: string, start: number, end: number): boolean {
  if (/^ ?[AaPp]\.?[Mm]\b/.test(text.slice(end, end + 5))) return false;
  const token = text.slice(start, end);
  if (!CLOCK.test(token)) return false;
  return hasSeconds(token) || /[A-Z][a-z]{2} +\d{1,2} +$/.test(text.slice(Math.max(0, start - 10), start));
}

function hasSeconds(token: string): boolean {
  return CLOCK.exec(token)?.[3] !== undefined;
}

function secondsOf(token: string): number | undefined {
  const match = CLOCK.exec(token);
  return match === null ? undefined : Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3] ?? 0);
}

/** Seconds, not 0, that take no time past another one's that stays, nor past midnight; undefined where there are none. */
function shiftOf(moved: readonly number[], fixed: readonly number[], step: number, random: Random): number | undefined {
  let lowest = -MOST_SECONDS;
  let highest = MOST_SECONDS;
  for (const time of moved) {
    const next = firstFrom(fixed, time);
    lowest = Math.max(lowest, (next > 0 ? (fixed[next - 1] ?? 0) + step : 0) - time);
    highest = Math.min(highest, (next < fixed.length ? (fixed[next] ?? DAY) - step : DAY - 1) - time);
  }
  const [from, to] = [Math.ceil(lowest / step), Math.floor(highest / step)];
  const choices = Math.max(0, -from) + Math.max(0, to);
  if (moved.length === 0 || from > 0 || to < 0 || choices === 0) return undefined;
  const choice = from + Math.floor(random.uniform() * choices);
  return (choice >= 0 ? choice + 1 : choice) * step;
}

/** The place of the first that is not less, in a list in order. */
function firstFrom(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The same pattern with as many digits, save an hour that gains or loses one. */
function later(token: string, by: number): string | undefined {
  const match = CLOCK.exec(token);
  const time = secondsOf(token);
  if (match === null || time === undefined) return undefined;
  const [, hour = '', , second, fraction = ''] = match;
  const two = (value: number) => String(value).padStart(2, '0');
  const moved = time + by;
  const hours = String(Math.floor(moved / 3600)).padStart(hour.length, '0');
  return `${hours}:${two(Math.floor(moved / 60) % 60)}${second === undefined ? '' : `:${two(moved % 60)}`}${fraction}`;
}
