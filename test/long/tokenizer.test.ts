// Token counts equal to those of Hugging Face's own implementation (fixtures/tokenizers/make.py), including long and hostile texts.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openTokenizer } from '../../src/model/tokens/tokenizer.js';
import { ROOT } from '../support/cli.js';
import { randomFrom } from '../support/random.js';

const FIXTURES = join(ROOT, 'fixtures/tokenizers');
const golden = JSON.parse(readFileSync(join(FIXTURES, 'golden.json'), 'utf8')) as {
  texts: string[];
  counts: Record<string, number[]>;
  /** All texts joined by newlines, eight times. */
  together: Record<string, number>;
};
const KINDS = Object.keys(golden.counts);
const fixture = (kind: string) => join(FIXTURES, `${kind}.json`);

describe.each(KINDS)('%s', (kind) => {
  test('counts every text like the Python package, whichever came before', async () => {
    const tokenizer = await openTokenizer(fixture(kind));
    for (const texts of [golden.texts, golden.texts.toReversed()]) {
      const counted = texts.map((text) => [text, tokenizer.count(text)]);
      expect(counted).toEqual(texts.map((text) => [text, golden.counts[kind]?.[golden.texts.indexOf(text)]]));
    }
  });

  test('counts a long text like the Python package, up to a token or two per cut', async () => {
    const tokenizer = await openTokenizer(fixture(kind));
    const text = golden.texts.join('\n').repeat(8);
    const more = tokenizer.count(text) - (golden.together[kind] ?? Number.NaN);
    expect(more).toBeGreaterThanOrEqual(0);
    expect(more).toBeLessThanOrEqual((2 * text.length) / 2_048);
  });

  test.each([
    ['one letter', 'a'],
    ['one space', ' '],
    ['one newline', '\n'],
    ['one symbol', '='],
    ['one letter of three bytes', '\u3042'],
    ['one emoji', '\u{1F600}'],
    ['half a token', '<|im_start|'],
    ['a space of SentencePiece', '\u2581'],
    ['an accent', '\u0301'],
    ['half a character', '\ud83d'],
  ])('finishes with a text that is %s 20,000 times', async (_, unit) => {
    const tokenizer = await openTokenizer(fixture(kind));
    const [once, often] = [tokenizer.count(unit.repeat(400)), tokenizer.count(unit.repeat(20_000))];
    // WordPiece maps a word of any length to one unknown token.
    expect(often).toBeGreaterThanOrEqual(once);
    expect(often).toBeLessThanOrEqual((once + 2) * 50);
  });

  test('finishes with an endless text of letters', async () => {
    const tokenizer = await openTokenizer(fixture(kind));
    const random = randomFrom(1);
    const letters = Array.from({ length: 30_000 }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join('');
    expect(tokenizer.count(letters)).toBeGreaterThan(0);
  });
});
