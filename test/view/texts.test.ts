// A chunk of a report's texts.

import { describe, expect, it } from 'vitest';
import { textsChunk } from '../../src/view/texts.js';
import { TEXTS } from '../support/reports.js';

describe('a chunk of texts', () => {
  it('holds each text once, and says what differs', () => {
    const chunk = textsChunk();
    chunk.add(TEXTS);
    const size = chunk.size;
    chunk.add({ ...TEXTS, other: { ...TEXTS, prediction: '' } });
    expect(chunk.size).toBe(size);
    const { strings, rows } = JSON.parse(chunk.json());
    expect(new Set(strings).size).toBe(strings.length);
    expect(rows[0]).toMatchObject({ steps: [1, ['-', 1], ['+', 1]], weaknesses: ['wrong'] });
    expect(strings[rows[0].history[1]]).toBe('seen');
    expect(rows[1].other).not.toHaveProperty('prediction');
  });

  it('keeps every text to the last unit, whatever it holds', () => {
    const chunk = textsChunk();
    const texts = ['</script>', '\u0000\u001b[2J', '\ud800 alone', '\u2028', '\r\n\r', '\\u003c'];
    for (const truth of texts) chunk.add({ ...TEXTS, truth });
    const { strings, rows } = JSON.parse(Buffer.from(chunk.json(), 'utf8').toString('utf8'));
    expect(rows.map((row: { truth: number }) => strings[row.truth])).toEqual(texts);
  });
});
