// awb judge --judge-sees rollout: the judge sees what the world model saw, and none of its truth.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { awb, PLAIN_PACK } from '../support/cli.js';
import { changeRows, jsonOf, rowsOf, verdict, writeRows } from '../support/judging.js';
import { type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { closeServers, messagesOf, setUpRollout } from '../support/rollout-runs.js';
import { trajectory, truthOf } from '../support/trajectories.js';

const judges: LoopbackServer[] = [];
afterEach(async () => {
  await closeServers();
  await Promise.all(judges.splice(0).map((server) => server.close()));
});

const ROWS = [...trajectory({ id: 1, at: [2, 4] }), ...trajectory({ id: 2, at: [1, 3] })];

async function rolledOut(...options: string[]) {
  const run = await setUpRollout(ROWS);
  const { code, stderr } = await run.infer(...options);
  if (code !== 0) throw new Error(stderr);
  const server = await startLoopbackServer(() => ({ content: verdict(4) }));
  judges.push(server);
  const judge = (...more: string[]) =>
    awb([
      ...['judge', '--predictions', join(run.out, 'predictions.jsonl'), '--output-dir', run.out],
      ...['--judge-base-url', server.url, '--judge-model', 'judge-a', ...more],
    ]);
  /** What the judge saw of each row, by trajectory and turn. */
  const shown = () => {
    const texts = server.requests.map((request) => messagesOf(request).map(({ content }) => content));
    return new Map(
      texts.map(([, user = '']) => {
        const inputs = [...user.matchAll(/<input-\w+ turn="(\d+)">/g)].map(([, turn]) => turn);
        return [`${/model on (\d+)/.exec(user)?.[1]} ${inputs.at(-1)}`, user];
      }),
    );
  };
  return { ...run, judge, judging: server, shown };
}

describe('a judge that sees the rollout', () => {
  it('sees every earlier turn as the world model wrote it, and no line of the truth', async () => {
    const { judge, judging, shown } = await rolledOut();
    expect((await judge('--judge-sees', 'rollout')).code).toBe(0);
    expect([...shown().keys()].sort()).toEqual(['1 2', '1 4', '2 1', '2 3']);
    const user = shown().get('1 4') ?? '';
    for (const turn of [1, 2, 3, 4]) expect(user).toContain(`model on 1 turn ${turn}`);
    expect(user.match(/<observation-/g)).toHaveLength(3);
    expect(user).toContain('"arguments": {"step": 4}');
    for (const request of judging.requests) {
      const text = JSON.stringify(request.body);
      for (const turn of [1, 2, 3, 4]) for (const id of [1, 2]) expect(text).not.toContain(truthOf(id, turn));
      expect(text).not.toMatch(/<truth-|<changes-/);
    }
  });

  it("is told that there is no truth and what to rate, in the pack's own words for this", async () => {
    const { judge, judging } = await rolledOut();
    await judge('--judge-sees', 'rollout');
    const [system, user] = messagesOf(judging.requests[0] as never).map(({ content }) => content);
    expect(system).toContain('There is no real answer in this case');
    expect(system).toContain('# Domain: mcp');
    expect(user).toContain('There is no real answer to compare with.');
  });

  it('sees true turns unchanged if the rollout starts after them', async () => {
    const { judge, shown } = await rolledOut('--rollout-from', '2');
    await judge('--judge-sees', 'rollout');
    const user = shown().get('1 4') ?? '';
    expect(user).toContain(truthOf(1, 1));
    expect(user).toContain(truthOf(1, 2));
    expect(user).toContain('model on 1 turn 3');
    expect(user).not.toContain(truthOf(1, 3));
    expect(user).not.toContain(truthOf(1, 4));
  });

  it('differs from a judge that sees the recorded history: it has its own file and identity', async () => {
    const { judge, judging, out } = await rolledOut();
    await judge();
    expect(JSON.stringify(judging.requests[0]?.body)).toMatch(/<truth-/);
    await judge('--judge-sees', 'rollout', '--label', 'itself');
    const [ordinary, own] = [
      await jsonOf(join(out, 'judged.manifest.json')),
      await jsonOf(join(out, 'judged.itself.manifest.json')),
    ];
    expect(ordinary.identity).not.toHaveProperty('sees');
    expect(own.identity.sees).toBe('rollout');
    expect(own.identity.rubrics.name).toBe('awb-3');
    expect(own.identity.rubrics.fingerprint).not.toBe(ordinary.identity.rubrics.fingerprint);
    const { code, stderr } = await awb(['compare', join(out, 'judged.jsonl'), join(out, 'judged.itself.jsonl')]);
    expect(code).toBe(78);
    expect(stderr).toContain('sees: absent in the base, "rollout" in the candidate');
  });

  it('judges again if an earlier turn has changed, even if the prediction has not', async () => {
    const { judge, judging, out } = await rolledOut();
    await judge('--judge-sees', 'rollout');
    await judge('--judge-sees', 'rollout');
    expect(judging.count).toBe(4);
    await changeRows(join(out, 'rollout.jsonl'), (line) => {
      if (line.id === 1 && line.step === 3) line.observation += ' and more';
    });
    await judge('--judge-sees', 'rollout');
    expect(judging.count).toBe(5);
    expect(messagesOf(judging.requests[4] as never).at(-1)?.content).toContain('model on 1 turn 3 and more');
  });

  it('bills what it would ask, without the truth', async () => {
    const { judge, judging } = await rolledOut();
    const { code, stdout } = await judge('--judge-sees', 'rollout', '--dry-run', '--json');
    expect(code).toBe(0);
    expect(stdout).toContain('"calls"');
    expect(judging.count).toBe(0);
  });

  it.each([
    ['a mode that needs the truth', ['--mode', 'metrics'], 2, /no effect with --mode metrics/],
    ['a pack without texts for it', ['--rubrics', PLAIN_PACK], 65, /plain has no texts.*"without_truth"/],
  ])('is refused for %s', async (_what, options, expected, words) => {
    const { judge, judging } = await rolledOut();
    const { code, stderr } = await judge('--judge-sees', 'rollout', ...options);
    expect(stderr).toMatch(words);
    expect(code).toBe(expected);
    expect(judging.count).toBe(0);
  });

  it('is refused for predictions that are not a rollout, or not the one in the same folder', async () => {
    const { judge, out, judging } = await rolledOut();
    const file = join(out, 'rollout.jsonl');
    const lines = await rowsOf(file);
    await writeRows(
      file,
      lines.filter(({ id }) => id === 1),
    );
    const other = await judge('--judge-sees', 'rollout');
    expect(other.code).toBe(65);
    expect(other.stderr).toMatch(/predictions\.jsonl:3: .*rollout\.jsonl has no turn of this row/);
    await writeRows(
      file,
      lines.filter(({ step }) => step !== 2),
    );
    const gap = await judge('--judge-sees', 'rollout');
    expect(gap.code).toBe(65);
    expect(gap.stderr).toMatch(/rollout\.jsonl:2: found turn 3 instead of turn 2/);
    await writeRows(file, [{ no: 'turn' }]);
    expect((await judge('--judge-sees', 'rollout')).stderr).toMatch(/rollout\.jsonl:1: not a turn of a rollout/);
    await rm(file);
    const none = await judge('--judge-sees', 'rollout');
    expect(none.code).toBe(66);
    expect(none.stderr).toMatch(/rollout\.jsonl.*leave --judge-sees out/);
    expect(judging.count).toBe(0);
  });
});
