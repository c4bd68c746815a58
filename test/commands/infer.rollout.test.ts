// `awb infer --rollout` from outside: what the server gets turn after turn, what is written, and that no truth leaks.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, RECORDED, temporaryFolder } from '../support/cli.js';
import type { LoopbackServer, SeenRequest } from '../support/loopback-server.js';
import {
  closeServers,
  lastOf,
  messagesOf,
  saidBy,
  setUpRollout,
  tagged,
  trajectoryOf,
  turnOf,
} from '../support/rollout-runs.js';
import { readRows, writeDataset } from '../support/run-folder.js';
import {
  MARKER,
  recordedRows,
  recordedWithStates,
  TAIL,
  type TrajectoryRow,
  tellingLines,
  trajectory,
  truthOf,
} from '../support/trajectories.js';

afterEach(closeServers);

const TWO = [...trajectory({ id: 1, at: [2, 4, 5] }), ...trajectory({ id: 2, at: [3] })];

describe('a rollout', () => {
  test('asks every turn of a trajectory in order, with its own predictions in place of the truth', async () => {
    const { server, infer } = await setUpRollout(TWO);
    expect((await infer()).code).toBe(EXIT.done);
    for (const id of [1, 2]) {
      const requests = server.requests.filter((request) => trajectoryOf(request) === id);
      const turns = id === 1 ? [1, 2, 3, 4, 5] : [1, 2, 3];
      expect(requests.map(turnOf)).toEqual(turns);
      for (const request of requests) {
        const before = turns.slice(0, turnOf(request) - 1);
        expect(saidBy(messagesOf(request))).toEqual(before.map((turn) => `${MARKER}model on ${id} turn ${turn}`));
      }
    }
  });

  test("puts the longest row's request to predict after the turn that is asked, and after no other", async () => {
    const { server, infer } = await setUpRollout(TWO);
    await infer();
    for (const request of server.requests) {
      const users = messagesOf(request).filter(({ role }) => role === 'user');
      expect(users.map(({ content }) => content.endsWith(TAIL))).toEqual(users.map((_, at) => at === users.length - 1));
      expect(users.map(({ content }) => content.split('### Turn').length)).toEqual(users.map(() => 2));
    }
  });

  test("scores the benchmark's rows, and keeps the turns between in their own file", async () => {
    const { infer, predictions, turns, manifest } = await setUpRollout(TWO);
    await infer();
    const rows = await predictions();
    expect(rows.map((row) => [row.id, row.turn_idx])).toEqual(TWO.map((row) => [row.id, row.turn_idx]));
    expect(rows.map(({ awb: { rollout } }) => [rollout.from, rollout.step, rollout.distance])).toEqual(
      TWO.map((row) => [0, row.turn_idx, row.turn_idx]),
    );
    const lines = await turns();
    expect(lines.map((line) => [line.id, line.turn_idx])).toEqual([
      ...[1, 2, 3, 4, 5].map((turn) => [1, turn]),
      ...[1, 2, 3].map((turn) => [2, turn]),
    ]);
    const keys = new Map(rows.map((row) => [`${row.id} ${row.turn_idx}`, row.awb.key]));
    for (const line of lines) {
      expect(line).toMatchObject({
        task: 'made-up/mcp',
        chain: line.trajectory,
        step: line.turn_idx,
        distance: line.turn_idx,
        row: keys.get(`${line.id} ${line.turn_idx}`) ?? null,
        observation: `${MARKER}model on ${line.id} turn ${line.turn_idx}`,
        status: 'ok',
        gen: `<think>thought</think>\n${tagged(`model on ${line.id} turn ${line.turn_idx}`)}`,
      });
      expect(line.prompt).not.toContain('Please analyze');
    }
    expect((await manifest()).counts).toMatchObject({ chosen: 4, ok: 4, notDone: 0 });
    expect((await manifest()).chosen).toEqual({ mcp: 4 });
  });

  test('starts after the first true turns if told to', async () => {
    const { server, infer, predictions } = await setUpRollout(TWO);
    const { code } = await infer('--rollout-from', '2');
    expect(code).toBe(EXIT.done);
    const first = server.requests.find((request) => trajectoryOf(request) === 1 && turnOf(request) === 4);
    expect(saidBy(messagesOf(first as SeenRequest))).toEqual([
      MARKER + truthOf(1, 1),
      MARKER + truthOf(1, 2),
      `${MARKER}model on 1 turn 3`,
    ]);
    expect(server.requests.map(turnOf).sort()).toEqual([3, 3, 4, 5]);
    expect((await predictions()).map(({ awb }) => [awb.rollout.step, awb.rollout.distance])).toEqual([
      [4, 2],
      [5, 3],
      [3, 1],
    ]);
  });

  test('asks every turn once per repeat, and each repeat continues from its own predictions', async () => {
    let count = 0;
    const { infer, predictions, turns } = await setUpRollout(trajectory({ id: 1, at: [1, 3] }), () => ({
      content: tagged(`reply ${count++}`),
    }));
    await infer('--repeats', '3');
    expect(count).toBe(9);
    expect(await predictions()).toHaveLength(6);
    const lines = await turns();
    expect(lines.map(({ repeat, turn_idx: turn }) => [repeat, turn])).toEqual(
      [0, 1, 2].flatMap((repeat) => [1, 2, 3].map((turn) => [repeat, turn])),
    );
    expect(new Set(lines.map(({ observation }) => observation)).size).toBe(9);
  });

  test("is part of a run's identity: a folder started without it, or from another turn, is not continued", async () => {
    const { infer, manifest } = await setUpRollout(TWO);
    await infer();
    expect((await manifest()).identity.rollout).toEqual({ from: 0, version: 1 });
    const other = await infer('--rollout-from', '1');
    expect(other.code).toBe(EXIT.identityDiffers);
    expect(other.stderr).toContain('rollout.from: 0 before, 1 now');
  });

  test('over chosen rows asks only what leads to them, and scores the rows on the way', async () => {
    const { server, infer, predictions } = await setUpRollout(TWO);
    const { stdout } = await infer('--ids', (await keyOf(TWO, 1, 4)) ?? '');
    expect(server.requests.map((request) => [trajectoryOf(request), turnOf(request)])).toEqual(
      [1, 2, 3, 4].map((turn) => [1, turn]),
    );
    expect((await predictions()).map((row) => row.turn_idx)).toEqual([2, 4]);
    expect(stdout).toContain('1 row that this command did not choose');
  });

  test('continues with further rows without asking again what was asked', async () => {
    const { server, infer, predictions, turns } = await setUpRollout(TWO);
    await infer('--ids', (await keyOf(TWO, 1, 2)) ?? '');
    const before = server.count;
    expect((await infer()).code).toBe(EXIT.done);
    expect(before).toBe(2);
    expect(server.count).toBe(8);
    expect(await predictions()).toHaveLength(4);
    expect(await turns()).toHaveLength(8);
    // A smaller choice leaves the other rows as they are.
    await infer('--ids', (await keyOf(TWO, 1, 2)) ?? '');
    expect(server.count).toBe(8);
    expect(await predictions()).toHaveLength(4);
    expect(await turns()).toHaveLength(8);
  });

  test('puts rows that are not a beginning of the longest row into their own chain, and counts it', async () => {
    const [two, four] = trajectory({ id: 1, at: [2, 4] }) as [TrajectoryRow, TrajectoryRow];
    const other = { ...two, response: [`${MARKER}another world`, two.response[1]] };
    const { server, infer, turns } = await setUpRollout([two, four, other as TrajectoryRow]);
    const { stdout } = await infer();
    expect(stdout).toContain('1 chain in addition to those of the longest rows');
    const chains = new Set((await turns()).map(({ chain }) => chain));
    expect([...chains].map((chain) => String(chain).includes('~1'))).toEqual([false, true]);
    expect(server.requests.map(turnOf).sort()).toEqual([1, 1, 2, 2, 3, 4]);
    for (const request of server.requests) expect(JSON.stringify(request.body)).not.toContain('another world');
  });
});

async function keyOf(rows: readonly TrajectoryRow[], id: number, turn: number): Promise<string | undefined> {
  const folder = await temporaryFolder();
  const data = await writeDataset(join(folder, 'data'), { 'some_test.jsonl': rows });
  await awb(['infer', '--baseline', 'empty', '--data-dir', data, '--output-dir', join(folder, 'out')]);
  const found = (await readRows(join(folder, 'out/predictions.jsonl'))).find(
    (row) => row.id === id && row.turn_idx === turn,
  );
  return found?.awb.key;
}

describe('the truth', () => {
  const DOMAINS = ['mcp', 'search', 'terminal', 'swe', 'android', 'web', 'os'];

  test.each(DOMAINS)('of %s appears nowhere in what is sent', async (domain) => {
    const rows = await recordedRows(domain);
    const { server, infer } = await setUpRollout(rows);
    expect((await infer()).code).toBe(EXIT.done);
    expectNoTruth(rows, server);
  });

  test.each([
    ['android', 'Current Phone State'],
    ['android', 'Current State'],
    ['web', 'Current State'],
    ['os', 'Current State'],
  ])('of %s, which repeats it as the %s, is replaced by the last prediction', async (domain, heading) => {
    const rows = await recordedWithStates(domain, heading);
    const { server, infer } = await setUpRollout(rows);
    const { code, stdout } = await infer();
    expect(code).toBe(EXIT.done);
    expect(stdout).not.toContain('left out');
    expectNoTruth(rows, server);
    for (const request of server.requests) {
      const turn = turnOf(request);
      if (turn === 1) continue;
      const own = saidBy(messagesOf(request)).at(-1)?.slice(MARKER.length);
      expect(lastOf(messagesOf(request))).toContain(`### Turn ${turn}\n**${heading}:**\n${own}\n\n**Action:**\n`);
    }
  });

  test('in an unknown form excludes the chain, which is counted and is not a failure', async () => {
    const hidden = trajectory({ id: 1, at: [2, 3], state: (truth) => `**Screen now:**\n${truth}` });
    const changed = trajectory({ id: 2, at: [3], state: () => '**Current State:**\nanother screen altogether' });
    const plain = trajectory({ id: 3, at: [2] });
    const { server, infer, predictions, manifest } = await setUpRollout([...hidden, ...changed, ...plain]);
    const { code, stdout } = await infer();
    expect(code).toBe(EXIT.done);
    expect(stdout.replace(/\s+/g, ' ')).toContain('2 chains (3 chosen rows) left out of the rollout');
    expect(new Set(server.requests.map(trajectoryOf))).toEqual(new Set([3]));
    expect(await predictions()).toHaveLength(1);
    expect((await manifest()).counts).toMatchObject({ chosen: 1, failed: 0, absent: 0 });
  });

  test('is sent only for the turns that are given', async () => {
    const rows = await recordedWithStates('web');
    const { server, infer } = await setUpRollout(rows);
    await infer('--rollout-from', '3');
    expectNoTruth(rows, server, 3);
    const sent = server.requests.map(({ body }) => JSON.stringify(body)).join('\n');
    const third = rows.find((row) => row.turn_idx > 3)?.response[2] ?? '';
    expect(sent).toContain(JSON.stringify(third).slice(1, -1));
  });

  function expectNoTruth(rows: readonly TrajectoryRow[], server: LoopbackServer, from = 0): void {
    const longest = new Map<number, TrajectoryRow>();
    for (const row of rows) if ((longest.get(row.id)?.turn_idx ?? 0) < row.turn_idx) longest.set(row.id, row);
    expect(server.count).toBe([...longest.values()].reduce((sum, row) => sum + row.turn_idx - from, 0));
    for (const row of longest.values()) {
      const first = (row.prompt[0] ?? '').slice(0, 200);
      const sent = server.requests.map(messagesOf).filter((messages) => messages[1]?.content.startsWith(first));
      const text = sent.flatMap((messages) => messages.map(({ content }) => content)).join('\n');
      const lines = tellingLines(row, from);
      expect(lines.length).toBeGreaterThan(5);
      expect(lines.filter((line) => text.includes(line))).toEqual([]);
    }
  }
});

describe('what a rollout costs', () => {
  const rows = trajectory({ id: 1, at: [2, 4] });
  const truthful = (request: SeenRequest) => ({
    content: tagged(truthOf(1, turnOf(request))),
    usage: { prompt_tokens: 100, completion_tokens: 10 },
  });

  test('is billed including the turns between rows: the calls and characters of a model that predicts the truth', async () => {
    const run = await setUpRollout(rows, truthful);
    const bill = JSON.parse((await run.infer('--dry-run', '--json')).stdout);
    expect(run.server.count).toBe(0);
    await run.infer();
    const sent = run.server.requests.flatMap((request) => messagesOf(request).map(({ content }) => content.length));
    expect(bill.total).toMatchObject({ calls: 4, characters: sent.reduce((sum, length) => sum + length, 0) });
    expect((await run.manifest()).tokens).toEqual({ promptTokens: 400, completionTokens: 40 });
    const { stdout } = await run.infer('--dry-run');
    expect(stdout).toContain('0 to ask');
  });

  test('is reported including the turns between rows', async () => {
    const run = await setUpRollout(rows, truthful);
    const { stdout } = await run.infer('--dry-run');
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      '1 chain of 4 turns, 2 turns of them between rows, asked but not scored',
    );
  });

  test('is scored, reported and gated including the turns between rows', async () => {
    const run = await setUpRollout(rows, truthful);
    await run.infer();
    const prices = join(run.out, 'prices.yaml');
    await writeFile(prices, 'unit: million-tokens\nmodels:\n  wm:\n    input: 100\n    output: 1000\n');
    await awb(['judge', '--mode', 'metrics', '--predictions', join(run.out, 'predictions.jsonl')], { cwd: run.out });
    const judged = join(run.out, (await readdir(run.out)).includes('judged.jsonl') ? '' : 'results', 'judged.jsonl');
    const db = join(run.out, 'runs.sqlite');
    const scored = await awb(['score', judged, '--db', db, '--prices', prices, '--json']);
    // Four calls of 100 and 10 tokens, two of them for turns between rows, each with 1 cent of input and 1 cent of output.
    const took = { rows: 4, prompt_tokens: 400, completion_tokens: 40, usd: 0.08, unpriced: 0 };
    expect(JSON.parse(scored.stdout).costs.world_model).toMatchObject({ ...took, domains: { mcp: took } });
    const { stdout: board } = await awb(['leaderboard', '--db', db, '--columns', 'cost,tokens', '--format', 'csv']);
    expect(board).toContain('0.08');
    const policy = join(run.out, 'gate.yaml');
    await writeFile(policy, 'limits:\n  cost: 0.05\n');
    const gated = await awb(['gate', '--candidate', '1', '--db', db, '--policy', policy, '--json']);
    expect(JSON.parse(gated.stdout).rules).toContainEqual(
      expect.objectContaining({ kind: 'limit', limit: 'cost', verdict: 'NO-GO', value: 0.08 }),
    );
    const page = join(run.out, 'report.html');
    await awb(['report', '--run', '1', '--db', db, '--output', page]);
    expect(await readFile(page, 'utf8')).toContain('$0.08');
  });

  test('counts against the budget turn by turn, and a larger budget continues', async () => {
    const run = await setUpRollout(rows, truthful);
    expect((await run.infer('--budget-tokens', '200')).code).toBe(EXIT.later);
    expect(run.server.count).toBe(2);
    expect((await run.infer('--budget-tokens', '10000')).code).toBe(EXIT.done);
    expect(run.server.count).toBe(4);
  });
});

describe('baselines', () => {
  test('roll out without a model: what does not change keeps the first state', async () => {
    const out = join(await temporaryFolder(), 'out');
    const infer = ['infer', '--rollout', '--baseline', 'persistence', '--data-dir', RECORDED, '--domains', 'web'];
    expect((await awb([...infer, '--output-dir', out])).code).toBe(EXIT.done);
    const turns = await readRows(join(out, 'rollout.jsonl'));
    const first = turns.find(({ turn_idx: turn }) => turn === 1);
    const same = turns.filter(({ trajectory: of }) => of === first.trajectory).map(({ observation }) => observation);
    expect(same).toHaveLength(22);
    expect(new Set(same)).toEqual(new Set([first.observation]));
  });

  test('that know the truth roll out to the truth', async () => {
    const out = join(await temporaryFolder(), 'out');
    const infer = ['infer', '--rollout', '--baseline', 'oracle', '--data-dir', RECORDED, '--output-dir', out];
    expect((await awb(infer)).code).toBe(EXIT.done);
    const rows = await readRows(join(out, 'predictions.jsonl'));
    expect(rows).toHaveLength(63);
    const turns = new Map((await readRows(join(out, 'rollout.jsonl'))).map((line) => [line.row, line]));
    for (const row of rows) {
      expect(turns.get(row.awb.key).observation).toBe(
        MARKER + row.response[row.turn_idx - 1].slice(MARKER.length).trim(),
      );
      expect(row.awb.rollout.off_script).toBeUndefined();
    }
  });
});

describe('what cannot be rolled out', () => {
  test.each([
    [['--rollout', '--protocol', 'blind'], '--rollout needs a history'],
    [['--rollout-from', '2'], 'add --rollout'],
    [['--rollout', '--rollout-from', '-1'], '--rollout-from'],
    [['--rollout', '--rollout-from', '99'], 'no chosen row is part of the rollout'],
  ])('%j is refused before anything is asked', async (flags, why) => {
    const out = join(await temporaryFolder(), 'out');
    const { code, stderr } = await awb([
      ...['infer', '--baseline', 'empty', '--data-dir', RECORDED, '--output-dir', out],
      ...flags,
    ]);
    expect(code).toBe(EXIT.usage);
    expect(stderr).toContain(why);
  });
});
