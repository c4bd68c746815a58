// Secrets in text: found in every way that a server may write them, and nowhere else.

import { expect, it, test } from 'vitest';
import { openRedaction, redactValue } from '../src/redaction.js';

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
])('a secret is found %s, whatever stands around it', (_name, write) => {
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

it('a secret too short or a placeholder is not looked for', () => {
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
