import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describedTools } from '../../src/actions/described-tools.js';

const bare = '{"name": "view", "parameters": {"type": "object"}}';
const wrapped = '{"type": "function", "function": {"name": "edit", "parameters": {"type": "object"}}}';

test('tools are found wherever they stand, as they stand, and nothing else is', () => {
  const text = `Answers to expect: {"name": "Robin", "answer": 42}\n# Tools\n[${bare}, ${wrapped}]\n{"open": {${'\n'}`;
  expect(describedTools(text)).toEqual([bare, wrapped]);
});

test('an example of a call is no tool', () => {
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
      new URL(`../fixtures/recorded/${domain}_test.jsonl`, import.meta.url),
      'utf8',
    ).split('\n');
    return describedTools(JSON.parse(line).system_str).map((tool) => JSON.parse(tool).name);
  };
  expect(names('mcp')).toContain('create_entities');
  expect(names('search')).toEqual(['web_search', 'web_extractor', 'dict_memory']);
  expect(names('swe')).toEqual(['bash', 'view', 'str_replace', 'create']);
  for (const domain of ['terminal', 'android', 'web', 'os']) expect(names(domain)).toEqual([]);
});
