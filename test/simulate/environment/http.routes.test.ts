// Plain HTTP: OpenEnv's paths, and a session per episode_id.

import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { json, post, startTestEnvironment } from '../../support/environment.js';
import { SILENT, scriptedSimulator } from '../../support/scripted-simulator.js';

describe('an episode over HTTP', () => {
  test('is begun, acted in and over at the step limit, and says why', async () => {
    const environment = await startTestEnvironment(scriptedSimulator(), { steps: 2 });
    const begun = await json(post(environment, '/reset', { domain: 'terminal', task: 'list the files' }));
    expect(begun).toMatchObject({ status: 200 });
    expect(begun.body).toEqual({
      observation: {
        text: 'list the files',
        turn: 0,
        domain: 'terminal',
        metadata: { episode_id: 'default' },
      },
      reward: null,
      done: false,
    });
    const first = await json(post(environment, '/step', { action: { action: 'ls' } }));
    expect(first.body).toMatchObject({ observation: { text: 'did ls', turn: 1 }, reward: null, done: false });
    const last = await json(post(environment, '/step', { action: { action: 'pwd' } }));
    expect(last.body).toMatchObject({
      observation: { text: 'did pwd', turn: 2, metadata: { done_reason: 'step-limit' } },
      done: true,
    });
  });

  test('an action after the end is refused, and the episode stays over', async () => {
    const simulator = scriptedSimulator();
    const environment = await startTestEnvironment(simulator, { steps: 1 });
    await post(environment, '/reset', {});
    await post(environment, '/step', { action: { action: 'ls' } });
    const late = await json(post(environment, '/step', { action: { action: 'pwd' } }));
    expect(late.status).toBe(409);
    expect(late.body).toMatchObject({ code: 'EPISODE_DONE', detail: expect.stringContaining('reset starts another') });
    const state = await json(fetch(`${environment.url}/state`));
    expect(state.body).toEqual({
      episode_id: 'default',
      step_count: 1,
      domain: 'terminal',
      done: true,
      done_reason: 'step-limit',
      steps_left: 0,
    });
    const again = await json(post(environment, '/reset', {}));
    expect(again.body).toMatchObject({ done: false, observation: { turn: 0 } });
  });

  test('is over if the context is full, before or after the action', async () => {
    const behind = await startTestEnvironment(scriptedSimulator(undefined, { turnsUntilFull: 1 }));
    await post(behind, '/reset', {});
    const last = await json(post(behind, '/step', { action: { action: 'ls' } }));
    expect(last.body).toMatchObject({
      done: true,
      observation: { text: 'did ls', turn: 1, metadata: { done_reason: 'context-full' } },
    });
    const before = await startTestEnvironment(scriptedSimulator(() => ({ status: 'full' })));
    await post(before, '/reset', {});
    const none = await json(post(before, '/step', { action: { action: 'ls' } }));
    expect(none.body).toMatchObject({
      done: true,
      observation: { text: '', turn: 0, metadata: { done_reason: 'context-full' } },
    });
  });

  test('begun at a row shows only the actions and observations of the earlier turns', async () => {
    const environment = await startTestEnvironment(scriptedSimulator());
    const begun = await json(post(environment, '/reset', { row: 'abc' }));
    expect(begun.body.observation).toMatchObject({ text: '/root', turn: 0 });
    expect(begun.body.observation.history).toEqual([{ action: 'pwd', observation: '/root' }]);
  });

  test('is separate from those of other ids', async () => {
    const environment = await startTestEnvironment(
      scriptedSimulator((action, { turns }) => `${action} after ${turns.map((turn) => turn.action).join()}`),
    );
    const acted = async (episode_id: string, action: string) =>
      (await json(post(environment, '/step', { episode_id, action: { action } }))).body.observation.text;
    await post(environment, '/reset', { episode_id: 'a' });
    await post(environment, '/reset', { episode_id: 'b', domain: 'web' });
    await acted('a', 'one');
    await acted('b', 'two');
    expect(await acted('a', 'three')).toBe('three after one');
    const state = await json(fetch(`${environment.url}/state?episode_id=b`));
    expect(state.body).toMatchObject({ episode_id: 'b', domain: 'web', step_count: 1 });
  });

  test('accepts actions as JSON', async () => {
    const environment = await startTestEnvironment(scriptedSimulator());
    await post(environment, '/reset', {});
    const call = { name: 'read', arguments: { path: 'a' } };
    const acted = await json(post(environment, '/step', { action: { action: call, metadata: {} } }));
    expect(acted.body.observation.text).toBe(`did ${JSON.stringify(call)}`);
  });
});

describe('what cannot be served', () => {
  test('an episode that does not exist is a 404, for steps and for state', async () => {
    const environment = await startTestEnvironment(scriptedSimulator());
    const step = await json(post(environment, '/step', { episode_id: 'nobody', action: { action: 'ls' } }));
    expect(step).toMatchObject({ status: 404, body: { code: 'EPISODE_NOT_FOUND' } });
    expect((await json(post(environment, '/step', { action: { action: 'ls' } }))).status).toBe(404);
    expect((await json(fetch(`${environment.url}/state?episode_id=nobody`))).status).toBe(404);
    expect((await json(fetch(`${environment.url}/state`))).body).toEqual({ episode_id: null, step_count: 0 });
  });

  test.each([
    ['a start that the simulator refuses', '/reset', { domain: 'chess' }, /unknown domain "chess"/],
    ['a member of a reset under another name', '/reset', { scenaro: 'x' }, /key: "scenaro"/],
    ['a seed that is none', '/reset', { seed: -1 }, /"seed"/],
    ['a task that is no text', '/reset', { task: 7 }, /"task": .*expected string/],
    ['an id that is too long', '/reset', { episode_id: 'x'.repeat(256) }, /"episode_id": .*<=255/],
    ['a reset that is a list', '/reset', [], /expected object/],
    ['a step without an action', '/step', {}, /"action": .*expected object/],
    ['an action that says nothing', '/step', { action: { action: '  ' } }, /not empty/],
    ['an action under another name', '/step', { action: { command: 'ls' } }, /key: "command"/],
    ['a time that is none', '/step', { action: { action: 'a' }, timeout_s: 0 }, /"timeout_s"/],
  ])('%s is a 422 that says so', async (_, path, body, message) => {
    const environment = await startTestEnvironment(scriptedSimulator());
    const refused = await json(post(environment, path, body));
    expect(refused.status).toBe(422);
    expect(refused.body).toMatchObject({ code: 'VALIDATION_ERROR', detail: expect.stringMatching(message) });
    expect(environment.sessions.opened.size).toBe(0);
  });

  test.each([
    ['what is no JSON', '{', 400],
    ['a body above the limit', JSON.stringify({ task: 'x'.repeat(70_000) }), 413],
  ])('%s is refused by its status', async (_, body, status) => {
    const environment = await startTestEnvironment(scriptedSimulator());
    expect((await post(environment, '/reset', body)).status).toBe(status);
  });

  test('other paths and methods are named', async () => {
    const environment = await startTestEnvironment(scriptedSimulator());
    expect(await json(fetch(`${environment.url}/v1/models`))).toMatchObject({ status: 404 });
    const wrong = await fetch(`${environment.url}/step`);
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('a step that fails', () => {
  test('for a transient reason can be retried, and the episode is unchanged', async () => {
    let isDown = true;
    const environment = await startTestEnvironment(
      scriptedSimulator((action) =>
        isDown ? { status: 'failed', class: 'transient', reason: 'the server is down' } : `did ${action}`,
      ),
    );
    await post(environment, '/reset', {});
    const failed = await json(post(environment, '/step', { action: { action: 'ls' } }));
    expect(failed).toMatchObject({ status: 503, body: { code: 'WORLD_MODEL_UNAVAILABLE' } });
    expect(Number(failed.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(failed.body.detail).toMatch(/^the server is down; nothing was done/);
    isDown = false;
    const again = await json(post(environment, '/step', { action: { action: 'ls' } }));
    expect(again.body.observation).toMatchObject({ text: 'did ls', turn: 1 });
  });

  test('permanently says so, without asking to retry', async () => {
    const environment = await startTestEnvironment(
      scriptedSimulator(() => ({ status: 'failed', class: 'refused', reason: 'the model refused' })),
    );
    await post(environment, '/reset', {});
    const failed = await json(post(environment, '/step', { action: { action: 'ls' } }));
    expect(failed).toMatchObject({ status: 502, body: { code: 'WORLD_MODEL_REFUSED' } });
    expect(failed.headers.get('retry-after')).toBeNull();
  });

  test('by the agent’s own time limit leaves the episode as it was', async () => {
    const environment = await startTestEnvironment(scriptedSimulator(SILENT));
    await post(environment, '/reset', {});
    const late = await json(post(environment, '/step', { action: { action: 'ls' }, timeout_s: 0.05 }));
    expect(late).toMatchObject({ status: 504, body: { code: 'STEP_TIMEOUT' } });
    expect((await json(fetch(`${environment.url}/state`))).body).toMatchObject({ step_count: 0, done: false });
  });

  test('because its client left is aborted, and the episode can continue', async () => {
    const simulator = scriptedSimulator((action, world) => (action === 'wait' ? SILENT(action, world) : 'here'));
    const environment = await startTestEnvironment(simulator);
    await post(environment, '/reset', {});
    const acting = once(simulator.life, 'acting');
    const leaving = new AbortController();
    const asked = post(environment, '/step', { action: { action: 'wait' } }, { signal: leaving.signal });
    await acting;
    const busy = await json(post(environment, '/step', { action: { action: 'ls' } }));
    expect(busy).toMatchObject({ status: 409, body: { code: 'STEP_UNDER_WAY' } });
    leaving.abort();
    await expect(asked).rejects.toThrow();
    for (;;) {
      const next = await json(post(environment, '/step', { action: { action: 'ls' } }));
      if (next.status === 409) continue;
      expect(next.body.observation).toMatchObject({ text: 'here', turn: 1 });
      break;
    }
  });

  test('for a spent budget says so, without asking to retry', async () => {
    const environment = await startTestEnvironment(
      scriptedSimulator(() => ({ status: 'spent', reason: 'the run has spent its budget of $1 (--budget-usd)' })),
    );
    await post(environment, '/reset', {});
    const refused = await json(post(environment, '/step', { action: { action: 'ls' } }));
    expect(refused).toMatchObject({ status: 429, body: { code: 'BUDGET_SPENT' } });
    expect(refused.body.detail).toContain('--budget-usd');
  });

  test('by a fault of the simulator is only reported to the server’s owner', async () => {
    const environment = await startTestEnvironment(
      scriptedSimulator(() => {
        throw new Error('secret detail');
      }),
    );
    await post(environment, '/reset', {});
    const failed = await json(post(environment, '/step', { action: { action: 'ls' } }));
    expect(failed).toMatchObject({ status: 500, body: { code: 'EXECUTION_ERROR' } });
    expect(JSON.stringify(failed.body)).not.toContain('secret');
    expect(environment.errors).toMatchObject([{ message: 'secret detail' }]);
  });
});

describe("the server's description of itself", () => {
  test('health, schemas and metadata have the members of OpenEnv', async () => {
    const environment = await startTestEnvironment(scriptedSimulator());
    expect((await json(fetch(`${environment.url}/health`))).body).toEqual({ status: 'healthy' });
    const { body: schema } = await json(fetch(`${environment.url}/schema`));
    expect(Object.keys(schema)).toEqual(['action', 'observation', 'state']);
    const { body: metadata } = await json(fetch(`${environment.url}/metadata`));
    expect(metadata).toMatchObject({ name: 'agentworldbench', description: expect.stringContaining('terminal') });
  });
});
