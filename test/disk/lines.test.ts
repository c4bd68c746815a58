import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Line, splitLines } from '../../src/disk/lines.js';

interface PlainLine extends Omit<Line, 'bytes'> {
  readonly text: string;
}

/**
 * The lines split from bytes that arrive cut at the given positions. Every chunk arrives in the same buffer, as from a reader that reuses
 * it.
 */
async function split(bytes: Uint8Array, cuts: readonly number[] = [], longest?: number): Promise<PlainLine[]> {
  const buffer = Buffer.alloc(bytes.length);
  async function* chunks() {
    const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
    let start = 0;
    for (const end of ends) {
      buffer.fill(0x3f).set(bytes.subarray(start, end));
      yield buffer.subarray(0, end - start);
      start = end;
    }
  }
  const lines: PlainLine[] = [];
  for await (const { bytes: own, ...rest } of splitLines(chunks(), longest)) lines.push({ ...rest, text: latin1(own) });
  return lines;
}

/** The expected lines, by a plain implementation without chunks. */
function naiveSplit(bytes: Uint8Array): PlainLine[] {
  const parts = latin1(bytes).split('\n');
  const lines: PlainLine[] = [];
  let offset = 0;
  for (const [index, part] of parts.entries()) {
    const text = part.replace(/\r$/, '');
    if (/[^ \t\r]/.test(text)) {
      lines.push({ text, offset, number: index + 1, ended: index < parts.length - 1, tooLong: false });
    }
    offset += part.length + 1;
  }
  return lines;
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

async function texts(text: string): Promise<string[]> {
  const lines = await split(Buffer.from(text));
  return lines.map((line) => Buffer.from(line.text, 'latin1').toString('utf8'));
}

describe('splitLines', () => {
  test.each([
    ['a carriage return before the line feed is dropped', 'a\r\nb\r\n', ['a', 'b']],
    ['a carriage return elsewhere is kept', 'a\rb\n\rc\n', ['a\rb', '\rc']],
    ['blank lines are skipped', '\n \t\r\na\n\n\r\n', ['a']],
    ['a last line needs no line feed', 'a\nb', ['a', 'b']],
    ['no other separator splits', 'a\u2028b\u2029c\u0085d\ve\ff\n', ['a\u2028b\u2029c\u0085d\ve\ff']],
    ['a byte order mark is kept', '\ufeffa\n', ['\ufeffa']],
    ['nothing gives nothing', '', []],
  ])('%s', async (_claim, text, expected) => {
    expect(await texts(text)).toEqual(expected);
  });

  test('lines, offsets and numbers do not depend on where chunks end', async () => {
    const pieces = fc.constantFrom('a', '\n', '\r', '\r\n', ' ', '\u2028', '日', '😀', '{"k":"v"}', 'x'.repeat(40));
    const content = fc.array(pieces, { maxLength: 40 }).map((parts) => Buffer.from(parts.join('')));
    await fc.assert(
      fc.asyncProperty(content, fc.array(fc.nat(), { maxLength: 30 }), async (bytes, cuts) => {
        expect(await split(bytes, cuts)).toEqual(naiveSplit(bytes));
      }),
      { numRuns: 500 },
    );
  });

  test('a line of 50 MB in chunks of 64 KiB is returned complete', async () => {
    const bytes = new Uint8Array(50_000_002).fill(0x61);
    bytes[50_000_000] = 0x0a;
    async function* chunks() {
      for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
    }
    const lengths: number[] = [];
    for await (const line of splitLines(chunks())) lengths.push(line.bytes.length);
    expect(lengths).toEqual([50_000_000, 1]);
  });

  test('a line beyond the maximum length is dropped wherever chunks end, and the other lines are unaffected', async () => {
    const pieces = fc.constantFrom('', ' ', 'a', 'abcd', 'abcde', 'abcdefghij');
    const content = fc.array(pieces, { maxLength: 12 }).map((parts) => Buffer.from(parts.join('\n')));
    const cutOff = (line: PlainLine) => (line.text.length > 4 ? { ...line, text: '', tooLong: true } : line);
    await fc.assert(
      fc.asyncProperty(content, fc.array(fc.nat(), { maxLength: 10 }), async (bytes, cuts) => {
        expect(await split(bytes, cuts, 4)).toEqual(naiveSplit(bytes).map(cutOff));
      }),
      { numRuns: 300 },
    );
  });
});
