// The mode `metrics`: text measures of a prediction against the ground truth, what can be said of it without a judge.

import { measured, unmeasured } from '../core/judgement.js';
import type { Measure } from '../core/measures.js';
import { isModelCaused } from '../core/points.js';
import { withoutMarker, writtenPrediction } from '../core/reply.js';
import { groundTruthOf } from '../core/turn.js';
import type { Mode } from './mode.js';

const PERCENT: Measure = { range: [0, 100], better: 'larger' };

export const metrics: Mode<readonly []> = {
  help: 'text measures, no model needed',
  noun: 'measurements',
  asksJudge: false,
  rates: false,
  measures: {
    exact_match: PERCENT,
    edit_similarity: PERCENT,
    chrf: PERCENT,
    line_f1: PERCENT,
    json_f1: PERCENT,
  },
  lead: 'chrf',
  words: { one: 'text measure', many: 'text measures', of: 'of prediction against ground truth' },
  async open() {
    // Whoever only asks what the mode declares does not load it.
    const { measure } = await import('./text-measures.js');
    return {
      name: 'metrics',
      identity: {},
      refusal: () => undefined,
      parts: () => [],
      join: (_none, { sample, gen }) => measured(measure(writtenPrediction(gen), withoutMarker(groundTruthOf(sample)))),
      // Whatever left no prediction counts as an empty one, except where infer's transport failed.
      fail: (failure, { sample }) =>
        isModelCaused(failure.class)
          ? measured(measure('', withoutMarker(groundTruthOf(sample))))
          : unmeasured(failure),
    };
  },
};
