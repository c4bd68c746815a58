// How far a judge can be trusted, next to every table: only if the very same judge was calibrated.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { saveCalibration } from '../../src/cli/calibrate.js';
import { calibrationManifest, madeUpDocument } from '../support/calibrations.js';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';
import { around, judgedRun } from '../support/judged-runs.js';
import type { Row } from '../support/judging.js';
import { documentsIn } from '../support/static-pages.js';

const LINE = 'judge: ceiling 97.1, noise 7.9 per row, blind to 2 of 14 corruptions (2 undecided), attack gain +0.4';
const UNCALIBRATED = 'judge: uncalibrated';
/** A line as it appears in a terminal of 80 columns, in Markdown and in HTML. */
const unwrapped = (text: string) => text.replace(/\s*\n\s*/g, ' ').replaceAll('\\', '');

let dir: string;
const run = async (...words: string[]) => {
  const { code, stdout, stderr } = await awb(words, { cwd: dir });
  return { code, stdout, stderr, text: unwrapped(stdout) };
};

beforeAll(async () => {
  dir = await temporaryFolder();
  const db = join(dir, 'awb.sqlite');
  const { calibration: _, ...identity } = calibrationManifest().identity;
  await judgedRun(join(dir, 'old'), { label: 'old', rating: around(3), identity }, db);
  await judgedRun(join(dir, 'new'), { label: 'new', rating: around(3.1, 1), identity }, db);
  const cooler = { ...identity, sampling: { temperature: 0 } };
  await judgedRun(join(dir, 'cool'), { label: 'cool', rating: around(3, 2), identity: cooler }, db);
  const calibration = { source: join(dir, 'calibration.jsonl'), manifest: calibrationManifest() };
  saveCalibration(db, calibration, madeUpDocument());
});

describe('a leaderboard', () => {
  it('says for each block how far its judge can be trusted, and that another sampling is another judge', async () => {
    const { text } = await run('leaderboard');
    expect(text.match(/judge: [cu]\w+/g)).toEqual(['judge: ceiling', 'judge: uncalibrated']);
    expect(text).toContain(LINE);
  });

  it.each(['md', 'latex', 'html'])('says so as %s', async (format) => {
    const { text } = await run('leaderboard', '--format', format);
    expect(text).toContain(LINE);
    expect(text).toContain(UNCALIBRATED);
  });

  it('has the figures in JSON, and none in CSV, whose lines are rows', async () => {
    const { blocks } = JSON.parse((await run('leaderboard', '--json')).stdout);
    expect(blocks.map((block: { judge_trust: unknown }) => block.judge_trust)).toEqual([
      { calibrated: true, ceiling: 97.1, noise: 7.9, corruptions: 14, blind: 2, undecided: 2, attack_gain: 0.4 },
      { calibrated: false },
    ]);
    expect((await run('leaderboard', '--format', 'csv')).stdout).not.toContain('calibrated');
  });
});

describe('a comparison', () => {
  it.each([
    ['stored runs', ['old', 'new']],
    ['judged files', ['old/judged.jsonl', 'new/judged.jsonl']],
  ])('of %s says it once, in every format that is not a table of rows', async (_name, names) => {
    for (const format of ['terminal', 'md']) {
      const { text } = await run('compare', ...names, '--format', format);
      expect(text.split(LINE)).toHaveLength(2);
    }
    const { base, candidate } = JSON.parse((await run('compare', ...names, '--json')).stdout);
    expect(base.judge_trust).toMatchObject({ calibrated: true, ceiling: 97.1 });
    expect(candidate.judge_trust).toEqual(base.judge_trust);
  });

  it('of runs under two judges says it about each', async () => {
    const { text } = await run('compare', 'cool', 'new', '--allow-different', 'judge');
    expect(text).toContain('judge of the base: uncalibrated');
    expect(text).toContain(LINE.replace('judge:', 'judge of the candidate:'));
  });

  it('of judged files continues without calibrations if the SQLite file is unusable', async () => {
    const { code, text, stderr } = await run(
      'compare',
      'old/judged.jsonl',
      'new/judged.jsonl',
      '--db',
      'old/judged.jsonl',
    );
    expect(code).toBe(0);
    expect(text).toContain(UNCALIBRATED);
    expect(stderr).toContain('note: calibrations of judges in old/judged.jsonl are ignored');
  });
});

describe('a gate', () => {
  it('says it in its text, its job summary and its report', async () => {
    const { text } = await run('gate', 'old', 'new', '--summary', 'summary.md', '--json-report', 'gate.json');
    expect(text.split(LINE)).toHaveLength(2);
    expect(unwrapped(await readFile(join(dir, 'summary.md'), 'utf8'))).toContain(LINE);
    expect(JSON.parse(await readFile(join(dir, 'gate.json'), 'utf8')).candidate.judge_trust.blind).toBe(2);
  });

  it('against a published row says it about the candidate', async () => {
    const { text } = await run('gate', '--base', 'published:GPT-5.4', 'cool');
    expect(text).toContain(UNCALIBRATED);
    expect(text).not.toContain('judge of');
  });
});

describe('the table of a run', () => {
  it('says it when it is scored', async () => {
    const { text, stdout } = await run('score', 'new');
    expect(text).toContain(LINE);
    expect(stdout.split('\n').filter((line) => /ceiling|attack gain/.test(line) && line.length > 80)).toEqual([]);
    expect(JSON.parse((await run('score', 'cool', '--json')).stdout).judge_trust).toEqual({ calibrated: false });
  });

  it('says it when it is shown again', async () => {
    expect((await run('runs', 'show', 'new')).text).toContain(LINE.replace('judge: ', ''));
    expect(JSON.parse((await run('runs', 'show', 'cool', '--json')).stdout).judge_trust).toEqual({ calibrated: false });
  });

  it('says it in its report, about both runs', async () => {
    const folder = join(ROOT, 'fixtures/runs-awb-2');
    const { identity } = JSON.parse(await readFile(join(folder, 'step-100/judged.manifest.json'), 'utf8'));
    const manifest = calibrationManifest({ identity });
    saveCalibration(join(dir, 'early.sqlite'), { source: '/calibration.jsonl', manifest }, madeUpDocument());
    const names = ['--run', join(folder, 'step-200'), '--compare', join(folder, 'step-100')];
    const { code, stderr } = await run('report', ...names, '--db', 'early.sqlite', '-o', 'report.html');
    expect(code, stderr).toBe(0);
    const { run: shown, index } = await documentsIn(join(dir, 'report.html'));
    expect(shown.page.lines[0]).toBe(LINE);
    expect(index.runs.map(({ trust }: Row) => `judge: ${trust}`)).toEqual([LINE, LINE]);
  });
});

it('a run that asked no judge has no such line, and null in JSON', async () => {
  const measured = await temporaryFolder();
  const file = await judgedRun(measured, { rating: around(3), identity: { mode: 'metrics', judge: undefined } });
  const { stdout } = await awb(['score', file], { cwd: measured });
  expect(stdout).not.toContain('judge:');
  const shown = await awb(['leaderboard', '--json'], { cwd: measured });
  expect(JSON.parse(shown.stdout).blocks[0].judge_trust).toBeNull();
});

it('a file of the official script has a judge that cannot have been calibrated', async () => {
  const { stdout } = await awb(['score', join(ROOT, 'fixtures/judged/official.jsonl')], {
    cwd: await temporaryFolder(),
  });
  expect(stdout).toContain(UNCALIBRATED);
});
