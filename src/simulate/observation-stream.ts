// The observation in a reply that is still coming: the text inside the tag as soon as it is certain, without thinking and marker.

import { OBSERVATION_MARKER, PREDICTION_TAG, pythonStrip } from '../reply.js';

const OPEN = `<${PREDICTION_TAG}>`;
const CLOSE = `</${PREDICTION_TAG}>`;
const THINK = '<think>';
const THOUGHT = '</think>';

/**
 * What is certain of the observation in the beginning of a reply; a longer beginning shows the same and more. How the reply is read in the
 * end may differ: where it has several tags, or an unpaired one.
 */
export function certainObservation(reply: string): string {
  // Tags are found in either case.
  const lower = reply.toLowerCase();
  let at = 0;
  for (;;) {
    const open = lower.indexOf(OPEN, at);
    const think = lower.indexOf(THINK, at);
    if (open < 0 && think < 0) return '';
    if (think < 0 || (open >= 0 && open < think)) {
      at = open + OPEN.length;
      break;
    }
    const thought = lower.indexOf(THOUGHT, think);
    if (thought < 0) return '';
    at = thought + THOUGHT.length;
  }
  const close = lower.indexOf(CLOSE, at);
  const text = pythonStrip(reply.slice(at, close < 0 ? reply.length - openEnd(lower.slice(at), CLOSE) : close));
  if (close < 0 && OBSERVATION_MARKER.startsWith(text)) return '';
  return text.startsWith(OBSERVATION_MARKER) ? pythonStrip(text.slice(OBSERVATION_MARKER.length)) : text;
}

/** How many characters at the end of a text could be the start of the tag. */
function openEnd(text: string, tag: string): number {
  let length = Math.min(text.length, tag.length - 1);
  while (length > 0 && !tag.startsWith(text.slice(-length))) length--;
  return length;
}
