// Verdicts: the JSON schema that a judge can be held to, and how its replies are read: strictly, or exactly as the official script does.

import { jsonrepair } from 'jsonrepair';
import { FACT_KINDS, LONGEST_CLAIM, MOST_FACTS, readFacts } from '../core/facts.js';
import { decimalDigit } from '../core/folded.js';
import type { JsonObject as PlainObject } from '../core/json.js';
import { lastBlock, PYTHON_SPACE, pythonStrip, VERDICT_TAG, withoutThinking } from '../core/reply.js';
import type { RubricPack } from '../core/rubric.js';
import { DIMENSIONS, type Ratings, type Verdict } from '../core/types.js';
import { MARK_LENGTH, markedBlocks, soleBlock } from './answer-mark.js';
import { unreadable } from './mode.js';

// JSON as Python's json reads it, and values as Python reads them from texts: the basis of the official reading of verdicts.

/** Python 3.11 refuses deeper nesting and longer integers; the official script calls such a reply unreadable. */
const MAX_DEPTH = 992;
const MAX_DIGITS = 4300;

/** Objects are maps, so that a key such as `__proto__` is an ordinary key. */
type Json = null | boolean | number | string | Json[] | JsonObject;
type JsonObject = Map<string, Json>;

/**
 * The JSON object that makes up the whole text: RFC 8259, and the literals `NaN`, `Infinity` and `-Infinity` as in Python's `json`. The
 * official script repairs a `syntax` fault, and gives up at a `limit` (nested too deep, an integer too long). `repeated` are the keys that
 * some object has more than once; the last counts.
 */
function parseJson(text: string) {
  const repeated = new Set<string>();
  try {
    const value = read(text, repeated);
    if (value instanceof Map) return { value, repeated };
  } catch (error) {
    if (error instanceof RangeError) return { fault: 'limit', repeated } as const;
  }
  return { fault: 'syntax', repeated } as const;
}

const LITERALS = new Map<string, Json>([
  ['null', null],
  ['true', true],
  ['false', false],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);
const token = (pattern: string) => new RegExp(`[ \\t\\n\\r]*(${pattern})`, 'y');
const STRING = token(String.raw`"[^"\\]*(?:\\[\s\S][^"\\]*)*"`);
const LITERAL = token([...LITERALS.keys()].join('|'));
const NUMBER = token(String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?`);
const OPEN = token('[{[]');
const END_OF_OBJECT = token('}');
const END_OF_LIST = token(']');
const COLON = token(':');
const COMMA = token(',');

/** @throws SyntaxError if the text is not JSON, RangeError at Python's limits. */
function read(text: string, repeated: Set<string>): Json {
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[1];
    if (found !== undefined) at = pattern.lastIndex;
    return found;
  };
  const need = (pattern: RegExp): string => {
    const found = take(pattern);
    if (found === undefined) throw new SyntaxError(`no ${pattern.source} at ${at}`);
    return found;
  };
  const items = (end: RegExp, readItem: () => unknown) => {
    if (take(end) !== undefined) return;
    do readItem();
    while (take(COMMA) !== undefined);
    need(end);
  };
  const value = (depth: number): Json => {
    const string = take(STRING);
    if (string !== undefined) return String(JSON.parse(string));
    const open = take(OPEN);
    if (open !== undefined && depth === MAX_DEPTH) throw new RangeError('nested too deeply');
    if (open === '[') {
      const list: Json[] = [];
      items(END_OF_LIST, () => list.push(value(depth + 1)));
      return list;
    }
    if (open === '{') {
      const object: JsonObject = new Map();
      items(END_OF_OBJECT, () => {
        const key = String(JSON.parse(need(STRING)));
        if (object.has(key)) repeated.add(key);
        need(COLON);
        object.set(key, value(depth + 1));
      });
      return object;
    }
    const literal = take(LITERAL);
    if (literal !== undefined) return LITERALS.get(literal) ?? null;
    const number = need(NUMBER);
    if (/[.eE]/.test(number)) return Number(number);
    if (number.replace('-', '').length > MAX_DIGITS) throw new RangeError('an integer is too long');
    // In Python, an integer is never infinite.
    return Math.max(-Number.MAX_VALUE, Math.min(Number(number), Number.MAX_VALUE));
  };
  const whole = value(0);
  if (/[^ \t\n\r]/.test(text.slice(at))) throw new SyntaxError(`more at ${at}`);
  return whole;
}

/** The number that Python's `int()` makes of a text, in decimal digits of any script; undefined if it fails. */
function pythonInt(text: string): number | undefined {
  const ascii = pythonStrip(text).replace(/\p{Nd}/gu, decimalDigit);
  if (!/^[+-]?\d+(?:_\d+)*$/.test(ascii)) return undefined;
  const digits = ascii.replaceAll('_', '');
  return digits.replace(/^[+-]/, '').length > MAX_DIGITS ? undefined : Number(digits);
}

/** Changes with the answer mark, with how it is asked for and with what is accepted strictly; the official reading never changes. */
export const STRICT_VERSION = 3;

/** The strict reading repairs no longer verdict (UTF-16 units): repairing takes quadratic time on stray quotes. */
const REPAIRABLE_LENGTH = 32_000;

/** The facts about the question that are needed to read the reply. */
interface AskedVerdict {
  readonly mark: string;
  /** Whether the entire reply must be one JSON object. */
  readonly isHeld: boolean;
  /** Whether the reply was cut off. */
  readonly isCut?: boolean;
  /** Whether a block without the mark counts: only if nothing in the case can be mistaken for one. */
  countsUnmarked(): boolean;
}

/**
 * What a judge's reply says, or nothing: only the judge's own five ratings of 1 to 5 are accepted. The verdict is in the block with the
 * mark, outside of thinking; several such blocks must agree. A reply that is held to JSON is one object whose `mark` is the mark. Without
 * the mark a verdict counts only in the single block that ends the reply, and only if `countsUnmarked`.
 *
 * The JSON is parsed before it is repaired, and accepted only if its `scores` rate the five dimensions, each once, with numbers that round
 * (half to even) to 1 to 5 and have no exponent.
 */
export function readStrictVerdict(reply: string, asked: AskedVerdict): Verdict {
  const text = pythonStrip(reply);
  if (text === '') return unreadable('the reply is empty');
  const verdict = asked.isHeld ? readHeld(text, asked.mark) : readBlocks(text, asked);
  // A reply that was cut off may have had its own verdict still to come, whatever it contains.
  return asked.isCut && verdict.status === 'ok' ? unreadable('more may have followed the verdict') : verdict;
}

function readHeld(text: string, mark: string): Verdict {
  const found = [text, pythonStrip(withoutThinking(text))].map(parseJson).find(({ value }) => value !== undefined);
  if (found?.value === undefined) return unreadable('the reply is not one JSON object');
  const { value, repeated } = found;
  if (value.get('mark') !== mark || repeated.has('mark')) return unreadable('the object lacks the mark of its case');
  return verdictOf(value, repeated, text);
}

function readBlocks(text: string, { mark, countsUnmarked }: AskedVerdict): Verdict {
  const marked = markedBlocks(text, mark);
  if (marked.length === 0) {
    const sole = soleBlock(text);
    if (sole === undefined) return unreadable('the reply contains no block with the mark of its case');
    if (!countsUnmarked()) return unreadable('the block lacks the mark of its case, so it may be a quotation');
    return readBlock(sole);
  }
  const verdicts = marked.map(readBlock);
  const last = verdicts.at(-1) ?? unreadable('the reply is empty');
  return verdicts.every((verdict) => agree(verdict, last)) ? last : unreadable('the reply contains different verdicts');
}

function agree(one: Verdict, other: Verdict): boolean {
  if (one.status !== 'ok' || other.status !== 'ok') return one.status === other.status;
  return DIMENSIONS.every((dimension) => one.ratings[dimension] === other.ratings[dimension]);
}

/** A rating with an exponent. In a quotation inside a string the quotes are escaped. */
const EXPONENT = new RegExp(`"(?:${DIMENSIONS.join('|')})"\\s*:\\s*"?[-+.\\d]+e[-+\\d]`, 'i');

function readBlock(block: string): Verdict {
  const given = unfenced(block);
  const json = parseJson(given).fault === 'syntax' ? repaired(given) : given;
  const { value, repeated } = parseJson(json);
  return value === undefined ? unreadable('the JSON is invalid or cut off') : verdictOf(value, repeated, json);
}

function unfenced(text: string): string {
  const isFenced = text.length > 6 && text.startsWith('```') && text.endsWith('```');
  return isFenced ? pythonStrip(text.slice(3, -3).replace(/^json/, '')) : text;
}

function verdictOf(verdict: JsonObject, repeated: ReadonlySet<string>, json: string): Verdict {
  if (EXPONENT.test(json)) return unreadable('the verdict gives a rating with an exponent');
  const scores = verdict.get('scores');
  if (!(scores instanceof Map)) return unreadable('the verdict contains no "scores" object');
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
  return accepted(verdict, ratings);
}

/** The repaired JSON. Empty if repairing fails or had to close an object or list: the judge may have had more to say. */
function repaired(json: string): string {
  if (json.length > REPAIRABLE_LENGTH) return '';
  try {
    const result = jsonrepair(json);
    return closings(result) > closings(json) ? '' : result;
  } catch {
    return '';
  }
}

const closings = (json: string): number => json.split(/[}\]]/).length;

/**
 * What a judge's reply says, as the official script reads it. The verdict is in the last `<final_evaluation>` block outside thinking, or
 * anywhere in the reply if there is no block or the last one is empty. It is the JSON object that `locate` finds there, after repair. A
 * score that cannot be read is absent, one above 5 is 5, one below 0 stays.
 */
export function readOfficialVerdict(reply: string): Verdict {
  const text = withoutThinking(pythonStrip(reply), VERDICT_TAG);
  if (text === '') return unreadable('the reply is empty');
  const json = locate(lastBlock(text, VERDICT_TAG) || text);
  if (json === undefined) return unreadable('the reply contains no JSON object');
  const verdict = parseOfficially(mendOfficially(json));
  const scores = verdict?.get('scores');
  if (verdict === undefined) return unreadable('the JSON cannot be parsed');
  if (!(scores instanceof Map)) return unreadable('the verdict contains no "scores" object');
  const ratings: Ratings = {};
  for (const dimension of DIMENSIONS) {
    const score = scores.get(dimension);
    if (typeof score === 'number' && !Number.isFinite(score))
      return unreadable(`the rating of ${dimension} is not finite`);
    const rating = wholeNumber(score) ?? 0;
    if (rating !== 0) ratings[dimension] = Math.min(rating, 5);
  }
  return accepted(verdict, ratings);
}

const TRAILING_COMMA = new RegExp(`,([${PYTHON_SPACE}]*[}\\]])`, 'gu');
const SINGLE_QUOTED_KEY = new RegExp(`'([\\p{L}\\p{N}_]+)'([${PYTHON_SPACE}]*:)`, 'gu');
const BARE_KEY = new RegExp(`([{,])[${PYTHON_SPACE}]*([\\p{L}\\p{N}_]+)[${PYTHON_SPACE}]*:`, 'gu');
const SCORES_ALONE = new RegExp(`"scores"[${PYTHON_SPACE}]*:[${PYTHON_SPACE}]*\\{[^}]+\\}`, 'u');

/** What the official script does to every verdict, valid or not; strings that look like its targets are changed too. */
function mendOfficially(json: string): string {
  return json.replace(TRAILING_COMMA, '$1').replace(SINGLE_QUOTED_KEY, '"$1"$2').replace(BARE_KEY, '$1"$2":');
}

/** The repaired object, or what remains of it if only its first `scores` can be parsed. */
function parseOfficially(json: string): JsonObject | undefined {
  const { value, fault } = parseJson(json);
  if (fault !== 'syntax') return value;
  const scores = SCORES_ALONE.exec(json);
  return scores === null ? undefined : parseJson(`{${scores[0]}}`).value;
}

/**
 * The last fenced object, else the last one with matching braces, else the one that the last brace closes. Objects that contain `"scores"`
 * come first.
 */
function locate(text: string): string | undefined {
  return preferScores(fencedObjects(text)) ?? preferScores(braceMatched(text)) ?? matchedBackwards(text);
}

function preferScores(objects: readonly string[]): string | undefined {
  return objects.findLast((object) => object.includes('"scores"')) ?? objects.at(-1);
}

function fencedObjects(text: string): string[] {
  const bodies = Array.from(text.matchAll(/```(?:json)?([\s\S]*?)```/g), ([, inside = '']) => pythonStrip(inside));
  return bodies.filter((body) => body.startsWith('{') && body.endsWith('}'));
}

/** Objects whose braces match, only the outermost, in order. */
function braceMatched(text: string): string[] {
  const closing = unmatchedBraces(text);
  const found: string[] = [];
  let start = text.indexOf('{');
  while (start !== -1) {
    const close = closing[start + 1] ?? -1;
    if (close !== -1) found.push(text.slice(start, close + 1));
    start = text.indexOf('{', close === -1 ? start + 1 : close + 1);
  }
  return found;
}

/**
 * For each position, the place of the first `}` without an opening partner, if reading starts there outside of any string; -1 for none. The
 * official script starts again from every brace, which takes quadratic time; reading from the right gives the same in one pass.
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

/** From the last `}` backwards to its partner; a quote after a backslash does not count. */
function matchedBackwards(text: string): string | undefined {
  const last = text.lastIndexOf('}');
  let depth = 0;
  let quoted = false;
  for (let i = last; i >= 0; i--) {
    const char = text.charAt(i);
    if (char === '"' && text.charAt(i - 1) !== '\\') quoted = !quoted;
    if (quoted) continue;
    if (char === '}') depth++;
    if (char === '{' && --depth === 0) return text.slice(i, last + 1);
  }
  return undefined;
}

/** The verdict of these ratings, with the remarks and the checklist next to them. */
function accepted(verdict: JsonObject, ratings: Ratings): Verdict {
  const rated = Object.values(ratings).filter((rating) => rating > 0);
  return {
    status: 'ok',
    ratings,
    total: rated.length === 0 ? 0 : rated.reduce((sum, rating) => sum + rating) / rated.length,
    strengths: remarks(verdict.get('strengths')),
    weaknesses: remarks(verdict.get('weaknesses')),
    // An unreadable checklist does not void the verdict: the ratings are the judge's own, whatever is next to them.
    ...(verdict.has('facts') ? { facts: readFacts(plain(verdict.get('facts'))) } : {}),
  };
}

function plain(value: Json | undefined): unknown {
  if (Array.isArray(value)) return value.map(plain);
  return value instanceof Map ? Object.fromEntries(Array.from(value, ([key, item]) => [key, plain(item)])) : value;
}

function remarks(value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.map((item) => (typeof item === 'string' ? item : JSON.stringify(plain(item))));
  return typeof value === 'string' && value !== '' ? [value] : [];
}

/** A score as a whole number before any clamping: rounded half to even, a string up to its first `/`; undefined for anything else. */
function wholeNumber(score: Json | undefined): number | undefined {
  if (typeof score === 'string') return pythonInt(score.split('/', 1)[0] ?? '');
  if (typeof score === 'boolean') return Number(score);
  if (typeof score !== 'number' || !Number.isFinite(score)) return undefined;
  const below = Math.floor(score);
  const above = score - below - 0.5;
  return above > 0 || (above === 0 && below % 2 !== 0) ? below + 1 : below;
}

/** Changes with the form that a judge is held to. */
export const SCHEMA_VERSION = 2;

/** The most remarks of a kind: packs without a checklist have been limited to three since the first version. */
const MOST_REMARKS = { plain: 3, checked: 4 } as const;
const LONGEST_REMARK = 200;

/**
 * The `response_format` for the pack's verdicts. The mark comes first. Checklist and reasons come before the scores: a judge held to it
 * writes in this order, and so still thinks first. There is no `strict`: with it some servers reject string limits, and the reader checks
 * everything.
 */
export function verdictFormat({ facts }: Pick<RubricPack, 'facts'>, asksMark: boolean): PlainObject {
  const most = facts === undefined ? MOST_REMARKS.plain : MOST_REMARKS.checked;
  const score = { ...(facts === undefined ? {} : { type: 'integer' }), enum: [1, 2, 3, 4, 5] };
  const remarks = { type: 'array', items: { type: 'string', maxLength: LONGEST_REMARK }, maxItems: most };
  const properties = {
    // It differs in each case: a separate schema for each would have to be compiled again.
    ...(asksMark ? { mark: { type: 'string', minLength: MARK_LENGTH, maxLength: MARK_LENGTH } } : {}),
    ...(facts === undefined ? {} : { facts: FACTS }),
    strengths: remarks,
    weaknesses: remarks,
    scores: closed(Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, score]))),
  };
  return { type: 'json_schema', json_schema: { name: 'verdict', schema: closed(properties) } };
}

const FACTS = {
  type: 'array',
  items: closed({
    claim: { type: 'string', minLength: 1, maxLength: LONGEST_CLAIM },
    kind: { type: 'string', enum: FACT_KINDS },
    met: { type: 'boolean' },
    // Empty if nothing is quoted: not every server accepts optional members.
    quote: { type: 'string', maxLength: LONGEST_CLAIM },
  }),
  maxItems: MOST_FACTS,
};

/** An object with all of these properties and no others. */
function closed(properties: PlainObject): PlainObject {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}
