// What --print-config shows.

import { expect, test } from 'vitest';
import { COMMON } from '../../src/settings/command.js';
import { describeSettings } from '../../src/settings/secrets.js';
import { commandWith, KINDS, lineOf, resolveWith } from '../support/settings.js';

test('--print-config shows every setting, including those that are not set', async () => {
  const resolved = await resolveWith(KINDS, { flags: { integer: ['3'], list: ['a,b'] } });
  const command = commandWith(KINDS);
  const { settings } = JSON.parse(describeSettings(lineOf(command), resolved.found, true));
  expect(settings.integer).toEqual({ value: 3, from: '--integer' });
  expect(settings.list).toEqual({ value: ['a', 'b'], from: '--list' });
  expect(settings.text).toEqual({ value: null, from: 'not set' });
  const text = describeSettings(lineOf(command), resolved.found, false);
  expect(text).toMatch(/^integer +3 +--integer$/m);
  const names = Object.keys({ ...KINDS, ...COMMON }).filter((name) => !['config', 'print-config'].includes(name));
  expect(Object.keys(settings)).toEqual(names);
  expect(text.split('\n').map((line) => line.split(' ')[0])).toEqual([...names, '']);
});

test('--print-config shows a value on one line, whatever it contains', async () => {
  const label = 'a\n::error::b\x1b]0;x\x07\u202ec';
  const resolved = await resolveWith(KINDS, { flags: { text: [label], list: [label, 'b'] } });
  const text = describeSettings(lineOf(commandWith(KINDS)), resolved.found, false);
  expect(text).toMatch(/^text +"a\\n::error::b\\u001b\]0;x\\u0007c" +--text$/m);
  expect(text.split('\n')).toHaveLength(Object.keys({ ...KINDS, ...COMMON }).length - 1);
  expect(text).not.toMatch(/[\x07\x1b\u202e]/);
});
