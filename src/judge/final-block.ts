// Where the judge's own and final verdict stands in its reply, or why none is certainly its own.

import { VERDICT_TAG } from '../planted.js';
import { PYTHON_SPACE, pythonStrip, tagSpans } from '../reply.js';
import { braceMatched, locate, type Span } from './json-place.js';
import { parseJson } from './python-json.js';
import { hidesTag, type Material, withoutQuotations } from './quotation.js';
import { type Unreadable, unreadable } from './verdict.js';

const SEVERAL = 'the reply holds more than one verdict, or another that is cut off';

const NO_BLOCK = `the reply holds no <${VERDICT_TAG}> block, and is not the JSON alone`;

/** The text of the reply's final JSON object, or why there is none that is certainly the judge's own verdict. */
export function finalObject(reply: string, material: Material): string | Unreadable {
  return wholeObject(reply) ?? objectInBlock(reply, material);
}

/** The JSON object, fenced or not, that is all there is of the reply behind its thinking. */
function wholeObject(text: string): string | undefined {
  const starts = [0, ...tagSpans(text, '/think').map(({ end }) => end)];
  for (const start of starts) {
    const object = unfenced(pythonStrip(text.slice(start)));
    if (!object.startsWith('{') || !object.endsWith('}')) continue;
    // A text that parses as it stands is one object, whatever its strings hold. Of any other text, braces and tags have to say so.
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
/** What may stand behind a block's closing tag on its line: marks of a fence or of emphasis, and a sentence of its own. */
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
