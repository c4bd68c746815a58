// A simulation for others to act in: worlds that begin as an agent asks, and answer one action after the other.

import { UserError } from '../core/errors.js';
import { DOMAINS, type Io } from '../core/types.js';
import { trajectoryRow, type World } from '../infer/world.js';
import type { Acted, LiveWorld, Simulator, WorldStart } from './environment/simulator.js';
import type { SimulationSettings } from './options.js';
import type { Simulation, StepOutcome } from './simulation.js';
import { fileOrText, type Start } from './starts.js';

type StartSettings = Pick<SimulationSettings, 'domain' | 'task' | 'state' | 'from'>;

/** What all turns of an episode are asked with, each under a seed of its own. */
interface Manner {
  readonly instruction: string | undefined;
  readonly seed: number | undefined;
  readonly firstOffset: number;
}

/** So many turns of an episode have seeds apart from those of the next. */
const TURNS_APART = 10_000;
const SEEDS = 2 ** 31;

/** What a start leaves open, the flags say. @throws UserError for a start of the flags that cannot be had */
export async function simulatorOf(
  simulation: Simulation,
  { domain, task, state, from }: StartSettings,
  io: Io,
): Promise<Simulator> {
  if (domain !== undefined && from !== undefined) {
    throw new UserError('give one place to start: --domain, or --from');
  }
  if (from !== undefined && (task !== undefined || state !== undefined)) {
    throw new UserError('--task and --state belong to --domain: a row brings its own');
  }
  const flags = {
    domain,
    task,
    row: from,
    state: state === undefined ? undefined : await fileOrText(state, '--state', io),
  };
  // Agents would be told of it at each reset, and whoever mistyped the flag never.
  if (domain !== undefined || from !== undefined) await simulation.world(startOf({}, flags));
  let begun = 0;
  return {
    model: simulation.model,
    domains: DOMAINS,
    async begin(start) {
      const world = await simulation.world(startOf(start, flags));
      const firstOffset = start.seed === undefined ? TURNS_APART * begun++ : 0;
      const seed = start.seed === undefined ? undefined : start.seed % SEEDS;
      return live(simulation, world, { seed, firstOffset, instruction: start.scenario });
    },
  };
}

/** Where a world starts that an agent asks for. @throws UserError (2) where nothing says where, or too much does */
function startOf(
  { domain, row, task, prompt }: WorldStart,
  flags: Partial<Record<'domain' | 'task' | 'row' | 'state', string | undefined>>,
): Start {
  if (domain !== undefined && row !== undefined) {
    throw new UserError('give one place to start: a domain, or a row');
  }
  const named = row ?? (domain === undefined ? flags.row : undefined);
  if (named !== undefined) {
    if (task !== undefined) throw new UserError('a row has a task of its own: give a task with a domain alone');
    return { row: named, systemPrompt: prompt, isForeign: row !== undefined };
  }
  const own = domain ?? flags.domain;
  if (own === undefined) {
    const known = DOMAINS.join(', ');
    throw new UserError(`name the domain of the world (${known}), also beside a prompt, or a row to start from`);
  }
  // The state of the flags is that of the flags' world.
  const isTheirs = domain === undefined;
  const start = { domain: own, task: task ?? flags.task, systemPrompt: prompt, isForeign: !isTheirs };
  return { ...start, ...(isTheirs && { state: flags.state }) };
}

function live(simulation: Simulation, world: World, manner: Manner): LiveWorld {
  const { instruction, seed, firstOffset } = manner;
  return {
    domain: world.domain,
    preface: world.preface,
    observation: world.turns.at(-1)?.observation,
    // What the world model alone was told stays here.
    history: () => world.turns.map(({ action, observation }) => ({ action, observation })),
    async act(action, signal) {
      const seedOffset = firstOffset + world.turns.length;
      const outcome = await simulation.step({ world, action, instruction, seed, seedOffset }, { signal });
      if (outcome.status !== 'ok') return undone(outcome);
      const next = outcome.world;
      const isFull = simulation.roomFor({ world: next, action: '', instruction })?.state === 'full';
      return { status: 'observed', world: live(simulation, next, manner), isFull };
    },
    row: (id) => trajectoryRow(world, id) ?? {},
  };
}

/** Why nothing has happened. */
function undone(outcome: Exclude<StepOutcome, { status: 'ok' }>): Acted {
  switch (outcome.status) {
    case 'empty': {
      const why = outcome.truncated ? ' before its token budget ended it (--max-tokens)' : '';
      return { status: 'failed', class: 'malformed', reason: `the world model gave no observation${why}` };
    }
    case 'failed':
      return { status: 'failed', class: outcome.failure.class, reason: outcome.failure.reason };
    case 'interrupted':
      return { status: 'failed', class: 'timeout', reason: 'the step was broken off' };
    case 'full':
      return { status: 'full' };
    case 'spent':
      return { status: 'spent', reason: outcome.reason };
    default:
      return outcome satisfies never;
  }
}
