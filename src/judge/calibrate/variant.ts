// The contract of a variant: a prediction of known quality, made from a row of the benchmark; and what variants are made from.

import { type CalledTool, calledTool } from '../../benchmark/actions/agent-action.js';
import { tagged } from '../../benchmark/baselines.js';
import type { VariantFacts } from '../../core/calibration.js';
import { parseObject } from '../../core/json.js';
import type { Random } from '../../core/random.js';
import { OBSERVATION_MARKER, pythonStrip, withoutMarker } from '../../core/reply.js';
import { groundTruthOf } from '../../core/turn.js';
import type { Sample } from '../../core/types.js';

/** An entry of the list of variants. */
export interface Variant extends Omit<VariantFacts, 'name'> {
  /** Whether it is judged twice, to show the judge's own noise. */
  readonly isRepeated?: true;
  /** A world model's full reply; undefined if the row has nothing to make it from. */
  make(subject: Subject): string | undefined;
}

/** What variants are made from. */
export interface Subject {
  readonly sample: Sample;
  /** Another row of the domain, from another trajectory if there is one; undefined for a domain's only row. */
  readonly donor: Sample | undefined;
  /** A separate stream for each row and variant, so that adding a variant changes no other. */
  readonly random: Random;
  /** A stream that starts the same for each variant of the row: variants that build on one another draw the same values. */
  readonly rowRandom: Random;
}

/** What the environment printed: the truth without its leading marker. */
export function observationOf(sample: Sample): string {
  return split(sample).text;
}

/** The reply that predicts the changed truth, with the leading marker unchanged; undefined if nothing has changed. */
export function changed(sample: Sample, change: (text: string) => string | undefined): string | undefined {
  const { marker, text } = split(sample);
  const result = change(text);
  return result === undefined || isTruth(sample, marker + result) ? undefined : tagged(marker + result);
}

/** Whether a judge would see the same as for the truth. */
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

/** Another row's complete truth; undefined if there is none that differs. */
export function otherTruth({ sample, donor }: Pick<Subject, 'sample' | 'donor'>): string | undefined {
  const truth = donor && groundTruthOf(donor);
  return truth === groundTruthOf(sample) ? undefined : truth;
}

/** The tool call in the last fence of a turn's prompt; undefined if there is none. */
export function toolCallIn(prompt: string): CalledTool | undefined {
  const body = Array.from(prompt.matchAll(/^```\w*\n([\s\S]*?)\n```/gm)).at(-1)?.[1];
  const call = body === undefined ? undefined : calledTool(parseObject(body), Number.POSITIVE_INFINITY);
  return call !== undefined && 'name' in call ? call : undefined;
}
