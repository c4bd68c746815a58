import { describe, expect, test } from 'vitest';
import { languageOf } from '../../src/core/turn.js';
import { actionFlaw, actionText } from '../../src/infer/world.js';

describe('a typed action', () => {
  test('becomes keystrokes with Enter in a terminal, its leading white space kept', () => {
    expect(JSON.parse(actionText('terminal', ' echo "a\\b"'))).toEqual([
      { keystrokes: ' echo "a\\b"\n', duration: 0.5 },
    ]);
    expect(JSON.parse(actionText('terminal', '[ -f x ] && echo y'))).toEqual([
      { keystrokes: '[ -f x ] && echo y\n', duration: 0.5 },
    ]);
    expect(JSON.parse(actionText('terminal', '[1, 2]'))).toEqual([{ keystrokes: '[1, 2]\n', duration: 0.5 }]);
  });

  test('that is JSON keeps its meaning and its numbers', () => {
    expect(actionText('terminal', '[{"keystrokes": "C-c", "duration": 1}]')).toBe(
      '[\n  {\n    "keystrokes": "C-c",\n    "duration": 1\n  }\n]',
    );
    const long = '{"name": "get", "arguments": {"id": 123456789012345678901}}';
    expect(actionText('mcp', long)).toBe(long);
    expect(actionText('mcp', '{"name": "get", "arguments": {"share": 8.0}}')).toContain('8.0');
  });

  test('may in SWE be a shell line', () => {
    expect(JSON.parse(actionText('swe', 'git log | head'))).toEqual({
      name: 'bash',
      arguments: { command: 'git log | head' },
    });
  });

  test('is refused where a tool is called in no form, and nowhere else', () => {
    expect(actionFlaw('mcp', 'list files')).toContain('{"name": "TOOL", "arguments": {...}}');
    expect(actionFlaw('search', '{"name": ')).toBeDefined();
    expect(actionFlaw('swe', 'ls')).toBeUndefined();
    expect(actionFlaw('android', '<invoke name="tap"/>')).toBeUndefined();
    expect(actionFlaw('robot', 'forward')).toBeUndefined();
  });

  test('is put in the fence of its domain', () => {
    expect(languageOf('web', "click('1')")).toBe('text');
    expect(languageOf('os', 'pyautogui.click(1, 2)')).toBe('python');
    expect(languageOf('android', '{"action_type": "wait"}')).toBe('json');
    expect(languageOf('android', 'set_text <input id=2>')).toBe('text');
    expect(languageOf('toString', 'x')).toBe('text');
  });
});
