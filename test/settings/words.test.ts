import { expect, test } from 'vitest';
import { INFER_OPTIONS } from '../../src/infer/options.js';
import { flagsFor } from '../../src/settings/command-line.js';
import { awb } from '../support/cli.js';

/** The settings that `awb infer` reads from such words, as a manifest may contain them. */
async function shownOf(words: readonly string[]): Promise<Record<string, unknown>> {
  const { code, stdout } = await awb(['infer', ...words, '--print-config', '--json']);
  expect(code).toBe(0);
  const settings: Record<string, { value: unknown }> = JSON.parse(stdout).settings;
  return Object.fromEntries(Object.entries(settings).map(([name, { value }]) => [name, value ?? undefined]));
}

test('settings written as words are read back as the same settings', async () => {
  const given = [
    ...['--data-dir', "my 'data'", '--domains', 'mcp,swe', '--limit', '3', '--no-stream', '--lean'],
    ...['--meta', 'step=100', '--meta', 'note=a,b=c', '--extra-body', '{"a":{"b":[1,"x y"]}}', '--top-k=-1'],
    ...['--model-base-url', 'http://a/v1', '--model-base-url', 'http://b/v1', '--temperature', 'default'],
    ...['--call-timeout', '15m', '--order', 'random', '--min-p', '1e-7', '--max-tokens', '32768'],
  ];
  const words = flagsFor(INFER_OPTIONS, await shownOf(given));
  expect(await shownOf(words)).toEqual(await shownOf(given));
  // A default needs no word.
  expect(words).not.toContain('--max-tokens');
  expect(flagsFor(INFER_OPTIONS, await shownOf([]))).toEqual([]);
});
