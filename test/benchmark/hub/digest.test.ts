// What a content is known by, held against git and sha256sum.

import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { Digest, isSame } from '../../../src/benchmark/hub/download.js';

const TEXT = Buffer.from('{"task": "mcp"}\nünï\u2028code\n');
const sum = (command: string, args: readonly string[]) =>
  execFileSync(command, args, { input: TEXT, encoding: 'utf8' }).slice(0, 64).trim();
const SHA256 = sum('sha256sum', []);
const GIT_OID = sum('git', ['hash-object', '--stdin']);

function found() {
  const digest = new Digest(TEXT.length);
  for (const chunk of [TEXT.subarray(0, 5), TEXT.subarray(5)]) digest.update(chunk);
  return digest.finish();
}

describe('a content', () => {
  test('has the hashes that sha256sum and git give it', () => {
    expect(found()).toEqual({ bytes: TEXT.length, sha256: SHA256, gitOid: GIT_OID });
  });

  test('is compared with its SHA-256 if that is stated, else with its name in git', () => {
    const { bytes } = found();
    expect(isSame(found(), { bytes, sha256: SHA256, gitOid: '0'.repeat(40) })).toBe(true);
    expect(isSame(found(), { bytes, gitOid: GIT_OID })).toBe(true);
    expect(isSame(found(), { bytes, gitOid: '0'.repeat(40) })).toBe(false);
    expect(isSame(found(), { bytes, sha256: '0'.repeat(64) })).toBe(false);
  });

  test('with only a stated length is wrong only by its length', () => {
    expect(isSame(found(), { bytes: TEXT.length })).toBe(true);
    expect(isSame(found(), { bytes: TEXT.length + 1 })).toBe(false);
  });
});
