// The system prompt that a world model gets before a row's dialogue, and what the run's identity records about it.

import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { loadPrompts } from '../../src/benchmark/prompts.js';
import { openSystemPrompts } from '../../src/infer/messages.js';
import { folderOf } from '../support/folder.js';
import { ioIn } from '../support/io.js';
import { SAMPLE } from '../support/sample.js';

const row = { ...SAMPLE, systemPrompt: 'Tools: {"name": "look"}' };

async function opened(systemPrompt: string, { files = {}, domainPrompts }: Given = {}) {
  const folder = await folderOf(files);
  return openSystemPrompts({ systemPrompt, domainPrompts }, ioIn(folder));
}

interface Given {
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly domainPrompts?: string;
}

describe('--system-prompt', () => {
  test("row uses the row's own prompt, and leaves the identity as before", async () => {
    const prompts = await opened('row');
    expect(prompts.of(row)).toBe('Tools: {"name": "look"}');
    expect([prompts.identity, prompts.remarks, prompts.refusal('kitchen')]).toEqual(['row', [], undefined]);
  });

  test("bundled uses only the domain's text, identified by its fingerprint", async () => {
    const bundled = await loadPrompts('world-model');
    const prompts = await opened('bundled');
    expect(prompts.of(row)).toBe(bundled.prompt('web'));
    expect(prompts.identity).toBe(`bundled ${bundled.fingerprint}`);
  });

  test("bundled+row puts a blank line between the bundled text and the row's own; none if the row has no prompt", async () => {
    const { fingerprint, prompt } = await loadPrompts('world-model');
    const prompts = await opened('bundled+row');
    expect(prompts.of(row)).toBe(`${prompt('web')}\n\n${row.systemPrompt}`);
    expect(prompts.of({ ...row, systemPrompt: '' })).toBe(prompt('web'));
    expect(prompts.identity).toBe(`bundled+row ${fingerprint}`);
  });

  test('a file is the prompt of every row, identified by its hash; ./row is a file of that name', async () => {
    const text = 'You are a door.\nYou open.';
    const prompts = await opened('./row', { files: { row: `${text}\r\n`.replace('\nYou', '\r\nYou') } });
    expect([prompts.of(row), prompts.of({ ...row, domain: 'kitchen', systemPrompt: '' })]).toEqual([text, text]);
    expect(prompts.identity).toBe(`file ${createHash('sha256').update(text).digest('hex').slice(0, 12)}`);
    expect(prompts.remarks).toEqual([expect.stringContaining('./row')]);
  });

  test.each([
    ['bundeld', {}, 2, 'neither row, bundled, bundled+row nor a file'],
    ['prompts/none.txt', {}, 66, 'there is no '],
    ['a.txt', { 'a.txt': ' \n' }, 65, 'a.txt is empty'],
    ['a.txt', { 'a.txt': Uint8Array.of(0xff, 0xfe, 0x41) }, 65, 'a.txt is not UTF-8'],
    ['folder', { 'folder/a.txt': 'x' }, 66, 'cannot read '],
  ])('%s with %j is refused', async (value, files, exitCode, message) => {
    await expect(opened(value, { files })).rejects.toMatchObject({
      exitCode,
      message: expect.stringContaining(message),
    });
  });
});

describe('--domain-prompts', () => {
  const files = { 'own/kitchen.txt': 'You are a kitchen.\n', 'own/web.txt': 'You are my web.', 'own/notes.md': 'x' };

  test('adds domains, replaces bundled ones, leaves the others, and is part of the identity', async () => {
    const bundled = await loadPrompts('world-model');
    const prompts = await opened('bundled', { files, domainPrompts: 'own' });
    const of = (domain: string) => prompts.of({ ...row, domain });
    expect(['kitchen', 'web', 'os'].map(of)).toEqual(['You are a kitchen.', 'You are my web.', bundled.prompt('os')]);
    expect(prompts.identity).toMatch(/^bundled [0-9a-f]{64}$/);
    expect(prompts.identity).not.toBe(`bundled ${bundled.fingerprint}`);
    const other = await opened('bundled', { files: { ...files, 'own/kitchen.txt': 'Else.' }, domainPrompts: 'own' });
    expect(other.identity).not.toBe(prompts.identity);
  });

  test('a domain without any prompt is refused with a hint', async () => {
    const prompts = await opened('bundled+row', { files, domainPrompts: 'own' });
    expect(prompts.refusal('kitchen')).toBeUndefined();
    expect(prompts.refusal('garden')).toMatch(/no bundled system prompt for the domain "garden"; put garden\.txt/);
  });

  test.each([
    ['row', 'own', files, 2, 'has no effect with --system-prompt row'],
    ['bundled', 'none', files, 66, 'check the path of --domain-prompts'],
    ['bundled', 'own', { 'own/notes.md': 'x' }, 65, 'has no prompts; name each file <domain>.txt'],
    ['bundled', 'own', { 'own/my notes.txt': 'x' }, 65, 'my notes.txt names no domain'],
    ['bundled', 'own', { 'own/kitchen.txt': '\n' }, 65, 'kitchen.txt is empty'],
  ])('under %s, %s of %j is refused', async (way, domainPrompts, given, exitCode, message) => {
    const refused = opened(way, { files: given, domainPrompts });
    await expect(refused).rejects.toMatchObject({ exitCode, message: expect.stringContaining(message) });
  });
});
