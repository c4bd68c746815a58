// The limit on sessions, and how they end.

import { once } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { json, post, SocketAgent, startTestEnvironment } from '../../support/environment.js';
import { holdText } from '../../support/messages.js';
import { SILENT, scriptedSimulator } from '../../support/scripted-simulator.js';

describe('at the cap', () => {
  test('another session is refused with a clear error, over HTTP and WebSocket, and accepted once one has ended', async () => {
    const environment = await startTestEnvironment(scriptedSimulator(), { sessions: 1 });
    const agent = await SocketAgent.connect(environment);
    await agent.reset();
    const refused = await json(post(environment, '/reset', {}));
    expect(refused).toMatchObject({ status: 503, body: { code: 'CAPACITY_REACHED' } });
    await holdText('environment-one-session', `${refused.body.detail}\n`);
    const late = await SocketAgent.connect(environment);
    const closed = once(late.socket, 'close');
    expect(await late.heard()).toMatchObject({ type: 'error', data: { code: 'CAPACITY_REACHED' } });
    await closed;
    expect(await agent.act('ls')).toMatchObject({ data: { observation: { turn: 1 } } });
    await agent.close();
    await vi.waitFor(async () => expect((await post(environment, '/reset', {})).status).toBe(200), { timeout: 30_000 });
  });

  test('a finished episode over HTTP frees its place, an unfinished one keeps it', async () => {
    const environment = await startTestEnvironment(scriptedSimulator(), { sessions: 2, steps: 1 });
    const act = (episode_id: string) => post(environment, '/step', { episode_id, action: { action: 'ls' } });
    await post(environment, '/reset', { episode_id: 'going' });
    await post(environment, '/reset', { episode_id: 'over' });
    await act('over');
    expect((await post(environment, '/reset', { episode_id: 'new' })).status).toBe(200);
    expect((await act('over')).status).toBe(404);
    expect((await act('going')).status).toBe(200);
  });
});

describe('idle', () => {
  test('ends a session, and its client is told', async () => {
    const environment = await startTestEnvironment(scriptedSimulator(), { idleMs: 30 });
    const agent = await SocketAgent.connect(environment);
    const closed = once(agent.socket, 'close');
    await post(environment, '/reset', {});
    expect(await agent.heard()).toMatchObject({ type: 'error', data: { code: 'SESSION_ERROR' } });
    await closed;
    await vi.waitFor(() => expect(environment.sessions.opened.size).toBe(0), { timeout: 30_000 });
    const late = await json(post(environment, '/step', { action: { action: 'ls' } }));
    expect(late).toMatchObject({ status: 404, body: { detail: expect.stringContaining('idle') } });
  });

  test('does not include a long step', async () => {
    const simulator = scriptedSimulator(async () => {
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      return 'at last';
    });
    // Long enough for a busy machine to come from the reset to the step.
    const environment = await startTestEnvironment(simulator, { idleMs: 1_000 });
    await post(environment, '/reset', {});
    const acted = await json(post(environment, '/step', { action: { action: 'ls' } }));
    expect(acted.body).toMatchObject({ observation: { text: 'at last' } });
  });
});

describe('closing', () => {
  test('lets the step in progress end, accepts nothing new, and says goodbye', async () => {
    let go = () => {};
    const simulator = scriptedSimulator(async () => {
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      return 'done';
    });
    const environment = await startTestEnvironment(simulator);
    const agent = await SocketAgent.connect(environment);
    const other = await SocketAgent.connect(environment);
    await agent.reset();
    const acting = once(simulator.life, 'acting');
    const acted = agent.act('ls');
    await acting;
    const closed = environment.close(60_000);
    expect(await other.reset()).toMatchObject({ type: 'error', data: { code: 'SHUTTING_DOWN' } });
    const left = once(agent.socket, 'close');
    go();
    expect(await acted).toMatchObject({ data: { observation: { text: 'done' } } });
    expect((await left)[0]).toBe(1001);
    await closed;
  });

  test('aborts what does not end in time', async () => {
    const simulator = scriptedSimulator(SILENT);
    const environment = await startTestEnvironment(simulator);
    await post(environment, '/reset', {});
    const acting = once(simulator.life, 'acting');
    const acted = post(environment, '/step', { action: { action: 'ls' } });
    await acting;
    await environment.close(10);
    expect((await acted).status).toBe(503);
  });
});
