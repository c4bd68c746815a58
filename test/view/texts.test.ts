// The texts of a page's samples.

import { describe, expect, it } from 'vitest';
import { collectTexts, type Texts } from '../../src/view/texts.js';
import { TEXTS } from '../support/reports.js';

const read = (texts: Texts) => JSON.parse(Buffer.from(texts.json(), 'utf8').toString('utf8'));

describe('texts', () => {
  it('stand there once each, with what differs', () => {
    const texts = collectTexts();
    texts.add(TEXTS);
    const { strings: first } = read(texts);
    texts.add({ ...TEXTS, other: { ...TEXTS, prediction: '' } });
    const { strings, rows } = read(texts);
    expect(strings).toEqual(first);
    expect(new Set(strings).size).toBe(strings.length);
    expect(rows[0]).toMatchObject({ steps: [1, ['-', 1], ['+', 1]], weaknesses: ['wrong'] });
    expect(strings[rows[0].history[1]]).toBe('seen');
    expect(rows[1].other).not.toHaveProperty('prediction');
  });

  it('are kept to the last unit, whatever they hold', () => {
    const texts = collectTexts();
    const held = ['</script>', '\u0000\u001b[2J', '\ud800 alone', '\u2028', '\r\n\r', '\\u003c'];
    for (const truth of held) texts.add({ ...TEXTS, truth });
    const { strings, rows } = read(texts);
    expect(rows.map((row: { truth: number }) => strings[row.truth])).toEqual(held);
  });

  it('lose their histories, those before and after, once they are more than there is room for, and nothing else', () => {
    const texts = collectTexts(100);
    texts.add({ ...TEXTS, history: [{ action: 'gone', observation: TEXTS.truth }] });
    texts.add({ ...TEXTS, judgeReply: 'x'.repeat(100) });
    expect(texts.hasHistories).toBe(false);
    texts.add({ ...TEXTS, action: 'gone' });
    const { strings, rows } = read(texts);
    expect(rows.map((row: object) => Object.keys(row).includes('history'))).toEqual([false, false, false]);
    expect(strings).not.toContain('seen');
    const truths = rows.map((row: { truth: number; action: number }) => [strings[row.truth], strings[row.action]]);
    expect(truths).toEqual([
      [TEXTS.truth, TEXTS.action],
      [TEXTS.truth, TEXTS.action],
      [TEXTS.truth, 'gone'],
    ]);
  });

  it('lose their histories before they are refused, whatever limit is asked for', () => {
    const texts = collectTexts(1e9, 'way on', 200);
    expect(texts.limit).toBe(200 / 1e6);
    texts.add({ ...TEXTS, history: [{ action: 'x'.repeat(300), observation: '' }] });
    expect(texts.hasHistories).toBe(false);
    expect(() => texts.add({ ...TEXTS, judgeReply: 'x'.repeat(300) })).toThrow(/without histories.*; way on$/);
  });

  it('are refused where no page could hold them, with a way on', () => {
    const texts = collectTexts(100);
    const long = 'x'.repeat(50e6);
    const add = () => {
      for (let at = 0; at < 6; at++) texts.add({ ...TEXTS, judgeReply: `${at}${long}` });
    };
    expect(add).toThrow(/more than 250 MB without histories.*a judged file of fewer rows/);
  });
});
