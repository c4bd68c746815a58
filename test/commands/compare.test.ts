// `awb compare` end to end: two judged runs in, their differences out.

import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { DOMAINS } from '../../src/core/types.js';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';
import { around, type JudgedRun, judgedRun } from '../support/judged-runs.js';
import { holdMessage } from '../support/messages.js';

let dir: string;
let db: string;
let base: string;
let candidate: string;
beforeAll(async () => {
  dir = await temporaryFolder();
  db = join(dir, 'runs.sqlite');
  base = await judgedRun(join(dir, 'base'), { label: 'step-100', rating: around(3) }, db);
  const fall: JudgedRun['rating'] = (domain, row) =>
    around(3, 1)(domain, row) - (domain === 'swe' ? 1 : 0) + (domain === 'os' && row === 4 ? -1.9 : 0);
  const weakness = (domain: string, row: number) => `it forgot ${domain} ${row}`;
  candidate = await judgedRun(join(dir, 'candidate'), { label: 'step-200', rating: fall, weakness }, db);
});

const compare = (...args: readonly string[]) => awb(['compare', ...args], { cwd: dir });

/** The text on one line. */
const flowing = (text: string) => text.replace(/\s+/g, ' ');

describe('awb compare', () => {
  it('shows differences by domain and Overall, and the rows that moved most with what the judge said', async () => {
    const { code, stdout, stderr } = await compare('step-100', 'step-200', '--db', db);
    expect({ code, stderr }).toEqual({ code: EXIT.done, stderr: '' });
    expect(stdout).toMatch(
      /^step-200 is worse than step-100: -3\.91 points \(95 % interval -4\.74 to -3\.08; 140\s+rows\)\.\njudge judge-model, rubric pack bundled\n/,
    );
    expect(stdout).toMatch(/^SWE +20 .* -25\.\d\d /m);
    expect(stdout).toMatch(/^Overall +140 /m);
    expect(stdout).toMatch(/^ +-51\.25 .*OS, turn 1, row os-4\n +now: it forgot os 4$/m);
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('prints the rows of each figure if a further domain exists and a dimension lacks rows', async () => {
    const own = join(dir, 'beside.sqlite');
    const domains = [...DOMAINS, 'robots'];
    const without = (domain: string, row: number) => domain === 'web' && row < 2;
    const make = (label: string, level: number, phase: number) =>
      judgedRun(join(dir, label), { label, domains, rating: around(level, phase), unrated: { format: without } }, own);
    await make('one', 3, 0);
    await make('two', 3.3, 1);
    await holdMessage('compare', ['compare', 'one', 'two', '--db', 'beside.sqlite', '--moved', '2'], {}, { cwd: dir });
  });

  it('omits impossible ratings, and says so', async () => {
    const broken: JudgedRun['rating'] = (domain, row) => (domain === 'os' && row < 2 ? 100 : around(3)(domain, row));
    const other = join(dir, 'other.sqlite');
    await judgedRun(join(dir, 'broken'), { label: 'broken', rating: broken }, other);
    const { code, stdout } = await compare('base', 'broken', '--db', other);
    expect(code).toBe(EXIT.done);
    expect(flowing(stdout)).toContain('LEFT OUT: 2 rows of broken with ratings outside 1 to 5');
    const found = JSON.parse((await compare('base', 'broken', '--db', other, '--json')).stdout);
    expect(found).toMatchObject({ compared: 138 });
    expect(found.overall.total.difference).toBe(0);
  });

  it.each([
    ['labels', ['step-100', 'step-200', '--db', 'runs.sqlite']],
    ['numbers', ['1', '2', '--db', 'runs.sqlite']],
    ['judged files', ['base/judged.jsonl', 'candidate/judged.jsonl']],
    ['their folders', ['base', 'candidate/']],
    ['flags', ['--candidate', 'candidate', '--base', 'base']],
    ['a flag and an operand', ['--base', 'base', 'candidate']],
  ])('accepts runs by %s, with the same result', async (_, args) => {
    const { stdout } = await compare(...args, '--json');
    const found = JSON.parse(stdout);
    expect(found).toMatchObject({
      schema: 'awb.compare/1',
      base: { name: 'step-100', source: base },
      candidate: { name: 'step-200', source: candidate, judge: 'judge-model' },
      shared: { judge: 'equal', rubric: 'equal', protocol: 'equal', data: 'equal' },
      compared: 140,
      coverage: 1,
    });
    expect(found.domains.swe.total.difference).toBeCloseTo(-25, 0);
    expect(found.domains.swe.total.losses).toBe(20);
    expect(found.moved[0]).toMatchObject({ key: 'os-4', why: 'now: it forgot os 4' });
  });

  it.each([
    ['judge', { identity: { judge: 'another-judge' } }],
    ['judge', { identity: { verdicts: 'official' } }],
    ['rubric', { identity: { rubrics: { name: 'bundled', fingerprint: 'other' } } }],
    ['protocol', { predictions: { protocol: 'flat' } }],
    ['data', { predictions: { data: 'other' }, rows: 18 }],
  ])('refuses another %s unless allowed, and then reports it', async (name, other) => {
    const file = await judgedRun(join(await temporaryFolder(), 'x'), { rating: around(3), ...other });
    const refused = await compare(base, file);
    expect(refused).toMatchObject({ code: EXIT.identityDiffers, stdout: '' });
    expect(refused.stderr).toContain(`--allow-different ${name}`);
    const { code, stdout } = await compare(base, file, '--allow-different', name);
    expect(code).toBe(EXIT.done);
    expect(flowing(stdout)).toContain(`NOT THE SAME: the runs differ in their ${name} (`);
  });

  it('reports what was not recorded about a run', async () => {
    const official = join(ROOT, 'fixtures/judged/official.jsonl');
    const { stdout } = await compare(official, official);
    expect(flowing(stdout)).toContain(
      'Not recorded, so not checked: whether the runs have the same judge, rubric, protocol.',
    );
  });

  it.each(['md', 'csv', 'json', 'terminal'])('writes %s', async (format) => {
    const { code, stdout } = await compare('step-100', 'step-200', '--db', db, '--format', format);
    expect(code).toBe(0);
    const starts = { md: '### step-200 against', csv: 'domain,figure,rows,', json: '{"schema"', terminal: 'step-200 ' };
    expect(stdout.startsWith(starts[format as keyof typeof starts])).toBe(true);
  });

  it('-o writes a file in the format of its extension', async () => {
    const { stdout, stderr } = await compare('base', 'candidate', '-o', 'difference.csv');
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: 'written: difference.csv\n' });
    const lines = (await readFile(join(dir, 'difference.csv'), 'utf8')).split('\r\n');
    expect(lines).toHaveLength(1 + 8 * 6 + 1);
  });

  it('for an unknown run, lists the known ones and the nearest', async () => {
    const { code, stderr } = await compare('step-10', 'step-200', '--db', db);
    expect(code).toBe(EXIT.usage);
    expect(stderr).toBe(
      'awb: there is no run or judged file "step-10"; did you mean "step-100"? The runs are\n  1: step-100 (runs.sqlite)\n  2: step-200 (runs.sqlite)\n',
    );
  });

  it('of several runs with one label, uses the one judged last, whichever was scored last, and says so', async () => {
    const own = join(await temporaryFolder(), 'own.sqlite');
    await judgedRun(join(own, '../a'), { label: 'same', rating: around(2) }, own);
    await judgedRun(join(own, '../b'), { label: 'same', rating: around(3) }, own);
    await awb(['score', join(own, '../a'), '--db', own]);
    const { stdout, stderr } = await compare('base', 'same', '--db', own, '--json');
    expect(stderr).toContain('own.sqlite; using run 2 (name another by its number)\n');
    expect(JSON.parse(stdout).overall.total.candidate).toBeGreaterThan(45);
  });

  it.each([
    ['a missing file', ['none.jsonl', 'base'], EXIT.inputMissing, 'none.jsonl: there is no such file'],
    [
      'a name without a SQLite file',
      ['step-100', 'base'],
      EXIT.inputMissing,
      '"step-100" is not a judged file, and there',
    ],
    ['a missing run', ['base'], EXIT.usage, '--candidate <RUN>'],
    ['a run too many', ['base', 'base', 'base'], EXIT.usage, 'unexpected argument'],
    ['a run next to both flags', ['--base', 'a', '--candidate', 'b', 'c'], EXIT.usage, 'unexpected argument "c"'],
    ['a wrong --allow-different', ['base', 'base', '--allow-different', 'juge'], EXIT.usage, 'any of judge, rubric'],
  ])('says what is wrong with %s', async (_, args, code, message) => {
    const result = await compare(...args);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).toContain(message);
  });

  it('reports that two runs have no common row', async () => {
    const file = await judgedRun(await temporaryFolder(), { rating: around(3), prefix: 'other-' });
    const { code, stderr } = await compare('base', file);
    expect(code).toBe(EXIT.badData);
    expect(stderr).toContain('the two runs have no row in common');
  });

  it('refuses a database of a newer version', async () => {
    const path = join(await temporaryFolder(), 'new.sqlite');
    await judgedRun(join(path, '../a'), { label: 'a', rating: around(3) }, path);
    const database = new Database(path);
    database.pragma('user_version = 999');
    database.close();
    expect(await compare('a', 'a', '--db', path)).toMatchObject({ code: EXIT.badData, stdout: '' });
  });

  it('compares a stored run whose judged file is gone, with what the judge said about the rows that moved', async () => {
    const own = join(await temporaryFolder(), 'own.sqlite');
    const weakness = (domain: string, row: number) => `it left out ${domain} ${row}`;
    const file = await judgedRun(join(own, '../a'), { label: 'a', rating: around(2, 1), weakness }, own);
    await rename(file, `${file}.away`);
    const { code, stdout } = await compare('base', 'a', '--db', own);
    expect(code).toBe(0);
    expect(stdout).toContain('now: it left out ');
  });

  it('text written by models is never a command for a workflow or a terminal', async () => {
    const folder = await temporaryFolder();
    const hostile = '\n::error::x ##[error]y \x1b[31m|<b>';
    const run = { label: `::warning::${hostile}`, rating: around(1.5), weakness: () => hostile };
    const file = await judgedRun(folder, run);
    for (const format of ['terminal', 'md', 'csv']) {
      const env = { GITHUB_ACTIONS: 'true' };
      const { stdout } = await awb(['compare', 'base', file, '--format', format], { cwd: dir, env });
      expect(stdout).not.toMatch(/^\s*::/m);
      expect(stdout).not.toMatch(/##\[|\x1b/);
    }
  });
});

describe('a label shared by several runs', () => {
  let own: string;
  beforeAll(async () => {
    own = await temporaryFolder();
    const stored = (name: string, run: Partial<JudgedRun>) =>
      judgedRun(join(own, name), { label: 'step-1', rating: around(3), ...run }, join(own, 'runs.sqlite'));
    await stored('whole', {});
    await stored('half', { rating: (domain, row) => (row > 3 ? undefined : around(3)(domain, row)) });
    await stored('measured', { identity: { mode: 'metrics', judge: undefined } });
    await stored('by-another', { identity: { judge: 'another' } });
    await stored('next', { label: 'step-2', rating: around(3.2, 1) });
    await stored('again', { label: 'step-2', rating: around(3.4, 1) });
    await stored('alone', { label: 'alone', identity: { judge: 'a third' } });
  });

  it.each([
    ['means the run that is comparable with the other side', 'compare-label', ['compare', 'step-1', 'step-2']],
    ['means none if none is comparable', 'compare-label-none', ['compare', 'step-1', 'alone']],
    ['means no base of a gate if two would qualify', 'gate-label-twice', ['gate', 'step-2', 'step-1']],
    [
      'means the complete, rated run if there is no other side',
      'export-label',
      ['export', 'csv', 'step-1', '--output', 'rows.csv'],
    ],
  ])('%s', async (_, name, args) => {
    await holdMessage(name, [...args, '--db', 'runs.sqlite'], { [own]: '<folder>' }, { cwd: own });
  });
});

it('what keeps two runs from being compared is shown field by field', async () => {
  const own = await temporaryFolder();
  const sampling = (temperature: number) => ({ temperature, max_tokens: 32_768, seed: 7, extra_body: { top_k: 20 } });
  const run = (name: string, identity: object, predictions: object) =>
    judgedRun(join(own, name), { label: name, rating: () => (name === 'a' ? 3 : 4), rows: 4, identity, predictions });
  await run('a', { sampling: sampling(0), verdicts: 'strict', reading: 3 }, { protocol: 'flat' });
  const rubrics = { name: 'awb-3', fingerprint: '0123456789abcdef', frame: 2 };
  await run('b', { sampling: { ...sampling(0.6), extra_body: { min_p: 0.1 } }, rubrics }, { data: { dir: 'x' } });
  await holdMessage('compare-refused', ['compare', 'a', 'b'], { [own]: '<folder>' }, { cwd: own });
  const allowed = ['--allow-different', 'judge,rubric,protocol,data', '--moved', '0'];
  await holdMessage('compare-allowed', ['compare', 'a', 'b', ...allowed], { [own]: '<folder>' }, { cwd: own });
});
