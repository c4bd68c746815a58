// awb calibrate: predictions of known quality, rated by a judge.

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { awb, type CliResult, RECORDED, temporaryFolder } from '../support/cli.js';
import { jsonOf, rowsOf, verdict } from '../support/judging.js';
import { type LoopbackServer, type SeenRequest, startLoopbackServer } from '../support/loopback-server.js';

let server: LoopbackServer;
afterEach(() => server.close());

async function begin(answer: (request: SeenRequest) => string = () => verdict(3)): Promise<string> {
  server = await startLoopbackServer((request) => ({ content: answer(request), model: 'judge-1' }));
  return temporaryFolder();
}

function calibrate(
  dir: string,
  options: readonly string[] = [],
  stop = new AbortController().signal,
): Promise<CliResult> {
  const where = ['--data-dir', RECORDED, '--output-dir', dir, '--judge-base-url', server.url, '--judge-model', 'j'];
  // An attack that the judge's reader detects as a planted verdict is asked about again.
  const attacks = options.includes('--attacks') ? [] : ['--attacks', 'none'];
  return awb(['calibrate', ...where, '--max-calls', '120', '--concurrency', '2', ...attacks, ...options], { stop });
}

const bytesOf = (dir: string) => readFile(join(dir, 'calibration.jsonl'), 'utf8');

describe('a calibration', () => {
  it('shows its bill, asks what it planned, and writes a line per judgement without the rows', async () => {
    const dir = await begin();
    const { code, stderr } = await calibrate(dir);
    expect(code).toBe(0);
    expect(stderr.indexOf('to ask')).toBeGreaterThan(-1);
    expect(stderr.indexOf('to ask')).toBeLessThan(stderr.indexOf('calibrate '));
    expect(stderr).not.toContain('--dry-run');
    const rows = await rowsOf(join(dir, 'calibration.jsonl'));
    expect(server.requests.length).toBe(rows.filter(({ variant }) => variant !== 'empty').length);
    expect(server.requests.length).toBeLessThanOrEqual(120);
    expect(
      rows.every(({ prompt, response, system_str: system }) =>
        [prompt, response, system].every((text) => text === undefined),
      ),
    ).toBe(true);
    const [first] = rows;
    expect(first).toMatchObject({
      variant: 'truth',
      total_score: 3,
      failed: 0,
      awb: { variant: 'truth', repeat: 0, judge: { status: 'ok' } },
    });
    const manifest = await jsonOf(join(dir, 'calibration.manifest.json'));
    expect(manifest).toMatchObject({
      kind: 'calibrate',
      state: 'complete',
      identity: { mode: 'rubric', snapshot: 'judge-1' },
    });
    const ids = (await rowsOf(join(dir, 'calibration.journal.jsonl'))).map(({ id }) => id);
    expect(ids).toContain(`${first?.awb.key}#truth`);
    expect(ids).toContain(`${first?.awb.key}#truth#1`);
  });

  it('asks about the variants of a row one after the other', async () => {
    const dir = await begin();
    await calibrate(dir, ['--concurrency', '1']);
    const histories = server.requests.map(({ body }) => /<history-\w+>/.exec(body.messages[1].content)?.[0]);
    const changes = histories.filter((history, place) => history !== histories[place - 1]);
    expect(new Set(changes).size).toBe(changes.length);
  });

  it('continues after an interrupt, asks nothing twice, and ends with the same bytes', async () => {
    const whole = await begin();
    await calibrate(whole);
    const all = server.requests.length;
    await server.close();
    const stopping = new AbortController();
    const dir = await begin(({ index }) => {
      if (index === 40) stopping.abort('SIGINT');
      return verdict(3);
    });
    expect((await calibrate(dir, [], stopping.signal)).code).toBe(130);
    const before = server.requests.length;
    expect(before).toBeLessThan(all);
    const { code, stderr } = await calibrate(dir);
    expect(code).toBe(0);
    expect(server.requests.length).toBe(all);
    expect(await bytesOf(dir)).toBe(await bytesOf(whole));
    expect(stderr).toContain(`${all - before} to ask`);
  });

  it('takes more rows if it may ask more, and asks only about those', async () => {
    const dir = await begin();
    await calibrate(dir);
    const before = server.requests.length;
    const { code } = await calibrate(dir, ['--max-calls', '300']);
    expect(code).toBe(0);
    const rows = await rowsOf(join(dir, 'calibration.jsonl'));
    expect(server.requests.length).toBe(rows.filter(({ variant }) => variant !== 'empty').length);
    expect(server.requests.length).toBeGreaterThan(before + 100);
  });

  it('refuses a number of calls too small for a single row, and says how many that takes', async () => {
    const dir = await begin();
    const refused = await calibrate(dir, ['--max-calls', '3', '--min-ceiling', '90']);
    expect(refused.code).toBe(2);
    const needed = /--max-calls 3 is too few: the first row already takes (\d+)/.exec(refused.stderr)?.[1];
    expect(server.requests.length).toBe(0);
    expect((await calibrate(dir, ['--max-calls', `${needed}`])).code).toBe(0);
    expect(server.requests.length).toBe(Number(needed));
  });

  it('refuses to mix seeds, which give different predictions', async () => {
    const dir = await begin();
    await calibrate(dir);
    const { code, stderr } = await calibrate(dir, ['--sample-seed', '1']);
    expect(code).toBe(78);
    expect(stderr).toContain('calibration.seed: 0 before, 1 now');
  });

  it('leaves no trace under --dry-run, which shows the same bill', async () => {
    const dir = await begin();
    const { code, stdout } = await calibrate(join(dir, 'none'), ['--dry-run']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/judgements?, \d+ without a call, \d+ to ask/);
    expect(server.requests.length).toBe(0);
    expect(existsSync(join(dir, 'none'))).toBe(false);
  });

  it('says what cannot be known with so few trajectories', async () => {
    const dir = await begin();
    const { stdout } = await calibrate(dir);
    expect(stdout).toMatch(/Fewer than 8 trajectories: .*Terminal \d/);
  });

  it.each([
    ['--corruptions', 'persistance', 'persistence'],
    ['--attacks', 'flatery', 'flattery'],
  ])('suggests the nearest name for an unknown one in %s', async (flag, given, near) => {
    const dir = await begin();
    const { code, stderr } = await calibrate(dir, [flag, given]);
    expect(code).toBe(2);
    expect(stderr).toContain(`did you mean "${near}"?`);
    expect(server.requests.length).toBe(0);
  });
});
