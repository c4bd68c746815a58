// The excerpt of the world model's instructions.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toldExcerpt } from '../../src/judge/rubric.js';

const tool = (name: string, size = 300) =>
  JSON.stringify({
    name,
    description: `does {${name}} "things" ${'x'.repeat(size)}`,
    parameters: { path: { type: 'string' } },
  });
const intro = `# Role\n\nYou play a set of tools.\n\n${'A line of advice.\n'.repeat(60)}`;
const action = (name: string) => `### Turn 4\n**Action:**\n{"name": "${name}", "arguments": {"path": "/a"}}`;
const names = Array.from({ length: 40 }, (_, index) => `tool_${index}`);
const long = `${intro}# Tools\n\n${names.map((name) => tool(name)).join('\n')}\n`;

describe("the world model's instructions", () => {
  test('are shown in full up to 6,000 characters', () => {
    const told = 'a'.repeat(6_000);
    expect(toldExcerpt(told, 'x')).toBe(told);
    expect(toldExcerpt(`${told}b`, 'x').length).toBeLessThanOrEqual(6_000);
    expect(toldExcerpt('', 'x')).toBe('');
  });

  test('are cut to the schema of the tool that the action names, followed by their beginning', () => {
    const excerpt = toldExcerpt(long, action('tool_33'));
    expect(excerpt.startsWith(`${tool('tool_33')}\n\n# Role\n`)).toBe(true);
    expect(excerpt.split(tool('tool_33'))).toHaveLength(2);
    expect(excerpt.length).toBeLessThanOrEqual(6_000);
    expect(excerpt.length).toBeGreaterThan(5_000);
    const left = Number(/\n\[\.\.\. (\d+) characters left out \.\.\.\]$/.exec(excerpt)?.[1]);
    const kept = excerpt.slice(0, excerpt.lastIndexOf('\n[...')).length - '\n\n'.length;
    expect(left + kept).toBe(long.length);
  });

  test('identify a tool only by its full name', () => {
    expect(toldExcerpt(long, action('tool_3'))).toMatch(/^\{"name":"tool_3",/);
    expect(toldExcerpt(long, action('tool_3')).includes(tool('tool_33'))).toBe(false);
    expect(toldExcerpt(long, action('my_tool_3'))).toMatch(/^# Role\n/);
  });

  test('show the schemas of several tools in the order of the action', () => {
    const excerpt = toldExcerpt(long, `tool_20(path) then tool_7(path)`);
    expect(excerpt.startsWith(`${tool('tool_20')}\n${tool('tool_7')}\n\n# Role`)).toBe(true);
  });

  test.each([
    ['a list within an object', `${intro}{"tools": [${names.map((name) => tool(name)).join(', ')}]}`],
    ['functions', `${intro}${names.map((name) => `{"type": "function", "function": ${tool(name)}}`).join('\n')}`],
    [
      'printed over several lines',
      `${intro}${names.map((name) => JSON.stringify(JSON.parse(tool(name)), null, 2)).join('\n')}`,
    ],
    ['among braces that never close', `${intro}{ { "\n${names.map((name) => tool(name)).join('\n')}`],
  ])('yield the schema if the tools are %s', (_, told) => {
    const [object = ''] = toldExcerpt(told, action('tool_12')).split('\n\n# Role');
    expect(JSON.parse(object)).toMatchObject({ name: 'tool_12', parameters: { path: {} } });
  });

  test('end a line at the cut', () => {
    const lines = toldExcerpt(long, action('nothing')).split('\n');
    expect(new Set(long.split('\n')).has(lines.at(-2) ?? '')).toBe(true);
  });

  test('never exceed 6,000 characters and never end in half a character, whatever the texts are', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '"',
      '"name": "t"',
      '\\',
      '\n',
      '😀',
      'word '.repeat(200),
      tool('t', 5_000),
      tool('t', 9_000),
      't',
    );
    const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, text, (told, act) => {
        const excerpt = toldExcerpt(told, act);
        expect(excerpt.length).toBeLessThanOrEqual(6_000);
        expect(excerpt).not.toMatch(/\p{Cs}/u);
        if (told.length <= 6_000) expect(excerpt).toBe(told);
      }),
    );
  });
});
