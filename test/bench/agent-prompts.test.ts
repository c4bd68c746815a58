import { expect, test } from 'vitest';
import { readAction } from '../../src/agent-action.js';
import { loadAgentPrompts } from '../../src/bench/agent-prompts.js';

const DOMAINS = ['mcp', 'search', 'terminal', 'swe', 'android', 'web', 'os'];

test.each(DOMAINS)(
  'the prompt of %s shows an action that reads as one, and its example stands alone',
  async (domain) => {
    const { prompt } = await loadAgentPrompts();
    const text = prompt(domain) ?? '';
    expect(readAction(domain, text)).toMatchObject({ text: expect.stringContaining('```') });
    expect(text.match(/^```\w+$/gm)).toHaveLength(1);
  },
);

test('no prompt tells an agent that its environment may be made up', async () => {
  const { prompt } = await loadAgentPrompts();
  for (const domain of DOMAINS) {
    expect(prompt(domain)).not.toMatch(/predict|simulat|world model|benchmark|\btrue\b|ground truth|judge|evaluat/i);
  }
});

test('a domain without a prompt has none', async () => {
  expect((await loadAgentPrompts()).prompt('robot')).toBeUndefined();
});
