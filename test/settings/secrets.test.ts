// Secrets among the settings: collected, and never shown.

import { describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { httpUrl } from '../../src/settings/address.js';
import type { OptionTable } from '../../src/settings/command.js';
import { describeSettings } from '../../src/settings/secrets.js';
import { commandWith, type Given, KINDS, lineOf, refusalOf, resolveWith, settingsWith } from '../support/settings.js';

describe('secrets', () => {
  const options: OptionTable = {
    'api-key': {
      kind: 'text',
      secret: true,
      check: (key) => (key === 'wrong-key-1' ? 'another key' : undefined),
      help: 'x',
    },
    url: { kind: 'text', help: 'x' },
  };

  test.each<[string, Given, string]>([
    ['a flag', { flags: { 'api-key': ['sk-12345678'] } }, '--api-key'],
    ['a variable', { env: { AWB_API_KEY: 'sk-12345678' } }, 'AWB_API_KEY'],
    ['the file', { yaml: 'infer:\n  api-key: sk-12345678' }, 'awb.yaml:2'],
  ])('from %s are collected, and shown only as set', async (_, given, from) => {
    const secrets = new Set<string>();
    const resolved = await resolveWith(options, { ...given, secrets });
    expect(resolved.settings.apiKey).toBe('sk-12345678');
    expect([...secrets]).toEqual(['sk-12345678']);
    expect(resolved.shown).not.toHaveProperty('api-key');
    const asJson = describeSettings(lineOf(commandWith(options)), resolved.found, true);
    const asText = describeSettings(lineOf(commandWith(options)), resolved.found, false);
    expect(`${asJson}${asText}`).not.toContain('sk-12345678');
    expect(JSON.parse(asJson).settings['api-key']).toEqual({ value: 'set', from });
    expect(asText).toMatch(new RegExp(`^api-key +set +${from}$`, 'm'));
  });

  test('are not in the error about them', async () => {
    const { message } = await refusalOf(settingsWith(options, { flags: { 'api-key': ['wrong-key-1'] } }));
    expect(message).toBe('--api-key: expected another key');
  });

  test('an empty key on the command line counts as not set', async () => {
    const { settings } = await resolveWith(options, { flags: { 'api-key': [''] }, env: { AWB_API_KEY: 'from-env' } });
    expect(settings.apiKey).toBe('from-env');
  });

  test("other programs' keys in the environment are hidden too, except EMPTY, which means no key", async () => {
    const secrets = new Set<string>();
    await resolveWith(options, { env: { OPENAI_API_KEY: 'sk-abcdefgh', VLLM_API_KEY: 'EMPTY' }, secrets });
    expect([...secrets]).toEqual(['sk-abcdefgh']);
  });

  test('passwords of proxies are hidden, both as written and decoded', async () => {
    const secrets = new Set<string>();
    const env = { HTTP_PROXY: 'http://me:pass%20word@proxy:1', https_proxy: 'me:no address@proxy', NO_PROXY: 'a,b' };
    await resolveWith(options, { env: { ...env, ALL_PROXY: 'socks4://me:100%zz-zz@h' }, secrets });
    expect([...secrets].sort()).toEqual(['100%zz-zz', 'pass word', 'pass%20word']);
  });

  test('a password that is not valid percent-encoding is refused with its flag', async () => {
    const table: OptionTable = { 'model-base-url': { kind: 'list', check: httpUrl, help: 'x' } };
    const given = { flags: { 'model-base-url': ['http://u:100%zz@h/v1'] } };
    const { message, exitCode } = await refusalOf(settingsWith(table, given));
    expect(message).toBe('--model-base-url "http://h/v1": expected a user name and password that write % as %25');
    expect(exitCode).toBe(EXIT.usage);
  });

  test('any other text may look like such a password', async () => {
    const { settings } = await resolveWith(options, { flags: { url: ['http://u:100%zz@h/v1'] } });
    expect(settings.url).toBe('http://u:100%zz@h/v1');
  });

  test('a password in a URL is hidden', async () => {
    const secrets = new Set<string>();
    const { shown } = await resolveWith(options, { flags: { url: ['https://me:pass%20word@host/v1'] }, secrets });
    expect(shown.url).toBe('https://host/v1');
    expect([...secrets]).toContain('pass word');
  });

  test('a password in an invalid URL is not repeated', async () => {
    const refused = settingsWith({ x: KINDS.integer }, { flags: { x: ['https://me:password@host/v1'] } });
    expect((await refusalOf(refused)).message).toBe('--x "https://host/v1": expected an integer from 1 to 10');
  });
});
