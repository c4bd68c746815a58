// A made-up mode, held to what it declares.

import { describe, expect, it } from 'vitest';
import type { Method, Part, Reading } from '../../src/judge/mode.js';
import { checkedMethod, MOST_PARTS } from '../../src/judge/mode.js';
import { measured, unmeasured, unrated } from '../../src/judgement.js';
import type { Measure } from '../../src/measures.js';
import type { ModelReply } from '../../src/types.js';
import { SAMPLE } from '../support/sample.js';

const subject = { sample: SAMPLE, gen: 'g' };
const log = { attempts: 1, usage: {}, ms: 1, host: 'h' };
const reply: ModelReply = { status: 'ok', content: 'said', log };
const part: Part<Reading> = {
  request: () => ({ prompt: 'p' }),
  read: () => ({ status: 'ok' }),
};
const measures: Record<string, Measure> = {
  bits: { range: [0, Number.POSITIVE_INFINITY], better: 'smaller' },
  ratio: { range: [0, 2], better: { target: 1 } },
};

const gauge: Method = {
  name: 'made-up',
  identity: {},
  refusal: () => undefined,
  parts: () => [part],
  join: () => measured({}),
  fail: (failure, _subject, last) => unmeasured(failure, { reply: last }),
};
const checked = (more: Partial<Method>) => checkedMethod('gauge', { measures }, { ...gauge, ...more });

/** The record of a prediction for which the mode makes these measures. */
function recordOf(made: Record<string, number>, more: Partial<Method> = {}) {
  return checked({ join: () => measured(made), ...more }).join([{ reading: { status: 'ok' }, reply }], subject);
}

describe('a record', () => {
  it('with measures that can be is the mode’s own', () => {
    expect(recordOf({ bits: 1e9, ratio: 2 })).toEqual(measured({ bits: 1e9, ratio: 2 }));
  });

  it.each<[Record<string, number>, string]>([
    [{ bits: Number.POSITIVE_INFINITY }, 'measured bits as Infinity, which is not finite'],
    [{ ratio: 1, bits: Number.NaN }, 'measured bits as NaN, which is not finite'],
    [{ bits: -0.5 }, 'measured bits as -0.5, which is below 0'],
    [{ ratio: 2.5 }, 'measured ratio as 2.5, which is above 2'],
    [{ bits: 1e101 }, 'measured bits as 1e+101, which is beyond 1e+100'],
    [{ undeclared: 101 }, 'measured undeclared as 101, which is above 100'],
  ])('of %j is that of a failure, which says so and keeps the reply', (made, reason) => {
    const failed = { status: 'failed', class: 'unreadable', reason: `the mode gauge ${reason}`, raw_output: 'said' };
    expect(recordOf(made)).toEqual({ official: {}, judge: failed });
  });

  it('of a failure never holds such a measure either, whatever the mode says of it', () => {
    const failing = { fail: () => ({ ...unrated({ class: 'empty', reason: 'r' }, {}), measures: { bits: -1 } }) };
    expect(recordOf({ bits: -1 }, failing)).not.toHaveProperty('measures');
  });
});

it.each([0, MOST_PARTS + 1])('a mode of %d parts is refused before anything is asked', (count) => {
  const { parts } = checked({ parts: () => Array.from({ length: count }, () => part) });
  expect(() => parts(subject)).toThrow(`the mode gauge asks ${count} parts about a prediction; it may ask 1 to 16`);
});
