// The truth as another run would have had it: times, durations, process ids, hashes and temporary names that nobody could know.

import type { Random } from '../../random.js';
import type { Span } from '../json-spans.js';
import { type RuntimeKind, runtimeTokens } from '../tokens/runtime.js';
import type { TruthTokens } from '../tokens/truth-tokens.js';
import { timeShift } from './times.js';

interface Place extends Span {
  readonly kind: RuntimeKind;
}

/** As many digits of a hash as git shows. */
const SHORTEST_HASH = 7;

/** The text with runtime tokens that stand nowhere in action or history replaced; undefined where it has none. */
export function withOtherRuntime({ text, runtime, determined, told }: TruthTokens, random: Random): string | undefined {
  const seen = seenIn(told);
  const said = (place: Place) => text.slice(place.start, place.end);
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
  const places = inOrder([...open, ...repeatsOf(text, made, inOrder([...runtime, ...determined]))]);
  let written = '';
  let at = 0;
  for (const place of places) {
    const other = place.kind === 'time' ? shift(place) : made.get(said(place));
    if (other === undefined) continue;
    written += text.slice(at, place.start) + other;
    at = place.end;
  }
  written += text.slice(at);
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
function repeatsOf(text: string, made: ReadonlyMap<string, string>, taken: readonly Span[]): Place[] {
  const found: Place[] = [];
  let next = 0;
  for (const { index: start, 0: run } of made.size === 0 ? [] : text.matchAll(/(?<![\w.])[0-9a-z]{3,}(?![\w.])/g)) {
    const end = start + run.length;
    while (next < taken.length && (taken[next]?.end ?? 0) <= start) next++;
    if (made.has(run) && (taken[next]?.start ?? Infinity) >= end) found.push({ kind: 'process', start, end });
  }
  return found;
}

function inOrder<T extends Span>(places: readonly T[]): T[] {
  return [...places].sort((a, b) => a.start - b.start);
}

/** Another token of the kind and pattern. */
function another(kind: RuntimeKind, token: string, random: Random) {
  switch (kind) {
    case 'process':
      return digits(token, random, 0);
    case 'duration':
      return token.includes('.')
        ? token.replace(/\.(\d+)/, (part) => digits(part, random, 0))
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

/** Other digits, the one at the place `first` not 0. */
function digits(text: string, random: Random, first: number): string {
  return text.replace(/\d/g, (_digit, place: number) =>
    String(place === first ? 1 + Math.floor(random.uniform() * 9) : Math.floor(random.uniform() * 10)),
  );
}

/** Within a fifth of what it was, with as many digits. */
function otherMilliseconds(token: string, random: Random): string {
  return token.replace(/\d+/, (number) => {
    const other = String(Math.round(Number(number) * (0.8 + 0.4 * random.uniform())));
    return other.length === number.length ? other : number;
  });
}
