// An agent's turn: what its reply does in a world, and what it is asked.

import { describe, expect, test } from 'vitest';
import { afterObservation, freshWorld } from '../../../src/infer/world.js';
import { agentBriefing, agentQuestion, readAgentTurn } from '../../../src/simulate/episodes/plan.js';

const keys = '[{"keystrokes": "ls\\n", "duration": 0.4}]';

describe('a reply', () => {
  test.each([
    ['its last fence is the action', 'terminal', `First.\n\`\`\`json\n${keys}\n\`\`\``, { action: keys }],
    ['thinking is no part of it', 'terminal', '<think>DONE</think>DONE', { end: 'done' }],
    ['the last line is the last word', 'search', 'It is 698 m.\n\n**DONE**', { end: 'done', said: 'It is 698 m.' }],
    ['a full stop belongs to no word', 'swe', 'FAIL.', { end: 'gave-up' }],
    ['a fence with the word alone ends, too', 'os', '```python\nDONE\n```', { end: 'done' }],
    ['other words of a desktop are actions', 'os', '```python\nWAIT\n```', { action: 'WAIT' }],
    ['an action goes before a last word', 'web', "```text\nclick('1')\n```\nDONE", { action: "click('1')" }],
    ['a word within a sentence ends nothing', 'web', 'I am not DONE yet', { flaw: expect.any(String) }],
    ['prose is no action', 'terminal', 'I would type ls.', { flaw: expect.stringContaining('no fence') }],
    ['nothing is nothing', 'mcp', '<think>hm</think>', { flaw: 'the reply is empty' }],
  ])('%s', (_what, domain, reply, turn) => {
    expect(readAgentTurn(domain, reply)).toEqual(turn);
  });
});

test("an agent sees the tools that the world describes, and nothing else of the world's prompt", () => {
  const tool = '{"name": "look", "parameters": {"type": "object"}}';
  const world = freshWorld({ domain: 'mcp', systemPrompt: `The answer is 42.\n${tool}`, task: 'Find it.' });
  const briefing = agentBriefing('You act.', world);
  expect(briefing).toContain(tool);
  expect(briefing).not.toContain('42');
  const instructed = afterObservation(world, '{"name": "look", "arguments": {}}', 'It is dark.', 'Let it be dark.');
  const asked = JSON.stringify(agentQuestion(briefing, instructed));
  expect(asked).toContain('It is dark.');
  expect(asked).toContain('Find it.');
  expect(asked).not.toContain('Let it be dark');
});
