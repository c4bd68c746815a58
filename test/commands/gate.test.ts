// `awb gate` end to end: two runs and a policy in, a verdict with its exit code and reports out.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { around, type JudgedRun, judgedRun } from '../support/judged-runs.js';
import { holdMessage } from '../support/messages.js';

let dir: string;
beforeAll(async () => {
  dir = await temporaryFolder();
  const make = (name: string, run: Partial<JudgedRun>) =>
    judgedRun(join(dir, name), { label: name, rating: around(3, 1), ...run }, join(dir, 'runs.sqlite'));
  await make('base', { rating: around(3) });
  await make('same', {});
  await make('fell', { rating: (domain, row) => around(3, 1)(domain, row) - 0.5 });
  await make('one-fell', { rating: (domain, row) => around(3, 1)(domain, row) - (domain === 'os' ? 0.5 : 0) });
  await make('unsure', { rating: (domain, row) => around(3, 1)(domain, row) + (row % 4 < 2 ? 0.9 : -1) });
  await make('lacking', {
    rating: (domain, row) => (domain === 'web' && row < 3 ? undefined : around(3)(domain, row)),
  });
  await make('impossible', { rating: (domain, row) => (domain === 'os' && row === 3 ? 100 : around(3)(domain, row)) });
  await make('all-impossible', { rating: () => 100 });
  await make('without-os', { rating: (domain, row) => (domain === 'os' ? undefined : around(3)(domain, row)) });
  await make('other-judge', { identity: { judge: 'another' } });
  await make('costly', { meta: { cost: '12.50' } });
});

const gate = (args: readonly string[], env: Record<string, string> = {}) =>
  awb(['gate', '--db', 'runs.sqlite', ...args], { cwd: dir, env });
const report = async (args: readonly string[]) => JSON.parse((await gate([...args, '--json'])).stdout);

async function policy(text: string): Promise<string> {
  const path = join(await temporaryFolder(), 'gate.yaml');
  await writeFile(path, text);
  return path;
}

it('says what domains that never vary leave open, and how many rules share a level', async () => {
  const steady: JudgedRun['rating'] = (domain, row) =>
    domain === 'mcp' || domain === 'os' ? around(3)(domain, row) : around(3, 1)(domain, row) + 0.2;
  await judgedRun(join(dir, 'steady'), { label: 'steady', rating: steady }, join(dir, 'runs.sqlite'));
  const args = ['gate', '--db', 'runs.sqlite', 'base', 'steady'];
  await holdMessage('gate', args, {}, { cwd: dir });
  const two = await policy('max_drop: { overall: 2, mcp: 5, web: 5 }\nmin_score: { overall: 20 }\n');
  await holdMessage('gate-policy', [...args, '--policy', two], { [two]: '<policy>' }, { cwd: dir });
});

describe('the verdict is the exit code', () => {
  it.each([
    ['same', 0, 'GO'],
    ['fell', 4, 'NO-GO'],
    ['one-fell', 4, 'NO-GO'],
    ['unsure', 5, 'INCONCLUSIVE'],
    ['lacking', 3, 'INCOMPLETE'],
    ['impossible', 3, 'INCOMPLETE'],
    ['all-impossible', 3, 'INCOMPLETE'],
    ['other-judge', 3, 'INCOMPLETE'],
  ])('%s: %d %s', async (candidate, code, verdict) => {
    const result = await gate(['base', candidate]);
    expect(result).toMatchObject({ code, stderr: '' });
    expect(result.stdout.startsWith(`${verdict}: `)).toBe(true);
    expect(await report(['base', candidate])).toMatchObject({ schema: 'awb.gate/1', verdict, exit_code: code });
  });

  it('impossible ratings pass no gate, on either side and whatever it checks', async () => {
    const told = 'Rows with impossible ratings (outside 1 to 5): 1 of the candidate; judge them again';
    expect((await gate(['base', 'impossible'])).stdout.replace(/\s+/g, ' ')).toContain(told);
    expect(await gate(['impossible', 'same'])).toMatchObject({ code: 3 });
    expect(await gate(['--min-overall', '1', 'all-impossible'])).toMatchObject({ code: 3 });
    expect(await gate(['impossible', 'all-impossible'])).toMatchObject({ code: 3 });
    const junit = join(dir, 'impossible.xml');
    await gate(['base', 'impossible', '--junit', junit]);
    expect(await readFile(junit, 'utf8')).toMatch(/testsuite name="run"[\s\S]*ratings of 1 to 5[\s\S]*<error/);
  });

  it('INCONCLUSIVE says that asking again is not honest, and gives --looks and their chance of deciding it', async () => {
    const text = (await gate(['base', 'unsure'])).stdout.replace(/\s+/g, ' ');
    expect(text).toMatch(/at the same alpha is not valid.*--looks 1,3.*alpha 0\.0277.*is at most \d+ %\./);
    const { level, further, rules } = await report(['base', 'unsure']);
    expect(level).toMatchObject({ alpha: 0.05, look: null });
    expect(further).toHaveLength(1);
    expect(rules[0].p_holds).toBeGreaterThan(0.025);
  });

  it("planned looks are tested at their own level, which the runs' repeats select", async () => {
    const first = await report(['base', 'unsure', '--looks', '1,3']);
    expect(first.level).toMatchObject({ look: 1 });
    expect(first.level.alpha).toBeCloseTo(0.02765, 4);
    expect(first.policy.looks).toEqual([1, 3]);
    const text = (await gate(['base', 'unsure', '--looks', '1,3'])).stdout.replace(/\s+/g, ' ');
    expect(text).toContain('Look 1 of 2 (1, 3 repeats), each at alpha 0.0277');
    expect(text).toContain('To decide: repeat every row up to 3 times (awb infer --repeats 3)');
    const file = await policy('looks: [1, 3]\nmax_drop: { overall: 2 }');
    expect((await report(['base', 'unsure', '--policy', file])).level).toEqual({
      ...first.level,
      sentence: expect.any(String),
    });
  });

  it.each([
    [
      ['--looks', '2,4'],
      'the candidate has 1 repeat of every row, the base has 1 repeat of every row, but the schedule of looks is 2, 4',
    ],
    [
      ['--looks', '3,1'],
      'looks has to be a rising list of at most 10 numbers of repeats up to 100, such as [1, 3]; it is [3,1]',
    ],
    [['--looks', 'x'], 'looks has to be a rising list'],
  ])('%j is refused', async (flags, message) => {
    const { code, stderr } = await gate(['base', 'unsure', ...flags]);
    expect([code, stderr.replace(/\s+/g, ' ')]).toEqual([2, expect.stringContaining(message)]);
  });

  it.each([
    ['a wider bound', ['--max-drop', '20', '--max-domain-drop', '20'], 0],
    ['a wider bound for domains only', ['--max-domain-drop', '20'], 4],
  ])('flags change the default policy: %s', async (_, flags, code) => {
    expect(await gate(['base', 'fell', ...flags])).toMatchObject({ code, stderr: '' });
  });

  it('a stricter level makes the intervals wider', async () => {
    const lowOf = async (alpha: string) => {
      const { rules } = await report(['base', 'same', '--alpha', alpha]);
      return rules.find((rule: { kind: string; domain: unknown }) => rule.kind === 'drop' && rule.domain === null).low;
    };
    expect(await lowOf('0.01')).toBeLessThan(await lowOf('0.05'));
  });

  it('another judge passes if allowed, and the report says so', async () => {
    const { code, stdout } = await gate(['base', 'other-judge', '--allow-different', 'judge']);
    expect(code).toBe(0);
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      'NOT THE SAME: the runs differ in their judge (judge: "judge-model" in the base, "another" in the candidate), but are compared anyway.',
    );
  });
});

describe('floors and published rows', () => {
  it.each([
    [['--min-overall', '55'], 0],
    [['--min-overall', '70'], 4],
    [['--min-overall', '55', '--min', 'os=55', '--min', 'web=90'], 4],
  ])('a floor needs no base: %j', async (flags, code) => {
    expect(await gate(['same', ...flags])).toMatchObject({ code, stderr: '' });
  });

  it('an Overall of some of the seven domains says so, with a floor and with a base', async () => {
    const told = 'Overall is the mean of only 6 domains: the candidate has no score in OS.';
    for (const args of [
      ['--min-overall', '55', 'without-os'],
      ['base', 'without-os'],
    ]) {
      const { stdout } = await gate(args);
      expect(stdout.replace(/\s+/g, ' ')).toContain(told);
    }
  });

  it('a run compared with itself is refused, and a copy of it is reported as one', async () => {
    const itself = await gate(['base', 'base', '--min-overall', '1']);
    expect([itself.code, itself.stdout]).toEqual([2, '']);
    expect(itself.stderr).toContain('base is both base and candidate, which passes any gate; name two runs');
    const copy = join(await temporaryFolder(), 'copy.jsonl');
    await writeFile(copy, await readFile(join(dir, 'base', 'judged.jsonl')));
    const { code, stdout } = await gate(['base', copy]);
    // Ten trajectories per domain that never vary could hide more than the gate allows.
    expect([code, stdout.replace(/\s+/g, ' ')]).toEqual([5, expect.stringContaining('- IDENTICAL: base and')]);
    const compared = await awb(['compare', '--db', 'runs.sqlite', 'base', 'base'], { cwd: dir });
    expect(compared.stdout).toContain('IDENTICAL: base and');
  });

  it('a floor is decided together with a base', async () => {
    const { rules } = await report(['base', 'same', '--min-overall', '70']);
    expect(rules[0]).toMatchObject({ kind: 'floor', verdict: 'NO-GO', counts: true });
    expect(rules.some((rule: { kind: string }) => rule.kind === 'drop')).toBe(true);
  });

  it('a published row gives only advice, and says what would have to be the same', async () => {
    const { code, stdout } = await gate(['--base', 'published:qwen-agentworld-35b-a3b', 'fell', '--max-drop', '0']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ADVICE: would be NO-GO \(\d of 8 rules broken\)\n/);
    expect(stdout.replace(/\s+/g, ' ')).toContain('It was judged by gpt-5.2-2025-12-11');
    expect(stdout.match(/Advice only/g)).toHaveLength(1);
    expect(stdout).not.toMatch(/^(?:NO-)?GO/m);
    expect(await report(['published:Qwen3.6-Plus', 'same'])).toMatchObject({
      verdict: 'ADVICE',
      exit_code: 0,
      advisory_only: true,
      comparison: null,
    });
  });

  it('next to a floor, a published row still gives only advice: the floor decides', async () => {
    const { code, stdout } = await gate(['published:GPT-5.4', 'fell', '--min-overall', '10']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^GO: none of \d+ rules broken\n/);
    expect(stdout.replace(/\s+/g, ' ')).toContain('The advisory rules alone: would be ');
  });
});

describe('a policy file', () => {
  const WHOLE = `
alpha: 0.05
max_drop: { overall: 2, each_domain: { points: 5, tier: supporting } }
min_coverage: 0.99
require_equal: [judge, rubric]
`;

  it('equal to the default has its fingerprint and its verdict', async () => {
    const own = await report(['base', 'same']);
    const { policy: written, verdict } = await report(['base', 'same', '--policy', await policy(WHOLE)]);
    expect(verdict).toBe('GO');
    expect(written.fingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect(written.fingerprint).toBe(own.policy.fingerprint);
    const stricter = await report(['base', 'same', '--max-drop', '1']);
    expect(stricter.policy.fingerprint).not.toBe(own.policy.fingerprint);
    expect((await gate(['base', 'same'])).stdout).toContain(`fingerprint ${own.policy.fingerprint.slice(0, 12)}`);
  });

  it.each([
    ['tokens_per_row: 400', 'NO-GO', 'completion tokens per row: 500'],
    ['tokens_per_row: 600', 'GO', 'limit tokens_per_row        500  ≤ 600  holds'],
    ['cost: 12', 'NO-GO', 'cost: $12.50, more than the limit of $12.00'],
    ['truncated_share: 0.1', 'GO', 'limit truncated_share        0 %  ≤ 10 %  holds'],
  ])('limits %s: %s', async (limit, verdict, words) => {
    const { stdout } = await gate(['base', 'costly', '--policy', await policy(`limits: { ${limit} }`)]);
    expect(stdout.startsWith(`${verdict}: `)).toBe(true);
    expect(stdout).toContain(words);
  });

  it.each([
    ['a wrong key', 'max_drp: {overall: 2}', 65, ':1: unknown key "max_drp"; did you mean "max_drop"?'],
    ['a wrong domain', 'max_drop: {terminl: 2}', 65, ':1: unknown key "terminl"; did you mean "terminal"?'],
    ['text that is not YAML', 'a: [', 65, ':1: not YAML'],
    ['a duplicate key', 'alpha: 0.1\nalpha: 0.2', 65, ':2: this key appears twice'],
    ['nothing', '', 65, 'the policy has to be a mapping with alpha'],
  ])('with %s is refused by name', async (_, text, code, message) => {
    const path = await policy(text);
    const result = await gate(['base', 'same', '--policy', path]);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).toContain(path);
    expect(result.stderr).toContain(message);
  });
});

describe('bad input', () => {
  it.each([
    ['no run', [], 2, '--base <RUN>'],
    ['one run and nothing to compare it with', ['base'], 2, '--candidate <RUN>'],
    ['only a published row', ['published:GPT-5.4', '--min-overall', '5'], 2, '--candidate <RUN>'],
    ['an unknown published row', ['published:GPT-5', 'same'], 2, 'did you mean "GPT-5.4"?'],
    ['an unknown run', ['base', 'sam'], 2, 'did you mean "same"? The runs are\n  1: base'],
    ['a policy beside flags of its own', ['base', 'same', '--policy', 'x', '--alpha', '0.1'], 2, 'cannot be combined'],
    ['a policy that is not there', ['base', 'same', '--policy', 'none.yaml'], 66, 'cannot read the policy none.yaml'],
    ['a floor that is no score', ['same', '--min', 'os=high'], 2, 'expected a score, such as terminal=50'],
    ['a floor of an unknown domain', ['same', '--min', 'oss=5'], 2, 'did you mean "os"?'],
    ['a report that cannot be written', ['base', 'same', '--junit', 'none/x.xml'], 74, '--junit'],
  ])('%s', async (_, args, code, message) => {
    const result = await gate(args);
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(message);
  });

  it('refuses a rule about drops without a base', async () => {
    const { code, stderr } = await gate(['same', '--policy', await policy('max_drop: {overall: 2}')]);
    expect(code).toBe(EXIT.usage);
    expect(stderr).toContain('has max_drop, which needs a base');
  });
});

describe('in CI', () => {
  it('appends the job summary, annotates, and writes the reports', async () => {
    const folder = await temporaryFolder();
    const [step, xml, json, md] = ['step.md', 'gate.xml', 'gate.json', 'gate.md'].map((name) => join(folder, name));
    await writeFile(step as string, 'before\n');
    const files = ['--junit', xml as string, '--json-report', json as string, '--summary', md as string];
    const env = { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: step as string };
    const { code, stdout } = await gate(['base', 'fell', ...files], env);
    expect(code).toBe(4);
    expect(stdout).toMatch(
      /^::error title=awb gate%3A NO-GO%2C overall drop::Overall changed by -1\d\.\d\d points \(95 %25 /m,
    );
    const summary = await readFile(md as string, 'utf8');
    expect(summary).toMatch(/^## NO-GO: fell against base\n/);
    expect(await readFile(step as string, 'utf8')).toBe(`before\n${summary}`);
    expect(await readFile(xml as string, 'utf8')).toContain('<testsuite name="terminal" tests="2" failures="1"');
    expect(JSON.parse(await readFile(json as string, 'utf8')).verdict).toBe('NO-GO');
  });

  it('writes no annotations outside of CI', async () => {
    expect((await gate(['base', 'fell'])).stdout).not.toContain('::');
  });

  it('with --json stdout is one document, and annotations go to stderr', async () => {
    const { stdout, stderr } = await gate(['base', 'fell', '--json'], { GITHUB_ACTIONS: 'true' });
    expect(JSON.parse(stdout).verdict).toBe('NO-GO');
    expect(stderr).toMatch(/^::error /);
  });

  it('a full summary does not change the verdict', async () => {
    const step = join(await temporaryFolder(), 'step.md');
    await writeFile(step, 'x'.repeat(1024 * 1024 - 10));
    expect((await gate(['base', 'same'], { GITHUB_STEP_SUMMARY: step })).code).toBe(0);
    expect(await readFile(step, 'utf8')).toHaveLength(1024 * 1024 - 10);
    const nowhere = await gate(['base', 'same'], { GITHUB_STEP_SUMMARY: '/nowhere/step.md' });
    expect(nowhere.code).toBe(0);
    expect(nowhere.stderr).toContain('cannot write the job summary');
  });
});
