import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  agentMessages,
  agentSystemPrompt,
  describedTools,
  partsOfPrompt,
} from '../../../src/benchmark/actions/agent-dialogue.js';

const FENCE = "```text\nclick('28')\n```";

test.each([
  [
    'task, state and action',
    `### Turn 1\n**Task Instruction:**\nBuy it.\n\n**Current State:**\nA page\n\n**Action:**\n${FENCE}`,
    { preface: '**Task Instruction:**\nBuy it.\n\n**Current State:**\nA page', action: FENCE },
  ],
  ['an action alone', `### Turn 12\n**Action:**\n${FENCE}`, { preface: '', action: FENCE }],
  [
    'a request to predict behind it',
    `**Action:**\n${FENCE}\n\nPlease analyze the input above and so on`,
    { preface: '', action: FENCE },
  ],
  [
    'a state that quotes the heading',
    `**Current State:**\n**Action:**\nno\n\n**Action:**\n${FENCE}`,
    { preface: '**Current State:**\n**Action:**\nno', action: FENCE },
  ],
  ['an action without a fence', '### Turn 2\n**Action:**\nDONE\n', { preface: '', action: 'DONE' }],
  ['no heading', '### Turn 2\nls -la', { preface: '', action: 'ls -la' }],
])('a prompt with %s comes apart', (_, prompt, parts) => {
  expect(partsOfPrompt(prompt)).toEqual(parts);
});

test('an agent sees its actions as its own, and observations without their marker', () => {
  const turns = [
    { action: FENCE, observation: '**Environment Observation:**\nA page' },
    { action: 'DONE', observation: 'none' },
  ];
  expect(agentMessages('Act.', '', turns)).toEqual([
    { role: 'system', content: 'Act.' },
    { role: 'user', content: 'Begin.' },
    { role: 'assistant', content: FENCE },
    { role: 'user', content: 'A page' },
    { role: 'assistant', content: 'DONE' },
    { role: 'user', content: 'none' },
  ]);
  expect(agentMessages('Act.', 'Buy it.', [])[1]).toEqual({ role: 'user', content: 'Buy it.' });
});

test('tools follow the system prompt if there are any', () => {
  expect(agentSystemPrompt('Act.', [])).toBe('Act.');
  expect(agentSystemPrompt('Act.', ['{"name":"a"}', '{"name":"b"}'])).toBe(
    'Act.\n\nThe tools:\n\n{"name":"a"}\n{"name":"b"}',
  );
});

const bare = '{"name": "view", "parameters": {"type": "object"}}';
const wrapped = '{"type": "function", "function": {"name": "edit", "parameters": {"type": "object"}}}';

test('tools are found wherever they stand, as they stand, and nothing else is', () => {
  const text = `Answers to expect: {"name": "Robin", "answer": 42}\n# Tools\n[${bare}, ${wrapped}]\n{"open": {${'\n'}`;
  expect(describedTools(text)).toEqual([bare, wrapped]);
});

test('an example of a call is not a tool', () => {
  expect(describedTools('{"name": "view", "arguments": {"path": "a"}}')).toEqual([]);
});

test.each([
  ['braces that never close', '{'.repeat(300_000)],
  ['objects that nest', `{"name":"a","parameters":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_001)}`],
  ['quotes that never close', '{"'.repeat(300_000)],
])('%s hold no tools', (_, text) => {
  expect(describedTools(text)).toEqual([]);
});

test('the recorded system prompts of mcp, search and swe hold their tools, and those of the others hold none', () => {
  const names = (domain: string) => {
    const [line = ''] = readFileSync(
      new URL(`../../../fixtures/recorded/${domain}_test.jsonl`, import.meta.url),
      'utf8',
    ).split('\n');
    return describedTools(JSON.parse(line).system_str).map((tool) => JSON.parse(tool).name);
  };
  expect(names('mcp')).toContain('create_entities');
  expect(names('search')).toEqual(['web_search', 'web_extractor', 'dict_memory']);
  expect(names('swe')).toEqual(['bash', 'view', 'str_replace', 'create']);
  for (const domain of ['terminal', 'android', 'web', 'os']) expect(names(domain)).toEqual([]);
});
