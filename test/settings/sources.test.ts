// Which source gives the value of a setting.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import type { OptionTable } from '../../src/settings/command.js';
import { cwd, type Given, KINDS, refusalOf, resolveWith, settingsWith } from '../support/settings.js';

describe('the source of a value', () => {
  const options: OptionTable = {
    'max-tokens': { kind: 'integer', default: 1, help: 'x' },
  };
  const everywhere = {
    flags: { 'max-tokens': ['6'] },
    env: { AWB_MAX_TOKENS: '5' },
    yaml: 'max-tokens: 2\ninfer:\n  max-tokens: 3\n',
  };

  test.each<[string, Given, number, string]>([
    ['a flag before all others', everywhere, 6, '--max-tokens'],
    ['the variable before the file', { ...everywhere, flags: {} }, 5, 'AWB_MAX_TOKENS'],
    ["the command's section before the top level", { yaml: everywhere.yaml }, 3, 'awb.yaml:3'],
    ['the top level before the default', { yaml: 'max-tokens: 2\n' }, 2, 'awb.yaml:1'],
    ['an empty variable counts as not set', { env: { AWB_MAX_TOKENS: '' } }, 1, 'default'],
  ])('%s', async (_, given, value, from) => {
    const { settings, found } = await resolveWith(options, given);
    expect(settings.maxTokens).toBe(value);
    expect(found.get('max-tokens')).toEqual({ value, from });
  });

  test('a file in the working directory is not read unless it is named', async () => {
    writeFileSync(join(cwd, 'awb.yaml'), 'max-tokens: 2\n');
    expect((await resolveWith(options, {})).settings.maxTokens).toBe(1);
  });

  test('a missing file is reported, with what named it', async () => {
    const { message, exitCode } = await refusalOf(settingsWith(options, { flags: { config: ['no.yaml'] } }));
    expect(message).toBe('cannot read the configuration file no.yaml (--config): ENOENT');
    expect(exitCode).toBe(EXIT.inputMissing);
  });

  test.each([
    [{}, true],
    [{ NO_COLOR: '' }, true],
    [{ NO_COLOR: '1' }, false],
    [{ NO_COLOR: '1', AWB_COLOR: 'true' }, true],
    [{ FORCE_COLOR: '0' }, false],
    [{ FORCE_COLOR: '1', TERM: 'xterm' }, true],
    [{ TERM: 'dumb' }, false],
  ])('under %j colour is %s', async (env, color) => {
    expect((await resolveWith({}, { env })).settings.color).toBe(color);
  });
});

describe('what a variable may contain', () => {
  test.each<[keyof typeof KINDS, string, string, unknown]>([
    ['boolean', 'AWB_X', 'yes', true],
    ['boolean', 'AWB_X', '0', false],
    ['list', 'AWB_X', 'a,b', ['a', 'b']],
    ['map', 'AWB_X', 'step=100,recipe=a', { step: '100', recipe: 'a' }],
  ])('%s %s=%s is %j', async (kind, variable, text, value) => {
    const { settings } = await resolveWith({ x: KINDS[kind] }, { env: { [variable]: text } });
    expect(settings.x).toEqual(value);
  });

  test('a wrong value is reported with its variable', async () => {
    const { message } = await refusalOf(settingsWith({ x: KINDS.boolean }, { env: { AWB_X: 'maybe' } }));
    expect(message).toBe('AWB_X "maybe": expected true or false');
  });
});
