// The system prompt of a world: with a row and without one, bundled, from a folder, or from a file.

import { afterEach, describe, expect, test } from 'vitest';
import { loadPrompts } from '../../src/benchmark/prompts.js';
import { DOMAINS } from '../../src/core/types.js';
import { actionPrompt, freshWorld } from '../../src/infer/world.js';
import { openStarts, type Starts } from '../../src/simulate/simulation.js';
import { folderOf } from '../support/folder.js';
import { ioIn } from '../support/io.js';
import { rowText } from '../support/rows.js';

const bundled = await loadPrompts('world-model');

const open: Starts[] = [];
afterEach(() => Promise.all(open.splice(0).map((starts) => starts.close())));

async function starting(settings: { readonly systemPrompt?: string; readonly domainPrompts?: string } = {}) {
  const folder = await folderOf({
    'data/a_test.jsonl': `${rowText({ id: 7 })}\n`,
    'own/kitchen.txt': 'You are a kitchen.',
    'door.txt': 'You are a door.',
  });
  const { systemPrompt = 'row', domainPrompts } = settings;
  const starts = openStarts({ dataDir: 'data', systemPrompt, domainPrompts }, ioIn(folder));
  open.push(starts);
  return {
    fresh: async (domain: string) => (await starts.world({ domain })).systemPrompt,
    ofRow: async () => (await starts.world({ row: 'mcp:7:2' })).systemPrompt,
  };
}

const OWN = 'You are an environment.';

describe('the system prompt of a world', () => {
  test.each([
    ['row', bundled.prompt('mcp'), OWN],
    ['bundled', bundled.prompt('mcp'), bundled.prompt('mcp')],
    ['bundled+row', bundled.prompt('mcp'), `${bundled.prompt('mcp')}\n\n${OWN}`],
    ['door.txt', 'You are a door.', 'You are a door.'],
  ])('under %s is the one for a world without a row, and the one for a row', async (systemPrompt, fresh, row) => {
    const starts = await starting({ systemPrompt });
    expect(await starts.fresh('mcp')).toBe(fresh);
    expect(await starts.ofRow()).toBe(row);
  });

  test("of a domain of one's own comes from the folder, and rows keep theirs", async () => {
    const starts = await starting({ domainPrompts: 'own' });
    expect([await starts.fresh('kitchen'), await starts.ofRow()]).toEqual(['You are a kitchen.', OWN]);
  });

  test('of an unknown domain is refused, with the nearest one or how to add it', async () => {
    const known = await starting({ domainPrompts: 'own' });
    await expect(known.fresh('kitchn')).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(
        'did you mean "kitchen"? (--domain-prompts DIR adds domains with DIR/<domain>.txt)',
      ),
    });
  });
});

test.each(DOMAINS)('the bundled prompt of %s names instructions by the heading that precedes an action', (domain) => {
  const prompt = actionPrompt(freshWorld({ domain, systemPrompt: '' }), 'ls', 'The disk is full.');
  const heading = /^\*\*(?!Action)[^*]+:\*\*(?=\nThe disk is full\.$)/m.exec(prompt)?.[0];
  expect(bundled.prompt(domain)).toContain(heading);
});
