// Batch folders for tests: batch.json and its request files, as awb judge --batch-dir leaves them.

import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { folderAt, partName } from '../../src/model/batch/folder.js';
import { temporaryFolder } from './cli.js';

/** A chat request, identified by its number. */
export function batchBody(number: number, more: Record<string, unknown> = {}) {
  return { model: 'loopback', messages: [{ role: 'user', content: `row ${number}` }], max_tokens: 16, ...more };
}

/** A folder with this many requests in each part; the ids are `row-1_0_abc`, `row-2_0_abc` and so on. */
export async function batchFolder(
  parts: readonly number[],
  { baseUrl, bodyOf = batchBody }: { baseUrl?: string; bodyOf?: (number: number) => object | string } = {},
): Promise<string> {
  const dir = await temporaryFolder();
  let number = 0;
  const written = [];
  for (const [index, requests] of parts.entries()) {
    const lines = Array.from({ length: requests }, () => {
      const custom_id = `row-${++number}_0_abc`;
      const body = bodyOf(number);
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      return `{"custom_id":"${custom_id}","method":"POST","url":"/v1/chat/completions","body":${text}}`;
    });
    const text = lines.map((line) => `${line}\n`).join('');
    const file = partName(index + 1);
    await writeFile(join(dir, file), text);
    const sha256 = createHash('sha256').update(text).digest('hex');
    written.push({ file, requests, bytes: Buffer.byteLength(text), sha256 });
  }
  await folderAt(dir).batch.write({
    run: { kind: 'judge', dir: '/runs/step-100', fingerprint: 'f'.repeat(64), identity: {} },
    model: 'loopback',
    url: '/v1/chat/completions',
    dropped: [],
    parts: written,
    ...(baseUrl !== undefined && { baseUrl }),
  });
  return dir;
}
