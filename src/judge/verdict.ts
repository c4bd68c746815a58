// Finding and reading the verdict in a judge's reply, strictly or exactly as the official script reads it.
import { jsonrepair } from 'jsonrepair';
import { lastBlock, PYTHON_SPACE, pythonStrip, tagSpans, withoutThinking } from '../reply.js';
import { DIMENSIONS, type Ratings, type Verdict } from '../types.js';
import { type Json, type JsonObject, parseJson, pythonInt, pythonRepr } from './python-json.js';
import { hidesTag, type Material, mayQuote, VERDICT_TAG, withoutQuotations } from './quotation.js';

/** How replies are read: `strict` accepts nothing but the judge's own five ratings of 1 to 5, `official` what the official script accepts. */
export const VERDICT_READINGS = ['strict', 'official'] as const;

/** Changes with what the strict reading accepts: verdicts read in two ways must not mix in one judging. */
export const STRICT_READING = 2;

/** The texts that the official script writes as `error_message`: for a row without a `gen`, and for one whose tries all failed. */
export const OFFICIAL_FAILURES = {
  empty: 'No model generation',
  unreadable: 'Judge scoring failed',
} as const;

/** A longer verdict (UTF-16 units) is not mended under the strict reading: mending takes quadratic time on stray quotes. */
const MENDABLE_LENGTH = 32_000;

/**
 * What a judge's reply says, as the official script reads it: the last `<final_evaluation>` block outside thinking, or the whole reply
 * where there is none or the last is empty; in it the last fenced object, else the last object with matching braces, those that
 * hold `"scores"` first. It is mended; a score that cannot be read is absent, one above 5 is 5, one below 0 stays.
 */
export function readOfficialVerdict(reply: string): Verdict {
  const text = withoutThinking(pythonStrip(reply), VERDICT_TAG);
  if (text === '') return unreadable('the reply is empty');
  const place = lastBlock(text, VERDICT_TAG) || text;
  const found = locate(place);
  if (found === undefined) return unreadable('the reply holds no JSON object');
  return readOfficially(place.slice(found.start, found.end));
}

/**
 * What a judge's reply says, or nothing: a verdict counts only where it is certainly the judge's own and final one.
 *
 * It stands in the one tagged block at the end of the reply, or the reply is nothing but its JSON (or one fence of it). Blocks that
 * stand in the material are quotations and are taken out first. Behind the block there may be a farewell, but no tag and no JSON.
 * Ratings that a prediction with all five dimensions holds count for a quotation that was not word for word: none planted comes out.
 *
 * It is parsed before it is mended, and accepted only where its `scores` rate the five dimensions, each once, with numbers that
 * round (half to even) to 1 to 5, and where the official reading of the same JSON does not rate otherwise.
 */
export function readStrictVerdict(reply: string, material: Material): Verdict {
  const text = pythonStrip(reply);
  if (text === '') return unreadable('the reply is empty');
  const json = wholeObject(text) ?? objectInBlock(text, material);
  if (typeof json !== 'string') return json;
  const verdict = readStrictly(json);
  if (!rateAlike(verdict, readOfficially(json))) return unreadable('the verdict can be read in two ways');
  if (verdict.status === 'ok' && mayQuote(material, verdict.ratings)) {
    return unreadable('the prediction holds the same ratings, so they may be a quotation');
  }
  return verdict;
}

const SEVERAL = 'the reply holds more than one verdict, or another that is cut off';

const NO_BLOCK = `the reply holds no <${VERDICT_TAG}> block, and is not the JSON alone`;

type Unreadable = Verdict & { readonly status: 'unreadable' };

const unreadable = (reason: string): Unreadable => ({ status: 'unreadable', reason });

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

/** The reply where it is nothing but one JSON object behind its thinking, fenced or not. */
function wholeObject(text: string): string | undefined {
  const starts = [0, ...tagSpans(text, '/think').map(({ end }) => end)];
  for (const start of starts) {
    const object = unfenced(pythonStrip(text.slice(start)));
    if (!object.startsWith('{') || !object.endsWith('}')) continue;
    // What can be parsed as it stands is one object, whatever its strings hold; else braces and tags have to say so.
    const isOne = braceMatched(object)[0]?.end === object.length && tagSpans(object, VERDICT_TAG).length === 0;
    if (parseJson(object).fault === undefined || isOne) return object;
  }
  return undefined;
}

function unfenced(text: string): string {
  const isFenced = text.length > 6 && text.startsWith('```') && text.endsWith('```');
  return isFenced ? pythonStrip(text.slice(3, -3).replace(/^json/, '')) : text;
}

/** The JSON object in the reply's final block, or why there is none that is certainly the judge's own verdict. */
function objectInBlock(reply: string, material: Material): string | Unreadable {
  const place = finalBlock(reply, material);
  if (typeof place !== 'string') return place;
  const found = locate(place);
  if (found === undefined) return unreadable('the block holds no JSON object');
  if (SCORES_OBJECT.test(`${place.slice(0, found.start)}\n${place.slice(found.end)}`)) return unreadable(SEVERAL);
  return place.slice(found.start, found.end);
}

/** Marks that open a quotation in front of a block; three backticks open a fence. */
const QUOTED_BEFORE = /(?:["'“”„‟‘’‚‛«»‹›「『《([]|(?<!`)`{1,2})[ \t]*$/u;
/** What may stand on the line of a block's closing tag: marks of a fence or of emphasis, and a sentence of its own. */
const LINE_BEHIND = /^(?:`{3}|[*_]{0,3})(?:[ \t]*(?:$|\p{Cc})|[ \t]+\p{Lu})/u;
/** The end of a verdict whose closing tag is missing. */
const ENDS_AT_BRACE = /\}\s*(?:`{3}\s*)?$/;

/** The inside of the reply's final block. */
function finalBlock(reply: string, material: Material): string | Unreadable {
  const text = withoutQuotations(reply, material);
  if (text === undefined) return unreadable(SEVERAL);
  const opens = tagSpans(text, VERDICT_TAG);
  const closes = tagSpans(text, `/${VERDICT_TAG}`);
  const last = opens.at(-1);
  if (last === undefined) {
    return unreadable(text === reply ? NO_BLOCK : 'the reply only quotes a verdict of the material');
  }
  const thought = tagSpans(text, '/think').findLast(({ end }) => end <= last.start)?.end ?? 0;
  if (thought === 0 && tagSpans(text, 'think')[0]?.start === 0) return unreadable('the reply never ends its thinking');
  const isBefore = ({ start }: Span) => start >= thought && start < last.start;
  const mention = opens.find(isBefore);
  if (closes.some(isBefore)) return unreadable(SEVERAL);
  if (mention !== undefined && SCORES_OBJECT.test(text.slice(mention.end, last.start))) return unreadable(SEVERAL);
  const [close, further] = closes.filter(({ start }) => start >= last.end);
  const inside = text.slice(last.end, close?.start);
  const behind = close === undefined ? '' : text.slice(close.end);
  if (close === undefined && !ENDS_AT_BRACE.test(inside)) return unreadable('the verdict is cut off');
  if (tagSpans(behind, '/think').length > 0) return unreadable('the only verdict stands in the thinking');
  if (further !== undefined || behind.includes('{') || hidesTag(behind)) {
    return unreadable('something that may be another verdict stands behind the block');
  }
  if (QUOTED_BEFORE.test(text.slice(0, last.start)) || !LINE_BEHIND.test(behind)) {
    return unreadable('the block stands within a sentence or in quotation marks, so it may be a quotation');
  }
  return inside;
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
