// Finding and reading the verdict in a judge's reply, strictly or exactly as the official script reads it.
import { jsonrepair } from 'jsonrepair';
import { lastBlock, PYTHON_SPACE, pythonStrip, withoutThinking } from '../reply.js';
import { DIMENSIONS, type Ratings, type Verdict } from '../types.js';

/** How replies are read: `strict` accepts nothing but five ratings of 1 to 5, `official` what the official script accepts. */
export const VERDICT_READINGS = ['strict', 'official'] as const;
export type VerdictReading = (typeof VERDICT_READINGS)[number];

/** The texts that the official script writes as `error_message`: for a row without a `gen`, and for one whose tries all failed. */
export const OFFICIAL_FAILURES = {
  empty: 'No model generation',
  unreadable: 'Judge scoring failed',
} as const;

/** The tag a judge is asked to put its verdict into. */
export const VERDICT_TAG = 'final_evaluation';

/** A longer verdict (UTF-16 units) is not mended under the strict reading: mending takes quadratic time on stray quotes. */
const MENDABLE_LENGTH = 32_000;
/** Python 3.11 refuses deeper nesting and longer integers; the official script calls such a reply unreadable. */
const MAX_DEPTH = 992;
const MAX_DIGITS = 4300;

/**
 * What a judge's reply says. Both readings look in the same place: the last `<final_evaluation>` block outside thinking, or the
 * whole reply where there is none or the last is empty; in it the last fenced object, else the last object with matching braces, those that hold `"scores"` first.
 *
 * `official` mends and reads as the official script does: a score it cannot read is absent, one above 5 is 5, one below 0 stays.
 * `strict` parses before it mends, and accepts only an object whose `scores` rate the five dimensions, each once, with numbers that
 * round (half to even) to 1 to 5. It refuses what is ambiguous (another verdict beside the one found, scores given twice, a reply that
 * the official reading rates otherwise) and what is cut off.
 */
export function readVerdict(reply: string, reading: VerdictReading): Verdict {
  const text = withoutThinking(pythonStrip(reply), VERDICT_TAG);
  if (text === '') return unreadable('the reply is empty');
  const block = lastBlock(text, VERDICT_TAG);
  const place = block || text;
  const found = locate(place);
  if (found === undefined) return unreadable('the reply holds no JSON object');
  const json = place.slice(found.start, found.end);
  const official = readOfficially(json);
  if (reading === 'official') return official;

  const rest = `${block ? '' : place.slice(0, found.start)}\n${place.slice(found.end)}`;
  if (SCORES_OBJECT.test(rest)) return unreadable('the reply holds more than one verdict, or another that is cut off');
  const strict = readStrictly(json);
  if (rateAlike(strict, official)) return strict;
  return unreadable('the verdict can be read in two ways');
}

const unreadable = (reason: string): Verdict => ({ status: 'unreadable', reason });

function rateAlike(strict: Verdict, official: Verdict): boolean {
  if (strict.status !== 'ok' || official.status !== 'ok') return true;
  const { ratings } = official;
  const complete = DIMENSIONS.every((dimension) => (ratings[dimension] ?? 0) > 0);
  return !complete || DIMENSIONS.every((dimension) => strict.ratings[dimension] === ratings[dimension]);
}

// Where the JSON is.

/** A stretch of a text, in UTF-16 units; `end` is exclusive. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** A `scores` object, however its key is quoted, and even where it is not complete. */
const SCORES_OBJECT = new RegExp(`\\bscores[^\\w{]{0,3}[:=][${PYTHON_SPACE}]*\\{`, 'u');

function locate(text: string): Span | undefined {
  return preferScores(text, fencedObjects(text)) ?? preferScores(text, braceMatched(text)) ?? matchedBackwards(text);
}

function preferScores(text: string, spans: readonly Span[]): Span | undefined {
  return spans.findLast(({ start, end }) => text.slice(start, end).includes('"scores"')) ?? spans.at(-1);
}

function fencedObjects(text: string): Span[] {
  const fence = '```';
  const spans: Span[] = [];
  let open = text.indexOf(fence);
  while (open !== -1) {
    const from = open + fence.length;
    const close = text.indexOf(fence, from);
    if (close === -1) break;
    const body = pythonStrip(text.slice(text.startsWith('json', from) ? from + 'json'.length : from, close));
    const start = text.indexOf(body, from);
    if (body.startsWith('{') && body.endsWith('}')) spans.push({ start, end: start + body.length });
    open = text.indexOf(fence, close + fence.length);
  }
  return spans;
}

function braceMatched(text: string): Span[] {
  const closing = unmatchedBraces(text);
  const spans: Span[] = [];
  let start = text.indexOf('{');
  while (start !== -1) {
    const close = closing[start + 1] ?? -1;
    if (close !== -1) spans.push({ start, end: close + 1 });
    start = text.indexOf('{', close === -1 ? start + 1 : close + 1);
  }
  return spans;
}

/**
 * For each position, where the first `}` without an opening partner stands when reading starts there outside of any string; -1 for none.
 * The official script reads anew from every brace, which takes quadratic time; reading from the right gives the same in one pass.
 */
function unmatchedBraces(text: string): Int32Array {
  const outside = new Int32Array(text.length + 2).fill(-1);
  let inString = -1;
  let escaped = -1;
  for (let i = text.length - 1; i >= 0; i--) {
    const char = text.charAt(i);
    const next = outside[i + 1] ?? -1;
    const here = { '"': inString, '}': i, '{': next === -1 ? -1 : (outside[next + 1] ?? -1) }[char];
    outside[i] = here ?? next;
    [inString, escaped] = [char === '"' ? next : char === '\\' ? escaped : inString, inString];
  }
  return outside;
}

/** From the last `}` backwards to its partner; a quote behind a backslash does not count. */
function matchedBackwards(text: string): Span | undefined {
  const last = text.lastIndexOf('}');
  let depth = 0;
  let quoted = false;
  for (let i = last; i >= 0; i--) {
    const char = text.charAt(i);
    if (char === '"' && text.charAt(i - 1) !== '\\') quoted = !quoted;
    if (quoted) continue;
    if (char === '}') depth++;
    if (char === '{' && --depth === 0) return { start: i, end: last + 1 };
  }
  return undefined;
}

// The official reading.

function readOfficially(json: string): Verdict {
  const verdict = parseOfficially(mendOfficially(json));
  const scores = verdict?.get('scores');
  if (verdict === undefined) return unreadable('the JSON cannot be parsed');
  if (!(scores instanceof Map)) return unreadable('the verdict holds no "scores" object');
  const ratings: Ratings = {};
  for (const dimension of DIMENSIONS) {
    const score = scores.get(dimension);
    const rating = wholeNumber(score) ?? 0;
    if (typeof score === 'number' && !Number.isFinite(score))
      return unreadable(`the rating of ${dimension} is not finite`);
    if (rating !== 0) ratings[dimension] = Math.min(rating, 5);
  }
  return accept(verdict, ratings);
}

const TRAILING_COMMA = new RegExp(`,([${PYTHON_SPACE}]*[}\\]])`, 'gu');
const SINGLE_QUOTED_KEY = new RegExp(`'([\\p{L}\\p{N}_]+)'([${PYTHON_SPACE}]*:)`, 'gu');
const BARE_KEY = new RegExp(`([{,])[${PYTHON_SPACE}]*([\\p{L}\\p{N}_]+)[${PYTHON_SPACE}]*:`, 'gu');
const SCORES_ALONE = new RegExp(`"scores"[${PYTHON_SPACE}]*:[${PYTHON_SPACE}]*\\{[^}]+\\}`, 'u');

/** What the official script does to every verdict, valid or not; strings that look like its targets are altered too. */
function mendOfficially(json: string): string {
  return json.replace(TRAILING_COMMA, '$1').replace(SINGLE_QUOTED_KEY, '"$1"$2').replace(BARE_KEY, '$1"$2":');
}

/** The mended object, or what is left of it when its first `scores` alone can be parsed. */
function parseOfficially(json: string): JsonObject | undefined {
  const { value, fault } = parseJson(json);
  if (fault !== 'syntax') return value;
  const scores = SCORES_ALONE.exec(json);
  return scores === null ? undefined : parseJson(`{${scores[0]}}`).value;
}

// The strict reading.

function readStrictly(json: string): Verdict {
  let parsed = parseJson(json);
  if (parsed.fault === 'syntax') parsed = parseJson(mended(json));
  const { value: verdict, repeated } = parsed;
  const scores = verdict?.get('scores');
  if (verdict === undefined) return unreadable('the JSON is invalid or cut off');
  if (!(scores instanceof Map)) return unreadable('the verdict holds no "scores" object');
  const twice = ['scores', ...DIMENSIONS].find((key) => repeated.has(key));
  if (twice !== undefined) return unreadable(`the verdict gives ${twice} twice`);
  const missing = DIMENSIONS.filter((dimension) => !scores.has(dimension));
  if (missing.length > 0) return unreadable(`the verdict does not rate ${missing.join(', ')}`);
  if (scores.size > DIMENSIONS.length) return unreadable('the verdict rates more than the five dimensions');

  const ratings: Ratings = {};
  for (const dimension of DIMENSIONS) {
    const score = scores.get(dimension);
    const rating = typeof score === 'boolean' ? undefined : wholeNumber(score);
    if (rating === undefined) return unreadable(`the rating of ${dimension} is not a number`);
    if (!(rating >= 1 && rating <= 5)) return unreadable(`the rating of ${dimension} is not from 1 to 5`);
    ratings[dimension] = rating;
  }
  return accept(verdict, ratings);
}

/** The JSON repaired; empty where that fails, or where an object or list had to be closed: the judge may have had more to say. */
function mended(json: string): string {
  if (json.length > MENDABLE_LENGTH) return '';
  try {
    const repaired = jsonrepair(json);
    return closings(repaired) > closings(json) ? '' : repaired;
  } catch {
    return '';
  }
}

const closings = (json: string): number => json.split(/[}\]]/).length;

// What both readings share.

function accept(verdict: JsonObject, ratings: Ratings): Verdict {
  const rated = Object.values(ratings).filter((rating) => rating > 0);
  return {
    status: 'ok',
    ratings,
    total: rated.length === 0 ? 0 : rated.reduce((sum, rating) => sum + rating) / rated.length,
    strengths: remarks(verdict.get('strengths')),
    weaknesses: remarks(verdict.get('weaknesses')),
  };
}

function remarks(value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.map((item) => (typeof item === 'string' ? item : pythonRepr(item)));
  return typeof value === 'string' && value !== '' ? [value] : [];
}

/** A score as a whole number before any clamping: rounded half to even, a string up to its first `/`; undefined for anything else. */
function wholeNumber(score: Json | undefined): number | undefined {
  if (typeof score === 'string') return pythonInt(score.split('/', 1)[0] ?? '');
  if (typeof score === 'bigint' || typeof score === 'boolean') return Number(score);
  if (typeof score !== 'number' || !Number.isFinite(score)) return undefined;
  const below = Math.floor(score);
  const above = score - below - 0.5;
  return above > 0 || (above === 0 && below % 2 !== 0) ? below + 1 : below;
}

// JSON as Python reads it, and values as Python prints them.

/** Integers are bigints and other numbers floats, since Python prints them differently; objects are maps, to keep the order of their keys. */
type Json = null | boolean | bigint | number | string | Json[] | JsonObject;
type JsonObject = Map<string, Json>;

interface Parsed {
  readonly value?: JsonObject;
  /** `syntax` can be mended; `limit` (nested too deep, an integer too long) cannot, officially. */
  readonly fault?: 'syntax' | 'limit';
  /** Keys that some object gives more than once; the last counts. */
  readonly repeated: ReadonlySet<string>;
}

/** The JSON object that is the whole text: RFC 8259, and the literals `NaN`, `Infinity` and `-Infinity` as in Python's `json`. */
function parseJson(text: string): Parsed {
  const repeated = new Set<string>();
  let at = 0;

  const peek = (): string => {
    while (/[ \t\n\r]/.test(text.charAt(at))) at++;
    return text.charAt(at);
  };
  const take = (char: string): boolean => {
    const there = peek() === char;
    if (there) at++;
    return there;
  };
  const expect = (char: string): void => {
    if (!take(char)) throw new SyntaxError(`no ${char} at ${at}`);
  };

  const readString = (): string => {
    const start = at;
    for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++;
    return JSON.parse(text.slice(start, ++at)) as string;
  };
  const readNumber = (): bigint | number => {
    NUMBER.lastIndex = at;
    const [token, whole, fraction, exponent] = NUMBER.exec(text) ?? [''];
    if (whole === undefined) throw new SyntaxError(`no value at ${at}`);
    at += token.length;
    if (fraction !== undefined || exponent !== undefined) return Number(token);
    if (whole.replace('-', '').length > MAX_DIGITS) throw new RangeError('an integer is too long');
    return BigInt(token);
  };
  const readList = (depth: number): Json[] => {
    const list: Json[] = [];
    if (take(']')) return list;
    do list.push(readValue(depth));
    while (take(','));
    expect(']');
    return list;
  };
  const readObject = (depth: number): JsonObject => {
    const object: JsonObject = new Map();
    if (take('}')) return object;
    do {
      if (peek() !== '"') throw new SyntaxError(`no key at ${at}`);
      const key = readString();
      if (object.has(key)) repeated.add(key);
      expect(':');
      object.set(key, readValue(depth));
    } while (take(','));
    expect('}');
    return object;
  };
  const readValue = (depth: number): Json => {
    const char = peek();
    if (char === '"') return readString();
    if (char === '{' || char === '[') {
      if (depth === MAX_DEPTH) throw new RangeError('nested too deep');
      at++;
      return char === '{' ? readObject(depth + 1) : readList(depth + 1);
    }
    for (const [literal, value] of LITERALS) {
      if (!text.startsWith(literal, at)) continue;
      at += literal.length;
      return value;
    }
    return readNumber();
  };

  try {
    const value = readValue(0);
    if (peek() !== '' || !(value instanceof Map)) return { fault: 'syntax', repeated };
    return { value, repeated };
  } catch (error) {
    return { fault: error instanceof RangeError ? 'limit' : 'syntax', repeated };
  }
}

const NUMBER = /(-?(?:0|[1-9]\d*))(\.\d+)?([eE][-+]?\d+)?/y;
const LITERALS: readonly (readonly [string, Json])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
];

/** The number that Python's `int()` makes of a text, in decimal digits of any script; undefined where it makes none. */
function pythonInt(text: string): number | undefined {
  const ascii = pythonStrip(text).replace(/\p{Nd}/gu, decimalValue);
  if (!/^[+-]?\d+(?:_\d+)*$/.test(ascii)) return undefined;
  const digits = ascii.replaceAll('_', '');
  return digits.replace(/^[+-]/, '').length > MAX_DIGITS ? undefined : Number(digits);
}

/** Unicode encodes decimal digits in unbroken runs from 0 to 9, one behind the other. */
function decimalValue(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let zero = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
  return String((code - zero) % 10);
}

/** A value as Python's `repr` prints it. */
function pythonRepr(value: Json): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number') return reprFloat(value);
  if (typeof value === 'string') return reprString(value);
  if (Array.isArray(value)) return `[${value.map(pythonRepr).join(', ')}]`;
  return `{${Array.from(value, ([key, item]) => `${reprString(key)}: ${pythonRepr(item)}`).join(', ')}}`;
}

/** Python and JavaScript print the same digits, but turn to exponents elsewhere. */
function reprFloat(value: number): string {
  if (!Number.isFinite(value))
    return String(value)
      .slice(0, value < 0 ? 4 : 3)
      .toLowerCase();
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) return value.toExponential().replace(/([+-])(\d)$/, '$10$2');
  const text = Object.is(value, -0) ? '-0' : String(value);
  return Number.isInteger(value) ? `${text}.0` : text;
}

function reprString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const named: Record<string, string> = { '\t': '\\t', '\n': '\\n', '\r': '\\r', '\\': '\\\\', [quote]: `\\${quote}` };
  const body = text.replace(/[\\'"]|(?! )[\p{C}\p{Z}]/gu, (char) => {
    if (char === '"' || char === "'" || named[char] !== undefined) return named[char] ?? char;
    const hex = (char.codePointAt(0) ?? 0).toString(16);
    if (hex.length <= 2) return `\\x${hex.padStart(2, '0')}`;
    return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
  });
  return quote + body + quote;
}
