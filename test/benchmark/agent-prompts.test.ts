import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readAction } from '../../src/benchmark/actions/agent-action.js';
import { loadPrompts } from '../../src/benchmark/prompts.js';
import { temporaryFolder } from '../support/cli.js';

const DOMAINS = ['mcp', 'search', 'terminal', 'swe', 'android', 'web', 'os'];

test.each(DOMAINS)(
  'the prompt of %s shows an action that reads as one, and its example stands alone',
  async (domain) => {
    const { prompt } = await loadPrompts('agent');
    const text = prompt(domain) ?? '';
    expect(readAction(domain, text)).toMatchObject({ text: expect.stringContaining('```') });
    expect(text.match(/^```\w+$/gm)).toHaveLength(1);
  },
);

test('no prompt tells an agent that its environment may be simulated', async () => {
  const { prompt } = await loadPrompts('agent');
  for (const domain of DOMAINS) {
    expect(prompt(domain)).not.toMatch(/predict|simulat|world model|benchmark|\btrue\b|ground truth|judge|evaluat/i);
  }
});

test('a folder adds domains and replaces others, which makes another fingerprint', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'kitchen.txt'), 'Cook.\n');
  await writeFile(join(folder, 'web.txt'), 'Click.');
  await writeFile(join(folder, 'notes.md'), 'not a prompt');
  const [bundled, own] = [await loadPrompts('agent'), await loadPrompts('agent', folder)];
  expect(bundled.prompt('kitchen')).toBeUndefined();
  expect([own.prompt('kitchen'), own.prompt('web')]).toEqual(['Cook.', 'Click.']);
  expect(own.prompt('os')).toBe(bundled.prompt('os'));
  expect(own.domains).toEqual([...DOMAINS, 'kitchen'].sort());
  expect(own.fingerprint).not.toBe(bundled.fingerprint);
});
