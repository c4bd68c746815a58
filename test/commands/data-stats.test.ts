// `awb data stats`: figures checked against Python, in a form that fits a terminal.

import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, RECORDED, ROOT, temporaryFolder } from '../support/cli.js';
import { rowText, writeText } from '../support/rows.js';

const stats = (args: readonly string[], env: Record<string, string> = {}, cwd?: string) =>
  awb(['data', 'stats', ...args], { env, ...(cwd !== undefined && { cwd }) });

/** Median, 90th percentile and maximum of turn, context and ground truth. */
// biome-ignore format: a table, a line a domain
const PYTHON: Readonly<Record<string, readonly (readonly number[])[]>> = {
  android: [[5.0, 9.200000000000001, 11], [1498.0, 2845.4000000000005, 3674], [176.0, 440.4, 444]],
  mcp: [[10.0, 14.0, 17], [2022.0, 2426.0, 2727], [54.0, 87.0, 103]],
  os: [[8.0, 12.8, 14], [3401.0, 4633.6, 4648], [360.0, 397.6, 436]],
  search: [[6.5, 8.5, 9], [7871.5, 9317.5, 9432], [599.5, 1414.5, 1946]],
  swe: [[9.5, 12.899999999999999, 15], [2283.0, 2978.7999999999997, 3277], [98.5, 303.4, 400]],
  terminal: [[11.0, 16.0, 18], [1742.0, 2724.0, 3096], [88.0, 180.0, 276]],
  web: [[14.0, 21.3, 22], [5182.0, 7443.2, 7782], [326.0, 447.2, 583]],
  all: [[8.0, 15.800000000000004, 22], [2171.0, 6783.800000000003, 9432], [141.0, 437.8, 1946]],
};

describe('the recorded rows', () => {
  test('have the sizes that Python computes', async () => {
    const { code, stdout } = await stats([RECORDED, '--json']);
    expect(code).toBe(EXIT.done);
    const { schema, all, domains } = JSON.parse(stdout);
    expect(schema).toBe('awb.data-stats/1');
    expect(all).toMatchObject({ rows: 63, trajectories: 17 });
    const figures = ({ median, p90, max }: Record<string, number>) => [median, p90, max];
    // statistics.quantiles over ceil(UTF-16 units / 4) of what is sent, and of response[turn_idx - 1].
    for (const [domain, [turn, context, truth]] of Object.entries(PYTHON)) {
      const own = domain === 'all' ? all : domains[domain];
      const found = [own.turn, own.context_tokens, own.truth_tokens].map(figures);
      for (const [at, values] of [turn, context, truth].entries()) {
        for (const [which, value] of (values as number[]).entries()) expect(found[at]?.[which]).toBeCloseTo(value, 9);
      }
    }
    expect(Object.keys(domains)).toEqual(['mcp', 'search', 'terminal', 'swe', 'android', 'web', 'os']);
  });

  test("have the tokens that the Python package tokenizers 0.23.3 counts, if a model's tokenizer is named", async () => {
    const tokenizer = join(ROOT, 'fixtures/tokenizers/qwen.json');
    const { all, tokens } = JSON.parse((await stats([RECORDED, '--json', '--tokenizer', tokenizer])).stdout);
    expect(all.context_tokens).toMatchObject({ median: 5_398, max: 22_583 });
    expect(all.truth_tokens).toMatchObject({ median: 402, max: 3_934 });
    expect(tokens).toBe(`counted by ${tokenizer}`);
    const { code, stderr } = await stats([RECORDED, '--tokenizer', join(RECORDED, 'mcp_test.jsonl')]);
    expect([code, stderr]).toEqual([EXIT.badData, expect.stringMatching(/this tokenizer cannot be used/)]);
  });

  test('fit in 80 columns, with histograms of block characters', async () => {
    const { stdout } = await stats([RECORDED]);
    expect(stdout.split('\n').filter((line) => [...line].length > 80)).toEqual([]);
    expect(stdout).toMatch(/^Search +7,872 +9,318 +9,432 +[ ▁▂▃▄▅▆▇█]+$/m);
    expect(stdout).toMatch(/^Prompt tokens +Median +p90 +Longest +512 +16,384$/m);
  });

  test.each([{ TERM: 'dumb' }, { TERM: 'linux' }, { LC_ALL: 'C', LANG: 'de_DE.UTF-8' }, { LANG: 'de_DE.ISO-8859-1' }])(
    'are shown without them under %j',
    async (env) => {
      const { stdout } = await stats([RECORDED], env);
      expect(stdout).toMatch(/^[\x20-\x7e\n]+$/);
      expect(stdout).toMatch(/^Search +7,872 +9,318 +9,432 +[ .:\-=+*#@]+$/m);
    },
  );

  test.each([{}, { LANG: 'C.UTF-8' }, { LC_ALL: '', LANG: 'en_GB.utf8' }])(
    'are shown with them under %j',
    async (env) => {
      expect((await stats([RECORDED], env)).stdout).toContain('█');
    },
  );
});

describe('a folder', () => {
  test('with unusable lines reports the others, and how many were left out', async () => {
    const cwd = await temporaryFolder();
    await writeText(cwd, 'data/mcp_test.jsonl', [rowText(), 'nonsense']);
    const { code, stdout, stderr } = await stats([], {}, cwd);
    expect([code, stderr]).toEqual([EXIT.done, '1 unusable line left out; awb data check names every unusable line\n']);
    expect(stdout).toMatch(/^All +1 +1 /m);
  });

  test('without a usable row exits with 65, and a missing one with 66', async () => {
    const cwd = await temporaryFolder();
    await writeText(cwd, 'data/mcp_test.jsonl', ['nonsense']);
    expect((await stats([], {}, cwd)).code).toBe(EXIT.badData);
    expect((await stats([join(cwd, 'gone')])).code).toBe(EXIT.inputMissing);
  });

  test('with a hostile domain shows nothing that controls a terminal', async () => {
    const cwd = await temporaryFolder();
    await writeText(cwd, 'data/x_test.jsonl', [
      rowText({ task: 'x/a\u0301very-long-name-of-a-domain-that-goes-on-and-on' }),
    ]);
    const { stdout } = await stats([], {}, cwd);
    expect(stdout.split('\n').filter((line) => [...line].length > 80)).toEqual([]);
  });
});
