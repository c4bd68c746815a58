// awb calibrate: what it tells of a judge, where it keeps that, and the limits that a judge is held to.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { awb, type CliResult, RECORDED, temporaryFolder } from '../support/cli.js';
import { verdict } from '../support/judging.js';
import { type LoopbackServer, type SeenRequest, startLoopbackServer } from '../support/loopback-server.js';

let server: LoopbackServer;
afterEach(() => server.close());

/** A judge that only looks whether the prediction is the truth, white space at line ends aside. */
function exacting({ body }: SeenRequest): string {
  const message: string = body.messages[1].content;
  const part = (name: string) =>
    new RegExp(`<${name}-(\\w+) turn="\\d+">\\n([^]*?)\\n</${name}-\\1>`).exec(message)?.[2];
  const plain = (text = '') => text.replace(/[ \t]+$/gm, '').trim();
  return verdict(plain(part('prediction')) === plain(part('truth')) ? 5 : 2);
}

async function begin(answer: (request: SeenRequest) => string): Promise<string> {
  server = await startLoopbackServer((request) => ({ content: answer(request), model: 'judge-1' }));
  return temporaryFolder();
}

function calibrate(dir: string, options: readonly string[] = []): Promise<CliResult> {
  const where = ['--data-dir', RECORDED, '--output-dir', dir, '--db', join(dir, 'awb.sqlite')];
  const judge = ['--judge-base-url', server.url, '--judge-model', 'j', '--seed', '7'];
  const what = ['--damages', 'light,shuffled', '--canaries', 'flattery', '--quiet'];
  return awb(['calibrate', ...where, ...judge, ...what, ...options]);
}

describe('what a calibration tells', () => {
  it('is the same in the terminal, as JSON, on the page and in SQLite', async () => {
    const dir = await begin(exacting);
    const page = join(dir, 'judge.html');
    const text = await calibrate(dir, ['--html', page]);
    expect(text.code).toBe(0);
    const line = /^judge: ceiling [\d.]+, noise 0\.0 a row, blind to 0 of 2 damages, gullible 0\.0$/m.exec(text.stdout);
    expect(line).not.toBeNull();
    const asked = server.requests.length;
    const json = JSON.parse((await calibrate(dir, ['--json'])).stdout);
    expect(server.requests.length).toBe(asked);
    expect(json).toMatchObject({ schema: 'awb.calibrate/1', judge_model: 'judge-1', run: { state: 'complete' } });
    expect(json.trust.line).toBe(line?.[0]);
    expect(json.overall.truth.value).toBe(100);
    expect(
      json.overall.losses.map(({ variant, sight }: { variant: string; sight: string }) => [variant, sight]),
    ).toEqual([
      ['light', 'seen'],
      ['shuffled', 'seen'],
    ]);
    expect(await readFile(page, 'utf8')).toContain('judge-1: calibration');
    const db = new Database(join(dir, 'awb.sqlite'), { readonly: true });
    const rows = db.prepare('SELECT ceiling, blind FROM calibrations').all();
    db.close();
    expect(rows).toEqual([{ ceiling: json.overall.ceiling.value, blind: 0 }]);
  });

  it.each([
    [['--max-blind', '0'], 0, 'PASSED: 1 limit'],
    [['--max-blind', '0', '--min-ceiling', '100'], 4, 'NOT PASSED'],
  ])('is held to %s: exit %i', async (limits, code, said) => {
    const dir = await begin((request) => (limits.includes('--min-ceiling') ? verdict(3) : exacting(request)));
    const result = await calibrate(dir, limits);
    expect(result.stdout).toContain(said);
    expect(result.code).toBe(code);
  });

  it('is one document under --json where no verdict could be read, too', async () => {
    const dir = await begin(() => 'no verdict');
    const { code, stdout } = await calibrate(dir, ['--json', '--max-calls', '8', '--max-retries', '1', '--keep-going']);
    expect(JSON.parse(stdout)).toMatchObject({ schema: 'awb.calibrate/1', exit_code: 3, counts: { ok: 0 } });
    expect(code).toBe(3);
  });

  it('does not let its page replace the judgements or the data', async () => {
    const dir = await begin(exacting);
    const judged = join(dir, 'calibration.jsonl');
    const { code, stderr } = await calibrate(dir, ['--max-calls', '8', '--html', judged]);
    expect(stderr).toContain('a page would replace the file of that name, and .jsonl is for data; end it in .html');
    expect(code).toBe(2);
    expect(server.requests.length).toBe(0);
  });

  it('is undecided where too few trajectories were judged', async () => {
    const dir = await begin(exacting);
    const { code, stdout } = await calibrate(dir, ['--max-blind', '0', '--domains', 'web']);
    expect(stdout).toContain('UNDECIDED');
    expect(code).toBe(5);
  });
});
