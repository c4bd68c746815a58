// The record of a judgement, and what is read back of it from the journal.

import { describe, expect, it } from 'vitest';
import {
  measured,
  type NoJudgement,
  rated,
  recordedJudgement,
  unmeasured,
  unrated,
  withoutPrediction,
} from '../../src/core/judgement.js';
import type { ModelReply } from '../../src/core/types.js';

const log = { attempts: 1, usage: {}, ms: 1, host: 'h' };
const reply: ModelReply = { status: 'ok', content: 'said', servedModel: 'j-1', finishReason: 'stop', log };
const rubrics = { name: 'p', fingerprint: 'f', official: false };
const verdict = { status: 'ok', ratings: { format: 4 }, total: 4, strengths: ['s'], weaknesses: [] } as const;
const unreadable: NoJudgement = { class: 'unreadable', reason: 'r' };

describe('a record', () => {
  it('of a verdict rates what was not rated 0, as the official script writes it', () => {
    expect(JSON.stringify(rated(verdict, { rubrics, reply }))).toBe(
      '{"official":{"total_score":4,"format":4,"factuality":0,"consistency":0,"realism":0,"quality":0,"failed":0,"strengths":["s"],"weaknesses":[],"judge_raw_output":"said"},"judge":{"status":"ok","rubrics":{"name":"p","fingerprint":"f"},"model":"j-1","finish_reason":"stop"}}',
    );
  });

  it('of an unreadable verdict keeps the last reply', () => {
    expect(unrated(unreadable, { reply })).toEqual({
      official: { total_score: 0, failed: 1, error_message: 'Judge scoring failed' },
      judge: { status: 'failed', ...unreadable, model: 'j-1', finish_reason: 'stop', raw_output: 'said' },
    });
  });

  it.each([
    ['empty', 'empty'],
    ['context-overflow', 'context-overflow'],
    ['timeout', 'prediction'],
    ['absent', 'prediction'],
  ])('of a prediction that is missing because of %s says that no judge was asked', (cause, failure) => {
    const record = unrated(withoutPrediction({ class: cause, reason: 'r' }), {});
    expect(record).toEqual({
      official: { failed: 1, error_message: 'No model generation' },
      judge: { status: 'failed', class: failure, reason: 'r' },
    });
  });

  it.each([
    rated(verdict, { rubrics, reply }),
    unrated(unreadable, { rubrics, reply }),
    measured({ chrf: 5 }),
    unmeasured(unreadable),
  ])('is read as it was made', (record) => {
    expect(recordedJudgement(JSON.parse(JSON.stringify(record)))).toEqual(record);
  });
});
