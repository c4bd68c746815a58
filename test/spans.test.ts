import { describe, expect, test } from 'vitest';
import { SpanReader } from '../src/spans.js';

/** A file in memory, and how often it was read. */
function file(length: number) {
  const bytes = Uint8Array.from({ length }, (_, place) => (place * 31 + (place >> 8)) % 251);
  const state = { bytes, reads: 0, fails: false };
  const source = {
    async read(buffer: Uint8Array, offset: number, most: number, position: number) {
      state.reads++;
      if (state.fails) throw new Error('EIO');
      const found = state.bytes.subarray(position, position + most);
      buffer.set(found, offset);
      return { bytesRead: found.length };
    },
  };
  return { state, reader: new SpanReader(source) };
}

describe('SpanReader', () => {
  test('gives the bytes of each span, in whatever order and however long', async () => {
    const { state, reader } = file(3_000_000);
    let place = 12_345;
    for (let turn = 0; turn < 500; turn++) {
      // Runs of neighbours with jumps between them, and lengths up to more than a block.
      place = turn % 7 === 0 ? (place * 48_271) % 2_900_000 : place + 1;
      const length = turn % 11 === 0 ? (turn * 1_777) % 700_000 : turn * 13;
      expect(Buffer.compare(await reader.read(place, length), state.bytes.subarray(place, place + length))).toBe(0);
      place += length;
      if (place > 2_900_000) place = turn;
    }
  });

  test('reads neighbours together, also where many are asked for at once', async () => {
    const { state, reader } = file(2_000_000);
    const places = Array.from({ length: 100 }, (_, line) => line * 10_001);
    const spans = await Promise.all(places.map((place) => reader.read(place, 10_000)));
    for (const [line, span] of spans.entries()) {
      const place = line * 10_001;
      expect(Buffer.compare(span, state.bytes.subarray(place, place + 10_000))).toBe(0);
    }
    expect(state.reads).toBeLessThan(5);
  });

  test('reads what has no neighbour by itself, and no more of it', async () => {
    const { state, reader } = file(2_000_000);
    for (const place of [1_500_000, 20_000, 900_000, 400_000]) await reader.read(place, 1000);
    expect(state.reads).toBe(4);
  });

  test('gives fewer bytes where the file has become shorter', async () => {
    const { reader } = file(25_000);
    await reader.read(0, 10_000);
    expect(await reader.read(10_000, 10_000)).toHaveLength(10_000);
    expect(await reader.read(20_000, 10_000)).toHaveLength(5_000);
  });

  test('reads again what could not be read', async () => {
    const { state, reader } = file(100_000);
    await reader.read(0, 100);
    state.fails = true;
    await expect(reader.read(100, 100)).rejects.toThrow('EIO');
    state.fails = false;
    expect(Buffer.compare(await reader.read(100, 100), state.bytes.subarray(100, 200))).toBe(0);
  });
});
