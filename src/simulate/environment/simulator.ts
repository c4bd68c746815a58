// A simulation for others to act in: worlds that begin as an agent asks, and answer one action after the other.

import { UserError } from '../../core/errors.js';
import { DOMAINS, type FailureClass, type Io } from '../../core/types.js';
import type { World } from '../../infer/world.js';
import type { SimulationSettings } from '../options.js';
import type { Simulation } from '../simulation.js';
import { type Start, startOfFlags } from '../starts.js';

/** What a world begins with: a domain, a row of the benchmark, or a prompt of its own. */
export interface WorldStart {
  readonly domain?: string;
  /** The key or id of a row; the world stands where that row's last turn is to be predicted. */
  readonly row?: string;
  /** The system prompt of the world model. */
  readonly prompt?: string;
  /** What the agent is to do, as the world model is told. */
  readonly task?: string;
  /** An instruction to the world model alone, in front of each action. */
  readonly scenario?: string;
  readonly seed?: number;
}

/** What came of an action, as far as agents elsewhere are told of it: the part of a `StepOutcome` that they hear. */
export type Acted =
  | { readonly status: 'ok'; readonly world: World }
  | { readonly status: 'empty'; readonly truncated: boolean }
  | { readonly status: 'failed'; readonly class: FailureClass; readonly reason: string }
  | { readonly status: 'interrupted' | 'full' }
  | { readonly status: 'spent'; readonly reason: string };

/** An episode's first world, and how its actions are asked: under one instruction, and each turn under a seed of its own. */
interface Begun {
  readonly world: World;
  step(world: World, action: string, signal: AbortSignal): Promise<Acted>;
  /** Whether the context has no room for a further action. */
  isFull(world: World): boolean;
}

export interface Simulator {
  /** Under which the world model is asked. */
  readonly model: string;
  /** Begins without any member what the flags name. @throws UserError for a start that cannot be had */
  begin(start: WorldStart): Promise<Begun>;
}

/** So many turns of an episode have seeds apart from those of the next. */
const TURNS_APART = 10_000;
const SEEDS = 2 ** 31;

/** What a start leaves open, the flags say. @throws UserError for a start of the flags that cannot be had */
export async function simulatorOf(simulation: Simulation, settings: SimulationSettings, io: Io): Promise<Simulator> {
  const flags = await startOfFlags(settings, io);
  // Agents would be told of it at each reset, and whoever mistyped the flag never.
  if (flags !== undefined) await simulation.world(flags);
  let begun = 0;
  return {
    model: simulation.model,
    async begin({ scenario: instruction, seed: given, ...start }) {
      const first = await simulation.world(startOf(start, flags));
      const firstOffset = given === undefined ? TURNS_APART * begun++ : 0;
      const seed = given && given % SEEDS;
      return {
        world: first,
        step(world, action, signal) {
          const seedOffset = firstOffset + world.turns.length;
          return simulation.step({ world, action, instruction, seed, seedOffset }, { signal });
        },
        isFull: (world) => simulation.roomFor({ world, action: '', instruction })?.state === 'full',
      };
    },
  };
}

/** Where a world starts that an agent asks for. @throws UserError (2) where nothing says where, or too much does */
function startOf({ domain, row, task, prompt: systemPrompt }: WorldStart, flags: Start | undefined): Start {
  if (domain !== undefined && row !== undefined) throw new UserError('give one place to start: a domain, or a row');
  if (task !== undefined && (row !== undefined || (domain === undefined && flags !== undefined && 'row' in flags))) {
    throw new UserError('a row has a task of its own: give a task with a domain alone');
  }
  if (row !== undefined) return { row, systemPrompt, isForeign: true };
  if (domain !== undefined) return { domain, task, systemPrompt, isForeign: true };
  if (flags !== undefined) return { ...flags, ...(task !== undefined && { task }), systemPrompt };
  const known = DOMAINS.join(', ');
  throw new UserError(`name the domain of the world (${known}), also beside a prompt, or a row to start from`);
}
