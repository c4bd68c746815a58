// The mode `metrics`: text measures of a prediction against its ground truth, without a judge: similarity by edits, and the share of common
// lines or JSON values.

import { chrf, commonCount, encode, intern, numbered } from '../core/chrf.js';
import { editDistance } from '../core/edits.js';
import { isContainer, parseJson } from '../core/json.js';
import { measured, unmeasured } from '../core/judgement.js';
import type { Measure } from '../core/measures.js';
import { isModelCaused } from '../core/points.js';
import { withoutMarker, writtenPrediction } from '../core/reply.js';
import { groundTruthOf } from '../core/turn.js';
import type { Measures } from '../core/types.js';
import type { Mode } from './mode.js';

const PERCENT: Measure = { range: [0, 100], better: 'larger' };

export const metrics: Mode<readonly []> = {
  help: 'text measures, no model needed',
  noun: 'measurements',
  asksJudge: false,
  rates: false,
  measures: { exact_match: PERCENT, edit_similarity: PERCENT, chrf: PERCENT, line_f1: PERCENT, json_f1: PERCENT },
  lead: 'chrf',
  words: { one: 'text measure', many: 'text measures', of: 'of prediction against ground truth' },
  async open() {
    return {
      name: 'metrics',
      identity: {},
      parts: () => [],
      join: (_none, { sample, gen }) => measured(measure(writtenPrediction(gen), withoutMarker(groundTruthOf(sample)))),
      // A missing prediction counts as an empty one, except if infer's transport failed.
      fail: (failure, { sample }) =>
        isModelCaused(failure.class)
          ? measured(measure('', withoutMarker(groundTruthOf(sample))))
          : unmeasured(failure),
    };
  },
};

/**
 * White space as in Python's `str.split`, so that chrF equals sacreBLEU's to the last digit (`\s` differs in U+001C to U+001F, U+0085 and
 * U+FEFF).
 */
const WHITE_SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;

/**
 * Measures of a prediction against its ground truth, each 0 to 100, both texts without the observation marker:
 *
 * - `exact_match`: 100 if both are the same string, else 0.
 * - `edit_similarity`: `1 - d / max(m, n)`, with d the Levenshtein distance over code points.
 * - `chrf`: chrF2 as sacreBLEU 2 computes it for a sentence (see `chrf` below).
 * - `line_f1`: F1 over the multisets of lines; white space at line ends and blank lines do not count.
 * - `json_f1`: F1 over the multisets of (path, leaf). Only if both are JSON and the truth is an object or an array, else absent: its mean
 * covers the rows that have it, so read it together with their number.
 *
 * A text of white space only is empty: an empty prediction gets 0 in every measure that applies, or 100 if the truth is empty as well. Time
 * grows with the product of the lengths (edit distance, 32 cells a step), memory with their sum.
 */
export function measure(prediction: string, truth: string): Measures {
  const bare = { prediction: prediction.replace(WHITE_SPACE, ''), truth: truth.replace(WHITE_SPACE, '') };
  if (bare.prediction === '' || bare.truth === '') {
    const rating = bare.prediction === bare.truth ? 100 : 0;
    return { exact_match: rating, edit_similarity: rating, chrf: rating, line_f1: rating };
  }
  const structural = jsonF1(prediction, truth);
  return {
    exact_match: prediction === truth ? 100 : 0,
    edit_similarity: editSimilarity(prediction, truth),
    chrf: chrf(bare.prediction, bare.truth),
    line_f1: lineF1(prediction, truth),
    ...(structural === undefined ? {} : { json_f1: structural }),
  };
}

/** `1 - d / max(m, n)` times 100, with d the Levenshtein distance over code points. At least one text must not be empty. */
export function editSimilarity(prediction: string, truth: string): number {
  const { p, t, alphabet } = encode(prediction, truth);
  const longer = Math.max(p.length, t.length);
  return (100 * (longer - editDistance(p, t, alphabet))) / longer;
}

/** F1 over the multisets of lines; white space at line ends and blank lines do not count. Both texts contain more than white space. */
export function lineF1(prediction: string, truth: string): number {
  return multisetF1(lines(prediction), lines(truth));
}

function lines(text: string): string[] {
  return text.split('\n').flatMap((line) => line.trimEnd() || []);
}

/** F1 = 2 |P ∩ T| / (|P| + |T|) over multisets that are not both empty, times 100. */
function multisetF1(prediction: readonly string[], truth: readonly string[]): number {
  const known = new Map<string, number>();
  const p = numbered(prediction, known);
  const t = numbered(truth, known);
  return (200 * commonCount(p, t, known.size)) / (p.length + t.length);
}

/** F1 over the multisets of (path, leaf); undefined unless both texts are JSON and the truth is an object or an array. */
export function jsonF1(prediction: string, truth: string): number | undefined {
  const wanted = parseJson(truth);
  // A bare scalar has no structure: terminal output such as `42` would otherwise count as JSON.
  if (typeof wanted !== 'object' || wanted === null) return undefined;
  const given = parseJson(prediction);
  if (given === undefined) return undefined;
  const paths = new Map<string, number>();
  return multisetF1(leaves(given, paths), leaves(wanted, paths));
}

/**
 * Every leaf with its path. An empty object or array is a leaf. Paths are numbers from one table for both texts, and the walk keeps its own
 * stack: hostile nesting of any depth costs linear time and memory.
 */
function leaves(root: unknown, paths: Map<string, number>): string[] {
  const found: string[] = [];
  const pending: { readonly path: number; readonly value: unknown }[] = [{ path: intern(paths, ''), value: root }];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const { path, value } = node;
    const kind = Array.isArray(value) ? '[' : '.';
    const entries = isContainer(value) ? Object.entries(value) : [];
    if (entries.length === 0) found.push(`${path} ${JSON.stringify(value)}`);
    for (const [key, child] of entries) pending.push({ path: intern(paths, `${path}${kind}${key}`), value: child });
  }
  return found;
}
