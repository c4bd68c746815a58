// Merged journals: whatever the parts and their order, each row has the record that a single journal of all parts would give it.

import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { joinJournals } from '../../../src/cli/merge/parts.js';
import { type JournalRecord, sealed, viewJournal } from '../../../src/run/journal.js';
import { temporaryFolder } from '../../support/cli.js';
import { randomFrom } from '../../support/random.js';

const NEVER = new AbortController().signal;
const isDone = ({ row }: JournalRecord) => row.done === true;

function record(id: number, text: string, done: boolean, at: number): JournalRecord {
  const log = { at: new Date(at * 1000).toISOString(), text };
  return { id: `${String(id).padStart(24, '0')}#0`, row: { text, done }, log };
}

async function written(folder: string, name: string, records: readonly JournalRecord[]) {
  const path = join(folder, name);
  await writeFile(path, Buffer.concat(records.map(sealed)));
  return { name, path, isOwn: name === 'own' };
}

/** Merges journals of these records; returns the merge, and the final text of each id. */
async function joined(parts: Readonly<Record<string, readonly JournalRecord[]>>) {
  const folder = await temporaryFolder();
  const journals = await Promise.all(Object.entries(parts).map(([name, own]) => written(folder, name, own)));
  const join = await joinJournals(journals, isDone, NEVER);
  const path = await writtenLines(folder, join.lines());
  return { join, lines: (await readFile(path, 'utf8')).split('\n').length - 1, standing: await standingIn(path) };
}

async function writtenLines(folder: string, lines: AsyncIterable<Uint8Array>): Promise<string> {
  const path = `${folder}/joined`;
  await writeFile(path, '');
  for await (const piece of lines) await appendFile(path, piece);
  return path;
}

async function standingIn(path: string): Promise<Map<string, unknown>> {
  const journal = await viewJournal(path, ({ row }) => row.text);
  const standing = new Map(Array.from(journal.ids(), (id) => [id, journal.summaryOf(id)]));
  await journal.close();
  return standing;
}

describe('if two parts have a row', () => {
  test.each<[string, JournalRecord[], JournalRecord[], string]>([
    ['a finished record wins over a failed one', [record(1, 'a', true, 1)], [record(1, 'b', false, 2)], 'a'],
    ['whichever part it is in', [record(1, 'a', false, 3)], [record(1, 'b', true, 2)], 'b'],
    ['the later of two failures wins', [record(1, 'a', false, 3)], [record(1, 'b', false, 2)], 'a'],
    [
      'the last record of a part counts, not its first',
      [record(1, 'a', false, 1), record(1, 'b', true, 2)],
      [record(1, 'c', false, 9)],
      'b',
    ],
  ])('%s', async (_, first, second, stands) => {
    for (const parts of [
      { p: first, q: second },
      { q: second, p: first },
    ]) {
      const { join, lines, standing } = await joined(parts);
      expect([...standing.values()]).toEqual([stands]);
      expect(lines).toBe(first.length + second.length);
      expect(join.recovered).toBe(1);
    }
  });

  test('identical records count as such, and different finished ones are refused', async () => {
    const same = [record(1, 'a', true, 1), record(2, 'b', true, 1)];
    const { join } = await joined({ p: same, q: [record(1, 'a', true, 5)] });
    expect([join.identical, join.recovered]).toEqual([1, 0]);
    await expect(joined({ p: same, q: [record(2, 'x', true, 1)] })).rejects.toMatchObject({
      exitCode: 65,
      message: expect.stringContaining(`${same[1]?.id} has different records in p and q; nothing was merged`),
    });
  });

  test('a copy of a record in a third part does not move another one to the end', async () => {
    const parts = { own: [record(1, 'a', true, 1)], p: [record(1, 'a', true, 1)], q: [record(1, 'b', false, 9)] };
    const { standing, lines } = await joined(parts);
    expect([[...standing.values()], lines]).toEqual([['a'], 2]);
  });
});

test('damaged and torn lines of a part are skipped and reported', async () => {
  const folder = await temporaryFolder();
  const part = await written(folder, 'p', [record(1, 'a', true, 1), record(2, 'b', true, 1), record(3, 'c', true, 1)]);
  const text = (await readFile(part.path, 'utf8')).replace('"b"', '"x"').slice(0, -10);
  await writeFile(part.path, text);
  const join = await joinJournals([part], isDone, NEVER);
  expect(join.damages).toEqual([expect.stringMatching(/^in .*p: .*torn last line.*skipped 1 damaged line: 2 /)]);
  expect([...(await standingIn(await writtenLines(folder, join.lines()))).values()]).toEqual(['a']);
  expect(await readFile(part.path, 'utf8')).toBe(text);
});

test('random splits in any order, merged in any grouping and repeatedly, give every row what the complete journal gives', async () => {
  for (let seed = 1; seed <= 25; seed++) {
    const random = randomFrom(seed);
    const rows = 1 + Math.floor(random() * 40);
    const count = 1 + Math.floor(random() * 5);
    const parts: JournalRecord[][] = Array.from({ length: count }, () => []);
    const whole = new Map<string, unknown>();
    for (let id = 0; id < rows; id++) {
      // One part asks a row until it is done; it may have failed in others.
      const home = Math.floor(random() * count);
      for (let at = 0; at < count; at++) {
        if (at !== home && random() < 0.2) parts[at]?.push(record(id, `lost ${id} ${at}`, false, at));
      }
      for (let failures = 0; random() < 0.3; failures++)
        parts[home]?.push(record(id, `no ${failures}`, false, 100 + failures));
      const last = record(id, `row ${id}`, true, 200);
      parts[home]?.push(last);
      whole.set(last.id, last.row.text);
    }
    const records = parts.flat().length;
    const names = parts.map((_, at) => `p${at}`).sort(() => random() - 0.5);
    const inOrder = Object.fromEntries(names.map((name) => [name, parts[Number(name.slice(1))] ?? []]));
    const { standing, lines } = await joined(inOrder);
    expect([seed, sorted(standing), lines]).toEqual([seed, sorted(whole), records]);
    const first = names.slice(0, Math.ceil(count / 2));
    const folder = await temporaryFolder();
    const journals = await Promise.all(names.map((name) => written(folder, name, inOrder[name] ?? [])));
    const half = await joinJournals(
      journals.filter(({ name }) => first.includes(name)),
      isDone,
      NEVER,
    );
    const own = { name: 'own', path: await writtenLines(folder, half.lines()), isOwn: true };
    const again = await joinJournals([own, ...journals], isDone, NEVER);
    const path = await writtenLines(await temporaryFolder(), again.lines());
    expect([seed, sorted(await standingIn(path))]).toEqual([seed, sorted(whole)]);
    expect((await readFile(path, 'utf8')).split('\n').length - 1).toBe(records);
  }
});

test('a part without a journal has no rows, and does not keep the others from being merged', async () => {
  const folder = await temporaryFolder();
  const there = await written(folder, 'there', [record(1, 'a', true, 1)]);
  const gone = { name: 'gone', path: join(folder, 'gone'), isOwn: false };
  const { rows, lines } = await joinJournals([gone, there], isDone, NEVER);
  expect(rows).toEqual([0, 1]);
  expect((await standingIn(await writtenLines(folder, lines()))).size).toBe(1);
});

function sorted(standing: ReadonlyMap<string, unknown>): [string, unknown][] {
  return [...standing].sort(([a], [b]) => (a < b ? -1 : 1));
}
