// WebSockets: OpenEnv's messages, a session per connection.

import { once } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { SocketAgent, startTestEnvironment } from '../../support/environment.js';
import { SILENT, scriptedSimulator } from '../../support/scripted-simulator.js';

describe('a connection', () => {
  test('is an episode: reset, step, state and close', async () => {
    const environment = await startTestEnvironment(scriptedSimulator(), { steps: 2 });
    const agent = await SocketAgent.connect(environment);
    const begun = await agent.reset({ task: 'look', seed: 7, episode_id: 'mine' });
    expect(begun).toMatchObject({ type: 'observation', data: { observation: { text: 'look' }, reward: null } });
    expect(await agent.act('ls')).toMatchObject({ data: { observation: { text: 'did ls', turn: 1 }, done: false } });
    expect(await agent.say({ type: 'state' })).toEqual({
      type: 'state',
      data: { episode_id: 'mine', step_count: 1, domain: 'terminal', done: false, steps_left: 1 },
    });
    expect(await agent.act('ls')).toMatchObject({
      data: { done: true, observation: { metadata: { done_reason: 'step-limit' } } },
    });
    expect(await agent.act('ls')).toMatchObject({ type: 'error', data: { code: 'EPISODE_DONE' } });
    const closed = once(agent.socket, 'close');
    agent.socket.send('{"type": "close"}');
    expect((await closed)[0]).toBe(1000);
    await vi.waitFor(() => expect(environment.sessions.opened.size).toBe(0), { timeout: 30_000 });
  });

  test('before any reset, state says that nothing has begun, and step that reset comes first', async () => {
    const agent = await SocketAgent.connect(await startTestEnvironment(scriptedSimulator()));
    expect(await agent.say({ type: 'state' })).toEqual({ type: 'state', data: { episode_id: null, step_count: 0 } });
    expect(await agent.act('ls')).toMatchObject({ type: 'error', data: { code: 'EPISODE_NOT_BEGUN' } });
  });

  test('does not see the episodes of others', async () => {
    const environment = await startTestEnvironment(
      scriptedSimulator((action, { turns }) => `${action} after ${turns.length}`),
    );
    const [one, other] = [await SocketAgent.connect(environment), await SocketAgent.connect(environment)];
    await one.reset({ episode_id: 'same' });
    await other.reset({ episode_id: 'same' });
    await one.act('a');
    expect(await other.act('b')).toMatchObject({ data: { observation: { text: 'b after 0' } } });
    expect(await one.act('c')).toMatchObject({ data: { observation: { text: 'c after 1' } } });
  });

  test.each([
    ['what is no JSON', '{', 'INVALID_JSON'],
    ['a message of no known type', '{"type": "dance"}', 'UNKNOWN_TYPE'],
    ['a message without a type', '{}', 'UNKNOWN_TYPE'],
    ['a list', '[]', 'VALIDATION_ERROR'],
    ['data that are no object', '{"type": "reset", "data": 5}', 'VALIDATION_ERROR'],
    ['a step without an action', '{"type": "step", "data": {}}', 'VALIDATION_ERROR'],
    ['a start that there is not', '{"type": "reset", "data": {"domain": "chess"}}', 'VALIDATION_ERROR'],
  ])('%s gets an error, and the connection serves on', async (_, message, code) => {
    const agent = await SocketAgent.connect(await startTestEnvironment(scriptedSimulator()));
    expect(await agent.say(message)).toMatchObject({ type: 'error', data: { code } });
    expect(await agent.reset()).toMatchObject({ type: 'observation' });
  });

  test('answers messages one after another, in order', async () => {
    const agent = await SocketAgent.connect(await startTestEnvironment(scriptedSimulator()));
    await agent.reset();
    for (const action of ['a', 'b', 'c']) {
      agent.socket.send(JSON.stringify({ type: 'step', data: { action } }));
    }
    const heard = [await agent.heard(), await agent.heard(), await agent.heard()];
    expect(heard.map(({ data }) => data.observation.text)).toEqual(['did a', 'did b', 'did c']);
  });

  test('is told when a failed step is worth a retry', async () => {
    const agent = await SocketAgent.connect(
      await startTestEnvironment(scriptedSimulator(() => ({ status: 'failed', class: 'rate-limit', reason: 'busy' }))),
    );
    await agent.reset();
    expect(await agent.act('ls')).toMatchObject({
      data: { code: 'WORLD_MODEL_UNAVAILABLE', retry_after_s: expect.any(Number) },
    });
  });

  test('that leaves aborts its step and frees its place', async () => {
    const simulator = scriptedSimulator(async (action, world) => {
      const said = await SILENT(action, world);
      simulator.life.emit('broken off');
      return said;
    });
    const environment = await startTestEnvironment(simulator);
    const agent = await SocketAgent.connect(environment);
    await agent.reset();
    const acting = once(simulator.life, 'acting');
    agent.socket.send('{"type": "step", "data": {"action": "wait"}}');
    await acting;
    const brokenOff = once(simulator.life, 'broken off');
    agent.socket.terminate();
    await brokenOff;
    expect(environment.sessions.opened.size).toBe(0);
  });

  test('that floods is closed', async () => {
    const simulator = scriptedSimulator(SILENT);
    const agent = await SocketAgent.connect(await startTestEnvironment(simulator));
    await agent.reset();
    const closed = once(agent.socket, 'close');
    for (let count = 0; count < 20; count++) agent.socket.send('{"type": "step", "data": {"action": "wait"}}');
    expect((await closed)[0]).toBe(1008);
  });

  test('sends no message above the limit', async () => {
    const agent = await SocketAgent.connect(await startTestEnvironment(scriptedSimulator(), { messageBytes: 1_000 }));
    const closed = once(agent.socket, 'close');
    agent.socket.send(JSON.stringify({ type: 'reset', data: { task: 'x'.repeat(1_000) } }));
    expect((await closed)[0]).toBe(1009);
  });
});
