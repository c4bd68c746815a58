// A simulator without a model: its worlds answer as told, and keep what they were asked.

import { EventEmitter } from 'node:events';
import { UserError } from '../../src/core/errors.js';
import type { Acted, LiveWorld, Simulator, WorldStart } from '../../src/simulate/environment/simulator.js';

type Turns = ReturnType<LiveWorld['history']>;

/** What comes of an action; a text is what the environment shows. */
export type Scripted = (
  action: string,
  world: { readonly start: WorldStart; readonly turns: Turns; readonly signal: AbortSignal },
) => string | Exclude<Acted, { status: 'observed' }> | Promise<string | Exclude<Acted, { status: 'observed' }>>;

export interface ScriptedSimulator extends Simulator {
  readonly starts: readonly WorldStart[];
  /** Says `acting` whenever an action arrives. */
  readonly life: EventEmitter;
}

/** Worlds that echo the action, or answer by `script`. One is full after `turnsUntilFull` turns. */
export function scriptedSimulator(
  script: Scripted = (action) => `did ${action}`,
  { turnsUntilFull = Number.POSITIVE_INFINITY }: { readonly turnsUntilFull?: number } = {},
): ScriptedSimulator {
  const starts: WorldStart[] = [];
  const life = new EventEmitter();
  function worldOf(start: WorldStart, turns: Turns): LiveWorld {
    const { domain = 'terminal', task = '' } = start;
    return {
      domain,
      preface: task,
      observation: turns.at(-1)?.observation,
      history: () => turns,
      async act(action, signal) {
        life.emit('acting', action);
        const said = await script(action, { start, turns, signal });
        if (typeof said !== 'string') return said;
        const further = [...turns, { action, observation: said }];
        return { status: 'observed', world: worldOf(start, further), isFull: further.length >= turnsUntilFull };
      },
      row: (id) => ({ task: `simulated/${domain}`, id, turns }),
    };
  }
  return {
    model: 'scripted',
    domains: ['terminal', 'web'],
    starts,
    life,
    async begin(start) {
      if (start.domain !== undefined && !['terminal', 'web'].includes(start.domain)) {
        throw new UserError(`unknown domain "${start.domain}"; there are terminal and web`);
      }
      starts.push(start);
      return worldOf(start, start.row === undefined ? [] : [{ action: 'pwd', observation: '/root' }]);
    },
  };
}

/** Never answers until it is broken off. */
export const SILENT: Scripted = (_, { signal }) =>
  new Promise((resolve) => {
    const end = () => resolve({ status: 'failed', class: 'timeout', reason: 'broken off' });
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
  });
