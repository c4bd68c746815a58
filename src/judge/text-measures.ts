// The text measures of a prediction against its ground truth.

import { chrf } from '../chrf.js';
import type { Measures } from '../types.js';
import { editSimilarity } from './edit-similarity.js';
import { jsonF1, lineF1 } from './overlap.js';

/** White space as Python's `str.split` knows it, so that chrF is sacreBLEU's to the last digit (`\s` differs in U+001C to U+001F, U+0085 and U+FEFF). */
const WHITE_SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;

/**
 * Measures of a prediction against its ground truth, each 0 to 100, both texts without the observation marker:
 *
 * - `exact_match`: 100 where both are the same string, else 0.
 * - `edit_similarity`: `1 - d / max(m, n)`, with d the Levenshtein distance over code points.
 * - `chrf`: chrF2 as sacreBLEU 2 computes it for a sentence (see `chrf` below).
 * - `line_f1`: F1 over the multisets of lines; white space at line ends and blank lines do not count.
 * - `json_f1`: F1 over the multisets of (path, leaf). Only where both are JSON and the truth is an object or an array,
 *   else absent: its mean is over the rows that have it, to be read beside their number.
 *
 * A text of white space alone is empty: an empty prediction rates 0 in every measure that applies, or 100 where the
 * truth is empty as well. Time grows with the product of the lengths (edit distance, 32 cells a step), memory with their sum.
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
