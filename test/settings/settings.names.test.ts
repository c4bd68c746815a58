// What is said about names that no option has.

import { describe, expect, test } from 'vitest';
import type { OptionTable } from '../../src/settings/command.js';
import { resolveSettings } from '../../src/settings/settings.js';
import {
  commandWith,
  cwd,
  type Given,
  KINDS,
  lineOf,
  refusalOf,
  resolveWith,
  settingsWith,
} from '../support/settings.js';

describe('unknown names', () => {
  const options: OptionTable = { 'max-tokens': KINDS.integer, stream: { kind: 'boolean', default: true, help: 'x' } };

  test.each<[string, Given, string]>([
    ['a setting', { yaml: '\nmax_tokens: 1' }, 'awb.yaml:2: unknown setting "max_tokens"; did you mean "max-tokens"?'],
    [
      'a setting of a section',
      { yaml: 'infer:\n  max-tokns: 1' },
      'awb.yaml:2: unknown setting "max-tokns"; did you mean "max-tokens"?',
    ],
    [
      "another command's setting in this command's section",
      { yaml: 'infer:\n  judge-model: m' },
      'awb.yaml:2: unknown setting "judge-model"; see --help for the flags',
    ],
    ['a section', { yaml: 'jugde:\n  judge-model: m' }, 'awb.yaml:1: unknown setting "jugde"; did you mean "judge"?'],
    [
      'a file that names a file',
      { yaml: 'config: other.yaml' },
      'awb.yaml:1: unknown setting "config"; see --help for the flags',
    ],
  ])('%s is refused', async (_, given, expected) => {
    expect((await refusalOf(settingsWith(options, given))).message).toBe(expected);
  });

  test('a variable causes a warning, since it may belong to another program', async () => {
    const { warnings, problems } = await resolveWith(options, { env: { AWB_MAX_TOKEN: '1' } });
    expect(problems).toEqual([]);
    expect(warnings).toEqual([
      'no option uses the environment variable "AWB_MAX_TOKEN"; did you mean "AWB_MAX_TOKENS"?',
    ]);
    expect((await resolveWith(options, { env: { AWB_DEBG: '1' } })).warnings[0]).toContain('did you mean "AWB_DEBUG"?');
  });

  test("another command's names are known", async () => {
    const env = { AWB_JUDGE_MODEL: 'm', AWB_DEBUG: '1', AWB_GUARDED: 'mark', AWB_WATCH_RESULT: 'r' };
    const yaml = 'judge-model: m\nstrict: true\njudge:\n  judge-model: n\n';
    expect((await resolveWith(options, { env, yaml })).warnings).toEqual([]);
  });

  test('other commands are not loaded while every name is known', async () => {
    const others = [{ name: 'infer', summary: 'x', load: () => Promise.reject(new Error('loaded')) }];
    const io = { cwd, env: { AWB_MAX_TOKENS: '1', HOME: '/' } };
    await expect(resolveSettings(lineOf(commandWith(options)), io, others, new Set())).resolves.toBeDefined();
  });
});
