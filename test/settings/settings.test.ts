// Settings that are missing or mutually exclusive.

import { describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { httpUrl } from '../../src/settings/address.js';
import { defineCommand, type OptionTable } from '../../src/settings/command.js';
import { requireSettings } from '../../src/settings/settings.js';
import { lineOf, refusalOf, resolveWith, settingsWith } from '../support/settings.js';

describe('missing settings', () => {
  const command = defineCommand({
    description: 'x',
    examples: { 'awb infer --data-dir data': 'x' },
    options: {
      'data-dir': { kind: 'text', value: 'DIR', required: true, help: 'where the rows are' },
      'model-name': { kind: 'text', required: true, help: 'which model' },
      'base-url': { kind: 'list', value: 'URL', help: 'endpoint' },
      baseline: { kind: 'choice', choices: ['empty'], help: 'x' },
    },
    alsoNeeds: (settings) => (settings.baseline === undefined ? ['base-url'] : []),
    run: async () => EXIT.done,
  });

  test('are all named at once, with an example', async () => {
    const resolved = await resolveWith(command.options, {});
    const { message, exitCode } = await refusalOf((async () => requireSettings(lineOf(command), resolved))());
    expect(message).toBe(
      [
        'awb infer also needs',
        '  --data-dir <DIR>: where the rows are',
        '  --model-name <TEXT>: which model',
        '  --base-url <URL>: endpoint',
        'for example',
        '  awb infer --data-dir data',
      ].join('\n'),
    );
    expect(exitCode).toBe(EXIT.usage);
  });

  test('include only those that the other settings make necessary', async () => {
    const flags = { 'data-dir': ['d'], 'model-name': ['m'], baseline: ['empty'] };
    const resolved = await resolveWith(command.options, { flags });
    expect(() => requireSettings(lineOf(command), resolved)).not.toThrow();
  });
});

test('--quiet and --verbose cannot be combined', async () => {
  const { message } = await refusalOf(settingsWith({}, { flags: { quiet: true }, env: { AWB_VERBOSE: '1' } }));
  expect(message).toBe('--quiet and --verbose cannot be combined');
});

describe('the address of an endpoint', () => {
  const options: OptionTable = {
    'model-base-url': { kind: 'list', check: httpUrl, help: 'x' },
    'base-url': { kind: 'text', check: httpUrl, help: 'x' },
    'tracking-uri': { kind: 'text', check: httpUrl, help: 'x' },
  };

  test.each([
    ['http://a:1/v1/chat/completions', 'http://a:1/v1'],
    ['http://a:1/v1/completions/', 'http://a:1/v1'],
    ['https://u:hidden-word@a/x/Chat/Completions?key=hidden-too', 'https://u:hidden-word@a/x?key=hidden-too'],
  ])('loses the path of a call at its end, with a notice: %s', async (given, clean) => {
    for (const one of [
      { flags: { 'model-base-url': [`http://b/v1,${given}`], 'base-url': [given] } },
      { env: { AWB_MODEL_BASE_URL: `http://b/v1,${given}`, AWB_BASE_URL: given } },
      { yaml: `model-base-url: [http://b/v1, "${given}"]\nbase-url: ${given}` },
    ]) {
      const { settings, shown, warnings } = await resolveWith(options, one);
      expect([settings.modelBaseUrl, settings.baseUrl]).toEqual([['http://b/v1', clean], clean]);
      const asClean = { 'model-base-url': [`http://b/v1,${clean}`], 'base-url': [clean] };
      expect(shown).toEqual((await resolveWith(options, { flags: asClean })).shown);
      expect(warnings).toEqual([
        expect.stringMatching(/^--model-base-url includes the path of a call; using https?:\S+$/),
        expect.stringMatching(/^--base-url includes /),
      ]);
      expect(warnings.join()).not.toContain('hidden');
    }
  });

  test('is unchanged if it is a base URL, or the URL of something else', async () => {
    const urls = ['http://a/completions-api/v1', 'http://a/chat', 'http://completions:1/v1'];
    const flags = { 'model-base-url': urls, 'tracking-uri': ['http://m/completions'] };
    const { settings, warnings } = await resolveWith(options, { flags });
    expect([settings.modelBaseUrl, settings.trackingUri, warnings]).toEqual([urls, 'http://m/completions', []]);
  });
});
