import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BlockWriter, bytesOf } from '../src/block-writer.js';
import { randomFrom } from './support/random.js';

/** A disk that takes its time: what reached it, and how many blocks were on their way at once. */
function slowDisk() {
  const taken: Buffer[] = [];
  let underway = 0;
  let most = 0;
  const write = async (block: Uint8Array) => {
    most = Math.max(most, ++underway);
    for (let turns = 0; turns < 3; turns++) await turn();
    // Copied only now: whatever is put into the block meanwhile would be seen.
    taken.push(Buffer.from(block));
    underway--;
  };
  return {
    write,
    text: () => Buffer.concat(taken).toString(),
    sizes: () => taken.map(({ length }) => length),
    most: () => most,
  };
}

const put = (writer: BlockWriter, ...pieces: (string | Uint8Array)[]) => writer.add(pieces, bytesOf(pieces));

describe('what is written in blocks', () => {
  it('comes out as it went in, whatever the sizes of the pieces', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = randomFrom(seed);
      const disk = slowDisk();
      const writer = new BlockWriter(disk.write);
      let whole = '';
      for (let count = 0; count < 30; count++) {
        const text = 'aé字𝄞'.repeat(Math.floor(random() ** 6 * 300_000));
        await put(writer, text, Buffer.from('\n'));
        whole += `${text}\n`;
      }
      await writer.end();
      expect(disk.text() === whole).toBe(true);
    }
  });

  it('is one block at a time, of a megabyte at most unless one piece is larger', async () => {
    const disk = slowDisk();
    const writer = new BlockWriter(disk.write);
    for (let count = 0; count < 5; count++) await put(writer, 'x'.repeat(400_000));
    await put(writer, 'y'.repeat(3_000_000));
    for (let count = 0; count < 3; count++) await put(writer, 'z'.repeat(400_000));
    await writer.end();
    expect(disk.sizes()).toEqual([800_000, 800_000, 400_000, 3_000_000, 800_000, 400_000]);
    expect(disk.most()).toBe(1);
  });

  it('is nothing where nothing was put', async () => {
    const disk = slowDisk();
    await new BlockWriter(disk.write).end();
    expect(disk.sizes()).toEqual([]);
  });

  it('fails where the disk does, at the next block or at the end', async () => {
    const full = async () => {
      throw new Error('full');
    };
    const writer = new BlockWriter(full);
    await put(writer, 'a'.repeat(700_000));
    await put(writer, 'b'.repeat(700_000));
    await expect(put(writer, 'c'.repeat(700_000))).rejects.toThrow('full');
    const short = new BlockWriter(full);
    await put(short, 'a');
    await expect(short.end()).rejects.toThrow('full');
  });
});
