// The true observation as a world model would have answered it, and how likely a model held it to be, given its tokens' scores.

import { PREDICTION_TAG, withoutMarker } from '../core/reply.js';
import { groundTruthOf } from '../core/turn.js';
import type { Sample, TokenScore } from '../core/types.js';

/** Rises when the same scores give other figures than before, or the truth is put to the model in another form. */
export const TRUTH_VERSION = 1;

const OPEN = `<${PREDICTION_TAG}>`;
const CLOSE = `</${PREDICTION_TAG}>`;

/** The truth as judges are shown it: without the marker, stripped at both ends. */
export function trueObservation(sample: Sample): string {
  return withoutMarker(groundTruthOf(sample));
}

/** The reply of a world model that knows the truth: the tag, each on a line of its own, and nothing besides. */
export function trueReply(truth: string): string {
  return `${OPEN}\n${truth}\n${CLOSE}`;
}

/** What the truth's tokens cost, and over how many of them and how many UTF-8 bytes. */
interface TruthCost {
  readonly nats: number;
  readonly tokens: number;
  readonly bytes: number;
}

/**
 * The cost of the truth, given the scores of a prompt that ends with `trueReply(truth)` and what a chat template puts behind it. A
 * token that holds any of the truth counts whole, so that nothing of the truth is free: such as one of a full stop and the line feed
 * behind it.
 * @returns a sentence's end where the truth does not stand in the prompt as it was given
 */
export function costOfTruth(scores: readonly TokenScore[], truth: string): TruthCost | { readonly flaw: string } {
  const bytes = new TextEncoder().encode(truth).length;
  if (bytes === 0) return { flaw: 'the true observation is empty, and has no bytes to spread bits over' };
  const text = scores.map((score) => score.text).join('');
  // Tags that the truth itself holds stand between the two that are wanted.
  const start = nthLast(text, OPEN, countOf(truth, OPEN));
  const close = nthLast(text, CLOSE, 0);
  if (start === undefined || close === undefined || close < start) {
    return { flaw: 'the tag does not stand among the tokens that the server scored' };
  }
  const [from, to] = [start + OPEN.length + 1, close - 1];
  if (visible(text.slice(from, to)) !== visible(truth)) {
    return {
      flaw: "the model's chat template changes the true observation, or the server names its tokens by other texts",
    };
  }
  let [at, nats, tokens] = [0, 0, 0];
  for (const score of scores) {
    const end = at + score.text.length;
    const isInside = score.text === '' ? at >= from && at < to : at < to && end > from;
    if (isInside) {
      nats += score.nats;
      tokens++;
    }
    at = end;
  }
  return { nats, tokens, bytes };
}

/** The figures of one truth. */
export function measuresOfTruth({
  nats,
  tokens,
  bytes,
}: TruthCost): Record<'bits_per_byte' | 'nats_per_token', number> {
  return { bits_per_byte: nats / Math.LN2 / bytes, nats_per_token: nats / tokens };
}

function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** Where a part stands for the last time but so many, in UTF-16 units. */
function nthLast(text: string, part: string, before: number): number | undefined {
  let at = text.length;
  for (let left = before; left >= 0; left--) {
    at = at < 1 ? -1 : text.lastIndexOf(part, at - 1);
    if (at < 0) return undefined;
  }
  return at;
}

/** What every server tells alike: tokens of a part of a character, and of spaces at a start, go by several texts. */
function visible(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, '');
}
