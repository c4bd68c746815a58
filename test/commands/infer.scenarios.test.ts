// `awb infer --scenarios` and `--list-scenarios`: what is listed, and what is refused before anything is asked.

import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { awb, temporaryFolder } from '../support/cli.js';
import { folderOf } from '../support/folder.js';
import { rowsFolder, STEPS, suiteFolder } from '../support/scripted-scenarios.js';

let folder: string;
let data: string;
let suite: string;
beforeAll(async () => {
  folder = await temporaryFolder();
  data = await rowsFolder(join(folder, 'data'), { terminal: 6, web: 4 });
  suite = await suiteFolder();
});

const MODEL = ['--model-base-url', 'http://127.0.0.1:9/v1', '--model-name', 'none'];
const infer = (...flags: string[]) =>
  awb(['infer', '--data-dir', data, '--output-dir', join(folder, 'out'), ...flags], { cwd: folder });

describe('a listed suite', () => {
  it('names every scenario with domains, place, steps, verifiers, and the rows that it applies to', async () => {
    const { code, stdout } = await infer('--list-scenarios', '--scenarios', suite);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^power-cut +MCP Terminal +before-action +1 +6/m);
    expect(stdout).toMatch(/^power-cut +contains unchanged_elsewhere never$/m);
    expect(stdout).toContain('made: 2 scenarios, fingerprint ');
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('needs neither a model nor data, and says so about the rows', async () => {
    const empty = await temporaryFolder();
    const { code, stdout } = await awb(['infer', '--list-scenarios', '--scenarios', suite], { cwd: empty });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^power-cut .* 1 +-/m);
    expect(stdout.replace(/\s+/g, ' ')).toContain('Rows: those of --data-dir that fit');
  });

  it('is one document under --json, which distinguishes its own starts from rows', async () => {
    const steps = await suiteFolder(STEPS);
    const { stdout } = await infer('--list-scenarios', '--scenarios', steps, '--json');
    const document = JSON.parse(stdout);
    expect(document).toMatchObject({ schema: 'awb.scenario-suite/1', name: 'made' });
    expect(document.scenarios).toMatchObject([
      { name: 'reach-green', steps: 3, own_start: false, rows: 6, verifiers: ['contains', 'never'] },
      { steps: 3, own_start: true, rows: null, domains: ['terminal'] },
    ]);
  });

  it('is the bundled one if none is named', async () => {
    const { stdout } = await infer('--list-scenarios', '--json');
    expect(JSON.parse(stdout).name).toBe('standard');
  });
});

describe('what is refused before anything is asked', () => {
  it.each([
    ['a missing suite, with the bundled ones', ['--scenarios', 'standart'], 66, 'a bundled one (standard)'],
    ['repeats', ['--repeats', '2'], 2, 'take more rows instead, with --scenario-rows'],
    ['a rollout', ['--rollout'], 2, '--repeats and --rollout cannot be combined with --scenarios'],
    ['too few calls', ['--max-calls', '1'], 2, '--max-calls 1 is too few'],
    [
      'rows to which no scenario applies',
      ['--domains', 'web'],
      2,
      'no scenario of made applies to a chosen row; they are for mcp, terminal; choose other rows with --domains',
    ],
  ])('is %s', async (_what, flags, code, message) => {
    const named = flags.includes('--scenarios') ? [] : ['--scenarios', suite];
    const result = await infer(...named, ...flags, ...MODEL);
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(message)]);
  });

  it('is a bound on calls without scenarios', async () => {
    const { code, stderr } = await infer('--max-calls', '5', ...MODEL);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--max-calls needs --scenarios; add it')]);
    const rows = await infer('--scenario-rows', '5', ...MODEL);
    expect([rows.code, rows.stderr]).toEqual([2, expect.stringContaining('--scenario-rows needs --scenarios; add it')]);
  });

  it('includes continuing with another suite, which would mix two', async () => {
    const own = join(folder, 'mixed');
    const asked = (from: string) =>
      awb(['infer', '--data-dir', data, '--output-dir', own, '--scenarios', from, '--baseline', 'oracle', '--quiet']);
    expect((await asked(suite)).code).toBe(0);
    const other = await asked(await suiteFolder(STEPS.replace('then: [look, look again]', '')));
    expect(other.code).toBe(78);
  });
});

describe('what a dry run says', () => {
  it('is the bill of all calls, including those of twins, and nothing is written', async () => {
    const { code, stdout, stderr } = await infer('--scenarios', suite, '--dry-run', ...MODEL);
    expect(code).toBe(0);
    expect(stderr).toContain('2 scenarios: 12 samples, 18 calls including their twins');
    expect(stdout).toMatch(/^Terminal +18 +18 /m);
  });

  it('includes scenarios without rows, and those that a baseline cannot know', async () => {
    const both = await suiteFolder(`${STEPS}`.replace('domains: [terminal]', 'domains: [mcp]'));
    const { stderr } = await infer('--scenarios', both, '--dry-run', ...MODEL);
    expect(stderr).toContain('left out, since no chosen row fits: reach-green');
    const result = await infer('--scenarios', both, '--baseline', 'oracle');
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining('applies to a chosen row')]);
  });

  it('includes what a baseline omits from the bundled suite, within 80 columns', async () => {
    const { stderr } = await infer('--scenarios', 'standard', '--baseline', 'oracle', '--dry-run');
    expect(stderr).toMatch(/\nleft out: 17 scenarios with several steps/);
    expect(stderr.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });
});

describe("a user's own domain", () => {
  it('has scenarios if --domain-prompts defines it, and is unknown otherwise', async () => {
    const own = await suiteFolder(STEPS.replaceAll('terminal', 'garden'));
    const prompts = await folderOf({ 'garden.txt': 'You are a garden.' });
    const unknown = await infer('--list-scenarios', '--scenarios', own);
    expect([unknown.code, unknown.stderr]).toEqual([65, expect.stringContaining('domain "garden"')]);
    const known = await infer('--list-scenarios', '--scenarios', own, '--domain-prompts', prompts, '--json');
    expect(JSON.parse(known.stdout).scenarios[0].domains).toEqual(['garden']);
  });
});
