// The truth of a row as a text that can be damaged, and what is made of it as a world model's reply.

import { tagged } from '../baselines.js';
import { OBSERVATION_MARKER, pythonStrip, withoutMarker } from '../reply.js';
import { groundTruthOf } from '../turn.js';
import type { Sample } from '../types.js';
import type { Subject } from './variant.js';

/** What the environment printed: the truth without the marker in front of it. */
export function observationOf(sample: Sample): string {
  return split(sample).text;
}

/** The reply that predicts the changed truth, the marker in front as it was; undefined where nothing has changed. */
export function changed(sample: Sample, change: (text: string) => string | undefined): string | undefined {
  const { marker, text } = split(sample);
  const result = change(text);
  return result === undefined || isTruth(sample, marker + result) ? undefined : tagged(marker + result);
}

/** Whether a judge would be shown the same as for the truth. */
function isTruth(sample: Sample, observation: string): boolean {
  const shown = (text: string) => withoutMarker(pythonStrip(text));
  return shown(observation) === shown(groundTruthOf(sample));
}

function split(sample: Sample): { readonly marker: string; readonly text: string } {
  const truth = groundTruthOf(sample);
  const end = /^\s*\n|^/.exec(truth.slice(OBSERVATION_MARKER.length))?.[0].length ?? 0;
  const start = truth.startsWith(OBSERVATION_MARKER) ? OBSERVATION_MARKER.length + end : 0;
  return { marker: truth.slice(0, start), text: truth.slice(start) };
}

/** Another row's truth, whole; undefined where there is none that differs. */
export function otherTruth({ sample, donor }: Pick<Subject, 'sample' | 'donor'>): string | undefined {
  const truth = donor && groundTruthOf(donor);
  return truth === groundTruthOf(sample) ? undefined : truth;
}
