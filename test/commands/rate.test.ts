// awb rate: the page that it writes and what the page hides (test/long/view/rate.test.ts rates on it), and runs that cannot be rated.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';
import { judgedFile, type MadeRow, predictionOf, sha256Of } from '../support/people.js';
import { HOSTILE } from '../support/run-documents.js';

const ROWS: MadeRow[] = Array.from({ length: 8 }, (_, at) => ({
  name: `k${at}`,
  domain: at < 4 ? 'mcp' : 'os',
  rating: 2,
  weakness: 'SECRET-WEAKNESS',
}));
const OTHERS: MadeRow[] = ROWS.map((row) => ({ ...row, rating: 5, prediction: `truth of ${row.name}\nother line` }));

let root: string;
let judged: string;
let other: string;
beforeAll(async () => {
  root = await temporaryFolder();
  judged = await judgedFile(join(root, 'step-100'), ROWS);
  other = await judgedFile(join(root, 'step-200'), OTHERS);
});

let outputs = 0;
async function rate(...args: readonly string[]) {
  const output = `rate-${++outputs}.html`;
  const result = await awb(['rate', ...args, '-o', output], { cwd: root });
  return { ...result, output: join(root, output) };
}
async function written(...args: readonly string[]): Promise<string> {
  const { code, stderr, output } = await rate(...args);
  if (code !== 0) throw new Error(stderr);
  return output;
}
const dataIn = (html: string) => JSON.parse(/id="rating">(.*?)<\/script>/s.exec(html)?.[1] as string);

describe('the page', () => {
  it('is written and says what to do with it', async () => {
    const { code, stdout, stderr } = await rate(judged);
    expect({ code, stderr }).toEqual({ code: EXIT.done, stderr: '' });
    expect(stdout).toMatch(
      /^written: rate-\d+\.html \(8 samples, 0\.\d MB\)\nnext: open file:\/\/\/\S+\/rate-\d+\.html, rate, save/,
    );
    expect(stdout).toContain('agree --ratings FILE --predictions step-100/judged.jsonl\n');
  });

  it('is described as JSON', async () => {
    const { stdout } = await rate(judged, other, '--blind', '--samples', '6', '--seed', '7', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ schema: 'awb.rate/1', samples: 6, shared: 0, blind: true, seed: 7 },
      runs: [judged, other],
      url: expect.stringMatching(/^file:.*\/rate-\d+\.html$/),
    });
  });

  it('is the same for the same seed', async () => {
    const [first, second, third] = [
      await written(judged, '--samples', '3'),
      await written(judged, '--samples', '3'),
      await written(judged, '--samples', '3', '--seed', '2'),
    ];
    expect(await readFile(second, 'utf8')).toBe(await readFile(first, 'utf8'));
    expect(await readFile(third, 'utf8')).not.toBe(await readFile(first, 'utf8'));
  });

  it('contains what the judge says in no form that is readable in its source', async () => {
    const html = await readFile(await written(judged), 'utf8');
    expect(html).not.toContain('SECRET-WEAKNESS');
    const { samples } = dataIn(html);
    expect(JSON.parse(Buffer.from(samples[0].judge, 'base64').toString())).toEqual({
      ratings: [2, 2, 2, 2, 2],
      strengths: [],
      weaknesses: ['SECRET-WEAKNESS'],
    });
  });

  it("for two runs names neither, and identifies a prediction's run only by the hash", async () => {
    const html = await readFile(await written(judged, other, '--blind'), 'utf8');
    expect(html).not.toMatch(/step-[12]00/);
    const data = dataIn(html);
    expect(data.run).toBeNull();
    const hashes = [...ROWS, ...OTHERS].map((row) => sha256Of(predictionOf(row)));
    expect(data.samples.map(({ sha256 }: { sha256: string }) => sha256).sort()).toEqual(hashes.sort());
  });

  it('shows a prediction once if both runs made it in the same words', async () => {
    const same = await judgedFile(join(root, 'same'), [ROWS[0] as MadeRow, ...OTHERS.slice(1)]);
    const { stdout } = await rate(judged, same, '--blind');
    expect(stdout).toContain('(15 samples');
    expect(stdout).toContain('1 prediction is the same in both runs, and shown once\n');
  });

  it('opens no element for hostile texts, and its policy allows only its own script and style', async () => {
    const evil = ROWS.map((row) => ({ ...row, prediction: `${HOSTILE} ${row.name}`, weakness: HOSTILE }));
    const html = await readFile(await written(await judgedFile(join(root, 'evil'), evil)), 'utf8');
    expect(html).not.toMatch(/<img|<!--/);
    expect(html.replace(/<script[\s\S]*?<\/script>/g, '')).not.toMatch(/ style=| on[a-z]+=/);
    expect(html.match(/<script/g)).toHaveLength(2);
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1];
    expect(policy).toMatch(
      /^default-src 'none'; img-src data:; .*; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'$/,
    );
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });
});

describe('what cannot be rated', () => {
  it.each([
    ['two runs in --open mode', () => [judged, other], EXIT.usage, '--blind mixes two runs'],
    ['one run in blind mode', () => [judged, '--blind'], EXIT.usage, '--blind mixes two runs'],
    ['a run against itself', () => [judged, judged, '--blind'], EXIT.usage, 'name two runs'],
    ['a missing run', () => ['none.jsonl'], EXIT.inputMissing, 'none.jsonl'],
    ['no run', () => [], EXIT.usage, '--run'],
    ['no samples', () => [judged, '--samples', '0'], EXIT.usage, '--samples'],
  ])('%s is refused', async (_name, args, code, message) => {
    const result = await rate(...args());
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(message);
  });

  it('includes a run that no judge could rate, and two over different rows', async () => {
    const failed = await judgedFile(
      join(root, 'failed'),
      ROWS.map((row) => ({ ...row, rating: null })),
    );
    expect(await rate(failed)).toMatchObject({
      code: EXIT.badData,
      stderr: expect.stringContaining('run awb judge first'),
    });
    const apart = await judgedFile(
      join(root, 'apart'),
      ROWS.map((row) => ({ ...row, name: `x${row.name}` })),
    );
    const { code, stderr } = await rate(judged, apart, '--blind');
    expect(code).toBe(EXIT.badData);
    expect(stderr).toContain('name two runs on the same rows');
  });

  it('does not include a file of the official script: its judged file has a page, too', async () => {
    expect((await rate(join(ROOT, 'fixtures/judged/official.jsonl'), '--samples', '5')).stdout).toContain('(5 samples');
  });
});
