// Shared by tests of verdicts: the golden replies of judges, and verdicts to put into replies.

import { readFileSync } from 'node:fs';
import { DIMENSIONS, type Verdict } from '../../src/core/types.js';
import { readStrictVerdict } from '../../src/judge/verdicts.js';

interface JudgeCase {
  readonly cat: string;
  readonly raw: string;
  readonly golden:
    | { readonly success: false }
    | {
        readonly success: true;
        readonly scores: readonly (number | boolean)[];
        readonly total: number;
        readonly strengths: readonly string[];
        readonly weaknesses: readonly string[];
      };
  readonly truth?: readonly number[];
  readonly strict?: {
    readonly scores: readonly number[];
    readonly strengths: readonly string[];
    readonly weaknesses: readonly string[];
  };
}

export const golden = readFileSync(new URL('../../fixtures/golden/judge.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as JudgeCase);

/** A mark, which is in the tags of a reply once it is `marked`. */
export const MARK = '0f1e2d3c4b5a6978';
export const marked = (reply: string): string =>
  reply.replace(/<(\/?)final_evaluation>/gi, `<$1final_evaluation-${MARK}>`);
/** The strict reading of a reply, once its tags have the mark. */
export const readStrictly = (reply: string): Verdict =>
  readStrictVerdict(marked(reply), { mark: MARK, isHeld: false, countsUnmarked: () => true });
export const ratingsOf = (verdict: Verdict) =>
  verdict.status === 'ok' ? DIMENSIONS.map((dimension) => verdict.ratings[dimension]) : undefined;
export const isRating = (rating: number | undefined): boolean => rating !== undefined && rating >= 1 && rating <= 5;
export const block = (json: string): string =>
  `Some words.\n<final_evaluation>\n\`\`\`json\n${json}\n\`\`\`\n</final_evaluation>`;
export const scores = (values: string): string => `{"strengths": [], "weaknesses": [], "scores": {${values}}}`;
export const five = '"format": 4, "factuality": 3, "consistency": 5, "realism": 2, "quality": 1';
export const others = '"factuality": 3, "consistency": 5, "realism": 2, "quality": 1';
