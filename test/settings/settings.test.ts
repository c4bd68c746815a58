// Settings that are missing, or exclude each other.

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

  test('are named all at once, with an example', async () => {
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

  test('are only those that the other settings make necessary', async () => {
    const flags = { 'data-dir': ['d'], 'model-name': ['m'], baseline: ['empty'] };
    const resolved = await resolveWith(command.options, { flags });
    expect(() => requireSettings(lineOf(command), resolved)).not.toThrow();
  });
});

test('--quiet and --verbose exclude each other', async () => {
  const { message } = await refusalOf(settingsWith({}, { flags: { quiet: true }, env: { AWB_VERBOSE: '1' } }));
  expect(message).toBe('--quiet and --verbose exclude each other');
});

describe('the address of an endpoint', () => {
  const options: OptionTable = { 'base-url': { kind: 'text', check: httpUrl, help: 'x' } };

  test.each(['http://a:1/v1/chat/completions', 'http://a:1/v1/completions/', 'http://a/Chat/Completions?k=v'])(
    'is none where it is that of a call: %s',
    async (url) => {
      const { message } = await refusalOf(settingsWith(options, { flags: { 'base-url': [url] } }));
      expect(message).toBe(`--base-url "${url}": expected an address that ends before /chat/completions`);
    },
  );

  test.each(['http://a/completions-api/v1', 'http://a/chat', 'http://completions:1/v1'])('may be %s', async (url) => {
    const { settings } = await resolveWith(options, { flags: { 'base-url': [url] } });
    expect(settings.baseUrl).toBe(url);
  });
});
