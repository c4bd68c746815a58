// What judging cost, as the journal beside a judged file tells it.

import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCosts } from '../../src/bench/costs.js';
import { EXIT } from '../../src/errors.js';
import type { CallLog } from '../../src/types.js';
import { temporaryFolder } from '../support/cli.js';

describe('the journal beside a judged file', () => {
  it('tells what each judgement cost: the last record counts, torn and strange lines do not', async () => {
    const log = { attempts: 1, usage: { promptTokens: 10, completionTokens: 'many' }, ms: 5, host: 'h' };
    const lines = [
      JSON.stringify({ id: 'a#0', row: {}, log: { ...log, attempts: 9 } }),
      JSON.stringify({ id: 'a#0', row: {}, log }),
      'noise',
      JSON.stringify({ id: 'b#0', row: {}, log: {} }),
      JSON.stringify({ id: 'c#0', row: {}, log }).slice(0, 30),
    ];
    const path = join(await temporaryFolder(), 'judged.journal.jsonl');
    await writeFile(path, lines.join('\n'));
    const costs = await readCosts(path);
    expect([...costs]).toEqual([['a#0', { attempts: 1, usage: { promptTokens: 10 }, ms: 5, host: 'h' }]]);
  });

  it('tells the whole of a log, as it was written', async () => {
    const usage = { promptTokens: 10, cachedTokens: 9, completionTokens: 3, reasoningTokens: 2 };
    const log: Required<CallLog> = { attempts: 2, usage, ms: 5.5, firstTokenMs: 1.5, host: 'judge:443', chars: 12 };
    const path = join(await temporaryFolder(), 'judged.journal.jsonl');
    await writeFile(path, `${JSON.stringify({ id: 'a#0', row: {}, log })}\n`);
    expect([...(await readCosts(path))]).toEqual([['a#0', log]]);
  });

  it('may be missing', async () => {
    expect((await readCosts(join(await temporaryFolder(), 'none.journal.jsonl'))).size).toBe(0);
  });

  it.each([
    ['a FIFO', (path: string) => void execFileSync('mkfifo', [path])],
    ['a device', (path: string) => symlinkSync('/dev/zero', path)],
  ])('as %s, which could hang or never end, is not read', async (_name, make) => {
    const path = join(await temporaryFolder(), 'judged.journal.jsonl');
    make(path);
    const refused = { exitCode: EXIT.inputMissing, message: expect.stringContaining('no regular file') };
    await expect(readCosts(path)).rejects.toMatchObject(refused);
  });
});
