// The journal: what was appended is still there, whatever a kill, a disk or a person did to its file.

import { execFileSync } from 'node:child_process';
import { appendFile, mkdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { rowId } from '../../src/core/row-id.js';
import { type Journal, type JournalRecord, openJournal, sealed } from '../../src/run/journal.js';
import { ROOT, temporaryFolder } from '../support/cli.js';

let dir = '';
let path = '';
beforeEach(async () => {
  dir = await temporaryFolder();
  path = join(dir, 'journal.jsonl');
});

const opened: Journal<string>[] = [];
afterEach(async () => {
  for (const journal of opened.splice(0)) await journal.close();
});

/** Opens the journal; the summary of each record is its gen. */
async function reopen(at = path): Promise<Journal<string>> {
  const journal = await openJournal(at, (record) => (record.row as { gen: string }).gen.toUpperCase());
  opened.push(journal);
  return journal;
}

function record(id: string, gen = `gen of ${id}`): JournalRecord {
  return { id, row: { gen, awb: { flags: [] } }, log: { attempts: 1 } };
}

const gensOf = (journal: Journal<string>) =>
  Object.fromEntries([...journal.ids()].map((id) => [id, journal.read(id).row.gen]));

describe('a journal', () => {
  test('starts empty and returns what was appended, in this session and in the next', async () => {
    const journal = await reopen();
    expect(journal.size).toBe(0);
    const odd = record('a#0', 'é😀\u2028\n\u0000"\\');
    await journal.append(odd);
    await journal.append(record('b#0'));
    expect(journal.read('a#0')).toEqual(odd);
    await journal.close();
    const next = await reopen();
    expect(next.read('a#0')).toEqual(odd);
    expect([...next.ids()]).toEqual(['a#0', 'b#0']);
    expect([next.has('b#0'), next.has('c#0')]).toEqual([true, false]);
    expect([next.summaryOf('b#0'), next.summaryOf('c#0')]).toEqual(['GEN OF B#0', undefined]);
    expect(next.summaryOf('a#0')).toBe('É😀\u2028\n\u0000"\\');
    expect(next.repaired).toBeUndefined();
  });

  test('a later record of an id replaces an earlier one', async () => {
    const journal = await reopen();
    for (const gen of ['first', 'second']) await journal.append(record('a', gen));
    expect(gensOf(journal)).toEqual({ a: 'second' });
    await journal.close();
    expect(gensOf(await reopen())).toEqual({ a: 'second' });
  });

  test('of a thousand records appended at once, each is on the disk when its append resolves, in order', async () => {
    const journal = await reopen();
    const ids = Array.from({ length: 1000 }, (_, index) => rowId(`key${index}`, 0));
    await Promise.all(
      ids.map(async (id) => {
        await journal.append(record(id, id.repeat(50)));
        expect(await readFile(path, 'utf8')).toContain(`{"id":"${id}"`);
        expect(journal.read(id)).toEqual(record(id, id.repeat(50)));
      }),
    );
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(ids);
    expect(journal.size).toBe(1000);
  });

  test('appends that follow each other at irregular moments all resolve', async () => {
    const journal = await reopen();
    const chain = async (name: string, pause: () => Promise<unknown>) => {
      for (let index = 0; index < 50; index++) {
        await journal.append(record(`${name}${index}`));
        await pause();
      }
    };
    const nextTick = () => new Promise((resolve) => process.nextTick(resolve));
    await Promise.all([
      chain('a', async () => undefined),
      chain('b', nextTick),
      chain('c', () => new Promise(setImmediate)),
      chain('d', () => Promise.resolve().then(() => Promise.resolve())),
    ]);
    expect(journal.size).toBe(200);
  });

  test('close waits for pending appends', async () => {
    const journal = await reopen();
    const appended = journal.append(record('a'));
    await journal.close();
    await appended;
    expect(gensOf(await reopen())).toEqual({ a: 'gen of a' });
  });

  test('reading a record that was never written is an error', async () => {
    const journal = await reopen();
    expect(() => journal.read('a')).toThrow('no journal record for a');
  });
});

describe('a torn last line', () => {
  test('is cut off wherever it was torn, and its row can be written again', async () => {
    const journal = await reopen();
    await journal.append(record('whole'));
    const { size: start } = await stat(path);
    await journal.append(record('torn', 'é\n'));
    await journal.close();
    const bytes = await readFile(path);
    for (let end = start; end < bytes.length; end++) {
      await writeFile(path, bytes.subarray(0, end));
      const repaired = await reopen();
      expect([...repaired.ids()]).toEqual(['whole']);
      if (end === start) expect(repaired.repaired).toBeUndefined();
      else expect(repaired.repaired).toMatch(`repaired ${path}: cut off a torn last line of ${end - start} bytes`);
      expect((await stat(path)).size).toBe(start);
      await repaired.append(record('torn', 'é\n'));
      await repaired.close();
      expect(await readFile(path)).toEqual(bytes);
    }
  });

  test.each([
    ['NUL bytes, as a power loss leaves them', '\0'.repeat(5000)],
    ['half a record and NUL bytes', '{"id":"b","row":{"ge\0\0\0\0'],
    ['a record without its line feed', JSON.stringify(record('b'))],
  ])('of %s', async (_what, tail) => {
    const journal = await reopen();
    await journal.append(record('a'));
    await journal.close();
    await appendFile(path, tail);
    const repaired = await reopen();
    expect(repaired.repaired).toContain('torn last line');
    await repaired.append(record('c'));
    await repaired.close();
    const next = await reopen();
    expect(gensOf(next)).toEqual({ a: 'gen of a', c: 'gen of c' });
    expect(next.repaired).toBeUndefined();
  });

  test('of spaces is harmless', async () => {
    const journal = await reopen();
    await journal.append(record('a'));
    await journal.close();
    await appendFile(path, ' \t\r');
    const next = await reopen();
    await next.append(record('b'));
    await next.close();
    expect(gensOf(await reopen())).toEqual({ a: 'gen of a', b: 'gen of b' });
  });
});

describe('a broken line in the middle', () => {
  test.each<[string, string | Uint8Array]>([
    ['NUL bytes', '\0\0\0'],
    ['a torn record', '{"id":"x","row":{"gen":"y'],
    ['a list', '[]'],
    ['null', 'null'],
    ['no id', '{"row":{"gen":"x"},"log":{}}'],
    ['an id of another type', '{"id":1,"row":{"gen":"x"},"log":{}}'],
    ['no row', '{"id":"x","log":{}}'],
    ['a row of null', '{"id":"x","row":null,"log":{}}'],
    ['a row of something else', sealed({ id: 'x', row: {}, log: {} }).subarray(0, -1)],
    ['no log', '{"id":"x","row":{"gen":"x"}}'],
    ['bytes that are not UTF-8', sealed(record('x')).subarray(0, -1).fill(0xff, 20, 21)],
  ])('%s: is skipped and reported', async (_what, line) => {
    await writeFile(
      path,
      Buffer.concat([sealed(record('a')), Buffer.from(line as string), Buffer.from('\n'), sealed(record('b'))]),
    );
    const journal = await reopen();
    expect(journal.repaired).toBe(`repaired ${path}: skipped 1 damaged line: 2 (their rows will be asked again)`);
    expect(gensOf(journal)).toEqual({ a: 'gen of a', b: 'gen of b' });
    await journal.append(record('c'));
    expect(gensOf(journal)).toEqual({ a: 'gen of a', b: 'gen of b', c: 'gen of c' });
  });
});

describe('a journal with a flipped bit', () => {
  test('never returns anything that was not written, wherever the bit is', async () => {
    const journal = await reopen();
    const written = { a: 'gen of a, an é', b: 'gen of b', c: 'gen of c' };
    for (const [id, gen] of Object.entries(written)) await journal.append(record(id, gen));
    await journal.close();
    const whole = await readFile(path);
    const at = join(dir, 'flipped.jsonl');
    for (let place = 0; place < whole.length * 8; place += 37) {
      const flipped = Buffer.from(whole);
      flipped[place >> 3] = (flipped[place >> 3] as number) ^ (1 << (place & 7));
      await writeFile(at, flipped);
      const read = await openJournal(at, (found) => (found.row as { gen: string }).gen);
      const gens = gensOf(read);
      expect(written).toMatchObject(gens);
      if (Object.keys(gens).length < 3) expect(read.repaired).toMatch(/line|last/);
      await read.close();
    }
  });

  test('names the broken lines, and says that their rows will be asked again', async () => {
    const journal = await reopen();
    for (const id of ['a', 'b', 'c', 'd']) await journal.append(record(id));
    await journal.close();
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace('gen of b', 'gen of B').replace('gen of d', 'gen of D'));
    const next = await reopen();
    expect(gensOf(next)).toEqual({ a: 'gen of a', c: 'gen of c' });
    expect(next.repaired).toBe(`repaired ${path}: skipped 2 damaged lines: 2, 4 (their rows will be asked again)`);
    await next.append(record('b'));
    await next.close();
    expect(gensOf(await reopen())).toEqual({ a: 'gen of a', b: 'gen of b', c: 'gen of c' });
  });

  test('does not return a record that was changed while it is open', async () => {
    const journal = await reopen();
    await journal.append(record('a'));
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace('gen of a', 'gen of A'));
    expect(() => journal.read('a')).toThrow(/the record of row a in .* was changed/);
  });
});

test.each([
  ['a FIFO', () => void execFileSync('mkfifo', [path])],
  ['a device', () => symlink('/dev/zero', path)],
])('%s is refused as a journal', async (_what, make) => {
  await make();
  await expect(openJournal(path, () => '')).rejects.toMatchObject({
    exitCode: EXIT.cannotCreate,
    message: expect.stringContaining('is not a regular file'),
  });
});

/** Appends three records at a time until one fails; returns the ids whose append resolved, and the error. */
async function fill(journal: Journal<string>): Promise<{ kept: string[]; error: unknown }> {
  const kept: string[] = [];
  for (let round = 0; round < 2000; round++) {
    const ids = ['a', 'b', 'c'].map((name) => `${name}${round}`);
    const results = await Promise.allSettled(ids.map((id) => journal.append(record(id, 'x'.repeat(400)))));
    kept.push(...ids.filter((_id, index) => results[index]?.status === 'fulfilled'));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed?.status === 'rejected') return { kept, error: failed.reason };
  }
  throw new Error('it never became full');
}

describe('a full disk', () => {
  const mountable = (() => {
    try {
      execFileSync('unshare', ['-m', 'true'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  })();

  // Mounting needs root; without it, the limit on file size below shows the same.
  test.skipIf(!mountable)(
    'stops the run, neither loses nor tears a finished record, and the run can be continued',
    async () => {
      const mount = join(dir, 'small');
      await mkdir(mount);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', mount]);
      onTestFinished(() => void execFileSync('umount', ['-l', mount]));
      const at = join(mount, 'journal.jsonl');
      await writeFile(join(mount, 'ballast'), 'x'.repeat(10_000));
      const journal = await reopen(at);
      const { kept, error } = await fill(journal);
      expect(error).toMatchObject({ name: 'UserError', exitCode: EXIT.cannotWrite });
      expect((error as Error).message).toMatch(/the disk is full; all rows finished before are safe/);
      expect(kept.length).toBeGreaterThan(10);
      await expect(journal.append(record('late'))).rejects.toBe(error);
      await journal.close();
      await rm(join(mount, 'ballast'));
      const next = await reopen(at);
      expect(next.repaired).toBeUndefined();
      expect([...next.ids()]).toEqual(kept);
      await next.append(record('late'));
      expect(next.read('late').row.gen).toBe('gen of late');
      await next.close();
    },
  );

  test('a limit on file size has the same effect in the middle of a record', async () => {
    const program = `
      const { openJournal } = await import(${JSON.stringify(join(ROOT, 'dist/run/journal.js'))});
      const journal = await openJournal(process.argv[1], () => 0, { put() {}, at: () => 0 });
      const kept = [];
      for (let index = 0; ; index++) {
        try {
          await journal.append({ id: 'r' + index, row: { gen: 'x'.repeat(400) }, log: {} });
          kept.push('r' + index);
        } catch ({ name, exitCode, message }) {
          console.log(JSON.stringify({ kept, name, exitCode, message }));
          process.exit();
        }
      }`;
    const command = 'ulimit -f 20; exec "$0" --input-type=module -e "$1" "$2"';
    const output = execFileSync('bash', ['-c', command, process.execPath, program, path], { encoding: 'utf8' });
    const { kept, ...error } = JSON.parse(output);
    expect(error).toMatchObject({ name: 'UserError', exitCode: EXIT.cannotWrite });
    expect(kept.length).toBeGreaterThan(10);
    const next = await reopen();
    expect(next.repaired).toBeUndefined();
    expect([...next.ids()]).toEqual(kept);
  });
});

describe('a journal that another program changes', () => {
  test.each([
    ['deleted', () => rm(path)],
    ['deleted with its folder', () => rm(dir, { recursive: true })],
    ['emptied', () => truncate(path)],
    ['cut', () => truncate(path, 20)],
  ])('%s during the run: the run stops instead of writing to a file that is gone', async (_how, touch) => {
    const journal = await reopen();
    await journal.append(record('a'));
    await touch();
    await expect(journal.append(record('b'))).rejects.toMatchObject({
      name: 'UserError',
      exitCode: EXIT.cannotWrite,
      message: expect.stringContaining('was deleted or truncated while the run was writing it'),
    });
    expect(journal.has('b')).toBe(false);
  });

  test.each([
    ['a folder in its place', () => mkdir(path)],
    ['a missing folder', () => rm(dir, { recursive: true })],
    ['a file in place of its folder', () => rm(dir, { recursive: true }).then(() => writeFile(dir, ''))],
  ])('%s: it cannot be opened', async (_what, prepare) => {
    await prepare();
    await expect(reopen()).rejects.toMatchObject({ name: 'UserError', exitCode: EXIT.cannotCreate });
  });
});
