// What infer adds to a row, and what is read of a row that infer or somebody else wrote.

import { describe, expect, test } from 'vitest';
import { predicted, readPredictionRow, recordedPrediction, unpredicted } from '../../src/core/prediction.js';

const ID = { key: 'k', trajectory: 't', repeat: 2 };
const FAILURE = { class: 'timeout', reason: 'no token in time' } as const;

describe('a record', () => {
  test('keeps what the reply had in addition to its text, in one order', () => {
    const reply = { content: 'ok', reasoning: 'hm', finishReason: 'stop', fittedMaxTokens: 7 };
    expect(JSON.stringify(predicted(ID, reply, ['untagged']))).toBe(
      '{"gen":"ok","awb":{"key":"k","trajectory":"t","repeat":2,"status":"ok","flags":["untagged"],"finish_reason":"stop","fitted_max_tokens":7,"reasoning":"hm"}}',
    );
  });

  test('of a failed call has an empty text and says why', () => {
    expect(JSON.stringify(unpredicted(ID, FAILURE))).toBe(
      '{"gen":"","awb":{"key":"k","trajectory":"t","repeat":2,"status":"failed","class":"timeout","reason":"no token in time","flags":[]}}',
    );
  });

  test.each([predicted(ID, { content: 'ok' }, []), unpredicted(ID, FAILURE)])('is read as it was made', (members) => {
    expect(recordedPrediction({ ...members })).toEqual(members.awb);
  });
});

describe('a row of a predictions file', () => {
  const awb = { ...ID, status: 'ok', flags: [], later: 1 };

  test('keeps what is not known in its awb object', () => {
    expect(readPredictionRow({ gen: 'ok', awb })).toEqual({ gen: 'ok', id: { key: 'k', repeat: 2 }, awb });
  });

  test.each([
    [{ gen: '' }, 'empty'],
    [{}, 'absent'],
    [{ gen: null }, 'absent'],
    [{ gen: '', awb: { ...ID, status: 'failed', class: 'refused' } }, 'refused'],
    [{ gen: '', awb: { ...ID, status: 'failed' } }, 'fatal'],
    [{ gen: '', awb: { status: 'failed', class: 'refused' } }, 'empty'],
  ])('says of %j that its prediction failed as %s', (row, failure) => {
    expect(readPredictionRow(row)).toMatchObject({ gen: '', failure: { class: failure } });
  });

  test.each([undefined, null, [], 'awb', { key: 'k' }, { key: 'k', repeat: 1.5 }, { repeat: 1 }])(
    'is not ours with %j for its awb object',
    (other) => {
      expect(readPredictionRow({ gen: 'ok', awb: other })).toEqual({ gen: 'ok', awb: {} });
    },
  );

  test('whose gen is not text cannot be read', () => {
    expect(readPredictionRow({ gen: 5 })).toBeUndefined();
  });
});
