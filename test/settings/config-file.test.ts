// What the configuration file may contain.

import { describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { KINDS, refusalOf, resolveWith, settingsWith } from '../support/settings.js';

describe('what the configuration file may contain', () => {
  test.each<[keyof typeof KINDS, string, unknown]>([
    ['text', 'x: 1.10', '1.10'],
    ['text', 'x: "quoted"', 'quoted'],
    ['integer', 'x: 7', 7],
    ['number', 'x: default', 'default'],
    ['duration', 'x: 15m', 900],
    ['boolean', 'x: true', true],
    ['boolean', 'x: no', false],
    ['integer', 'x: "7"', 7],
    ['map', 'x: step=100', { step: '100' }],
    ['object', 'x: "{}"', {}],
    ['object', 'x:\n  big: &n 0.5\n  same: *n', { big: 0.5, same: 0.5 }],
    ['choice', 'x: file', 'file'],
    ['list', 'x: [a, "b,c", 300000000000000001]', ['a', 'b', 'c', '300000000000000001']],
    ['list', 'x: a, b', ['a', 'b']],
    ['map', 'x: {step: 100, version: 1.10}', { step: '100', version: '1.10' }],
    ['object', 'x:\n  top_k: 20\n  deep: {a: [1]}', { top_k: 20, deep: { a: [1] } }],
    ['text', 'a: &name value\nx: *name'.replace('a:', 'judge-model:'), 'value'],
  ])('%s from %j is %j', async (kind, yaml, value) => {
    expect((await resolveWith({ x: KINDS[kind] }, { yaml })).settings.x).toEqual(value);
  });

  test.each<[keyof typeof KINDS, string, string]>([
    ['text', '\nx: [a]', 'awb.yaml:2: x "["a"]": expected non-empty text'],
    ['text', 'x:', 'awb.yaml:1: x "": expected non-empty text'],
    ['integer', 'infer:\n  x: 70', 'awb.yaml:2: x "70": expected an integer from 1 to 10'],
    ['boolean', 'x: maybe', 'awb.yaml:1: x "maybe": expected true or false'],
    ['choice', 'x: prefx', 'awb.yaml:1: x "prefx": expected one of prefix, file, random (did you mean prefix?)'],
    ['list', 'x: {a: 1}', 'awb.yaml:1: x "{"a":"1"}": expected a list separated by commas'],
    ['map', 'x: [step]', 'awb.yaml:1: x "["step"]": expected key=value'],
    ['object', 'x: [1]', 'awb.yaml:1: x "["1"]": expected a JSON object such as {"top_k": 20}'],
    ['text', 'x: "a', 'awb.yaml:1: not YAML: Missing closing "quote'],
    ['text', 'x: a\nx: b', 'awb.yaml:2: this key appears twice; remove one of them'],
    ['text', '- x', 'awb.yaml:1: expected settings by name, such as "max-tokens: 32768"'],
    ['text', 'infer: x', 'awb.yaml:1: infer: expected settings by name, such as "max-tokens: 32768"'],
  ])('%s refuses %j with file and line', async (kind, yaml, expected) => {
    const { message, exitCode } = await refusalOf(settingsWith({ x: KINDS[kind] }, { yaml }));
    expect(message).toBe(expected);
    expect(exitCode).toBe(EXIT.usage);
  });

  test('an empty file sets nothing', async () => {
    expect((await resolveWith({ x: KINDS.text }, { yaml: '# nothing yet\n' })).settings.x).toBeUndefined();
  });
});
