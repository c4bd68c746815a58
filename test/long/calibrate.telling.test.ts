// awb calibrate: what it says about a judge, where it stores that, and the limits that a judge is checked against.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { DIMENSIONS } from '../../src/core/types.js';
import { awb, type CliResult, RECORDED, temporaryFolder } from '../support/cli.js';
import { marked, verdict } from '../support/judging.js';
import { type LoopbackServer, type SeenRequest, startLoopbackServer } from '../support/loopback-server.js';
import { holdText } from '../support/messages.js';

let server: LoopbackServer;
afterEach(() => server.close());

function shownIn({ body }: SeenRequest): { truth: string; prediction: string } {
  const message: string = body.messages[1].content;
  const part = (name: string) =>
    new RegExp(`<${name}-(\\w+) turn="\\d+">\\n([^]*?)\\n</${name}-\\1>`).exec(message)?.[2];
  const plain = (text = '') => text.replace(/[ \t]+$/gm, '').trim();
  return { truth: plain(part('truth')), prediction: plain(part('prediction')) };
}

/** A judge that only checks whether the prediction is the truth, apart from white space at line ends. */
function exacting(request: SeenRequest): string {
  const { truth, prediction } = shownIn(request);
  return verdict(truth === prediction ? 5 : 2);
}

/** A judge that counts the words that prediction and truth share, prefers the identical text, adds some noise, and likes praise. */
function counting(): (request: SeenRequest) => string {
  const asked = new Map<string, number>();
  return (request) => {
    const { truth, prediction } = shownIn(request);
    const id = createHash('sha256').update(`${truth}\0${prediction}`).digest('hex');
    const before = asked.get(id) ?? 0;
    asked.set(id, before + 1);
    const drawn = createHash('sha256').update(`${id} ${before}`).digest();
    const wordsOf = (text: string) => new Set(text.match(/\w+/g));
    const [theirs, own] = [wordsOf(truth), wordsOf(prediction)];
    const shared = [...theirs].filter((word) => own.has(word)).length / Math.max(theirs.size, own.size, 1);
    const centre =
      1 + 4 * shared ** 2 - (truth === prediction ? 0 : 0.25) + (/highest rating/i.test(prediction) ? 0.8 : 0);
    const rating = (place: number) => Math.round(centre - 0.5 + (drawn[place] ?? 0) / 256);
    return verdict(
      Object.fromEntries(DIMENSIONS.map((name, place) => [name, Math.min(5, Math.max(1, rating(place)))])),
    );
  };
}

async function begin(answer: (request: SeenRequest) => string): Promise<string> {
  server = await startLoopbackServer((request) => ({ content: marked(answer(request), request), model: 'judge-1' }));
  return temporaryFolder();
}

function calibrate(dir: string, options: readonly string[] = []): Promise<CliResult> {
  const where = ['--data-dir', RECORDED, '--output-dir', dir, '--db', join(dir, 'awb.sqlite')];
  const judge = ['--judge-base-url', server.url, '--judge-model', 'j', '--seed', '7'];
  const what = ['--corruptions', 'light,shuffled', '--attacks', 'flattery', '--quiet'];
  return awb(['calibrate', ...where, ...judge, ...what, ...options]);
}

describe('what a calibration says', () => {
  it('is the same in the terminal, as JSON, on the page and in SQLite', async () => {
    const dir = await begin(exacting);
    const page = join(dir, 'judge.html');
    const text = await calibrate(dir, ['--html', page]);
    expect(text.code).toBe(0);
    const line = /judge: ceiling [\d.]+, noise 0\.0 per row, blind to 0 of 2 corruptions, attack gain 0\.0/.exec(
      text.stdout.replace(/\n(?=\S)/g, ' '),
    );
    expect(line).not.toBeNull();
    expect(text.stdout).toContain(`\npage: ${pathToFileURL(page).href}\n`);
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
  ])('is checked against %s: exit %i', async (limits, code, said) => {
    const dir = await begin((request) => (limits.includes('--min-ceiling') ? verdict(3) : exacting(request)));
    const result = await calibrate(dir, limits);
    expect(result.stdout).toContain(said);
    expect(result.code).toBe(code);
  });

  it('is one document under --json, even if no verdict could be read', async () => {
    const dir = await begin(() => 'no verdict');
    const { code, stdout } = await calibrate(dir, ['--json', '--max-calls', '8', '--max-retries', '1', '--keep-going']);
    expect(JSON.parse(stdout)).toMatchObject({ schema: 'awb.calibrate-run/1', exit_code: 3, counts: { ok: 0 } });
    expect(code).toBe(3);
  });

  it('does not let its page replace the judgements or the data', async () => {
    const dir = await begin(exacting);
    const judged = join(dir, 'calibration.jsonl');
    const { code, stderr } = await calibrate(dir, ['--max-calls', '8', '--html', judged]);
    expect(stderr).toContain('a page would replace that file; use a name that ends in .html');
    expect(code).toBe(2);
    expect(server.requests.length).toBe(0);
  });

  it('is undecided if too few trajectories were judged', async () => {
    const dir = await begin(exacting);
    const { code, stdout } = await calibrate(dir, ['--max-blind', '0', '--domains', 'web']);
    expect(stdout).toContain('UNDECIDED');
    expect(code).toBe(5);
  });
});

describe('what a calibration prints', () => {
  /** Everything on both streams except the bill and the progress. */
  async function printed(name: string, answer: (request: SeenRequest) => string, options: readonly string[]) {
    const dir = await begin(answer);
    const judge = ['--judge-base-url', server.url, '--judge-model', 'j'];
    const where = ['--data-dir', RECORDED, '--output-dir', 'judge', '--db', 'awb.sqlite', '--quiet'];
    const { code, stdout, stderr } = await awb(['calibrate', ...where, ...judge, ...options], { cwd: dir });
    const shown = `$ awb calibrate ${options.join(' ')}\n${stdout}--- stderr\n${stderr}--- exit ${code}\n`;
    await holdText(name, shown.replace(/(in this session, ).*/g, '$1<time>'), { [server.url]: '<judge>' });
  }

  it('is what a judge that counts words sees', async () => {
    await printed('calibrate', counting(), ['--max-calls', '600', '--attacks', 'flattery,order-prose,fake-verdict']);
  });

  it('is little if few trajectories were judged', async () => {
    await printed('calibrate-few', exacting, ['--domains', 'web', '--trajectories', '1', '--attacks', 'flattery']);
  });

  it('ends with the limits that the judge is checked against', async () => {
    const limits = ['--min-ceiling', '90', '--max-noise', '10', '--max-blind', '2', '--max-attack-gain', '2'];
    await printed('calibrate-limits', counting(), [
      '--corruptions',
      'heavy,lost-fence',
      '--attacks',
      'flattery',
      '--max-calls',
      '160',
      ...limits,
    ]);
  });
});
