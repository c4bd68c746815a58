// The contract of the program, seen from outside: what each command asks, prints, writes and exits with, over recorded rows and an endpoint
// that answers by a rule. It uses nothing from the code, so it holds for any implementation of the commands.

import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RECORDED, ROOT, startAwb, temporaryFolder } from '../support/cli.js';
import { caseIn, marked, type Row } from '../support/judging.js';
import { type LoopbackServer, type SeenRequest, startLoopbackServer } from '../support/loopback-server.js';

const hashOf = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');
/** A number below `below`, always the same for a text. */
const drawn = (text: string, below: number) => Number.parseInt(hashOf(text).slice(0, 8), 16) % below;

const DIMENSIONS = ['format', 'factuality', 'consistency', 'realism', 'quality'];

/** The endpoint's answer, which depends only on the request: world models repeat what they saw, judges rate, agents and users act. */
function answer({ body }: SeenRequest) {
  const model = String(body.model);
  const asked = caseIn(body);
  if (model.startsWith('judge')) {
    const scores = Object.fromEntries(DIMENSIONS.map((name) => [name, 1 + drawn(`${name} ${asked}`, 5)]));
    const facts = [{ claim: 'the prompt is back', kind: 'determined', met: drawn(asked, 2) === 1 }];
    const verdict = JSON.stringify({ facts, strengths: ['clear'], weaknesses: ['short'], scores });
    if (drawn(`no ${asked}`, 40) === 0) return { content: 'I cannot say.' };
    return { content: marked(`Compared.\n<final_evaluation>\n${verdict}\n</final_evaluation>`, { body }) };
  }
  const last = String(body.messages?.at(-1)?.content ?? '');
  const lines = last.split('\n').filter((line) => line.trim() !== '');
  const kept = lines.filter((line) => drawn(`${model} ${line}`, 3) > 0).slice(0, 40);
  if (drawn(`${model} empty ${asked}`, 30) === 0) return { content: '' };
  return { content: `<think>\nhm\n</think>\n<predicted_observation>\n${kept.join('\n')}\n</predicted_observation>` };
}

let dir: string;
let server: LoopbackServer;
beforeAll(async () => {
  dir = await temporaryFolder();
  server = await startLoopbackServer(answer);
});
afterAll(() => server.close());

const world = (name: string) => ['--model-base-url', server.url, '--model-name', name];
const judge = () => ['--judge-base-url', server.url, '--judge-model', 'judge'];

/** A text without what differs from run to run: folders, ports, times, versions of hashes over these. */
function steady(text: string): string {
  return (
    text
      .replaceAll(dir, '<dir>')
      .replaceAll(ROOT, '<checkout>')
      .replaceAll(server.url, '<server>')
      .replaceAll(`127.0.0.1:${server.port}`, '<server>')
      .replaceAll(`node <checkout>/dist/bin.js`, 'awb')
      .replace(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, '<time>')
      .replace(/\d{4}-\d{2}-\d{2}\b/g, '<day>')
      .replace(/(?:\d+ h )?(?:\d+ min )?\d+(?:\.\d+)? (?:s|ms)\b(?! of)/g, '<span>')
      .replace(/"(ms|wall_ms|seconds|per_minute|took_ms|first_token_ms|at|started_at|ended_at)": ?[\d.]+/g, '"$1": 0')
      // On a busy machine, a dry run does not wait until the server has named its models.
      .replaceAll('"model":null,"context_tokens":null', '"model":"loopback","context_tokens":null')
  );
}

/** The requests since then: their number, one hash over all of them, and the shortest in full. */
function askedSince(before: number): string {
  const bodies = server.requests.slice(before).map(({ body }) => JSON.stringify(body));
  if (bodies.length === 0) return 'asked: nothing\n';
  const [shortest = ''] = [...bodies].sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  const all = hashOf(bodies.map(hashOf).sort().join('\n'));
  const { messages: _, ...sampling } = JSON.parse(shortest);
  return `asked: ${bodies.length} requests, ${all}\n  such as ${hashOf(shortest)}: ${JSON.stringify(sampling)}\n`;
}

/** Files of results, each with its hash. Journals, manifests and a batch's answers contain times; SQLite files are read by `awb runs`. */
async function written(folders: readonly string[]): Promise<string> {
  const found: string[] = [];
  for (const folder of folders) {
    const names = await readdir(join(dir, folder), { recursive: true }).catch(() => []);
    for (const name of names.sort()) {
      const path = join(dir, folder, name);
      if (!/\.jsonl$/.test(name) || /journal|submission|answers/.test(name) || !(await stat(path)).isFile()) continue;
      found.push(`wrote ${relative(dir, path)}: ${hashOf(steady(await readFile(path, 'utf8')))}\n`);
    }
  }
  return found.join('');
}

/** Runs the commands one after the other, and compares everything visible with fixtures/contract/<name>.txt. */
async function hold(name: string, folders: readonly string[], commands: readonly (readonly string[])[]): Promise<void> {
  let seen = '';
  for (const args of commands) {
    const before = server.requests.length;
    const { code, stdout, stderr } = await startAwb([...args, '--quiet'], { HOME: dir }, dir).ended;
    seen += `$ awb ${args.join(' ')}\n${stdout}--- stderr\n${stderr}--- exit ${code}\n${askedSince(before)}\n`;
  }
  await expect(steady(`${seen}${await written(folders)}`)).toMatchFileSnapshot(
    join(ROOT, 'fixtures/contract', `${name}.txt`),
  );
}

const DATA = ['--data-dir', RECORDED];
const FEW = ['--domains', 'terminal,web,mcp', '--limit', '4'];

describe('the contract', { timeout: 120_000 }, () => {
  test('of infer and judge, asked and continued', async () => {
    const runs = ['100', '200'].flatMap((step) => [
      [
        'infer',
        ...DATA,
        ...world(`wm-${step}`),
        '--output-dir',
        `results/step-${step}`,
        '--label',
        `step-${step}`,
        '--meta',
        `step=${step}`,
        '--seed',
        '7',
      ],
      ['judge', `results/step-${step}`, ...judge(), '--seed', '3'],
    ]);
    const [infer = [], judging = []] = runs;
    await hold('infer-judge', ['results'], [...runs, infer, judging]);
  });

  test('of a dry run', async () => {
    await hold(
      'dry-run',
      [],
      [
        ['infer', ...DATA, ...world('wm-100'), '--output-dir', 'dry', '--dry-run', '--json'],
        ['infer', ...DATA, ...FEW, ...world('wm-100'), '--output-dir', 'dry', '--dry-run'],
        ['judge', 'results/step-100', ...judge(), '--label', 'dry', '--dry-run', '--json'],
      ],
    );
  });

  test('of score, compare, gate and leaderboard', async () => {
    const scores = ['100', '200'].flatMap((step) => [
      ['score', `results/step-${step}`, '--db', 'runs.sqlite'],
      ['score', `results/step-${step}`, '--db', 'runs.sqlite', '--json'],
    ]);
    const pair = ['step-100', 'step-200', '--db', 'runs.sqlite'];
    await hold('score', [], [...scores, ['runs', 'list', '--db', 'runs.sqlite', '--json']]);
    await hold(
      'compare',
      [],
      [
        ['compare', ...pair],
        ['compare', ...pair, '--json'],
      ],
    );
    await hold(
      'gate',
      [],
      [
        ['gate', ...pair],
        ['gate', ...pair, '--json'],
        ['gate', ...pair, '--format', 'junit'],
      ],
    );
    const boards = ['terminal', 'markdown', 'csv', 'latex', 'json'].map((format) => [
      ...['leaderboard', '--db', 'runs.sqlite', '--format', format],
    ]);
    await hold('leaderboard', [], boards);
  });

  test('of judge modes that choose and measure', async () => {
    await hold(
      'modes',
      ['modes'],
      [
        ['judge', 'results/step-100', '--mode', 'metrics', '--output-dir', 'modes/metrics'],
        [
          'judge',
          'results/step-100',
          '--mode',
          'turing',
          ...judge(),
          '--output-dir',
          'modes/turing',
          '--dry-run',
          '--json',
        ],
        ['score', 'modes/metrics', '--db', 'modes.sqlite', '--json'],
      ],
    );
  });

  test('of calibrate', async () => {
    await hold(
      'calibrate',
      ['calibration'],
      [
        [
          'calibrate',
          ...DATA,
          ...judge(),
          '--domains',
          'terminal,web',
          '--max-calls',
          '120',
          '--db',
          'runs.sqlite',
          '--json',
        ],
      ],
    );
  });

  test('of a rollout', async () => {
    await hold(
      'rollout',
      ['rollout'],
      [
        ['infer', ...DATA, ...world('wm-100'), '--domains', 'terminal,mcp', '--rollout', '--output-dir', 'rollout'],
        ['judge', 'rollout', ...judge()],
        ['score', 'rollout', '--db', 'rollout.sqlite', '--json'],
      ],
    );
  });

  test('of scenarios', async () => {
    const data = ['--domains', 'terminal,mcp', '--scenarios', 'standard', '--scenario-rows', '1'];
    await hold(
      'scenarios',
      ['scenarios'],
      [
        ['infer', ...DATA, ...world('wm-100'), ...data, '--max-calls', '60', '--output-dir', 'scenarios'],
        ['score', 'scenarios', '--db', 'scenarios.sqlite', '--json'],
      ],
    );
  });

  test('of batch folders', async () => {
    const infer = ['infer', ...DATA, ...FEW, ...world('wm-100'), '--output-dir', 'batched', '--batch-dir', 'batch'];
    await hold(
      'batch',
      ['batched', 'batch'],
      [infer, ['batch', 'run', 'batch', '--model-base-url', server.url], infer],
    );
  });

  test('of shards and merge', async () => {
    const infer = (part: string, ...more: string[]) => [
      'infer',
      ...DATA,
      ...FEW,
      ...world('wm-100'),
      '--output-dir',
      part,
      ...more,
    ];
    await hold(
      'merge',
      ['whole', 'merged'],
      [
        infer('whole'),
        ...['1', '2'].map((part) => infer(`part-${part}`, '--shard', `${part}/2`)),
        ['merge', 'part-1', 'part-2', '--output-dir', 'merged'],
      ],
    );
    const file = (folder: string) => readFile(join(dir, folder, 'predictions.jsonl'), 'utf8');
    expect(await file('merged')).toBe(await file('whole'));
  });
});

// The other parts of requests are checked above; here is one message of each kind in full.
test('one request of each kind, in full', async () => {
  const kinds: Record<string, Row> = {};
  for (const { body } of server.requests) {
    const kind = `${String(body.model).split('-')[0]} of ${body.messages.length > 2 ? 'a later' : 'a first'} turn`;
    const best = kinds[kind];
    if (best === undefined || JSON.stringify(body).length < JSON.stringify(best).length) kinds[kind] = body;
  }
  const shown = Object.entries(kinds).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = shown.map(
    ([kind, body]) =>
      `=== ${kind}\n${body.messages.map(({ role, content }: Row) => `--- ${role}\n${content}`).join('\n')}\n`,
  );
  await expect(text.join('\n')).toMatchFileSnapshot(join(ROOT, 'fixtures/contract/requests.txt'));
});
