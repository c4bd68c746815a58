// How texts are cut, and what prompts share with the one before them, against a comparison of whole prompts.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSample, openSizes, piecesOf } from '../../../src/model/tokens/tokenizer.js';
import { RECORDED } from '../../support/cli.js';
import { randomFrom } from '../../support/random.js';

function recordedPrompts(): string[][] {
  return readdirSync(RECORDED)
    .filter((name) => name.endsWith('_test.jsonl'))
    .flatMap((name) => readFileSync(join(RECORDED, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .map(({ system_str, prompt, response, turn_idx }) => [
      system_str,
      ...prompt
        .slice(0, turn_idx)
        .flatMap((text: string, turn: number) => (turn + 1 < turn_idx ? [text, response[turn]] : [text])),
    ]);
}

/** Characters of whole messages that two prompts begin with, and of the first that differs. */
function sharedBy(a: readonly string[], b: readonly string[]): number {
  let sum = 0;
  for (const [place, text] of b.entries()) {
    const other = a[place] ?? '';
    let at = 0;
    while (at < text.length && text[at] === other[at]) at++;
    sum += at;
    if (other !== text) break;
  }
  return sum;
}

const questionOf = (texts: readonly string[]) => ({
  messages: texts.map((content) => ({ role: 'user' as const, content })),
});

test('pieces make up their text, and are short whatever it holds', () => {
  for (const text of ['', 'a', 'line\n'.repeat(5_000), 'x'.repeat(9_999), '\u{1F600}'.repeat(4_000)]) {
    const pieces = piecesOf(text);
    expect(pieces.join('')).toBe(text);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(2_048);
    expect(pieces.every((piece) => Buffer.from(piece).toString() === piece)).toBe(true);
  }
});

test('a prompt shares with the one before it what both begin with, to within a piece', () => {
  const prompts = recordedPrompts();
  const sizeOf = openSizes((text) => text.length);
  let before: readonly string[] = [];
  for (const prompt of prompts) {
    const { tokens, sharedTokens } = sizeOf(questionOf(prompt));
    expect(tokens).toBe(prompt.join('').length);
    const shared = sharedBy(before, prompt);
    expect(sharedTokens).toBeLessThanOrEqual(shared + 1e-6);
    expect(sharedTokens).toBeGreaterThan(shared - 2_048);
    before = prompt;
  }
});

test('a text that the prompt before it began with is counted once', () => {
  const counted: string[] = [];
  const sizeOf = openSizes((text) => {
    counted.push(text);
    return text.length;
  });
  const turns = [`${'history\n'.repeat(1_000)}`, 'action', 'observation', 'next action'];
  sizeOf(questionOf(turns.slice(0, 2)));
  const before = counted.length;
  expect(sizeOf(questionOf(turns)).tokens).toBe(turns.join('').length);
  expect(counted.slice(before)).toEqual(turns.slice(2));
  sizeOf({ prompt: turns.join('') });
  expect(sizeOf({ prompt: turns.join('') }).sharedTokens).toBe(turns.join('').length);
});

test('of much text of a kind a part is counted, which comes to within a hundredth of the whole', () => {
  const random = randomFrom(1);
  const tokensOf = new Map<string, number>();
  let kind = 'web';
  let counted = 0;
  const count = openSample(
    (text) => {
      counted++;
      return tokensOf.get(text) ?? 0;
    },
    () => kind,
  );
  const sumOf = (texts: number, charactersPerToken: number) => {
    let [estimated, exact] = [0, 0];
    for (let at = 0; at < texts; at++) {
      const text = `${kind} ${at} `.padEnd(500 + Math.floor(1_500 * random()), 'x');
      const tokens = text.length / (charactersPerToken * (0.8 + 0.4 * random()));
      tokensOf.set(text, tokens);
      exact += tokens;
      estimated += count(text);
    }
    return { estimated, exact };
  };
  const web = sumOf(5_000, 3);
  expect(counted).toBeLessThan(800);
  expect(Math.abs(web.estimated - web.exact)).toBeLessThan(0.01 * web.exact);
  kind = 'os';
  const os = sumOf(100, 4);
  expect(os.estimated).toBe(os.exact);
});
