// Secrets in text: found in every way that a server may write them, and nowhere else.

import { expect, it, test } from 'vitest';
import { openGrowingRedaction, openRedaction, redactValue } from '../../src/core/redaction.js';

const SECRET_IN_PIECES = 'sk-t-0123456789abcdef';

const KEY = 'sk-proj-a/b+c"d\\é~>?0123456789';
const redact = openRedaction([KEY]);

const base64 = (text: string) => Buffer.from(text).toString('base64');
const everyByte = (text: string) => Buffer.from(text).toString('hex').replace(/../g, '%$&');

test.each<[string, (text: string) => string]>([
  ['as it is', (text) => text],
  ['inside JSON', (text) => JSON.stringify(text)],
  ['inside JSON that escapes slashes', (text) => JSON.stringify(text).replaceAll('/', '\\/')],
  ['in a web page', (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('>', '&gt;')],
  ['in a URL', encodeURIComponent],
  ['in a URL, every byte', everyByte],
  ['in a URL, every byte in capitals', (text) => everyByte(text).toUpperCase()],
  ['in hexadecimal', (text) => Buffer.from(text).toString('hex')],
  ['in capital hexadecimal', (text) => Buffer.from(text).toString('hex').toUpperCase()],
  ['in base64', base64],
  ['in base64url', (text) => Buffer.from(text).toString('base64url')],
  ['in base64 in a URL', (text) => encodeURIComponent(base64(text))],
])('a secret is found %s, whatever surrounds it', (_name, write) => {
  // Each length before it is another alignment of base64; `Bearer ` is one of them.
  for (const before of ['', 'a', 'ab', 'abc', 'Bearer ', 'user:']) {
    for (const behind of ['', 'a', 'ab', 'abc']) {
      const shown = redact(`it was <${write(before + KEY + behind)}>, twice ${write(before + KEY + behind)}`);
      expect(shown.split('[redacted]')).toHaveLength(3);
      // What is left shows the surroundings: no five characters of the key in a row.
      for (let at = 0; at + 5 <= KEY.length; at++) expect(shown).not.toContain(write(KEY.slice(at, at + 5)));
      expect(shown.length).toBeLessThan(40 + 2 * (write(before).length + write(behind).length + 16));
    }
  }
});

it('what holds no secret stays as it is', () => {
  const text = `100% of %2F and ${base64('some other text than that')} sk-proj-a`;
  expect(redact(text)).toBe(text);
  expect(openRedaction([])('%73')).toBe('%73');
});

it('a secret that is too short is not searched for, nor the key EMPTY, which means no key', () => {
  expect(openRedaction(['EMPTY', 'abc', ''])('EMPTY abc')).toBe('EMPTY abc');
});

it('a secret that is part of another does not leave the rest of it', () => {
  expect(openRedaction(['longer', 'longer-secret'])('a longer-secret and longer')).toBe('a [redacted] and [redacted]');
});

it('a value stays JSON without its secrets, numbers and names included', () => {
  const hide = openRedaction(['123456', 'hidden-name']);
  const value = { size: 123456, more: [91234567, 12, true, null], text: 'x 123456', 'a hidden-name': {} };
  expect(redactValue(value, hide)).toEqual({
    size: '[redacted]',
    more: ['[redacted]', 12, true, null],
    text: 'x [redacted]',
    'a [redacted]': {},
  });
});

const FORMS = [
  SECRET_IN_PIECES,
  btoa(`x${SECRET_IN_PIECES}y`),
  Array.from(SECRET_IN_PIECES, (letter) => `%${letter.charCodeAt(0).toString(16)}`).join(''),
  `${SECRET_IN_PIECES.slice(0, 4)}%2D${SECRET_IN_PIECES.slice(5)}`,
];

test.each(FORMS)(
  'a secret that comes in pieces is taken out as from the whole text, wherever it is cut: %s',
  (form) => {
    const text = `before ${form} and ${SECRET_IN_PIECES.slice(0, 9)} behind ${SECRET_IN_PIECES.slice(0, 5)}`;
    const whole = openRedaction([SECRET_IN_PIECES])(text);
    expect(whole).not.toBe(text);
    for (let size = 1; size <= 12; size++) {
      const growing = openGrowingRedaction([SECRET_IN_PIECES]);
      const told: string[] = [];
      for (let at = 0; at < text.length; at += size) told.push(growing.add(text.slice(at, at + size)));
      told.push(growing.end());
      expect(told.join('')).toBe(whole);
    }
  },
);

test('a text that comes in pieces is held back only where a secret could have begun', () => {
  const growing = openGrowingRedaction([SECRET_IN_PIECES]);
  expect(growing.add('the way it is.')).toBe('the way it is.');
  expect(growing.add(`then ${SECRET_IN_PIECES.slice(0, 7)}`)).toBe('then ');
  expect(growing.add('no secret')).toBe(`${SECRET_IN_PIECES.slice(0, 7)}no secret`);
  expect(openGrowingRedaction(['EMPTY', 'abc']).add('EMPTYabc')).toBe('EMPTYabc');
});
