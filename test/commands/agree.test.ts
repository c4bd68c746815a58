// awb agree: matching ratings with their predictions, what is left out and why, and what is printed.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { AGREE } from '../../src/stats/agreement/people.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { holdMessage } from '../support/messages.js';
import { judgedFile, keyOf, type MadeRow, ratingLine, sha256Of } from '../support/people.js';

const ROWS: MadeRow[] = Array.from({ length: 12 }, (_, at) => ({
  name: `k${at}`,
  domain: at < 8 ? 'mcp' : 'os',
  rating: 1 + (at % 5),
}));
/** A person who agrees with the judge on every row, except each third one, which they rate one lower. */
const like = (row: MadeRow, at: number) => Math.max(1, (row.rating ?? 3) - (at % 3 === 0 ? 1 : 0));

/** A row that is not in the judged file. */
const stranger = (name: string): MadeRow => ({ name, rating: 3 });

let dir: string;
let judged: string;
beforeEach(async () => {
  dir = await temporaryFolder();
  judged = await judgedFile(join(dir, 'run'), ROWS);
});

async function file(name: string, lines: readonly string[]): Promise<string> {
  await writeFile(join(dir, name), lines.join(''));
  return name;
}
const agree = (ratings: string, ...args: string[]) =>
  awb(['agree', '--ratings', ratings, '--predictions', judged, ...args], { cwd: dir });
const ann = (rows = ROWS) => rows.map((row, at) => ratingLine(row, 'Ann', like(row, at)));

describe('what is printed', () => {
  it('fits in 80 columns, with raters, figures, domains and how to read them', async () => {
    const bob = ROWS.slice(0, 9).map((row, at) => ratingLine(row, 'Bob', 5 - (at % 4)));
    const ratings = `${await file('ann.jsonl', ann())},${await file('bob.jsonl', bob)}`;
    const { code, stdout, stderr } = await agree(ratings);
    expect({ code, stderr }).toEqual({ code: EXIT.done, stderr: '' });
    expect(stdout).toContain('2 people rated 12 predictions of 12 trajectories.\nBy rater: Ann 12, Bob 9.\n');
    expect(stdout).toMatch(/^Factuality +-?\d\.\d\d +-?\d\.\d\d to -?\d\.\d\d /m);
    expect(stdout).toMatch(/^MCP +8 /m);
    expect(stdout).toMatch(/Fewer than 5 trajectories, so no line: OS \(4\)\./);
    expect(stdout).toContain('quadratic');
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    const args = ['agree', '--ratings', ratings, '--predictions', 'run/judged.jsonl'];
    await holdMessage('agree', args, {}, { cwd: dir });
  });

  it('is the same for the same seed, and unrounded as JSON', async () => {
    await file('ann.jsonl', ann());
    const [first, second] = [await agree('ann.jsonl', '--json'), await agree('ann.jsonl', '--json')];
    expect(second).toEqual(first);
    const found = JSON.parse(first.stdout);
    expect(JSON.stringify(AGREE.parse(found))).toBe(JSON.stringify(found));
    expect(found).toMatchObject({
      schema: 'awb.agree/1',
      predictions: 12,
      trajectories: 12,
      raters: { Ann: 12 },
      total: { people: null, judge: { rows: 12, clusters: 12 } },
      left_out: [],
      without_hash: 0,
    });
    // The judge rates four of twelve one higher; on two of those the person cannot go lower.
    const higher = ROWS.filter((row, at) => like(row, at) < (row.rating ?? 0)).length;
    expect(found).toMatchObject({ dimensions: { format: { bias: { value: (25 * higher) / 12 } } } });
  });

  it('says that one person gives no ceiling, and that a few trajectories have no interval', async () => {
    await file('ann.jsonl', ann(ROWS.slice(0, 4)));
    const { stdout } = await agree('ann.jsonl');
    expect(stdout).toContain('under People: no two people rated the same predictions');
    expect(stdout.replace(/\s+/g, ' ')).toContain('No interval: fewer than 5 trajectories.');
    expect(stdout).not.toMatch(/ to -?\d/);
  });

  it('appears quickly if 200 people rated one prediction, and is refused for more', async () => {
    const crowd = (people: number) =>
      Array.from({ length: people }, (_, at) => ratingLine(ROWS[0] as MadeRow, `p${at}`, 1 + (at % 5)));
    const { code, stdout } = await agree(await file('crowd.jsonl', crowd(200)), '--json');
    expect(code).toBe(EXIT.done);
    const { dimensions, total } = JSON.parse(stdout);
    expect(total).toMatchObject({ judge: { rows: 200 }, people: { rows: 1 } });
    expect(dimensions.format.people).toMatchObject({ rows: 19_900, clusters: 1 });
    // Over a single prediction, people agree only by chance.
    expect(dimensions.format.people.kappa).toBeCloseTo(0, 12);
    const refused = await agree(await file('more.jsonl', crowd(201)), '--json');
    expect(refused).toMatchObject({
      code: EXIT.badData,
      stderr: expect.stringContaining('201 people rated one prediction, but agreement supports at most 200'),
    });
  });

  it("shows no control characters from a rater's name", async () => {
    await file(
      'ann.jsonl',
      ROWS.map((row) => ratingLine(row, '\u001b[31mEve\u202e', 3)),
    );
    const { stdout } = await agree('ann.jsonl');
    expect(stdout).toContain('By rater: Eve 12.');
    expect(stdout).not.toMatch(/[\u001b\u202e]/);
  });
});

describe('ratings that do not count', () => {
  it('are reported with file, line and reason, and the others count', async () => {
    const [first, second, third, ...rest] = ROWS as [MadeRow, MadeRow, MadeRow, ...MadeRow[]];
    await file('ann.jsonl', [
      ratingLine(stranger('gone'), 'Ann', 3),
      ratingLine({ ...first, prediction: 'as it was before' }, 'Ann', 3),
      ratingLine(second, 'Ann', 1),
      ratingLine(second, 'Ann', 5),
      ratingLine(third, 'Ann', 3, { revised: true }),
      ...ann(rest),
    ]);
    const { code, stdout, stderr } = await agree('ann.jsonl', '--json');
    expect(code).toBe(EXIT.done);
    expect(stderr.split('\n')).toEqual([
      'note: ann.jsonl:1: left out: it matches no row of the judged file',
      'note: ann.jsonl:2: left out: the prediction has changed since it was rated',
      'note: ann.jsonl:3: left out: the same person rates this prediction again later',
      "note: ann.jsonl:5: left out: it was changed after the judge's ratings were shown",
      '',
    ]);
    expect(JSON.parse(stdout)).toMatchObject({
      predictions: 10,
      left_out: [
        { place: 'ann.jsonl:1', why: 'no-row' },
        { place: 'ann.jsonl:2', why: 'changed' },
        { place: 'ann.jsonl:3', why: 'repeated' },
        { place: 'ann.jsonl:5', why: 'revised' },
      ],
    });
  });

  it('are summed up if there are many', async () => {
    const gone = Array.from({ length: 14 }, (_, at) => ratingLine(stranger(`gone${at}`), 'Ann', 3));
    await file('ann.jsonl', [...gone, ...ann()]);
    const { stderr } = await agree('ann.jsonl');
    expect(stderr.match(/: left out: /g)).toHaveLength(10);
    expect(stderr).toContain('note: and 4 further ratings left out: it matches no row of the judged file\n');
    expect((await agree('ann.jsonl', '--quiet')).stderr).toBe('');
  });

  it('are all of them if the judged file is a different one', async () => {
    await file('ann.jsonl', [ratingLine(stranger('other'), 'Ann', 3)]);
    const { code, stdout, stderr } = await agree('ann.jsonl');
    expect({ code, stdout }).toEqual({ code: EXIT.badData, stdout: '' });
    expect(stderr).toContain('no rating matches; use --predictions to name the judged file that was rated');
  });

  it('outside 1 to 5 stop the command, with file and line', async () => {
    await file('ann.jsonl', [...ann().slice(0, 3), ratingLine(ROWS[0] as MadeRow, 'Ann', 7)]);
    const { code, stdout, stderr } = await agree('ann.jsonl');
    expect({ code, stdout }).toEqual({ code: EXIT.badData, stdout: '' });
    expect(stderr).toBe('awb: ann.jsonl:4: "format": Too big: expected number to be <=5; fix the line or remove it\n');
  });
});

describe('predictions', () => {
  it('are not read from a journal that a glob matches next to them', async () => {
    await writeFile(judged.replace('.jsonl', '.journal.jsonl'), '{"key": "k"}\n');
    const found = ['run/judged.jsonl', 'run/judged.journal.jsonl'].flatMap((path) => ['--predictions', path]);
    const args = ['agree', '--ratings', await file('ann.jsonl', ann()), ...found, '--json'];
    await holdMessage('journal-among-predictions', args, { [dir]: '<folder>' }, { cwd: dir });
  });

  it('that were judged several times count with the mean of their judgements', async () => {
    const twice = ROWS.flatMap((row) => [row, { ...row, index: 1, rating: Math.min(5, (row.rating ?? 0) + 1) }]);
    judged = await judgedFile(join(dir, 'twice'), twice);
    await file(
      'ann.jsonl',
      ROWS.map((row) => ratingLine(row, 'Ann', row.rating ?? 0)),
    );
    const raised = ROWS.filter(({ rating }) => (rating ?? 0) < 5).length;
    expect(JSON.parse((await agree('ann.jsonl', '--json')).stdout)).toMatchObject({
      predictions: 12,
      dimensions: { realism: { bias: { value: expect.closeTo((12.5 * raised) / 12, 10) } } },
    });
  });

  it('that the judge could not rate count only between people', async () => {
    judged = await judgedFile(
      join(dir, 'failed'),
      ROWS.map((row, at) => (at < 2 ? { ...row, rating: null } : row)),
    );
    await file('all.jsonl', [...ann(), ...ROWS.map((row) => ratingLine(row, 'Bob', row.rating ?? 0))]);
    expect(JSON.parse((await agree('all.jsonl', '--json')).stdout)).toMatchObject({
      total: { judge: { rows: 20 }, people: { rows: 12 } },
    });
  });

  it('of two runs are distinguished by their hash, and a rating without one is ambiguous', async () => {
    const other = ROWS.map((row) => ({ ...row, rating: 5, prediction: `other ${row.name}` }));
    const otherFile = await judgedFile(join(dir, 'other'), other);
    await file('blind.jsonl', [
      ...ROWS.map((row) => ratingLine(row, 'Ann', row.rating ?? 0)),
      ...other.map((row) => ratingLine(row, 'Ann', 5)),
      ratingLine(ROWS[0] as MadeRow, 'Bob', 3, { prediction_sha256: undefined }),
    ]);
    const { stdout, stderr } = await agree('blind.jsonl', '--predictions', otherFile, '--json');
    expect(stderr).toContain('blind.jsonl:25: left out: this row has several predictions, and no prediction_sha256');
    expect(JSON.parse(stdout)).toMatchObject({ predictions: 24, dimensions: { quality: { judge: { kappa: 1 } } } });
  });

  it('are matched by key in a CSV file without hashes, with a notice', async () => {
    const lines = ROWS.map((row) => `${keyOf(row)},"Ann, B.",${Array(5).fill(row.rating).join(',')}\r\n`);
    await file('ann.csv', ['key,rater,format,factuality,consistency,realism,quality\r\n', ...lines]);
    const { stdout, stderr } = await agree('ann.csv', '--json');
    expect(stderr).toContain('note: 12 ratings without prediction_sha256: the rated text may differ');
    expect(JSON.parse(stdout)).toMatchObject({
      raters: { 'Ann, B.': 12 },
      without_hash: 12,
      total: { judge: { alpha: 1 } },
    });
  });

  it('are hashed as the judge sees them', async () => {
    const marked: MadeRow = { name: 'm', rating: 2, prediction: '**Environment Observation:**\n  the text \n' };
    judged = await judgedFile(join(dir, 'marked'), [marked]);
    await file('ann.jsonl', [
      ratingLine(marked, 'Ann', 2, { prediction_sha256: sha256Of('the text') }),
      ratingLine(marked, 'Bob', 2),
    ]);
    const { stdout } = await agree('ann.jsonl', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      raters: { Ann: 1 },
      left_out: [{ place: 'ann.jsonl:2', why: 'changed' }],
    });
  });
});

it.each([
  ['no ratings', ['--predictions', 'run'], EXIT.usage, '--ratings'],
  ['a missing file', ['--ratings', 'none.jsonl', '--predictions', 'run'], EXIT.inputMissing, 'none.jsonl'],
  ['a missing run', ['--ratings', 'a.jsonl', '--predictions', 'none'], EXIT.inputMissing, 'none'],
  ['too few draws', ['--ratings', 'a.jsonl', '--predictions', 'run', '--draws', '3'], EXIT.usage, '--draws'],
])('%s is refused', async (_name, args, code, word) => {
  await file('a.jsonl', ann());
  const result = await awb(['agree', ...args], { cwd: dir });
  expect(result.code).toBe(code);
  expect(result.stderr).toContain(word);
});
