// What judging adds to a row, and the judgement in a row of a judged file, read apart from any file.

import { describe, expect, it } from 'vitest';
import {
  holdsJudgement,
  judgedIdIn,
  judgementIndexIn,
  judgementMembers,
  readJudgedRow,
  remarksIn,
} from '../../src/core/judged-row.js';
import { measured, type NoJudgement, unrated } from '../../src/core/judgement.js';

const ID = { key: 'k', trajectory: 't', repeat: 1, index: 2 };
const unreadable: NoJudgement = { class: 'unreadable', reason: 'r' };
const prediction = { key: 'k', trajectory: 't', repeat: 0, gen: 'ls', awb: { repeat: 0, status: 'ok' }, flags: [] };

describe('the members of a row', () => {
  it('take the place of an earlier judgement, and keep what infer wrote', () => {
    const awb = { ...prediction.awb, later: 1, judge: { status: 'failed' }, measures: { chrf: 1 } };
    const members = judgementMembers({ ...prediction, awb }, measured({ length: 2 }), 0);
    expect(JSON.stringify(members)).toBe(
      '{"awb":{"key":"k","trajectory":"t","repeat":0,"flags":[],"status":"ok","later":1,"judge":{"status":"ok"},"measures":{"length":2}}}',
    );
  });

  it('say which judgement they are from the second one on', () => {
    expect(judgementMembers(prediction, measured({}), 0).awb).toMatchObject({ judge: { status: 'ok' } });
    expect(judgementMembers(prediction, measured({}), 1).awb).toMatchObject({ judge: { index: 1, status: 'ok' } });
  });

  it('show what was judged, where a judge was asked', () => {
    expect(judgementMembers(prediction, unrated(unreadable, {}), 0)).toMatchObject({ extracted_output: 'ls' });
    const unasked = unrated({ class: 'empty', reason: 'r' }, {});
    expect(judgementMembers(prediction, unasked, 0)).not.toHaveProperty('extracted_output');
    expect(judgementMembers(prediction, measured({}), 0)).not.toHaveProperty('extracted_output');
  });
});

describe('the place of a row in a rollout', () => {
  const rollout = { chain: 't', from: 1, step: 3, distance: 2, off_script: ['/a'] };
  const judged = (awb: object) => readJudgedRow({ failed: 0, awb }, { ...ID, index: 0 }, 'os');

  it('is read, and kept by judging', () => {
    expect(judged({ rollout }).rollout).toEqual({ chain: 't', from: 1, step: 3, distance: 2, offScript: ['/a'] });
    const { awb } = judgementMembers({ ...prediction, awb: { rollout } }, measured({}), 0);
    expect(awb).toMatchObject({ rollout });
  });

  it('is absent if there is none, and if it is impossible', () => {
    expect(judged({})).not.toHaveProperty('rollout');
    expect(judged({ rollout: { ...rollout, distance: 0 } })).not.toHaveProperty('rollout');
    expect(readJudgedRow({ failed: 0 }, ID, 'os')).not.toHaveProperty('rollout');
  });
});

describe('which judgement a row holds', () => {
  it('is what awb judge wrote', () => {
    const awb = { key: 'k', trajectory: 't', repeat: 1, judge: { index: 2, status: 'ok' } };
    expect(judgedIdIn({ awb })).toEqual(ID);
    expect(judgedIdIn({ awb: { ...awb, judge: { status: 'ok' } } })).toEqual({ ...ID, index: 0 });
  });

  it.each([undefined, null, [], {}, { key: 'k' }, { key: 1, trajectory: 't' }])('is not said by %j', (awb) => {
    expect(judgedIdIn({ awb })).toBeUndefined();
  });

  it.each([1e20, Number.POSITIVE_INFINITY])('is never the one with the number %d', (index) => {
    expect(judgedIdIn({ awb: { ...ID, judge: { index } } })?.index).toBe(0);
    expect(judgementIndexIn({ judge: { index } })).toBe(0);
  });
});

it.each([
  [{ gen: 'x' }, false],
  [{ gen: 'x', awb: { status: 'ok' } }, false],
  [{ failed: 1 }, true],
  [{ total_score: 0 }, true],
  [{ awb: { judge: {} } }, true],
  [{ awb: { measures: {} } }, true],
])('whether judging was at %j: %s', (fields, expected) => {
  expect(holdsJudgement(fields)).toBe(expected);
});

describe('a row', () => {
  it('counts numbers as Python does', () => {
    const row = readJudgedRow({ failed: false, total_score: true, format: true, quality: '4' }, ID, 'web');
    expect(row).toEqual({ ...ID, domain: 'web', turnIdx: 1, total: 1, ratings: { format: 1 }, flags: [], failed: 0 });
  });

  it.each([1e7, -1e99])('may have the measure %d, since ranges can be open', (bits) => {
    expect(readJudgedRow({ awb: { measures: { bits } } }, ID, 'web').measures).toEqual({ bits });
  });

  it.each([Number.NEGATIVE_INFINITY, 1e101])('does not have the measure %d', (bits) => {
    expect(readJudgedRow({ awb: { measures: { bits } } }, ID, 'web').measures).toBeUndefined();
  });

  it.each([
    [
      { failed: 1, gen: 'x', error_message: 'm' },
      { class: 'unreadable', reason: 'm' },
    ],
    [
      { failed: 1, gen: '' },
      { class: 'empty', reason: 'no reason was recorded' },
    ],
    [{ failed: 1, gen: '', awb: { status: 'failed', class: 'timeout' } }, { class: 'prediction' }],
    [
      { failed: 1, awb: { judge: { status: 'failed', class: 'judge-timeout', reason: 'r' } } },
      { class: 'judge-timeout' },
    ],
    [{ failed: 1, awb: { judge: { status: 'failed', class: 'of a later version' } } }, { class: 'unreadable' }],
  ])('%j says why it failed', (fields, failure) => {
    expect(readJudgedRow(fields, ID, 'web').failure).toMatchObject(failure);
  });
});

it('what the judge said is read whatever form it has', () => {
  const awb = { judge: { raw_output: 'r', reasoning: 'hm' } };
  expect(remarksIn({ strengths: 's', weaknesses: ['w', 5, ''], awb })).toEqual({
    strengths: ['s'],
    weaknesses: ['w'],
    judgeReply: 'r',
    judgeReasoning: 'hm',
  });
  expect(remarksIn({ strengths: null })).toEqual({ strengths: [], weaknesses: [] });
});
