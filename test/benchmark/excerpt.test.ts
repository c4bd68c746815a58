// Excerpts: what is kept of a judged row so that a list can be shown, and its line found, without reading the file again.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { excerptOf, readJudged } from '../../src/benchmark/judged.js';
import { openToRead, readAgain } from '../../src/benchmark/line-file.js';
import { type Excerpt, isExcerpt } from '../../src/core/judged-row.js';
import { rowIdOf } from '../../src/core/row-id.js';
import { temporaryFolder } from '../support/cli.js';

const fact = (claim: string, kind: string, met: boolean) => ({ claim, kind, met });
const row = {
  task: 'terminal',
  id: 7,
  prompt: ['ls', 'pwd'],
  response: ['a b', '/'],
  current_prompt: '',
  system_str: 'shell',
  turn_idx: 2,
  gen: 'ä',
  failed: 0,
  total_score: 4,
  factuality: 4,
};
const judged = (key: string, judge: object, rest: object = {}) => ({
  ...row,
  ...rest,
  awb: { key, trajectory: 't', judge: { status: 'ok', ...judge } },
});

async function excerptsOf(rows: readonly object[]) {
  const path = join(await temporaryFolder(), 'judged.jsonl');
  await writeFile(path, rows.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const excerpts = new Map<string, Excerpt>();
  await readJudged(path, undefined, (row, fields, line) => {
    excerpts.set(rowIdOf(row), excerptOf(row, fields, line));
  });
  return { path, excerpts };
}

/** An excerpt without the place of its line. */
function said({ offset: _offset, length: _length, checksum: _checksum, ...rest }: Excerpt) {
  return rest;
}

describe('the excerpt of a row', () => {
  it('finds its line again', async () => {
    const rows = [judged('a', {}), judged('b', { index: 1 }, { awb_note: 'ünï' })];
    const { path, excerpts } = await excerptsOf(rows);
    expect([...excerpts.keys()]).toEqual(['a#0', 'b#0#1']);
    const handle = await openToRead(path, '');
    const texts = await Promise.all([...excerpts.values()].map((one) => readAgain(handle, one, path)));
    await handle.close();
    expect(texts.map((text) => JSON.parse(text))).toEqual(rows);
  });

  it('holds the first weakness, the unmet determined facts, and how much was put to the model', async () => {
    const facts = [
      fact('the prompt is root', 'determined', false),
      fact('the path is /', 'determined', true),
      fact('the clock says noon', 'runtime', false),
    ];
    const weaknesses = [`first\n\tline\u001b[31m ${'w'.repeat(300)}`, 'second'];
    const { excerpts } = await excerptsOf([judged('a', { facts }, { weaknesses }), judged('b', { facts: [] })]);
    const [first, second] = [...excerpts.values()].map(said);
    expect(first).toMatchObject({ unmet: ['the prompt is root'], determined: 2, chars: 5 + 2 + 3 + 3 });
    expect(first?.note).toMatch(/^first line w{188}…$/);
    expect(second).toEqual({ determined: 0, chars: 13 });
  });

  it('holds why a row failed, and of a lean row no length', async () => {
    const { prompt: _prompt, response: _response, ...lean } = row;
    const failure = { status: 'failed', class: 'refused', reason: 'the model\nrefused' };
    const { excerpts } = await excerptsOf([
      { ...lean, failed: 1, weaknesses: ['unused'], awb: { key: 'a', trajectory: 't', judge: failure } },
    ]);
    expect([...excerpts.values()].map(said)).toEqual([{ note: 'the model refused' }]);
  });
});

it.each([
  [{ offset: 0, length: 1, checksum: 2 }, true],
  [{ offset: 0, length: 1, checksum: 2, unmet: [3] }, false],
  [{ offset: -1, length: 1, checksum: 2 }, false],
  [{ offset: 0, length: 1 }, false],
  [null, false],
])('what a SQLite file holds, %o, is an excerpt: %s', (value, is) => {
  expect(isExcerpt(value)).toBe(is);
});
