// The observation in a reply that is still coming: the text inside the tag as soon as it is certain, without thinking and marker.

import { OBSERVATION_MARKER, PREDICTION_TAG, pythonStrip } from '../core/reply.js';

const OPEN = `<${PREDICTION_TAG}>`;
const CLOSE = `</${PREDICTION_TAG}>`;
/** Thinking, closed or not, or the tag behind it. */
const FRONT = new RegExp(`<think>[\\s\\S]*?(?:</think>|$)|${OPEN}`, 'gi');
const BACK = new RegExp(CLOSE, 'i');

/**
 * What is certain of the observation in the beginning of a reply; a longer beginning shows the same and more. How the reply is read in the
 * end may differ: where it has several tags, or an unpaired one.
 */
export function certainObservation(reply: string): string {
  const inside = insideTag(reply);
  if (inside === undefined) return '';
  const close = inside.search(BACK);
  const text = pythonStrip(inside.slice(0, close < 0 ? inside.length - openEnd(inside) : close));
  if (close < 0 && OBSERVATION_MARKER.startsWith(text)) return '';
  return text.startsWith(OBSERVATION_MARKER) ? pythonStrip(text.slice(OBSERVATION_MARKER.length)) : text;
}

/** What stands behind the first opening tag that is not part of thinking; undefined where there is none yet. */
function insideTag(reply: string): string | undefined {
  for (const { 0: found, index } of reply.matchAll(FRONT)) {
    if (found.toLowerCase() === OPEN) return reply.slice(index + OPEN.length);
  }
  return undefined;
}

/** How many characters at the end of a text could be the start of the closing tag. */
function openEnd(text: string): number {
  const end = text.slice(1 - CLOSE.length).toLowerCase();
  let length = end.length;
  while (length > 0 && !CLOSE.startsWith(end.slice(-length))) length--;
  return length;
}
