// The true observation of a row as a judge is shown it, and a world model's reply that gives another text in its place.

import { tagged } from '../baselines.js';
import { withoutMarker } from '../reply.js';
import { groundTruthOf } from '../turn.js';
import type { Sample } from '../types.js';

/** The truth without its marker. */
export function observationOf(sample: Sample): string {
  return withoutMarker(groundTruthOf(sample));
}

/** The reply that says this text where the truth has its own, with whatever stands around the truth's. */
export function replyWith(sample: Sample, text: string): string {
  const whole = groundTruthOf(sample);
  const truth = withoutMarker(whole);
  // A marker in the midst of a truth is taken out, and what is left stands nowhere in it.
  const start = whole.lastIndexOf(truth);
  return tagged(start === -1 ? text : whole.slice(0, start) + text + whole.slice(start + truth.length));
}
