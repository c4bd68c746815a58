// A simulator without a model: its worlds answer by a script, and record what they were asked.

import { EventEmitter } from 'node:events';
import { UserError } from '../../src/core/errors.js';
import type { FailureClass } from '../../src/core/types.js';
import { afterObservation, freshWorld, type World } from '../../src/infer/world.js';
import type { WorldStart } from '../../src/simulate/environment/protocol.js';
import type { Simulator } from '../../src/simulate/environment/sessions.js';
import type { StepOutcome } from '../../src/simulate/simulation.js';

/** A `StepOutcome` other than an observation, as agents see it. */
type Other =
  | { readonly status: 'empty'; readonly truncated: boolean }
  | { readonly status: 'failed'; readonly class: FailureClass; readonly reason: string }
  | { readonly status: 'interrupted' | 'full' }
  | { readonly status: 'spent'; readonly reason: string };

/** The result of an action; a text is what the environment shows. */
export type Scripted = (
  action: string,
  world: {
    readonly start: WorldStart;
    readonly turns: readonly { readonly action: string }[];
    readonly signal: AbortSignal;
  },
) => string | Other | Promise<string | Other>;

export interface ScriptedSimulator extends Simulator {
  readonly starts: readonly WorldStart[];
  /** Emits `acting` whenever an action arrives. */
  readonly life: EventEmitter;
}

/** Worlds that echo the action, or answer by `script`. A world is full after `turnsUntilFull` turns. */
export function scriptedSimulator(
  script: Scripted = (action) => `did ${action}`,
  { turnsUntilFull = Number.POSITIVE_INFINITY }: { readonly turnsUntilFull?: number } = {},
): ScriptedSimulator {
  const starts: WorldStart[] = [];
  const life = new EventEmitter();
  return {
    model: 'scripted',
    starts,
    life,
    async begin(start) {
      const { domain = 'terminal', task = '', row } = start;
      if (!['terminal', 'web'].includes(domain)) {
        throw new UserError(`unknown domain "${domain}"; there are terminal and web`);
      }
      starts.push(start);
      const fresh: World = { ...freshWorld({ domain, systemPrompt: '' }), preface: task };
      return {
        world: row === undefined ? fresh : did(fresh, 'pwd', '/root'),
        async step(world, action, signal) {
          life.emit('acting', action);
          const said = await script(action, { start, turns: world.turns, signal });
          const acted = typeof said === 'string' ? { status: 'ok', world: did(world, action, said) } : said;
          // Sessions read nothing else in it.
          return acted as StepOutcome;
        },
        isFull: ({ turns }) => turns.length >= turnsUntilFull,
      };
    },
  };
}

/** The world after an action, which it records as it was written. */
function did(world: World, action: string, observation: string): World {
  const { turns, ...after } = afterObservation(world, action, observation);
  return { ...after, turns: turns.map((turn, at) => (at < turns.length - 1 ? turn : { ...turn, action })) };
}

/** Never answers until it is broken off. */
export const SILENT: Scripted = (_, { signal }) =>
  new Promise((resolve) => {
    const end = () => resolve({ status: 'failed', class: 'timeout', reason: 'broken off' });
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
  });
