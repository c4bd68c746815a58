// Settings: where they come from, what they may be, and what is said of wrong ones.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { EXIT, type ExitCode, UserError } from '../../src/errors.js';
import { httpUrl } from '../../src/settings/address.js';
import { type CommandSpec, defineCommand } from '../../src/settings/command.js';
import { COMMON, type OptionSpec, type OptionTable } from '../../src/settings/options.js';
import { type Resolved, requireSettings, resolveSettings } from '../../src/settings/settings.js';
import { describeSettings } from '../../src/settings/shown-settings.js';
import type { FlagValue } from '../../src/settings/sources.js';

const cwd = mkdtempSync(join(tmpdir(), 'awb-settings-'));
afterAll(() => rmSync(cwd, { recursive: true }));

const OTHER: OptionTable = { 'judge-model': { kind: 'text', help: 'x' }, strict: { kind: 'boolean', help: 'x' } };

interface Given {
  readonly flags?: Readonly<Record<string, FlagValue>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Content of awb.yaml, named by AWB_CONFIG. */
  readonly yaml?: string;
  readonly secrets?: Set<string>;
}

function commandWith(options: OptionTable): CommandSpec {
  return { description: 'x', examples: [], options, run: async () => EXIT.done };
}

async function resolveWith(options: OptionTable, given: Given): Promise<Resolved> {
  const config: Record<string, string> = {};
  if (given.yaml !== undefined) {
    writeFileSync(join(cwd, 'awb.yaml'), given.yaml);
    config.AWB_CONFIG = 'awb.yaml';
  }
  const io = { cwd, env: { ...config, ...given.env } };
  const flags = new Map(Object.entries(given.flags ?? {}));
  const others = { names: ['infer', 'judge'], tables: async () => [options, OTHER] };
  return resolveSettings('infer', commandWith(options), flags, io, others, given.secrets ?? new Set());
}

/** The same, refused where something is wrong. */
async function settingsWith(options: OptionTable, given: Given): Promise<Resolved> {
  const resolved = await resolveWith(options, given);
  requireSettings('infer', commandWith(options), resolved);
  return resolved;
}

async function errorOf(work: Promise<unknown>): Promise<{ readonly message: string; readonly exitCode: ExitCode }> {
  const error = await work.then(
    () => new Error('nothing was refused'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof UserError)) throw error;
  return error;
}

describe('where a value comes from', () => {
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
    ['an empty variable is none', { env: { AWB_MAX_TOKENS: '' } }, 1, 'default'],
  ])('%s', async (_, given, value, from) => {
    const { settings, found } = await resolveWith(options, given);
    expect(settings.maxTokens).toBe(value);
    expect(found.get('max-tokens')).toEqual({ value, from });
  });

  test('a file in the working directory that nobody named is not read', async () => {
    writeFileSync(join(cwd, 'awb.yaml'), 'max-tokens: 2\n');
    expect((await resolveWith(options, {})).settings.maxTokens).toBe(1);
  });

  test('a file that is not there is said to be missing, and by whom it was named', async () => {
    const { message, exitCode } = await errorOf(settingsWith(options, { flags: { config: ['no.yaml'] } }));
    expect(message).toBe('cannot read the configuration file no.yaml (--config): ENOENT');
    expect(exitCode).toBe(EXIT.inputMissing);
  });

  test.each([
    [{}, true],
    [{ NO_COLOR: '' }, true],
    [{ NO_COLOR: '1' }, false],
    [{ NO_COLOR: '1', AWB_COLOR: 'true' }, true],
  ])('under %j colour is %s', async (env, color) => {
    expect((await resolveWith({}, { env })).settings.color).toBe(color);
  });
});

const KINDS = {
  text: { kind: 'text', help: 'x' },
  url: { kind: 'text', check: httpUrl, help: 'x' },
  integer: { kind: 'integer', min: 1, max: 10, help: 'x' },
  number: { kind: 'number', min: 0, words: ['default'], help: 'x' },
  duration: { kind: 'duration', min: 1, help: 'x' },
  boolean: { kind: 'boolean', help: 'x' },
  choice: { kind: 'choice', choices: ['prefix', 'file', 'random'], help: 'x' },
  list: { kind: 'list', help: 'x' },
  map: { kind: 'map', help: 'x' },
  object: { kind: 'json', help: 'x' },
} as const satisfies Record<string, OptionSpec>;

describe('what a flag may hold', () => {
  test.each<[keyof typeof KINDS, FlagValue, unknown]>([
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
    ['text', ' ', 'a text that is not empty'],
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
    const { message, exitCode } = await errorOf(settingsWith({ x: KINDS[kind] }, { flags: { x: [given] } }));
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

describe('what a variable may hold', () => {
  test.each<[keyof typeof KINDS, string, string, unknown]>([
    ['boolean', 'AWB_X', 'yes', true],
    ['boolean', 'AWB_X', '0', false],
    ['boolean', 'AWB_NO_X', '1', false],
    ['boolean', 'AWB_NO_X', 'false', true],
    ['list', 'AWB_X', 'a,b', ['a', 'b']],
    ['map', 'AWB_X', 'step=100,recipe=a', { step: '100', recipe: 'a' }],
  ])('%s %s=%s is %j', async (kind, variable, text, value) => {
    const { settings } = await resolveWith({ x: KINDS[kind] }, { env: { [variable]: text } });
    expect(settings.x).toEqual(value);
  });

  test('a wrong value is named with its variable', async () => {
    const { message } = await errorOf(settingsWith({ x: KINDS.boolean }, { env: { AWB_X: 'maybe' } }));
    expect(message).toBe('AWB_X "maybe": expected true or false');
  });
});

describe('what the configuration file may hold', () => {
  test.each<[keyof typeof KINDS, string, unknown]>([
    ['text', 'x: 1.10', '1.10'],
    ['text', 'x: "quoted"', 'quoted'],
    ['integer', 'x: 7', 7],
    ['number', 'x: default', 'default'],
    ['duration', 'x: 15m', 900],
    ['boolean', 'x: true', true],
    ['boolean', 'no-x: true', false],
    ['choice', 'x: file', 'file'],
    ['list', 'x: [a, "b,c", 300000000000000001]', ['a', 'b,c', '300000000000000001']],
    ['list', 'x: a, b', ['a', 'b']],
    ['map', 'x: {step: 100, version: 1.10}', { step: '100', version: '1.10' }],
    ['object', 'x:\n  top_k: 20\n  deep: {a: [1]}', { top_k: 20, deep: { a: [1] } }],
    ['text', 'a: &name value\nx: *name'.replace('a:', 'judge-model:'), 'value'],
  ])('%s from %j is %j', async (kind, yaml, value) => {
    expect((await resolveWith({ x: KINDS[kind] }, { yaml })).settings.x).toEqual(value);
  });

  test.each<[keyof typeof KINDS, string, string]>([
    ['text', '\nx: [a]', 'awb.yaml:2: x "["a"]": expected a text that is not empty'],
    ['text', 'x:', 'awb.yaml:1: x "null": expected a text that is not empty'],
    ['integer', 'x: "7"', 'awb.yaml:1: x "7": expected an integer from 1 to 10'],
    ['integer', 'infer:\n  x: 70', 'awb.yaml:2: x "70": expected an integer from 1 to 10'],
    ['boolean', 'x: yes', 'awb.yaml:1: x "yes": expected true or false'],
    ['choice', 'x: prefx', 'awb.yaml:1: x "prefx": expected one of prefix, file, random (did you mean prefix?)'],
    ['list', 'x: {a: 1}', 'awb.yaml:1: x "{"a":1}": expected a list'],
    ['map', 'x: step=100', 'awb.yaml:1: x "step=100": expected a mapping of keys to values'],
    ['object', 'x: "{}"', 'awb.yaml:1: x "{}": expected a mapping'],
    ['text', 'x: "a', 'awb.yaml:1: not YAML: Missing closing "quote'],
    ['text', 'x: a\nx: b', 'awb.yaml:2: not YAML: Map keys must be unique'],
    ['text', '- x', 'awb.yaml:1: expected settings by name, such as "max-tokens: 32768"'],
    ['text', 'infer: x', 'awb.yaml:1: infer: expected settings by name, indented below it'],
  ])('%s refuses %j with file and line', async (kind, yaml, expected) => {
    const { message, exitCode } = await errorOf(settingsWith({ x: KINDS[kind] }, { yaml }));
    expect(message).toBe(expected);
    expect(exitCode).toBe(EXIT.usage);
  });

  test('an empty file sets nothing', async () => {
    expect((await resolveWith({ x: KINDS.text }, { yaml: '# nothing yet\n' })).settings.x).toBeUndefined();
  });
});

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
      "another command's setting in this one's section",
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
    expect((await errorOf(settingsWith(options, given))).message).toBe(expected);
  });

  test("a variable is warned of, since it may be somebody else's", async () => {
    const { warnings, problems } = await resolveWith(options, { env: { AWB_MAX_TOKEN: '1' } });
    expect(problems).toEqual([]);
    expect(warnings).toEqual([
      'nothing reads the environment variable "AWB_MAX_TOKEN"; did you mean "AWB_MAX_TOKENS"?',
    ]);
  });

  test("another command's names are known", async () => {
    const env = { AWB_JUDGE_MODEL: 'm', AWB_NO_STRICT: '1', AWB_DEBUG: '1' };
    const yaml = 'judge-model: m\nno-strict: true\njudge:\n  judge-model: n\n';
    await expect(resolveWith(options, { env, yaml })).resolves.toBeDefined();
  });

  test('other commands are not loaded while every name is known', async () => {
    const others = { names: ['infer'], tables: () => Promise.reject(new Error('loaded')) };
    const io = { cwd, env: { AWB_MAX_TOKENS: '1', AWB_NO_STREAM: '1', HOME: '/' } };
    await expect(
      resolveSettings('infer', commandWith(options), new Map(), io, others, new Set()),
    ).resolves.toBeDefined();
  });
});

describe('missing settings', () => {
  const command = defineCommand({
    description: 'x',
    examples: [{ line: 'awb infer --data-dir data', does: 'x' }],
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
    const { message, exitCode } = await errorOf((async () => requireSettings('infer', command, resolved))());
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
    expect(() => requireSettings('infer', command, resolved)).not.toThrow();
  });
});

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
    const asJson = describeSettings('infer', commandWith(options), resolved.found, true);
    const asText = describeSettings('infer', commandWith(options), resolved.found, false);
    expect(`${asJson}${asText}`).not.toContain('sk-12345678');
    expect(JSON.parse(asJson).settings['api-key']).toEqual({ value: 'set', from });
    expect(asText).toMatch(new RegExp(`^api-key +set +${from}$`, 'm'));
  });

  test('are not in the error about them', async () => {
    const { message } = await errorOf(settingsWith(options, { flags: { 'api-key': ['wrong-key-1'] } }));
    expect(message).toBe('--api-key: expected another key');
  });

  test('an empty key on the command line is none', async () => {
    const { settings } = await resolveWith(options, { flags: { 'api-key': [''] }, env: { AWB_API_KEY: 'from-env' } });
    expect(settings.apiKey).toBe('from-env');
  });

  test('keys of other programs in the environment are kept back too, placeholders are not', async () => {
    const secrets = new Set<string>();
    await resolveWith(options, { env: { OPENAI_API_KEY: 'sk-abcdefgh', VLLM_API_KEY: 'EMPTY' }, secrets });
    expect([...secrets]).toEqual(['sk-abcdefgh']);
  });

  test('passwords of proxies are kept back, as they are written and as they are meant', async () => {
    const secrets = new Set<string>();
    const env = { HTTP_PROXY: 'http://me:pass%20word@proxy:1', https_proxy: 'me:no address@proxy', NO_PROXY: 'a,b' };
    await resolveWith(options, { env: { ...env, ALL_PROXY: 'socks4://me:100%zz-zz@h' }, secrets });
    expect([...secrets].sort()).toEqual(['100%zz-zz', 'pass word', 'pass%20word']);
  });

  test('a password that is no percent-encoded text is refused with its flag', async () => {
    const table: OptionTable = { 'model-base-url': { kind: 'list', check: httpUrl, help: 'x' } };
    const given = { flags: { 'model-base-url': ['http://u:100%zz@h/v1'] } };
    const { message, exitCode } = await errorOf(settingsWith(table, given));
    expect(message).toBe('--model-base-url "http://h/v1": expected a user name and password that write % as %25');
    expect(exitCode).toBe(EXIT.usage);
  });

  test('any other text may look like one', async () => {
    const { settings } = await resolveWith(options, { flags: { url: ['http://u:100%zz@h/v1'] } });
    expect(settings.url).toBe('http://u:100%zz@h/v1');
  });

  test('a password in a URL is kept back', async () => {
    const secrets = new Set<string>();
    const { shown } = await resolveWith(options, { flags: { url: ['https://me:pass%20word@host/v1'] }, secrets });
    expect(shown.url).toBe('https://host/v1');
    expect([...secrets]).toContain('pass word');
  });

  test('a password in a URL that will not do is not repeated', async () => {
    const refused = settingsWith({ x: KINDS.integer }, { flags: { x: ['https://me:password@host/v1'] } });
    expect((await errorOf(refused)).message).toBe('--x "https://host/v1": expected an integer from 1 to 10');
  });
});

test('--print-config shows every setting, also those that are not set', async () => {
  const resolved = await resolveWith(KINDS, { flags: { integer: ['3'], list: ['a,b'] } });
  const command = commandWith(KINDS);
  const { settings } = JSON.parse(describeSettings('infer', command, resolved.found, true));
  expect(settings.integer).toEqual({ value: 3, from: '--integer' });
  expect(settings.list).toEqual({ value: ['a', 'b'], from: '--list' });
  expect(settings.text).toEqual({ value: null, from: 'not set' });
  const text = describeSettings('infer', command, resolved.found, false);
  expect(text).toMatch(/^integer +3 +--integer$/m);
  const names = Object.keys({ ...KINDS, ...COMMON }).filter((name) => !['config', 'print-config'].includes(name));
  expect(Object.keys(settings)).toEqual(names);
  expect(text.split('\n').map((line) => line.split(' ')[0])).toEqual([...names, '']);
});

test('--print-config shows a value on one line, whatever it holds', async () => {
  const label = 'a\n::error::b\x1b]0;x\x07\u202ec';
  const resolved = await resolveWith(KINDS, { flags: { text: [label], list: [label, 'b'] } });
  const text = describeSettings('infer', commandWith(KINDS), resolved.found, false);
  expect(text).toMatch(/^text +"a\\n::error::b\\u001b\]0;x\\u0007c" +--text$/m);
  expect(text.split('\n')).toHaveLength(Object.keys({ ...KINDS, ...COMMON }).length - 1);
  expect(text).not.toMatch(/[\x07\x1b\u202e]/);
});

test('--quiet and --verbose exclude each other', async () => {
  const { message } = await errorOf(settingsWith({}, { flags: { quiet: true }, env: { AWB_VERBOSE: '1' } }));
  expect(message).toBe('--quiet and --verbose exclude each other');
});
