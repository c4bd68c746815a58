// The environment seen by OpenEnv's own Python package: its clients, its message models, its validator of running servers.

import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../support/cli.js';
import { startTestEnvironment } from '../../support/environment.js';
import { scriptedSimulator } from '../../support/scripted-simulator.js';

const PYTHON = process.env.AWB_OPENENV_PYTHON ?? 'python3';
const hasOpenEnv = spawnSync(PYTHON, ['-c', 'import openenv.core']).status === 0;
const WITHOUT = 'pip install openenv-core, and name its Python by AWB_OPENENV_PYTHON';

// biome-ignore lint/suspicious/noExplicitAny: what Python saw
async function seenFromPython(...args: readonly string[]): Promise<any> {
  const { stdout } = await promisify(execFile)(PYTHON, [join(ROOT, 'test/support/openenv-client.py'), ...args]);
  return JSON.parse(stdout);
}

describe.skipIf(!hasOpenEnv)(`openenv-core (${hasOpenEnv ? PYTHON : WITHOUT})`, () => {
  test('acts in an episode over a WebSocket, and reads errors', async () => {
    const { url } = await startTestEnvironment(scriptedSimulator(), { steps: 2 });
    const { socket, sideBySide } = await seenFromPython(url);
    expect(socket.reset).toEqual({
      observation: { text: 'look', turn: 0, domain: 'terminal', metadata: { episode_id: 'mine' } },
      reward: null,
      done: false,
    });
    expect(socket.step).toMatchObject({ observation: { text: 'did ls' }, done: false });
    expect(socket.state).toMatchObject({ episode_id: 'mine', step_count: 1 });
    expect(socket.last).toMatchObject({
      observation: { text: 'did [{"keystrokes":"pwd\\n","duration":0.5}]', metadata: { done_reason: 'step-limit' } },
      done: true,
    });
    expect(socket.late).toMatch(/is over.*\(code: EPISODE_DONE\)/);
    expect(socket.wrong).toMatch(/no "command".*\(code: VALIDATION_ERROR\)/);
    expect(socket.nowhere).toMatch(/unknown domain "chess".*\(code: VALIDATION_ERROR\)/);
    expect(socket.again).toMatchObject({ done: false });
    expect(sideBySide).toEqual(Array.from({ length: 8 }, (_, number) => [`did ${number}.0`, `did ${number}.1`]));
  });

  test('reads every answer over HTTP by its own models, and its validator passes the server', async () => {
    const { url } = await startTestEnvironment(scriptedSimulator(), { steps: 2 });
    const { http, validation } = await seenFromPython(url);
    expect(http).toMatchObject({
      reset: { observation: { domain: 'web' }, reward: null, done: false },
      step: { observation: { text: 'did ls', turn: 1 }, reward: null, done: false },
      state: { episode_id: 'h', step_count: 1 },
      health: { status: 'healthy' },
      schema: ['action', 'observation', 'state'],
      metadata: 'agentworldbench',
      missing: 404,
    });
    expect(validation.criteria.filter(({ passed }: { passed: boolean }) => !passed)).toEqual([]);
    expect(validation).toMatchObject({ passed: true, mode: 'simulation', standard_profile: 'openenv-http/1.x' });
  });

  test('brings a key as the password of its URL', async () => {
    const { url } = await startTestEnvironment(scriptedSimulator(), { apiKey: 's/e@same' });
    const { socket, http } = await seenFromPython(url, 's/e@same');
    expect([socket.step.observation.text, http.step.observation.text]).toEqual(['did ls', 'did ls']);
    await expect(seenFromPython(url, 'other')).rejects.toThrow(/401/);
  });
});
