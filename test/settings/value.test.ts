// What an option of each kind accepts, and what is said about a text that it does not accept.

import { describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { KINDS, refusalOf, resolveWith, settingsWith } from '../support/settings.js';

describe('what a flag may contain', () => {
  test.each<[keyof typeof KINDS, readonly string[] | boolean, unknown]>([
    ['text', ['first', 'last'], 'last'],
    ['url', ['http://127.0.0.1:8000/v1'], 'http://127.0.0.1:8000/v1'],
    ['integer', ['10'], 10],
    ['number', ['.5'], 0.5],
    ['number', ['1e-3'], 0.001],
    ['number', ['default'], 'default'],
    ['duration', ['900'], 900],
    ['duration', ['90s'], 90],
    ['duration', ['1.5m'], 90],
    ['duration', ['2 h'], 7200],
    ['boolean', true, true],
    ['boolean', false, false],
    ['choice', ['file'], 'file'],
    ['list', ['a, b', 'c,'], ['a', 'b', 'c']],
    ['map', ['step=100', ' recipe = a=b,c '], { step: '100', recipe: 'a=b,c' }],
    ['map', ['empty='], { empty: '' }],
    ['object', ['{"top_k": 20}'], { top_k: 20 }],
  ])('%s %j is %j', async (kind, given, value) => {
    const { settings } = await resolveWith({ x: KINDS[kind] }, { flags: { x: given } });
    expect(settings.x).toEqual(value);
  });

  test.each<[keyof typeof KINDS, string, string]>([
    ['text', ' ', 'non-empty text'],
    ['url', 'localhost:8000', 'an http:// or https:// address'],
    ['url', 'ftp://host', 'an http:// or https:// address'],
    ['integer', '0', 'an integer from 1 to 10'],
    ['integer', '1.5', 'an integer from 1 to 10'],
    ['integer', '3x', 'an integer from 1 to 10'],
    ['number', '-1', 'a number of at least 0 or default'],
    ['number', 'NaN', 'a number of at least 0 or default'],
    ['number', 'Infinity', 'a number of at least 0 or default'],
    ['duration', '15 minutes', 'a duration (900, 900s, 15m, 2h) of at least 1 s'],
    ['duration', '0', 'a duration (900, 900s, 15m, 2h) of at least 1 s'],
    ['choice', 'prefx', 'one of prefix, file, random (did you mean prefix?)'],
    ['choice', 'alphabetical', 'one of prefix, file, random'],
    ['list', ' , ', 'a list separated by commas'],
    ['map', 'step', 'key=value'],
    ['map', '=100', 'key=value'],
    ['object', '[1]', 'a JSON object such as {"top_k": 20}'],
    ['object', '{top_k: 20}', 'a JSON object such as {"top_k": 20}'],
  ])('%s refuses %j', async (kind, given, expected) => {
    const { message, exitCode } = await refusalOf(settingsWith({ x: KINDS[kind] }, { flags: { x: [given] } }));
    expect(message).toMatch(/^--x "/);
    expect(message.endsWith(`: expected ${expected}`)).toBe(true);
    expect(exitCode).toBe(EXIT.usage);
  });

  test('without a value lists and maps are empty, booleans false, the rest undefined', async () => {
    const { settings } = await resolveWith(KINDS, {});
    expect(settings).toMatchObject({ list: [], map: {}, boolean: false });
    for (const kind of ['text', 'integer', 'duration', 'choice', 'object']) expect(settings[kind]).toBeUndefined();
  });

  test('names with dashes become camelCase', async () => {
    const { settings } = await resolveWith(
      { 'first-token-timeout': KINDS.duration },
      { env: { AWB_FIRST_TOKEN_TIMEOUT: '5m' } },
    );
    expect(settings.firstTokenTimeout).toBe(300);
  });
});
