// The clocks of a call: which one ends it, and what keeps them quiet.

import { afterEach, describe, expect, it } from 'vitest';
import { ask, closeAll, failure, reply } from '../../support/endpoint.js';
import type { Answer } from '../../support/loopback-server.js';

afterEach(closeAll);

describe('a clock names itself:', () => {
  // All but the one that a test is about outlast any load on the machine.
  const clocks = { firstTokenTimeoutMs: 30_000, gapTimeoutMs: 30_000, callTimeoutMs: 30_000 };

  it.each<[string, Answer]>([
    ['a server that never answers', 'hang'],
    ['heartbeats alone', 'heartbeats'],
    ['a role without text', { deltas: [], ending: 'heartbeats' }],
    ['empty pieces', { deltas: Array(20).fill({ content: '', waitMs: 20 }), ending: 'stall' }],
  ])('the first token’s, for %s', async (_name, answer) => {
    const { attempt } = await ask([answer], { clocks: { ...clocks, firstTokenTimeoutMs: 80 } });
    const reason = 'no first token within 0.08 s (--first-token-timeout)';
    expect(failure(attempt)).toMatchObject({ class: 'timeout', reason });
  });

  it.each<[string, Answer]>([
    ['a stall', { deltas: [{ content: 'a' }], ending: 'stall' }],
    ['heartbeats after text', { deltas: [{ content: 'a' }], ending: 'heartbeats' }],
  ])('the gap’s, for %s', async (_name, answer) => {
    const { attempt } = await ask([answer], { clocks: { ...clocks, gapTimeoutMs: 80 } });
    const reason = 'no further token within 0.08 s (--gap-timeout)';
    expect(failure(attempt)).toMatchObject({ class: 'timeout', reason });
  });

  it('the call’s, for a reply that never ends', async () => {
    const drip: Answer = { deltas: Array(100).fill({ content: 'a', waitMs: 20 }) };
    const { attempt } = await ask([drip], { clocks: { ...clocks, callTimeoutMs: 300 } });
    expect(failure(attempt).reason).toBe('no complete reply within 0.3 s (--call-timeout)');
  });

  it('text and reasoning in time keep them quiet', async () => {
    const deltas = [...Array(12)].map((_, index) => ({
      [index % 2 ? 'content' : 'reasoning_content']: 'a',
      waitMs: 100,
    }));
    const { attempt } = await ask([{ deltas }], { clocks: { ...clocks, gapTimeoutMs: 1_000 } });
    expect(reply(attempt)).toMatchObject({ content: 'aaaaaa', reasoning: 'aaaaaa' });
  });

  it('only the call’s runs where nothing is streamed', async () => {
    const quick = { ...clocks, firstTokenTimeoutMs: 80, gapTimeoutMs: 80 };
    const slow = await ask([{ content: 'late', latencyMs: 200 }], { stream: false, clocks: quick });
    expect(reply(slow.attempt).content).toBe('late');
    const never = await ask(['hang'], { stream: false, clocks: { ...clocks, callTimeoutMs: 100 } });
    expect(failure(never.attempt).reason).toBe('no complete reply within 0.1 s (--call-timeout)');
  });
});
