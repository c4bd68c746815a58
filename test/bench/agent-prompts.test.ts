import { expect, test } from 'vitest';
import { readAction } from '../../src/agent-action.js';
import { loadAgentPrompts } from '../../src/bench/agent-prompts.js';

const DOMAINS = ['mcp', 'search', 'terminal', 'swe', 'android', 'web', 'os'];

test.each(DOMAINS)(
  'the prompt of %s shows an action that reads as one, and its example stands alone',
  async (domain) => {
    const { prompt } = await loadAgentPrompts();
    const text = prompt(domain);
    expect(readAction(domain, text)).toMatchObject({ text: expect.stringContaining('```') });
    expect(text.match(/^```\w+$/gm)).toHaveLength(1);
  },
);

test('no prompt tells an agent that its environment may be made up', async () => {
  const { prompt } = await loadAgentPrompts();
  for (const domain of [...DOMAINS, 'other']) {
    expect(prompt(domain)).not.toMatch(/predict|simulat|world model|benchmark|\btrue\b|ground truth|judge|evaluat/i);
  }
});

test('a domain without a prompt of its own gets the one for any, whatever it is called', async () => {
  const { prompt } = await loadAgentPrompts();
  expect(prompt('robot')).toContain('In the notation that earlier turns');
  expect(prompt('constructor')).toBe(prompt('robot'));
});
