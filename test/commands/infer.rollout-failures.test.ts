// `awb infer --rollout` when things go wrong: what continues, what waits, and what is asked again.

import { spawnSync } from 'node:child_process';
import { readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, RECORDED, ROOT, temporaryFolder } from '../support/cli.js';
import type { Answer, SeenRequest } from '../support/loopback-server.js';
import {
  closeServers,
  messagesOf,
  saidBy,
  setUpRollout,
  speaking,
  tagged,
  trajectoryOf,
  turnOf,
} from '../support/rollout-runs.js';
import { readRows } from '../support/run-folder.js';
import { MARKER, trajectory } from '../support/trajectories.js';

afterEach(closeServers);

const TWO = [...trajectory({ id: 1, at: [2, 4, 5] }), ...trajectory({ id: 2, at: [3] })];
const asked = ({ server }: Awaited<ReturnType<typeof setUpRollout>>) =>
  server.requests.map((request) => `${trajectoryOf(request)}:${turnOf(request)}`);
/** Answers one turn of the first trajectory differently. */
const at = (turn: number, answer: (request: SeenRequest) => Answer) => (request: SeenRequest) =>
  trajectoryOf(request) === 1 && turnOf(request) === turn ? answer(request) : speaking(request);
const TOO_LONG: Answer = {
  status: 400,
  body: {
    error: {
      message: "This model's maximum context length is 900 tokens. However, your messages resulted in 1000 tokens.",
      code: 'context_length_exceeded',
    },
  },
};

describe('after a failure that the model caused', () => {
  test.each<[string, Answer, object]>([
    ['empty', { content: '<think>nothing</think>' }, { status: 'ok', flags: ['empty'] }],
    ['refused', { content: 'no', finishReason: 'content_filter' }, { status: 'failed', class: 'refused' }],
  ])(
    '(%s) the rollout continues with an empty observation, and the row is not asked again',
    async (_, answer, state) => {
      const run = await setUpRollout(
        TWO,
        at(2, () => answer),
      );
      await run.infer();
      const rows = await run.predictions();
      expect(rows[0].awb).toMatchObject(state);
      expect(rows.slice(1).map(({ awb }) => awb.status)).toEqual(['ok', 'ok', 'ok']);
      const fifth = run.server.requests.find((request) => trajectoryOf(request) === 1 && turnOf(request) === 5);
      expect(saidBy(messagesOf(fifth as SeenRequest)).slice(0, 3)).toEqual([
        `${MARKER}model on 1 turn 1`,
        MARKER,
        `${MARKER}model on 1 turn 3`,
      ]);
      expect((await run.turns())[1]).toMatchObject({ observation: MARKER, turn_idx: 2 });
      expect((await run.manifest()).state).toBe('complete');
      const before = run.server.count;
      expect((await run.infer()).code).toBe(EXIT.done);
      expect(run.server.count).toBe(before);
    },
  );

  test("(too long) the rollout continues too, since the model's own words made it too long", async () => {
    const run = await setUpRollout(TWO, (request) => {
      const sent = JSON.stringify(request.body).length;
      return sent > 6_000 ? TOO_LONG : { content: tagged('x'.repeat(4_000)) };
    });
    await run.infer();
    const rows = await run.predictions();
    expect(rows.map(({ awb }) => awb.class)).toEqual([undefined, 'too-long', 'too-long', 'too-long']);
    expect((await run.turns()).map(({ class: failure }) => failure)).toContain('too-long');
    expect((await run.manifest()).counts.failures).toEqual({ 'too-long': 3 });
    const before = run.server.count;
    await run.infer();
    expect(run.server.count).toBe(before);
  });

  test('(too long) a context too short for the recorded history is a setting of the run, and the data is missing', async () => {
    const run = await setUpRollout(TWO, (request) => (turnOf(request) >= 3 ? TOO_LONG : { content: tagged('short') }));
    await run.infer();
    expect((await run.predictions()).map(({ awb }) => awb.class)).toEqual([undefined, 'context-overflow']);
    // Nothing after it was asked: the rest of the chain waits.
    expect(asked(run).sort()).toEqual(['1:1', '1:2', '1:3', '2:1', '2:2', '2:3']);
    expect((await run.manifest()).counts).toMatchObject({ ok: 1, failed: 1, notDone: 2 });
  });
});

describe('after a connection failure', () => {
  const BROKEN: Answer = { status: 500, body: 'broken' };

  test('the later turns of the chain wait for another session, which ends as if nothing had happened', async () => {
    let isBroken = true;
    const run = await setUpRollout(
      TWO,
      at(3, (request) => (isBroken ? BROKEN : speaking(request))),
    );
    expect((await run.infer('--max-attempts', '1')).code).toBe(EXIT.incomplete);
    expect(new Set(asked(run))).toEqual(new Set(['1:1', '1:2', '1:3', '2:1', '2:2', '2:3']));
    expect((await run.predictions()).map(({ id, turn_idx: turn }) => [id, turn])).toEqual([
      [1, 2],
      [2, 3],
    ]);
    isBroken = false;
    const before = run.server.count;
    expect((await run.infer()).code).toBe(EXIT.done);
    expect(asked(run).slice(before)).toEqual(['1:3', '1:4', '1:5']);
    const undisturbed = await setUpRollout(TWO);
    await undisturbed.infer();
    expect(await run.written()).toEqual(await undisturbed.written());
  });

  test('an outage is waited out, and no turn is asked before the turn that it hit has its reply', async () => {
    let failures = 0;
    const run = await setUpRollout(
      TWO,
      at(3, (request) => (failures++ < 2 ? 'reset' : speaking(request))),
    );
    expect((await run.infer('--retry-minutes', '1')).code).toBe(EXIT.done);
    const undisturbed = await setUpRollout(TWO);
    await undisturbed.infer();
    expect(await run.written()).toEqual(await undisturbed.written());
    const first = asked(run).filter((name) => name.startsWith('1:'));
    expect(first).toEqual(['1:1', '1:2', '1:3', '1:3', '1:3', '1:4', '1:5']);
  });
});

describe('a turn that is asked again', () => {
  test('makes the later ones of its chain stale, and no others', async () => {
    let count = 0;
    const run = await setUpRollout(TWO, (request) => ({
      content: tagged(`reply ${count++} on ${trajectoryOf(request)}:${turnOf(request)}`),
    }));
    await run.infer();
    const lines = (await readFile(run.journal, 'utf8')).trimEnd().split('\n');
    const hit = lines.findIndex((line) => line.includes('on 1:3'));
    lines[hit] = (lines[hit] ?? '').replace('on 1:3', 'on 1:9');
    await writeFile(run.journal, `${lines.join('\n')}\n`);
    const before = run.server.count;
    expect((await run.infer()).code).toBe(EXIT.done);
    expect(asked(run).slice(before)).toEqual(['1:3', '1:4', '1:5']);
    const turns = (await run.turns()).filter(({ id }) => id === 1);
    for (const [index, { prompt }] of turns.entries()) expect(prompt).toContain(`### Turn ${index + 1}`);
    const last = run.server.requests.at(-1) as SeenRequest;
    expect(saidBy(messagesOf(last))).toEqual(turns.slice(0, 4).map(({ observation }) => observation));
  });

  test('is never one with a valid record: a journal cut anywhere continues after the cut', async () => {
    const run = await setUpRollout(TWO);
    await run.infer();
    const whole = await run.written();
    const { length } = await readFile(run.journal);
    for (const share of [0.2, 0.45, 0.7, 0.95]) {
      await truncate(run.journal, Math.floor(length * share));
      const kept = new Set(
        (await readRows(run.journal)).map(({ row: { gen } }) => /on (\d) turn (\d)/.exec(gen)?.slice(1).join(':')),
      );
      const before = run.server.count;
      expect((await run.infer()).code).toBe(EXIT.done);
      const again = asked(run).slice(before);
      expect(again.filter((name) => kept.has(name))).toEqual([]);
      expect(again).toHaveLength(8 - kept.size);
      expect(await run.written()).toEqual(whole);
    }
  });

  test('because a parameter was dropped meanwhile is asked in the same session, with all turns after it', async () => {
    const run = await setUpRollout(TWO, (request) =>
      'temperature' in request.body && turnOf(request) >= 3
        ? { status: 400, body: { error: { message: "Unsupported value: 'temperature'", param: 'temperature' } } }
        : speaking(request),
    );
    expect((await run.infer('--allow-param-drop')).code).toBe(EXIT.done);
    expect(await run.predictions()).toHaveLength(4);
    const without = run.server.requests.filter(({ body }) => !('temperature' in body));
    expect(new Set(without.map((request) => `${trajectoryOf(request)}:${turnOf(request)}`)).size).toBe(8);
    const before = run.server.count;
    expect((await run.infer('--allow-param-drop')).code).toBe(EXIT.done);
    expect(run.server.count).toBe(before);
  });
});

describe('the files of a rollout', () => {
  test('are both written whatever ends the asking, and --fresh sets both aside', async () => {
    const run = await setUpRollout(
      TWO,
      at(4, () => ({ status: 401, body: 'key revoked' })),
    );
    const { code } = await run.infer('--concurrency', '1');
    expect(code).toBe(EXIT.authRefused);
    expect((await run.predictions()).map(({ turn_idx: turn }) => turn)).toEqual([2]);
    expect((await run.turns()).map(({ turn_idx: turn }) => turn)).toEqual([1, 2, 3]);
    await run.infer('--fresh', '--concurrency', '1');
    const folder = (await readdir(run.out)).find((name) => name.startsWith('before-')) ?? '';
    expect(await readRows(join(run.out, folder, 'rollout.jsonl'))).toHaveLength(3);
  });

  test('report a full disk correctly: the one that cannot be written is named, and the same command writes it', async () => {
    const out = await temporaryFolder();
    const infer = ['infer', '--rollout', '--baseline', 'oracle', '--lean', '--data-dir', RECORDED, '--output-dir', out];
    // The journal and the lean predictions are below 400 kB, and all turns with their prompts are above.
    const limited = 'ulimit -f 400; exec "$0" "$@"';
    const { status, stderr } = spawnSync(
      'bash',
      ['-c', limited, process.execPath, join(ROOT, 'dist/bin.js'), ...infer],
      {
        encoding: 'utf8',
      },
    );
    expect(status).toBe(EXIT.cannotWrite);
    expect(stderr).toContain(`cannot write ${join(out, 'rollout.jsonl')}`);
    expect(await readRows(join(out, 'predictions.jsonl'))).toHaveLength(63);
    expect((await readdir(out)).filter((name) => name.startsWith('rollout'))).toEqual([]);
    expect((await awb(infer)).code).toBe(EXIT.done);
    expect(await readRows(join(out, 'rollout.jsonl'))).toHaveLength(235);
  });

  test('are rebuilt from the journal if they were changed or removed', async () => {
    const run = await setUpRollout(TWO);
    await run.infer();
    const whole = await run.written();
    await writeFile(join(run.out, 'rollout.jsonl'), 'changed');
    const before = run.server.count;
    await run.infer();
    expect(await run.written()).toEqual(whole);
    expect(run.server.count).toBe(before);
  });
});
