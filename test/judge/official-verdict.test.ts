// The official reading of verdicts, checked against the golden cases and against Python.

import { describe, expect, it } from 'vitest';
import { DIMENSIONS } from '../../src/core/types.js';
import { readOfficialVerdict as readOfficially } from '../../src/judge/verdicts.js';
import { block, five, golden, others, ratingsOf, scores } from '../support/verdicts.js';

describe('golden judge replies', () => {
  it('are all read as the official script reads them', () => {
    expect(golden).toHaveLength(333);
    for (const { cat, raw, golden: want } of golden) {
      const verdict = readOfficially(raw);
      if (!want.success) {
        expect({ cat, status: verdict.status }).toEqual({ cat, status: 'unreadable' });
        continue;
      }
      const rated = DIMENSIONS.map((dimension, i) => [dimension, want.scores[i]] as const).filter(([, score]) => score);
      const { total, strengths, weaknesses } = want;
      expect(verdict).toEqual({ status: 'ok', ratings: Object.fromEntries(rated), total, strengths, weaknesses });
    }
  });
});

describe('the official reading', () => {
  it.each([
    ['a string up to its slash', '"4/5"', 4],
    ['only a slash', '"/5"', undefined],
    ['digits of another script', '"\u0663"', 3],
    ['digits outside the first plane', '"\\ud835\\udfd3"', 5],
    ['an underscore between digits', '"1_0"', 5],
    ['a leading underscore', '"_1"', undefined],
    ['a decimal in a string', '"4.0"', undefined],
    ['whitespace as Python defines it', '"\u0085 2 \u3000"', 2],
    ['a byte order mark', '"\ufeff2"', undefined],
    ['a half rounded down to even', '2.5', 2],
    ['a half rounded up to even', '3.5', 4],
    ['a half that rounds to zero', '0.5', undefined],
    ['true', 'true', 1],
    ['false', 'false', undefined],
    ['a percentage', '87', 5],
    ['a negative score', '-3', -3],
    ['an integer too large for a double', '9'.repeat(400), 5],
    ['an object', '{"score": 4}', undefined],
    ['null', 'null', undefined],
  ])('of a score: %s', (_, written, rating) => {
    const verdict = readOfficially(block(scores(`"format": ${written}`)));
    expect(verdict).toMatchObject({ status: 'ok' });
    expect(ratingsOf(verdict)?.[0]).toBe(rating);
  });

  it.each([
    ['NaN', scores(`"format": NaN, ${others}`)],
    ['an infinite score', scores(`"format": 1e400, ${others}`)],
    ['an integer of more than 4300 digits anywhere', `{"a": ${'9'.repeat(4301)}, "scores": {${five}}}`],
    ['nesting deeper than Python reads', `{"a": ${'['.repeat(992)}${']'.repeat(992)}, "scores": {${five}}}`],
    ['scores that are a list', '{"scores": [4, 3, 5, 2, 1]}'],
    ['an empty scores object that has to be rescued', '{"strengths": ["a, b: c"], "scores": {}}'],
    ['no object', 'five out of five'],
    ['nothing', ''],
  ])('cannot read %s', (_, text) => {
    expect(readOfficially(text).status).toBe('unreadable');
  });

  it('reads nesting as deep as Python does', () => {
    const text = `{"a": ${'['.repeat(991)}${']'.repeat(991)}, "scores": {${five}}}`;
    expect(readOfficially(text).status).toBe('ok');
  });

  it('averages only the ratings above 0', () => {
    expect(readOfficially(scores('"format": 5, "quality": 4, "realism": -1'))).toMatchObject({ total: 4.5 });
    expect(readOfficially(scores('"format": 0'))).toMatchObject({ total: 0, ratings: {} });
  });

  it('keeps remarks that are not strings as JSON', () => {
    expect(readOfficially(`{"strengths": [1, null, {"k": 2}], "weaknesses": "w", "scores": {${five}}}`)).toMatchObject({
      strengths: ['1', 'null', '{"k":2}'],
      weaknesses: ['w'],
    });
  });

  it('reads an integer of any length as one', () => {
    expect(readOfficially(scores(`"format": 1${'0'.repeat(400)}`))).toMatchObject({ ratings: { format: 5 } });
  });

  it('prefers a fence with scores to a later object, and the last to the first', () => {
    const fence = (json: string) => `\`\`\`json\n${json}\n\`\`\``;
    const text = `${fence(scores('"format": 1'))} ${fence(scores('"format": 2'))} ${fence('{"a": 1}')} ${scores('"format": 3')}`;
    expect(ratingsOf(readOfficially(text))?.[0]).toBe(2);
  });

  it('finds the object after braces that never close', () => {
    expect(readOfficially(`an open { and "{ in a string ${scores('"format": 2')}`)).toMatchObject({
      total: 2,
    });
  });

  it('reads the entire reply if the last block is empty', () => {
    expect(readOfficially(`${scores(five)}<final_evaluation> </final_evaluation>`).status).toBe('ok');
  });
});
