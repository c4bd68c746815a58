// What rows took, as the journal beside a file of them tells it.

import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCosts } from '../../src/benchmark/costs.js';
import type { Price } from '../../src/core/costs.js';
import { EXIT } from '../../src/core/errors.js';
import { temporaryFolder } from '../support/cli.js';

/** A journal of these lines. */
async function journalOf(lines: readonly string[]): Promise<string> {
  const path = join(await temporaryFolder(), 'judged.journal.jsonl');
  await writeFile(path, lines.join('\n'));
  return path;
}

const PRICE: Price = { model: 'm', source: 's', input: 1e6, output: 2e6 };
const line = (id: string, log: object, row: object = {}) => JSON.stringify({ id, row, log, crc: '00000000' });

describe('the journal next to a judged file', () => {
  it('says what each judgement cost; torn and unknown lines do not', async () => {
    const log = { attempts: 1, usage: { promptTokens: 10, completionTokens: 'many' }, ms: 5, host: 'h' };
    const path = await journalOf([
      JSON.stringify({ id: 'a#0', row: {}, log }),
      'noise',
      line('b#0', {}).slice(0, 20),
      line('c#0', log).slice(0, 30),
      line('d#0', log).replace('"d#0"', '7'),
    ]);
    expect([...((await readCosts(path, undefined)) ?? [])]).toEqual([
      ['a#0', { log: { attempts: 1, usage: { promptTokens: 10 }, ms: 5 } }],
    ]);
  });

  it('adds up all records of a row, since a failed one was paid for, too', async () => {
    const usage = { promptTokens: 10, completionTokens: 3 };
    const path = await journalOf([
      line('a#0', { attempts: 1, usage, ms: 5, host: 'h', chars: 9 }),
      line('b#0', { attempts: 1, usage: {}, ms: 1, host: 'h' }),
      line('a#0', { attempts: 2, usage: { ...usage, cachedTokens: 4 }, ms: 7, host: 'i', chars: 9 }),
      line('b#0', { attempts: 1, usage, ms: 1, host: 'h' }),
      line('c#0', { at: '2026-01-01' }),
      line('c#0', { attempts: 1, usage: {}, ms: 1, host: 'h' }),
    ]);
    const sum = { promptTokens: 20, completionTokens: 6, cachedTokens: 4 };
    expect(Object.fromEntries((await readCosts(path, PRICE)) ?? [])).toEqual({
      'a#0': { log: { attempts: 3, usage: sum, ms: 12 }, usd: 32 },
      'b#0': { log: { attempts: 2, usage, ms: 2 }, usd: 16 },
      'c#0': { log: { attempts: 1, usage: {}, ms: 1 } },
    });
  });

  it('costs nothing if no model was called, and is unknown if the server counted nothing', async () => {
    const path = await journalOf([
      line('alone#0', { at: '2026-01-01' }),
      line('none#0', { attempts: 0, usage: {}, ms: 0, host: '' }),
      line('cut#0', { attempts: 3, usage: { promptTokens: 10 }, ms: 1, host: 'h' }),
    ]);
    const costs = await readCosts(path, PRICE);
    expect(costs?.get('alone#0')).toEqual({ usd: 0 });
    expect(costs?.get('none#0')).toEqual({ usd: 0 });
    expect(costs?.get('cut#0')).not.toHaveProperty('usd');
  });

  it('is not deceived by a model that writes the form of a log', async () => {
    const forged = ',"log":{"attempts":1,"usage":{"promptTokens":9,"completionTokens":9},"ms":1}}';
    const log = { attempts: 1, usage: { promptTokens: 1, completionTokens: 1 }, ms: 5 };
    const path = await journalOf([line('a#0', { ...log, host: 'h' }, { gen: forged, awb: { log: { attempts: 8 } } })]);
    expect((await readCosts(path, PRICE))?.get('a#0')).toEqual({ log, usd: 3 });
  });

  it('reads from a log what scores show of it: attempts, every kind of token, and time', async () => {
    const usage = { promptTokens: 10, cachedTokens: 9, completionTokens: 3, reasoningTokens: 2 };
    const uncounted = { sent: 7, received: 0 };
    const log = { attempts: 2, usage, ms: 5.5 };
    const more = { uncounted, firstTokenMs: 1.5, host: 'judge:443', chars: 12, tries: 2, batched: 1 };
    const path = await journalOf([`${JSON.stringify({ id: 'a#0', row: {}, log: { ...log, ...more } })}\n`]);
    expect([...((await readCosts(path, undefined)) ?? [])]).toEqual([['a#0', { log }]]);
  });

  it('may be missing', async () => {
    expect(await readCosts(join(await temporaryFolder(), 'none.journal.jsonl'), undefined)).toBeUndefined();
  });

  it.each([
    ['a FIFO', (path: string) => void execFileSync('mkfifo', [path])],
    ['a device', (path: string) => symlinkSync('/dev/zero', path)],
  ])('as %s, which could hang or never end, is not read', async (_name, make) => {
    const path = join(await temporaryFolder(), 'judged.journal.jsonl');
    make(path);
    const refused = { exitCode: EXIT.inputMissing, message: expect.stringContaining('a special file') };
    await expect(readCosts(path, undefined)).rejects.toMatchObject(refused);
  });
});
