// What an action refers to, and when a text shows it.

import { describe, expect, test } from 'vitest';
import { plain, referencesIn } from '../../../src/infer/rollout/rollout-turn.js';

const inAction = (domain: string, action: string) =>
  `### Turn 2\n**Action:**\n\`\`\`text\n${action}\n\`\`\``.replace('text', domain);
const textsIn = (domain: string, action: string) =>
  referencesIn(domain, inAction(domain, action)).map(({ text }) => text);

describe('an action refers to', () => {
  test.each([
    [
      'terminal',
      '[{"keystrokes": "cat src/app.py\\ngit show 7bdf0e5\\n", "duration": 0.4}]',
      ['src/app.py', '7bdf0e5'],
    ],
    [
      'swe',
      '{"name": "view", "arguments": "{\\"path\\": \\"/workspace/spans/spans.py\\"}"}',
      ['/workspace/spans/spans.py'],
    ],
    [
      'search',
      '{"name": "web_extractor", "arguments": {"url": "http://docs.test/prune.html", "offset": 12}}',
      ['http://docs.test/prune.html'],
    ],
    ['mcp', '{"name": "get_page", "arguments": {"page_id": 98765, "limit": 20}}', ['98765']],
    ['web', "click('28')", ['[28]']],
    ['web', "fill(bid='a46', 'text')", ['[a46]']],
    ['android', '{"action_type": "click", "index": 7}', ['[7]']],
  ] as const)('%s: %s', (domain, action, references) => {
    expect(textsIn(domain, action)).toEqual(expect.arrayContaining([...references]));
  });

  test('no place on a screen, no short number and no common word', () => {
    expect(textsIn('os', 'click(213, 1269)')).toEqual([]);
    expect(textsIn('terminal', '[{"keystrokes": "ls -la 20 300\\n", "duration": 0.4}]')).toEqual([]);
  });

  test('each thing once, and not to more than two hundred', () => {
    const many = Array.from({ length: 900 }, (_, index) => `src/file_${index}.py src/file_${index}.py`).join(' ');
    const texts = textsIn('terminal', JSON.stringify([{ keystrokes: many, duration: 1 }]));
    expect(texts).toHaveLength(200);
    expect(new Set(texts).size).toBe(200);
  });
});

describe('a text shows', () => {
  const shows = (domain: string, action: string, text: string) =>
    referencesIn(domain, inAction(domain, action)).map(({ isIn }) => isIn(plain(text)));

  test('an element where its number is one, not where it is any number', () => {
    expect(shows('web', "click('28')", "\t[28] button 'Save'")).toEqual([true]);
    expect(shows('web', "click('28')", "StaticText '28 results', [281] link")).toEqual([false]);
    expect(shows('android', '{"index": 7}', '<button id=7 bound_box=1,2,3,4></button>')).toEqual([true]);
    expect(shows('android', '{"index": 7}', '<button id=77 bound_box=7,2,3,4></button>')).toEqual([false]);
  });

  test('a path where its last part occurs, as a word of its own', () => {
    const view = '{"name": "view", "arguments": {"path": "/workspace/spans/spans.py"}}';
    expect(shows('swe', view, 'spans.py | 47 +++')).toEqual([true]);
    expect(shows('swe', view, 'test_spans.py spans.pyc')).toEqual([false]);
  });

  test('a name after an escaped line end', () => {
    expect(
      shows('terminal', '[{"keystrokes": "git checkout fix_parser"}]', '{"text": "main\\nfix_parser\\n"}'),
    ).toEqual([true]);
  });
});
