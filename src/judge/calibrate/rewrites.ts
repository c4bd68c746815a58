// Neutral rewrites of the truth: what another run would have said in other words, and what must cost nothing.

import { present } from '../../core/errors.js';
import { type Random, shuffled } from '../../core/random.js';
import { type RuntimeToken, runtimeTokens, tokensOf } from './tokens.js';
import { inOrder, type JsonSpan, type Replaced, readJson, type Span, withReplaced } from './units.js';
import { changed, type Variant } from './variant.js';

export const REWRITES = {
  'rewrite-runtime': {
    family: 'rewrite',
    help: 'times, durations, process ids, hashes and temporary names of another run',
    make: ({ sample, random }) => changed(sample, () => withOtherRuntime(tokensOf(sample), random)),
  },
  'rewrite-keys': rewrite('keys of JSON in another order', withOtherKeys),
  'rewrite-space': rewrite('white space at the ends of lines', withOtherSpace),
} satisfies Record<string, Variant>;

function rewrite(help: string, write: (text: string, random: Random) => string): Variant {
  return { family: 'rewrite', help, make: ({ sample, random }) => changed(sample, (text) => write(text, random)) };
}

const FENCED = /^```(?:json)?[ \t]*\n([\s\S]*?)\n```/gm;

/** The text with the members of its objects in another order, their texts unchanged. */
function withOtherKeys(text: string, random: Random): string {
  const whole = readJson(text, 0, text.length);
  const nodes =
    whole !== undefined
      ? [whole]
      : Array.from(text.matchAll(FENCED)).flatMap(({ index, 0: fence, 1: inside = '' }) => {
          const start = index + fence.indexOf('\n') + 1;
          return readJson(text, start, start + inside.length) ?? [];
        });
  // Objects with the same keys get the same order, as the records of a list have.
  const orders = new Map<string, readonly number[]>();
  const orderOf = (node: JsonSpan): readonly number[] => {
    const keys = node.parts.flatMap(({ key }) => (key === undefined ? [] : [text.slice(key.start, key.end)]));
    // Of two members of one name, however they are escaped, the last counts; numbers for keys are in the order that they name.
    const hasTwins = new Set(keys.map((key): unknown => JSON.parse(key))).size < keys.length;
    if (keys.length < 2 || hasTwins || keys.every((key) => /^"-?\d+"$/.test(key))) return [];
    const name = keys.join(' ');
    const order = orders.get(name) ?? otherOrder(keys.length, random);
    orders.set(name, order);
    return order;
  };
  // What stands between members stays in its place.
  const render = (node: JsonSpan): string => {
    const members = node.parts.map(
      ({ key, value }) => (key === undefined ? '' : text.slice(key.start, value.start)) + render(value),
    );
    const order = orderOf(node);
    const changes = node.parts.map(({ key, value }, place) => ({
      start: (key ?? value).start - node.start,
      end: value.end - node.start,
      by: present(members[order[place] ?? place]),
    }));
    return withReplaced(text.slice(node.start, node.end), changes);
  };
  return withReplaced(
    text,
    nodes.map((node) => ({ start: node.start, end: node.end, by: render(node) })),
  );
}

/** An order in which at least one stands elsewhere. */
function otherOrder(length: number, random: Random): number[] {
  const order = shuffled([...Array(length).keys()], random);
  return order.every((from, place) => from === place) ? [...order.slice(1), present(order[0])] : order;
}

/** A line that says something and is not the last; a backslash at a line's end would lose its meaning. */
const LINE_END = /[^\s\\](?=\r?\n)/g;

/** The text with a space behind some of its lines. */
function withOtherSpace(text: string, random: Random): string {
  const ends = Array.from(text.matchAll(LINE_END), ({ index }) => index + 1);
  const certain = Math.floor(random.uniform() * ends.length);
  const chosen = ends.filter((_, place) => random.uniform() < 0.5 || place === certain);
  return withReplaced(
    text,
    chosen.map((end) => ({ start: end, end, by: ' ' })),
  );
}

/** As many digits of a hash as git shows. */
const SHORTEST_HASH = 7;

/** The text with runtime tokens that stand nowhere in action or history replaced. */
function withOtherRuntime({ text, runtime, determined, told }: ReturnType<typeof tokensOf>, random: Random): string {
  const seen = seenIn(told);
  const said = ({ start, end }: Span) => text.slice(start, end);
  const open = runtime.filter((place) => isRewritable(place.kind, said(place)) && !seen.has(place.kind, said(place)));
  const times = movedTimes(text, open, seen.times, random);
  const made = new Map<string, string>();
  // The longest first: a short hash is the beginning of a long one, and has to stay so.
  const beginnings = new Map<string, string>();
  for (const place of open.toSorted((a, b) => said(b).length - said(a).length)) {
    const { kind } = place;
    const token = said(place);
    if (kind === 'time' || made.has(token)) continue;
    const longer = kind === 'hash' ? beginnings.get(token.slice(0, SHORTEST_HASH)) : undefined;
    const other = longer?.startsWith(token) ? made.get(longer)?.slice(0, token.length) : ANOTHER[kind]?.(token, random);
    if (other === undefined || other === token) continue;
    made.set(token, other);
    if (longer === undefined) beginnings.set(token.slice(0, SHORTEST_HASH), token);
  }
  const places = [...open, ...repeatsOf(text, made, inOrder([...runtime, ...determined]))];
  const changes = places.flatMap(({ start, end }): Replaced[] => {
    const by = times.get(start) ?? made.get(text.slice(start, end));
    return by === undefined ? [] : [{ start, end, by }];
  });
  return withReplaced(text, changes);
}

/** Another token of the kind and pattern. A date may be what was asked for, and a size mostly follows from what was written: both stay. */
const ANOTHER: Readonly<Partial<Record<RuntimeToken['kind'], (token: string, random: Random) => string>>> = {
  process: otherDigits,
  duration(token, random) {
    if (token.includes('.')) return token.replace(/\.(\d+)/, (part) => otherDigits(part, random));
    // Within a fifth of what it was, with as many digits.
    return token.replace(/\d+/, (number) => {
      const other = String(Math.round(Number(number) * (0.8 + 0.4 * random.uniform())));
      return other.length === number.length ? other : number;
    });
  },
  hash: (token, random) => {
    const head = /^sha\d+[-:=]/.exec(token)?.[0] ?? '';
    return head + alike(token.slice(head.length), random);
  },
  // The version and the variant stay, so that it is still a uuid of its kind.
  uuid: (token, random) =>
    token.replace(/[0-9a-f]/gi, (digit, place: number) =>
      place === 14 || place === 19 ? digit : alike(digit, random),
    ),
  address: (token, random) => token.slice(0, 3) + alike(token.slice(3), random),
  temporary: (token, random) =>
    token.replace(
      /(\/tmp|[.-])((?=[a-z]*[0-9A-Z])\w{5,}|(?<=\/tmp)\w{4,}|(?<=pytest-)\d+)/,
      (_whole, head: string, name: string) => head + alike(name, random),
    ),
};

/** Durations in whole seconds stay. */
function isRewritable(kind: RuntimeToken['kind'], token: string): boolean {
  if (kind === 'duration') return /\d\.\d|\d\d ?ms/.test(token);
  return kind === 'time' || kind in ANOTHER;
}

/** What was told, by what can be recognised again: whole tokens, runs of letters and digits, and the first digits of hashes. */
function seenIn(told: readonly string[]): { has(kind: RuntimeToken['kind'], token: string): boolean; times: string[] } {
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
function otherDigits(text: string, random: Random): string {
  return text.replace(/\d/g, (_digit, place: number) =>
    String(place === 0 ? 1 + Math.floor(random.uniform() * 9) : Math.floor(random.uniform() * 10)),
  );
}

const DAY = 86_400;
/** Times move by less than this, so that what else says how late it is still holds. */
const MOST_SECONDS = 600;

/** How the times that move are written, by their places: all move by the same. */
function movedTimes(text: string, open: readonly RuntimeToken[], told: readonly string[], random: Random) {
  const moving = open.flatMap(({ kind, start, end }) => {
    const time = timeOfDay(text.slice(start, end));
    // Halves of days stay.
    if (kind !== 'time' || time === undefined || /^ ?[AaPp]\.?[Mm]\b/.test(text.slice(end, end + 5))) return [];
    // A time without seconds may be an appointment: it is one of a run's where a file of a listing has it.
    const isListed = /[A-Z][a-z]{2} +\d{1,2} +$/.test(text.slice(Math.max(0, start - 10), start));
    return time.hasSeconds || isListed ? [{ start, ...time }] : [];
  });
  const step = moving.every(({ hasSeconds }) => hasSeconds) ? 1 : 60;
  const ascending = (seconds: number[]) => seconds.sort((a, b) => a - b);
  const moved = ascending(moving.map(({ seconds }) => seconds));
  const by = shiftOf(moved, ascending(told.flatMap((token) => timeOfDay(token)?.seconds ?? [])), step, random);
  return new Map(by === undefined ? [] : moving.map(({ start, later }) => [start, later(by)]));
}

function timeOfDay(token: string) {
  const [whole, hour = '', minute, second, fraction = ''] =
    /^(\d{1,2}):(\d\d)(?::(\d\d))?([.,]\d+)?$/.exec(token) ?? [];
  if (whole === undefined) return undefined;
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second ?? 0);
  const digits = (value: number, count: number) => String(Math.floor(value)).padStart(count, '0');
  return {
    seconds,
    hasSeconds: second !== undefined,
    /** The same pattern with as many digits, save an hour that gains or loses one. */
    later(by: number): string {
      const moved = seconds + by;
      const tail = second === undefined ? '' : `:${digits(moved % 60, 2)}`;
      return `${digits(moved / 3600, hour.length)}:${digits((moved / 60) % 60, 2)}${tail}${fraction}`;
    },
  };
}

/** Seconds, not 0, that take no time past another one's that stays, nor past midnight; undefined where there are none. Times are in order. */
function shiftOf(moved: readonly number[], fixed: readonly number[], step: number, random: Random): number | undefined {
  let [lowest, highest, next] = [-MOST_SECONDS, MOST_SECONDS, 0];
  for (const time of moved) {
    while ((fixed[next] ?? DAY) < time) next++;
    lowest = Math.max(lowest, (fixed[next - 1] ?? -step) + step - time);
    highest = Math.min(highest, (fixed[next] ?? DAY - 1 + step) - step - time);
  }
  const [from, to] = [Math.ceil(lowest / step), Math.floor(highest / step)];
  const choices = Math.max(0, -from) + Math.max(0, to);
  if (moved.length === 0 || from > 0 || to < 0 || choices === 0) return undefined;
  const choice = from + Math.floor(random.uniform() * choices);
  return (choice >= 0 ? choice + 1 : choice) * step;
}
