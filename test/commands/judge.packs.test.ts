// awb judge and its bundled packs: which one a judging is under, and the checklist that the second edition asks for.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { awb, type CliResult } from '../support/cli.js';
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
  it('is under the second edition, and has its versions in its identity', async () => {
    const folder = await inferred(['--domains', 'os']);
    expect((await judge(folder, await judgeServer())).code).toBe(0);
    const { rubrics } = (await jsonOf(join(folder.dir, 'judged.manifest.json'))).identity;
    expect(rubrics).toMatchObject({ name: 'awb-2', frame: 3, told: 1, changes: 1, facts: 1 });
  });

  it('goes on under the first edition where it was begun under it, to the same bytes, and says so', async () => {
    const [halted, whole] = [await inferred(), await inferred()];
    const server = await judgeServer();
    // Three of seven rows, as after an interrupt.
    await judge(halted, server, '--rubrics', 'awb-1', '--budget-tokens', '1', '--concurrency', '1');
    const { count } = server;
    expect(count).toBeLessThan(7);
    const { code, stdout } = await judge(halted, server, '--json');
    expect(code).toBe(0);
    expect(server.count).toBe(7);
    expect(JSON.parse(stdout).notices).toContainEqual(
      "judged.jsonl was begun under the rubric pack awb-1 and goes on under it; --rubrics awb-2 judges under today's default, into a file of its own",
    );
    expect(await packOf(halted)).toBe('awb-1');
    await judge(whole, server, '--rubrics', 'awb-1');
    const bytes = ({ dir }: Folder) => readFile(join(dir, 'judged.jsonl'), 'utf8');
    expect(await bytes(halted)).toBe(await bytes(whole));
  });

  it('leaves a finished judging under the first edition as it is, and asks nothing', async () => {
    const folder = await inferred();
    const server = await judgeServer();
    await judge(folder, server, '--rubrics', 'awb-1');
    expect((await judge(folder, server)).code).toBe(0);
    expect(server.count).toBe(7);
    expect(await judgings(folder)).toEqual(['judged.manifest.json']);
  });

  it.each([
    ['--rubrics awb-2', ['--rubrics', 'awb-2'], /^judged\.judge-a-awb-2-[0-9a-f]{6}$/],
    ['a label of its own', ['--label', 'second'], /^judged\.second$/],
    ['another judge', ['--judge-model', 'judge-b'], /^judged\.judge-b-awb-2-[0-9a-f]{6}$/],
    ['another temperature', ['--temperature', '0'], /^judged\.judge-a-awb-2-[0-9a-f]{6}$/],
  ])('starts under the second edition beside it with %s', async (_, options, name) => {
    const folder = await inferred(['--domains', 'os']);
    const server = await judgeServer();
    await judge(folder, server, '--rubrics', 'awb-1');
    expect((await judge(folder, server, ...options)).code).toBe(0);
    expect(server.count).toBe(2);
    expect(await packOf(folder)).toBe('awb-1');
    const [other = ''] = (await judgings(folder)).filter((file) => file !== 'judged.manifest.json');
    expect(other.replace('.manifest.json', '')).toMatch(name);
    expect(await packOf(folder, other.replace('.manifest.json', ''))).toBe('awb-2');
  });

  it('goes on with a labelled one under the first edition by the same command', async () => {
    const folder = await inferred(['--domains', 'os']);
    const server = await judgeServer();
    await judge(folder, server, '--rubrics', 'awb-1', '--label', 'old');
    await judge(folder, server, '--label', 'old');
    expect(server.count).toBe(1);
    expect(await packOf(folder)).toBe('awb-1');
  });

  it('takes the place of one under the first edition with --fresh, the old files kept aside', async () => {
    const folder = await inferred(['--domains', 'os']);
    const server = await judgeServer();
    await judge(folder, server, '--rubrics', 'awb-1');
    expect((await judge(folder, server, '--fresh')).code).toBe(0);
    expect(await judgings(folder)).toEqual(['judged.manifest.json']);
    expect(await packOf(folder)).toBe('awb-2');
    const aside = (await readdir(folder.dir)).find((name) => name.startsWith('before-')) ?? '';
    expect((await jsonOf(join(folder.dir, aside, 'judged.manifest.json'))).identity.rubrics.name).toBe('awb-1');
  });

  it('is rechecked under the edition that it was begun under', async () => {
    const folder = await inferred();
    const server = await judgeServer();
    await judge(folder, server, '--rubrics', 'awb-1');
    expect((await judge(folder, server, '--recheck', '3')).code).toBe(0);
    const [again = ''] = (await readdir(folder.dir)).filter((name) => /recheck.*manifest\.json$/.test(name));
    expect((await jsonOf(join(folder.dir, again))).identity.rubrics.name).toBe('awb-1');
    expect(server.count).toBe(10);
  });
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

  it('is kept beside the official members, and its recall of determined facts is a measure', async () => {
    const folder = await inferred(['--domains', 'os']);
    await judge(folder, await judgeServer(() => ({ content: reply(facts) })));
    const [row] = await rowsOf(join(folder.dir, 'judged.jsonl'));
    expect(row).toMatchObject({ total_score: 4, failed: 0, awb: { judge: { facts }, measures: { facts_recall: 50 } } });
    expect(Object.keys(row ?? {})).not.toContain('facts');
  });

  it.each([
    ['missing', undefined, 'the verdict holds no "facts"'],
    ['of another form', [{ ...facts[0], met: 'yes' }], 'fact 1 does not say whether it was met'],
  ])('that is %s costs no verdict and no call; why it is not kept stands in its place', async (_, checklist, fault) => {
    const folder = await inferred(['--domains', 'os']);
    const server = await judgeServer(() => ({ content: reply(checklist) }));
    expect((await judge(folder, server)).code).toBe(0);
    expect(server.count).toBe(1);
    const [row] = await rowsOf(join(folder.dir, 'judged.jsonl'));
    expect(row).toMatchObject({ total_score: 4, awb: { judge: { status: 'ok', facts_fault: fault } } });
    expect(row?.awb).not.toHaveProperty('measures');
    expect(row?.awb.judge).not.toHaveProperty('facts');
  });

  it('without a determined fact has no recall', async () => {
    const folder = await inferred(['--domains', 'os']);
    await judge(folder, await judgeServer(() => ({ content: reply(facts.slice(2)) })));
    const [row] = await rowsOf(join(folder.dir, 'judged.jsonl'));
    expect(row?.awb.judge.facts).toHaveLength(2);
    expect(row?.awb).not.toHaveProperty('measures');
  });

  it('is not read under packs that ask for none', async () => {
    const folder = await inferred(['--domains', 'os']);
    await judge(folder, await judgeServer(() => ({ content: reply(facts) })), '--rubrics', 'awb-1');
    const [row] = await rowsOf(join(folder.dir, 'judged.jsonl'));
    expect(row?.awb).not.toHaveProperty('measures');
    expect(Object.keys(row?.awb.judge)).toEqual(['status', 'rubrics', 'model', 'finish_reason']);
  });

  it('of an earlier judgement gives way to that of the next', async () => {
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
