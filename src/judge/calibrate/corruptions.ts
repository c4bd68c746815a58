// Texts made from the truth. CORRUPTIONS make a graded share of it wrong and leave the rest byte for byte. REWRITES say the same as another
// run would, which must not cost points.

import { createHash } from 'node:crypto';
import { OPPOSITES } from '../../benchmark/specific-tokens.js';
import { present } from '../../core/errors.js';
import { drawn, type Random, randomOf, shuffled } from '../../core/random.js';
import { type ContentToken, type RuntimeToken, runtimeTokens, type TokenKind, tokensOf } from './tokens.js';
import { type JsonSpan, readJson, type Span, withReplaced } from './units.js';
import { changed, observationOf, type Subject, type Variant } from './variant.js';

export const CORRUPTIONS = {
  'determined-1of8': dose(1 / 8, 'an eighth of what action and history determine is wrong'),
  'determined-1of3': dose(1 / 3, 'a third of what action and history determine is wrong'),
  'determined-2of3': dose(2 / 3, 'two thirds of what action and history determine are wrong'),
  light: {
    family: 'order',
    help: 'one state, number or word changed',
    isRepeated: true,
    make: (subject) => corrupted(subject, surestFirst(subject).slice(0, 1)),
  },
  heavy: {
    family: 'order',
    help: 'the same, and half of the content changed',
    isRepeated: true,
    make(subject) {
      const order = surestFirst(subject);
      const count = Math.max(2, Math.round(order.length / 2));
      return order.length < count ? undefined : corrupted(subject, order.slice(0, count));
    },
  },
} satisfies Record<string, Variant>;

/** With fewer determined tokens, an eighth of them is less than one token. */
const FEWEST_TOKENS = 8;

/** The tokens of a smaller share are a subset of those of a larger one, with the same replacements: all draw from the row's stream. */
function dose(share: number, help: string): Variant {
  return {
    family: 'dose',
    help,
    dose: share,
    make(subject) {
      const { determined } = tokensOf(subject.sample);
      if (determined.length < FEWEST_TOKENS) return undefined;
      const count = Math.round(determined.length * share);
      return corrupted(subject, shuffled(determined, subject.rowRandom).slice(0, count));
    },
  };
}

/**
 * Everything in an observation that can be wrong, in an order that is the same for each variant of the row: first one token that is most
 * surely wrong, then content specific to the row, then what another row of the domain also says (the format).
 */
function surestFirst({ sample, donor, rowRandom }: Subject): ContentToken[] {
  const { text, content } = tokensOf(sample);
  const format = new Set(donor === undefined ? [] : wordsIn(observationOf(donor)));
  const isFormat = ({ start, end }: Span) => wordsIn(text.slice(start, end)).every((word) => format.has(word));
  const order = shuffled(content, rowRandom)
    .map((token) => ({ token, tier: isFormat(token) ? 1 : 0 }))
    .sort((a, b) => a.tier - b.tier);
  const [surest] = [...order].sort((a, b) => a.tier - b.tier || b.token.certainty - a.token.certainty);
  return surest === undefined ? [] : [surest, ...order.filter((other) => other !== surest)].map(({ token }) => token);
}

function wordsIn(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function corrupted({ sample, rowRandom }: Subject, tokens: readonly (Span & { readonly kind: TokenKind })[]) {
  const { text, told } = tokensOf(sample);
  const replace = replacerFor([...told, text], rowRandom);
  const changes = tokens.map(({ kind, start, end }) => ({ start, end, by: replace(kind, text.slice(start, end)) }));
  return changed(sample, () => withReplaced(text, changes));
}

/** Common words of every usual length, as names that do not exist. */
const WORDS =
  'oak elm fig yew birch maple cedar hazel larch aspen willow laurel poplar walnut spruce acacia juniper cypress sycamore magnolia hawthorn chestnut tamarisk blackthorn boxwood redwood dogwood rosewood sandalwood cottonwood'.split(
    ' ',
  );
const MOST_TRIES = 30;

/**
 * Replaces a token with a wrong one of the same kind and pattern that occurs nowhere in the row; the same token always gets the same
 * replacement, and a line is removed. `row` is everything the row says. Time grows with its length, not with the number of replacements.
 */
function replacerFor(row: readonly string[], random: Random): (kind: TokenKind, token: string) => string {
  const numbers = new Set(row.flatMap((text) => text.match(/\d+(?:[.,]\d+)*/g) ?? []));
  const small = row.map((text) => text.toLowerCase());
  const free = WORDS.filter((word) => !small.some((text) => text.includes(word)));
  // A row that contains all of these words gets each one doubled.
  const words = free.length > 0 ? free : WORDS.map((word) => `${word}${word}`);
  const made = new Map<string, string>();
  const make: Readonly<Record<TokenKind, (token: string) => string>> = {
    line: () => '',
    state: (token) => OPPOSITES[token] ?? token,
    number: (token) => otherNumber(token, numbers, random),
    path: (token) => otherName(token, true, words, random),
    name: (token) => otherName(token, false, words, random),
  };
  return (kind, token) => {
    const replacement = made.get(`${kind} ${token}`) ?? make[kind](token);
    made.set(`${kind} ${token}`, replacement);
    return replacement;
  };
}

/** Another number with its digits in the same places, or with more digits if too many of those occur in the row. */
function otherNumber(token: string, taken: ReadonlySet<string>, random: Random): string {
  let bare = token.replace(/^-/, '');
  const sign = token.slice(0, token.length - bare.length);
  for (let tries = 1; ; tries++) {
    const other = otherDigits(bare, random);
    if (!taken.has(other)) return sign + other;
    if (tries % MOST_TRIES === 0) bare = `1${bare}`;
  }
}

/** Other digits in the same places; the first is not 0 unless it was. */
function otherDigits(text: string, random: Random): string {
  return text.replace(/\d/g, (digit, place: number) => {
    if (place === 0 && digit === '0' && text.length > 1) return digit;
    const lowest = place === 0 ? 1 : 0;
    return String(lowest + Math.floor(random.uniform() * (10 - lowest)));
  });
}

/** The token with one of its words replaced by a word of similar length and the same case; in a path, never the host or the extension. */
function otherName(token: string, isPath: boolean, words: readonly string[], random: Random): string {
  const from = isPath ? (/^\w+:\/\/[^/]*\//.exec(token)?.[0].length ?? 0) : 0;
  const ending = isPath ? (/\.\w{1,6}$/.exec(token.slice(from))?.index ?? token.length - from) + from : token.length;
  const places = [...token.matchAll(/\p{Lu}?\p{Ll}+|\p{Lu}+/gu)].filter(({ index }) => index >= from && index < ending);
  const longest = places.filter((match) => match[0].length > 2);
  const choice = longest.length > 0 ? longest : places;
  // A path of digits only, such as 2025/1.txt, has no word except its extension.
  if (choice.length === 0) return `${token.slice(0, ending)}-${drawn(words, random)}${token.slice(ending)}`;
  const { index, 0: word } = drawn(choice, random);
  const near = words.filter((other) => Math.abs(other.length - word.length) <= 2);
  const other = inCaseOf(word, drawn(near.length > 0 ? near : words, random));
  return token.slice(0, index) + other + token.slice(index + word.length);
}

function inCaseOf(word: string, other: string): string {
  if (/^\p{Lu}+$/u.test(word) && word.length > 1) return other.toUpperCase();
  return /^\p{Lu}/u.test(word) ? other.charAt(0).toUpperCase() + other.slice(1) : other;
}

export const REWRITES = {
  'rewrite-runtime': {
    family: 'rewrite',
    help: 'times, durations, process ids, hashes and temporary names of another run',
    make: ({ sample, random }) => changed(sample, () => withOtherRuntime(tokensOf(sample), random)),
  },
  'rewrite-keys': rewrite('keys of JSON in another order', withOtherKeys),
  'rewrite-space': rewrite('white space at the ends of lines', withOtherSpace),
} satisfies Record<string, Variant>;

function rewrite(help: string, write: (text: string, random: Random) => string | undefined): Variant {
  return { family: 'rewrite', help, make: ({ sample, random }) => changed(sample, (text) => write(text, random)) };
}

/** The text, if it is JSON, with the members of its objects in another order and otherwise unchanged. */
function withOtherKeys(text: string, random: Random): string | undefined {
  const whole = readJson(text, 0, text.length);
  // Objects with the same keys get the same order, as the records of a list do.
  const orders = new Map<string, readonly number[]>();
  const orderOf = (node: JsonSpan): readonly number[] => {
    const keys = node.parts.flatMap(({ key }) => (key === undefined ? [] : [text.slice(key.start, key.end)]));
    // Of two members with the same name, however escaped, the last counts. Numeric keys keep their order.
    const hasTwins = new Set(keys.map((key): unknown => JSON.parse(key))).size < keys.length;
    if (keys.length < 2 || hasTwins || keys.every((key) => /^"-?\d+"$/.test(key))) return [];
    const name = keys.join(' ');
    const order = orders.get(name) ?? otherOrder(keys.length, random);
    orders.set(name, order);
    return order;
  };
  // The text between members stays in its place.
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
  return whole && withReplaced(text, [{ start: whole.start, end: whole.end, by: render(whole) }]);
}

/** An order that moves at least one item. */
function otherOrder(length: number, random: Random): number[] {
  const order = shuffled([...Array(length).keys()], random);
  return order.every((from, place) => from === place) ? [...order.slice(1), present(order[0])] : order;
}

/** The end of a line that is not blank and not the last. Excludes a backslash, which would lose its meaning. */
const LINE_END = /[^\s\\](?=\r?\n)/g;

/** The text with a space added to the end of some lines. */
function withOtherSpace(text: string, random: Random): string {
  const ends = Array.from(text.matchAll(LINE_END), ({ index }) => index + 1);
  const certain = Math.floor(random.uniform() * ends.length);
  const chosen = ends.filter((_, place) => random.uniform() < 0.5 || place === certain);
  const changes = chosen.map((end) => ({ start: end, end, by: ' ' }));
  return withReplaced(text, changes);
}

/** The number of hash digits that git shows. */
const SHORTEST_HASH = 7;

/** The text with every runtime token replaced that occurs nowhere in action or history; the same token always gets the same replacement. */
function withOtherRuntime({ text, runtime, determined, told }: ReturnType<typeof tokensOf>, random: Random): string {
  const seen = seenIn(told);
  const said = ({ start, end }: Span) => text.slice(start, end);
  const open = runtime.filter((place) => !seen.has(place.kind, said(place)));
  const times = movedTimes(text, open, seen.times, random);
  const salt = random.bits();
  const made = new Map<string, string>();
  for (const place of open) {
    const token = said(place);
    // A short hash is the beginning of a long one and has to stay so: both are made from one stream.
    const name = place.kind === 'hash' ? token.slice(0, SHORTEST_HASH) : token;
    const own = randomOf(createHash('sha256').update(`${salt} ${name}`).digest().readInt32LE());
    made.set(token, ANOTHER[place.kind]?.(token, own) ?? token);
  }
  const taken = [...runtime, ...determined];
  // The same words elsewhere without their pattern, such as a process id in a table.
  const again = Array.from(text.matchAll(/(?<![\w.])[0-9a-z]{3,}(?![\w.])/g), ({ index: start, 0: run }) => {
    return { start, end: start + run.length };
  }).filter((place) => made.has(said(place)) && !taken.some((other) => areAtOnePlace(place, other)));
  const others = [...open, ...again].map((place) => ({ ...place, by: made.get(said(place)) ?? '' }));
  return withReplaced(text, [...others.filter(({ start }) => !times.has(start)), ...times.values()]);
}

function areAtOnePlace(one: Span, other: Span): boolean {
  return one.start < other.end && other.start < one.end;
}

/**
 * Another token of the same kind and pattern. Dates and sizes stay: a date may have been asked for, and a size usually follows from what
 * was written.
 */
const ANOTHER: Readonly<Partial<Record<RuntimeToken['kind'], (token: string, random: Random) => string>>> = {
  process: otherDigits,
  // Whole seconds may have been asked for.
  duration: (token, random) => token.replace(/\.(\d+)/, (part) => otherDigits(part, random)),
  hash: (token, random) => {
    const head = /^sha\d+[-:=]/.exec(token)?.[0] ?? '';
    return head + alike(token.slice(head.length), random);
  },
  // The version and the variant stay, so that it remains a uuid of its kind.
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

/** What was seen before, in recognisable form: whole tokens, runs of letters and digits, and the first digits of hashes. */
function seenIn(told: readonly string[]): { has(kind: RuntimeToken['kind'], token: string): boolean; times: string[] } {
  const runs = new Set<string>();
  const beginnings = new Set<string>();
  const times: string[] = [];
  for (const text of told) {
    for (const [run] of text.matchAll(RUN)) {
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
      if (runs.has(token) || beginnings.has(token.slice(0, SHORTEST_HASH))) return true;
      const numbered = (token.match(RUN) ?? []).filter((run) => /\d/.test(run));
      return kind !== 'time' && numbered.some((run) => runs.has(run));
    },
  };
}

/** A word or a number. */
const RUN = /[0-9A-Za-z]+(?:\.\d+)?/g;

/** Replaces each digit by a digit and each letter by a letter of the same case, up to f if all are hexadecimal. */
function alike(text: string, random: Random): string {
  const letters = /^[0-9a-fA-F-]*$/.test(text) ? 6 : 26;
  const letter = (first: number) => String.fromCharCode(first + Math.floor(random.uniform() * letters));
  return text.replace(/[0-9]|[a-z]|[A-Z]/g, (char) => {
    if (char <= '9') return String(Math.floor(random.uniform() * 10));
    return letter(char >= 'a' ? 97 : 65);
  });
}

const DAY = 86_400;
/** Times move by less than this, so that other statements about the time of day remain true. */
const MOST_SECONDS = 600;

/**
 * The times that move, by place, as rewritten: all move forward by the same amount, none past a time that was seen before, nor past
 * midnight.
 */
function movedTimes(text: string, open: readonly RuntimeToken[], told: readonly string[], random: Random) {
  const moving = open.flatMap(({ kind, start, end }) => {
    const seconds = kind === 'time' ? secondsOf(text.slice(start, end)) : undefined;
    // Times with AM or PM stay.
    const isHalf = /^ ?[AaPp]\.?[Mm]\b/.test(text.slice(end, end + 5));
    return seconds === undefined || isHalf ? [] : [{ start, end, seconds }];
  });
  let room = MOST_SECONDS;
  for (const fixed of new Set([DAY, ...told.flatMap((token) => secondsOf(token) ?? [])])) {
    for (const { seconds } of moving) if (fixed > seconds) room = Math.min(room, fixed - seconds - 1);
  }
  const by = Math.ceil(random.uniform() * room);
  return new Map(
    moving.map(({ start, end, seconds }) => [start, { start, end, by: later(text.slice(start, end), seconds + by) }]),
  );
}

/** Undefined for a time without seconds, which may be an appointment. */
function secondsOf(token: string): number | undefined {
  const [, hour, minute, second] = /^(\d{1,2}):(\d\d):(\d\d)(?:[.,]\d+)?$/.exec(token) ?? [];
  return hour === undefined ? undefined : Number(hour) * 3600 + Number(minute) * 60 + Number(second);
}

/** The time in the token's pattern with the same number of digits, unless the hour gains one. */
function later(token: string, seconds: number): string {
  const parts = [seconds / 3600, (seconds / 60) % 60, seconds % 60];
  return token.replace(/\d+:\d+:\d+/, (clock) =>
    clock.replace(/\d+/g, (digits) => String(Math.floor(present(parts.shift()))).padStart(digits.length, '0')),
  );
}
