// What only a run can know: times, durations, process ids, hashes, temporary paths, sizes. Known by its pattern alone, and written as
// another run would have had it.

import type { Random } from '../../core/random.js';
import { inOrder, type Replaced, type Span, withReplaced } from './units.js';

type RuntimeKind =
  | 'time'
  | 'date'
  | 'duration'
  | 'process'
  | 'hash'
  | 'uuid'
  | 'address'
  | 'temporary'
  | 'session'
  | 'size';

export interface RuntimeToken extends Span {
  readonly kind: RuntimeKind;
}

const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}';
const CLOCK = String.raw`(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?:[.,]\d{1,9})?`;

/** The first group, where there is one, is the token; a pattern further up takes a place before one further down. */
const PATTERNS: readonly (readonly [RuntimeKind, RegExp])[] = [
  ['uuid', /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi],
  // A temporary name has a part that nobody chose: after tmp, or behind a dot or a dash with a digit or a capital letter in it.
  [
    'temporary',
    /\/(?:tmp|var\/tmp|var\/folders)\/(?:[\w.-]{1,99}\/){0,9}(?:tmp\w{4,99}|[\w-]{0,50}[.-](?=[a-z]{0,50}[0-9A-Z])\w{5,50}|pytest-of-\w{1,50}\/pytest-\d{1,9})(?:\/[\w.-]{1,99}){0,9}/g,
  ],
  ['address', /\b0x[0-9a-f]{6,16}\b/gi],
  [
    'date',
    new RegExp(
      String.raw`\b\d{4}-\d\d-\d\d(?=\b|T\d)|\b${MONTH} {1,2}\d{1,2}(?:, ?\d{4})?\b|\b\d{1,2} ${MONTH} \d{4}\b`,
      'g',
    ),
  ],
  [
    'time',
    new RegExp(
      String.raw`(?<![\w.:])${CLOCK}(?![\w:]|\.\d)|(?<=\d\dT)${CLOCK}(?![\w:]|\.\d)|(?<=T)${CLOCK}(?=Z|[+-]\d\d)`,
      'g',
    ),
  ],
  ['time', /(?<![\w.,-])1[5-9]\d{8}(?:\d{3}|\.\d{1,9})?(?![\w.,-]*\d)/g],
  [
    'duration',
    /(?<![\w.])(?:\d+m)?\d+(?:\.\d+)? ?(?:ms|µs|us|ns|s|sec|secs|seconds?|minutes?|mins?|hours?)\b(?! ago)/g,
  ],
  ['duration', /(?:duration|elapsed|took|time)[\w-]{0,30}["']?[:= ] ?["']?(\d+\.\d+)/gi],
  ['process', /\b(?:pid|process(?: id)?|PID)["']?[:= #]{1,3}["']?(\d{2,7})\b/g],
  ['process', /^\[\d+\] (\d{3,7})$/gm],
  ['session', /(?:session|request|trace|correlation|transaction)[-_ ]?id["']?[:=]\s*["']?([\w-]{6,})/gi],
  // A hash is hexadecimal with digits and letters; so long a number is none.
  ['hash', /(?<![\w-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,128}(?![\w-])/g],
  ['hash', /^index ([0-9a-f]{7,40})\.\./gm],
  ['hash', /^index [0-9a-f]{7,40}\.\.([0-9a-f]{7,40})/gm],
  ['hash', /(?<![\w-])sha\d{1,3}[-:=][\w+/=-]{20,}/gi],
  ['size', /(?<![\w.])\d[\d,]*(?:\.\d+)? ?(?:[kKMGT]i?B|[KMGT]|bytes?)\b/g],
  // The size of a file in a long listing.
  ['size', /^[-dlbcps][rwxsStT-]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s+(\d+)\s/gm],
  ['size', /\b(?:file_?size|size|bytes|content-length)["']?[:=]\s*["']?(\d+)\b/gi],
];

/** The runtime tokens of a text in their order; none overlaps another. */
export function runtimeTokens(text: string): RuntimeToken[] {
  const found: RuntimeToken[] = [];
  for (const [kind, pattern] of PATTERNS) {
    for (const match of text.matchAll(pattern)) {
      const token = match[1] ?? match[0];
      const start = match.index + match[0].lastIndexOf(token);
      found.push({ kind, start, end: start + token.length });
    }
  }
  return withoutOverlaps(found);
}

/** Of two that overlap, the one that comes earlier in the list stays. */
function withoutOverlaps(tokens: readonly RuntimeToken[]): RuntimeToken[] {
  const ranked = tokens.map((token, rank) => ({ token, rank }));
  ranked.sort((a, b) => a.token.start - b.token.start || a.rank - b.rank);
  const kept: typeof ranked = [];
  for (const entry of ranked) {
    const last = kept.at(-1);
    if (last === undefined || entry.token.start >= last.token.end) kept.push(entry);
    else if (entry.rank < last.rank) kept[kept.length - 1] = entry;
  }
  return kept.map(({ token }) => token);
}

/** As many digits of a hash as git shows. */
const SHORTEST_HASH = 7;

/** What a rewrite is made of: places in the truth, and what the row says besides. */
interface RewrittenTruth {
  readonly text: string;
  readonly runtime: readonly RuntimeToken[];
  readonly determined: readonly Span[];
  readonly told: readonly string[];
}

/** The text with runtime tokens that stand nowhere in action or history replaced; undefined where it has none. */
export function withOtherRuntime(truth: RewrittenTruth, random: Random): string | undefined {
  const { text, runtime, determined, told } = truth;
  const seen = seenIn(told);
  const said = (place: RuntimeToken) => text.slice(place.start, place.end);
  const open = runtime.filter((place) => isRewritable(place.kind, said(place)) && !seen.has(place.kind, said(place)));
  const shift = timeShift(text, open, seen.times, random);
  const made = new Map<string, string>();
  // The longest first: a short hash is the beginning of a long one, and has to stay so.
  const beginnings = new Map<string, string>();
  for (const place of [...open].sort((a, b) => said(b).length - said(a).length)) {
    const token = said(place);
    if (place.kind === 'time' || made.has(token)) continue;
    const longer = place.kind === 'hash' ? beginnings.get(token.slice(0, SHORTEST_HASH)) : undefined;
    const other = longer?.startsWith(token)
      ? made.get(longer)?.slice(0, token.length)
      : another(place.kind, token, random);
    if (other === undefined || other === token) continue;
    made.set(token, other);
    if (longer === undefined) beginnings.set(token.slice(0, SHORTEST_HASH), token);
  }
  const places = [...open, ...repeatsOf(text, made, inOrder([...runtime, ...determined]))];
  const changes = places.flatMap((place): Replaced[] => {
    const by = place.kind === 'time' ? shift(place) : made.get(said(place));
    return by === undefined ? [] : [{ start: place.start, end: place.end, by }];
  });
  const written = withReplaced(text, changes);
  return written === text ? undefined : written;
}

/** A date may be what was asked for, and a size mostly follows from what was written: both stay. So do durations in whole seconds. */
function isRewritable(kind: RuntimeKind, token: string): boolean {
  if (kind === 'date' || kind === 'size' || kind === 'session') return false;
  return kind !== 'duration' || /\d\.\d|\d\d ?ms/.test(token);
}

/** What was told, by what can be recognised again: whole tokens, runs of letters and digits, and the first digits of hashes. */
function seenIn(told: readonly string[]): { has(kind: RuntimeKind, token: string): boolean; times: string[] } {
  const runs = new Set<string>();
  const beginnings = new Set<string>();
  const times: string[] = [];
  for (const text of told) {
    for (const [run] of text.matchAll(/[0-9A-Za-z]+(?:\.\d+)?/g)) {
      runs.add(run);
      if (/^[0-9a-f]{7}/.test(run)) beginnings.add(run.slice(0, SHORTEST_HASH));
    }
    for (const { kind, start, end } of runtimeTokens(text)) {
      runs.add(text.slice(start, end));
      if (kind === 'time') times.push(text.slice(start, end));
    }
  }
  return {
    times,
    has(kind, token) {
      if (runs.has(token)) return true;
      if (kind === 'hash' || kind === 'uuid') return beginnings.has(token.slice(0, SHORTEST_HASH));
      if (kind === 'time') return false;
      if (kind === 'duration') return runs.has(/\d+(?:\.\d+)?/.exec(token)?.[0] ?? '');
      return (token.match(/[0-9A-Za-z]+/g) ?? []).filter((run) => /\d/.test(run)).some((run) => runs.has(run));
    },
  };
}

/** Where the same words stand once more without their pattern, such as a process id in a table; `taken` is in order. */
function repeatsOf(text: string, made: ReadonlyMap<string, string>, taken: readonly Span[]): RuntimeToken[] {
  const found: RuntimeToken[] = [];
  let next = 0;
  for (const { index: start, 0: run } of made.size === 0 ? [] : text.matchAll(/(?<![\w.])[0-9a-z]{3,}(?![\w.])/g)) {
    const end = start + run.length;
    while (next < taken.length && (taken[next]?.end ?? 0) <= start) next++;
    if (made.has(run) && (taken[next]?.start ?? Infinity) >= end) found.push({ kind: 'process', start, end });
  }
  return found;
}

/** Another token of the kind and pattern. */
function another(kind: RuntimeKind, token: string, random: Random) {
  switch (kind) {
    case 'process':
      return digits(token, random);
    case 'duration':
      return token.includes('.')
        ? token.replace(/\.(\d+)/, (part) => digits(part, random))
        : otherMilliseconds(token, random);
    case 'hash':
      return token.replace(
        /^(sha\d+[-:=])?(.*)$/s,
        (_whole, head: string | undefined, rest: string) => (head ?? '') + alike(rest, random),
      );
    case 'uuid':
      // The version and the variant stay, so that it is still a uuid of its kind.
      return token.replace(/[0-9a-f]/gi, (digit, place: number) =>
        place === 14 || place === 19 ? digit : alike(digit, random),
      );
    case 'address':
      return token.slice(0, 3) + alike(token.slice(3), random);
    case 'temporary':
      return token.replace(
        /(\/tmp|[.-])((?=[a-z]*[0-9A-Z])\w{5,}|(?<=\/tmp)\w{4,}|(?<=pytest-)\d+)/,
        (_whole, head: string, name: string) => head + alike(name, random),
      );
    case 'time':
    case 'date':
    case 'size':
    case 'session':
      return undefined;
    default:
      return kind satisfies never;
  }
}

/** Each digit another digit, each letter another letter of its case; of lower case no further than f where all are hexadecimal. */
function alike(text: string, random: Random): string {
  const letters = /^[0-9a-fA-F-]*$/.test(text) ? 6 : 26;
  const letter = (first: number) => String.fromCharCode(first + Math.floor(random.uniform() * letters));
  return text.replace(/[0-9]|[a-z]|[A-Z]/g, (char) => {
    if (char <= '9') return String(Math.floor(random.uniform() * 10));
    return letter(char >= 'a' ? 97 : 65);
  });
}

/** Other digits, the first not 0 where the text begins with it. */
function digits(text: string, random: Random): string {
  return text.replace(/\d/g, (_digit, place: number) =>
    String(place === 0 ? 1 + Math.floor(random.uniform() * 9) : Math.floor(random.uniform() * 10)),
  );
}

/** Within a fifth of what it was, with as many digits. */
function otherMilliseconds(token: string, random: Random): string {
  return token.replace(/\d+/, (number) => {
    const other = String(Math.round(Number(number) * (0.8 + 0.4 * random.uniform())));
    return other.length === number.length ? other : number;
  });
}

const TIME_OF_DAY = /^(\d{1,2}):(\d\d)(?::(\d\d))?([.,]\d+)?$/;
const DAY = 86_400;
/** Times move by less than this, so that what else says how late it is still holds. */
const MOST_SECONDS = 600;

interface TimeOfDay {
  readonly seconds: number;
  /** Whether it tells them. */
  readonly hasSeconds: boolean;
  /** The same pattern with as many digits, save an hour that gains or loses one. */
  later(by: number): string;
}

function timeOfDay(token: string): TimeOfDay | undefined {
  const [whole, hour = '', minute, second, fraction = ''] = TIME_OF_DAY.exec(token) ?? [];
  if (whole === undefined) return undefined;
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second ?? 0);
  const two = (value: number) => String(value).padStart(2, '0');
  return {
    seconds,
    hasSeconds: second !== undefined,
    later(by) {
      const moved = seconds + by;
      const hours = String(Math.floor(moved / 3600)).padStart(hour.length, '0');
      const minutes = two(Math.floor(moved / 60) % 60);
      return `${hours}:${minutes}${second === undefined ? '' : `:${two(moved % 60)}`}${fraction}`;
    },
  };
}

/** How a time at a place is written when all open ones have moved by the same; undefined where it stays. */
function timeShift(
  text: string,
  open: readonly RuntimeToken[],
  told: readonly string[],
  random: Random,
): (place: Span) => string | undefined {
  const moving = new Map(
    open.flatMap((place) => {
      const time = movable(text, place);
      return time === undefined ? [] : [[place.start, time] as const];
    }),
  );
  const times = [...moving.values()];
  const step = times.every(({ hasSeconds }) => hasSeconds) ? 1 : 60;
  const moved = times.map(({ seconds }) => seconds);
  const fixed = told.flatMap((token) => timeOfDay(token)?.seconds ?? []);
  const by = shiftOf(ascending(moved), ascending(fixed), step, random);
  return ({ start }) => (by === undefined ? undefined : moving.get(start)?.later(by));
}

/** A time without seconds may be an appointment: it is one of a run's where a file of a listing has it. Halves of days stay. */
function movable(text: string, { kind, start, end }: RuntimeToken): TimeOfDay | undefined {
  if (kind !== 'time' || /^ ?[AaPp]\.?[Mm]\b/.test(text.slice(end, end + 5))) return undefined;
  const time = timeOfDay(text.slice(start, end));
  const isListed = /[A-Z][a-z]{2} +\d{1,2} +$/.test(text.slice(Math.max(0, start - 10), start));
  return time?.hasSeconds || isListed ? time : undefined;
}

function ascending(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b);
}

/** Seconds, not 0, that take no time past another one's that stays, nor past midnight; undefined where there are none. */
function shiftOf(moved: readonly number[], fixed: readonly number[], step: number, random: Random): number | undefined {
  let lowest = -MOST_SECONDS;
  let highest = MOST_SECONDS;
  let next = 0;
  for (const time of moved) {
    while ((fixed[next] ?? DAY) < time) next++;
    lowest = Math.max(lowest, (next > 0 ? (fixed[next - 1] ?? 0) + step : 0) - time);
    highest = Math.min(highest, (next < fixed.length ? (fixed[next] ?? DAY) - step : DAY - 1) - time);
  }
  const [from, to] = [Math.ceil(lowest / step), Math.floor(highest / step)];
  const choices = Math.max(0, -from) + Math.max(0, to);
  if (moved.length === 0 || from > 0 || to < 0 || choices === 0) return undefined;
  const choice = from + Math.floor(random.uniform() * choices);
  return (choice >= 0 ? choice + 1 : choice) * step;
}
