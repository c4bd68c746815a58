// awb judge and its bundled pack: the identity of a judging, and the checklist that the pack requests.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { readPrediction } from '../../src/core/reply.js';
import { awb, type CliResult, PLAIN_PACK } from '../support/cli.js';
import { changeRows, inferred, jsonOf, rowsOf, verdict } from '../support/judging.js';
import { type Handler, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';

const servers: LoopbackServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

type Folder = Awaited<ReturnType<typeof inferred>>;

async function judgeServer(script: Handler = () => ({ content: verdict(4) })): Promise<LoopbackServer> {
  const server = await startLoopbackServer(script);
  servers.push(server);
  return server;
}

function judge({ dir, predictions }: Folder, { url }: LoopbackServer, ...options: string[]): Promise<CliResult> {
  const where = [
    '--predictions',
    predictions,
    '--output-dir',
    dir,
    '--judge-base-url',
    url,
    '--judge-model',
    'judge-a',
  ];
  return awb(['judge', ...where, ...options]);
}

const packOf = async ({ dir }: Folder, name = 'judged') =>
  (await jsonOf(join(dir, `${name}.manifest.json`))).identity.rubrics.name;
const judgings = async ({ dir }: Folder) =>
  (await readdir(dir)).filter((name) => /^judged.*\.manifest\.json$/.test(name)).sort();

describe('a judging that names no pack', () => {
  it('uses the bundled one, and has its versions in its identity', async () => {
    const folder = await inferred(['--domains', 'os']);
    expect((await judge(folder, await judgeServer())).code).toBe(0);
    const { identity } = await jsonOf(join(folder.dir, 'judged.manifest.json'));
    expect(identity).toMatchObject({ verdicts: 'strict', reading: 3 });
    expect(identity.rubrics).toMatchObject({ name: 'awb-3', frame: 4, told: 1, changes: 1, facts: 2 });
  });

  it.each([
    ['by default', [], /^judged\.judge-a-awb-3-[0-9a-f]{6}$/],
    ['with its own label', ['--label', 'second'], /^judged\.second$/],
  ])(
    'leaves one with an earlier bundled pack unchanged, and starts a new one next to it %s',
    async (_, options, name) => {
      const folder = await inferred(['--domains', 'os']);
      const server = await judgeServer();
      await judge(folder, server);
      const manifest = join(folder.dir, 'judged.manifest.json');
      const earlier = (await readFile(manifest, 'utf8')).replaceAll('"awb-3"', '"awb-2"');
      await writeFile(manifest, earlier);
      const before = await readFile(join(folder.dir, 'judged.jsonl'));
      expect((await judge(folder, server, ...options)).code).toBe(0);
      expect(server.count).toBe(2);
      expect(await readFile(join(folder.dir, 'judged.jsonl'))).toEqual(before);
      const [other = ''] = (await judgings(folder)).filter((file) => file !== 'judged.manifest.json');
      expect(other.replace('.manifest.json', '')).toMatch(name);
      expect(await packOf(folder, other.replace('.manifest.json', ''))).toBe('awb-3');
    },
  );
});

describe('the checklist', () => {
  const facts = [
    { claim: 'the switch is on', kind: 'determined', met: true },
    { claim: 'the list is empty \u001b[31m<b>', kind: 'determined', met: false },
    { claim: 'the clock', kind: 'runtime', met: true },
    { claim: 'the title', kind: 'told', met: false },
  ];
  const reply = (checklist: unknown) => {
    const found = JSON.parse(/\{[\s\S]*\}/.exec(verdict(4))?.[0] ?? '');
    return `<final_evaluation>\n${JSON.stringify({ facts: checklist, ...found })}\n</final_evaluation>`;
  };

  it('is kept next to the official members, and its recall of determined facts is a measure', async () => {
    const folder = await inferred(['--domains', 'os']);
    await judge(folder, await judgeServer(() => ({ content: reply(facts) })));
    const [row] = await rowsOf(join(folder.dir, 'judged.jsonl'));
    expect(row).toMatchObject({ total_score: 4, failed: 0, awb: { judge: { facts }, measures: { facts_recall: 50 } } });
    expect(Object.keys(row ?? {})).not.toContain('facts');
  });

  it.each([
    ['missing', undefined, 'the verdict contains no "facts"'],
    [
      'of another form',
      [{ ...facts[0], met: 'yes' }],
      '"facts.0.met": Invalid input: expected boolean, received string',
    ],
  ])('that is %s costs no verdict and no call, and is replaced by the reason', async (_, checklist, fault) => {
    const folder = await inferred(['--domains', 'os']);
    const server = await judgeServer(() => ({ content: reply(checklist) }));
    expect((await judge(folder, server)).code).toBe(0);
    expect(server.count).toBe(1);
    const [row] = await rowsOf(join(folder.dir, 'judged.jsonl'));
    expect(row).toMatchObject({ total_score: 4, awb: { judge: { status: 'ok', facts_fault: fault } } });
    expect(row?.awb).not.toHaveProperty('measures');
    expect(row?.awb.judge).not.toHaveProperty('facts');
  });

  it('may quote truth and prediction, and reports how many of its quotes are in neither', async () => {
    const folder = await inferred(['--domains', 'os']);
    const [{ gen }] = (await rowsOf(folder.predictions)) as [{ gen: string }];
    const inside = readPrediction(gen).slice(10, 40);
    const quoting = [
      { ...facts[0], quote: inside },
      { ...facts[1], quote: 'nobody ever wrote this' },
      { ...facts[2], quote: '' },
    ];
    await judge(folder, await judgeServer(() => ({ content: reply(quoting) })));
    const [row] = await rowsOf(join(folder.dir, 'judged.jsonl'));
    expect(row?.awb).toMatchObject({
      judge: { facts: [quoting[0], quoting[1], facts[2]], unmatched_quotes: 1 },
      measures: { facts_recall: 50, quotes_found: 50 },
    });
  });

  it('without a determined fact has no recall', async () => {
    const folder = await inferred(['--domains', 'os']);
    await judge(folder, await judgeServer(() => ({ content: reply(facts.slice(2)) })));
    const [row] = await rowsOf(join(folder.dir, 'judged.jsonl'));
    expect(row?.awb.judge.facts).toHaveLength(2);
    expect(row?.awb).not.toHaveProperty('measures');
  });

  it('is not read with packs that request none', async () => {
    const folder = await inferred(['--domains', 'os']);
    await judge(folder, await judgeServer(() => ({ content: reply(facts) })), '--rubrics', PLAIN_PACK);
    const [row] = await rowsOf(join(folder.dir, 'judged.jsonl'));
    expect(row?.awb).not.toHaveProperty('measures');
    expect(Object.keys(row?.awb.judge)).toEqual(['status', 'rubrics', 'model', 'finish_reason']);
  });

  it('of an earlier judgement is replaced by that of the next', async () => {
    const folder = await inferred(['--domains', 'os']);
    const server = await judgeServer(({ index }) => ({ content: reply(index === 0 ? facts : facts.slice(0, 1)) }));
    await judge(folder, server);
    await changeRows(folder.predictions, (row) => {
      row.gen = 'changed';
    });
    await judge(folder, server);
    const [row] = await rowsOf(join(folder.dir, 'judged.jsonl'));
    expect(row?.awb).toMatchObject({ judge: { facts: facts.slice(0, 1) }, measures: { facts_recall: 100 } });
  });
});
