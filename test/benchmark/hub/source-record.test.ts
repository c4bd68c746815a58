// The record of a fetch, which anybody may have edited.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  readSourceRecord,
  SOURCE_RECORD,
  type SourceRecord,
  sourceRecordText,
} from '../../../src/benchmark/hub/client.js';
import { temporaryFolder } from '../../support/cli.js';

const RECORD: SourceRecord = {
  schema: 'awb.data-source/1',
  hub: 'https://huggingface.co',
  repository: 'user/repo',
  revision: 'main',
  commit: 'a'.repeat(40),
  complete: true,
  files: [{ name: 'mcp_test.jsonl', path: 'en/mcp_test.jsonl', bytes: 3, sha256: 'b'.repeat(64) }],
};
const [FILE] = RECORD.files;

async function read(text: string) {
  const folder = await temporaryFolder();
  await writeFile(join(folder, SOURCE_RECORD), text);
  return readSourceRecord(folder);
}

describe('a record', () => {
  test('is read as it was written, also of a fetch under way', async () => {
    const old = { name: 'a', path: 'a', bytes: 1, gitOid: 'c'.repeat(40) };
    const cut = { ...RECORD, complete: false, files: [...RECORD.files, old] };
    for (const record of [RECORD, cut]) expect(await read(sourceRecordText(record))).toEqual(record);
  });

  test('is none if there is no file', async () => {
    expect(await readSourceRecord(await temporaryFolder())).toBeUndefined();
  });

  test.each<[string, object]>([
    ['a name that leads out of the folder', { files: [{ ...FILE, name: '../mcp_test.jsonl' }] }],
    ['the name of the folder above', { files: [{ ...FILE, name: '..' }] }],
    ['a name in a folder below', { files: [{ ...FILE, name: 'a/b_test.jsonl' }] }],
    ['a path that leads out of the repository', { files: [{ ...FILE, path: '../../other/x' }] }],
    ['a path that is absolute', { files: [{ ...FILE, path: '/etc/passwd' }] }],
    ['a size below nothing', { files: [{ ...FILE, bytes: -1 }] }],
    ['a file that is none', { files: [FILE, 'swe_test.jsonl'] }],
    ['files that are no list', { files: {} }],
    ['a commit that is none', { commit: 'main' }],
    ['nothing of whether it is complete', { complete: undefined }],
    ['another schema', { schema: 'awb.data-source/2' }],
  ])('with %s is as good as none', async (_, change) => {
    const text = JSON.stringify({ ...JSON.parse(sourceRecordText(RECORD)), ...change });
    expect(await read(text)).toBeUndefined();
  });
});
