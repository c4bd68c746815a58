// Sessions: one episode after the other, each begun by a reset and gone on with by actions, one at a time; how many sessions there may
// be, and the end of those that nobody uses; and `--record DIR`: every episode as a row of the benchmark in a file of its own, whole after
// each step. Under them, a simulation for others to act in: worlds begin as an agent asks, and answer one action after the other.

import { basename, join } from 'node:path';
import { cannotCreate, codeOf, messageOf, present, UserError } from '../../core/errors.js';
import { LONGEST_TIMER_MS } from '../../core/timers.js';
import { DOMAINS, type FailureClass, type Io } from '../../core/types.js';
import { makeFolders } from '../../disk/files.js';
import { trajectoryRow, type World } from '../../infer/world.js';
import { ApiError } from '../../serve/http/wire.js';
import type { SimulationSettings } from '../options.js';
import { ENDING, type Simulation, type Start, type StepOutcome, startOfFlags, writeRow } from '../simulation.js';
import { invalid, type WorldStart } from './protocol.js';

/** What sessions stand on. */
export interface SessionGrounds {
  readonly simulator: Simulator;
  /** Turns after which an episode is over. */
  readonly steps: number;
  /** Where episodes are kept; undefined where they are not. */
  readonly records?: Awaited<ReturnType<typeof openRecords>> | undefined;
  /** Sessions at once. */
  readonly most: number;
  /** Without a request for so long, a session ends. */
  readonly idleMs: number;
}

const DONE_REASONS = {
  'step-limit': 'its steps are used up',
  'context-full': "the world model's context is full",
} as const;

interface Episode {
  readonly id: string;
  readonly begun: Awaited<ReturnType<Simulator['begin']>>;
  world: World;
  /** Actions taken; a world begun at a row has turns before them. */
  steps: number;
  doneReason: keyof typeof DONE_REASONS | undefined;
  /** Writes it as it stands now. */
  readonly keep: ((world: World) => Promise<void>) | undefined;
}

/** Failures that another try may not have. */
const PASSING: readonly FailureClass[] = ['rate-limit', 'transient', 'timeout', 'malformed'];
/** After how many seconds what failed for a passing reason is worth another try. */
const RETRY_AFTER_S = 5;
/** The code by which an agent is told that its step could not be recorded. */
export const NOT_RECORDED = 'RECORD_FAILED';

export class Session {
  isBusy = false;
  /** Ends it where it is idle. */
  readonly timer: NodeJS.Timeout;
  #episode: Episode | undefined;
  readonly #ended = new AbortController();

  /**
   * @param onGone called when it ends by idleness, or for another; absent for one that stays as long as its client
   * @param mayLeave whether it gives its place to a new session once its episode is over
   */
  constructor(
    private readonly all: Sessions,
    readonly onGone: (() => void) | undefined,
    readonly mayLeave: boolean,
  ) {
    this.timer = setTimeout(() => {
      if (this.isBusy || onGone === undefined) this.timer.refresh();
      else all.dismiss(this);
    }, timerOf(all.grounds.idleMs)).unref();
  }

  get isDone(): boolean {
    return this.#episode?.doneReason !== undefined;
  }

  /** As OpenEnv tells it. */
  get state() {
    if (this.#episode === undefined) return { episode_id: null, step_count: 0 };
    const { id, steps, world, doneReason } = this.#episode;
    return {
      episode_id: id,
      step_count: steps,
      domain: world.domain,
      done: doneReason !== undefined,
      done_reason: doneReason,
      steps_left: doneReason === undefined ? this.all.grounds.steps - steps : 0,
    };
  }

  /** The episode before stays where it was recorded. @throws ApiError */
  async reset(start: WorldStart, id: string): Promise<Answer> {
    return this.#alone(id, async () => {
      const { simulator, records } = this.all.grounds;
      const begun = await simulator.begin(start).catch((error: unknown) => {
        throw error instanceof UserError ? invalid(error.message) : error;
      });
      const { world } = begun;
      this.#episode = { id, begun, world, steps: 0, doneReason: undefined, keep: records?.(id) };
      // What the world model alone was told stays here.
      const history = world.turns.map(({ action, observation }) => ({ action, observation }));
      return answerOf(this.#episode, history.at(-1)?.observation ?? world.preface, history);
    });
  }

  /** @throws ApiError; the episode then stands where it stood */
  async step(action: string, { timeoutS, signal }: { timeoutS?: number | undefined; signal: AbortSignal }) {
    const episode = this.#episode;
    if (episode === undefined) throw new ApiError(409, 'no episode has begun; reset begins one', 'EPISODE_NOT_BEGUN');
    const { id, begun } = episode;
    return this.#alone(id, async () => {
      const { doneReason, world } = episode;
      if (doneReason !== undefined) {
        const message = `episode "${id}" is over (${DONE_REASONS[doneReason]}), and nothing was done; reset begins another`;
        throw new ApiError(409, message, 'EPISODE_DONE');
      }
      // An answer is asked for until it is there, nobody waits for it any more, the session ends, or the time is over.
      const late = timeoutS === undefined ? [] : [AbortSignal.timeout(timerOf(timeoutS * 1_000))];
      const acted = await begun.step(world, action, AbortSignal.any([signal, this.#ended.signal, ...late]));
      if (late[0]?.aborted && (acted.status === 'interrupted' || acted.status === 'failed')) {
        const message = `the world model gave no observation within ${timeoutS} s; nothing was done, and the step can be tried again`;
        throw new ApiError(504, message, 'STEP_TIMEOUT', 'timeout_s', { 'retry-after': '1' });
      }
      if (acted.status === 'full') {
        episode.doneReason = 'context-full';
        return answerOf(episode, '');
      }
      if (acted.status !== 'ok') throw refusalOf(acted);
      await episode.keep?.(acted.world).catch((error: unknown) => {
        const message = `the step could not be recorded (${messageOf(error)}), and counts as not done; it can be tried again`;
        throw passing(message, NOT_RECORDED);
      });
      episode.world = acted.world;
      episode.steps++;
      if (begun.isFull(acted.world)) episode.doneReason = 'context-full';
      else if (episode.steps >= this.all.grounds.steps) episode.doneReason = 'step-limit';
      return answerOf(episode, acted.world.turns.at(-1)?.observation ?? '');
    });
  }

  /**
   * Does work that keeps the session from being idle: two answers for one world would be of different worlds. While the server stops,
   * none begins. @throws ApiError (503, 409)
   */
  async #alone(id: string, work: () => Promise<Answer>): Promise<Answer> {
    this.all.requireRunning();
    if (this.isBusy) {
      const message = `episode "${id}" is at work on another request; wait for its answer`;
      throw new ApiError(409, message, 'STEP_UNDER_WAY', null, { 'retry-after': '1' });
    }
    this.isBusy = true;
    this.timer.refresh();
    const done = work();
    this.all.underWay.add(done);
    try {
      return await done;
    } finally {
      this.isBusy = false;
      this.timer.refresh();
      this.all.underWay.delete(done);
    }
  }

  /** Breaks off what is under way; nothing is asked any more. */
  end(): void {
    clearTimeout(this.timer);
    this.#ended.abort();
  }
}

/** Why nothing has happened in the world. */
function refusalOf(acted: Exclude<StepOutcome, { status: 'ok' | 'full' }>): ApiError {
  const cut = acted.status === 'empty' && acted.truncated ? ' before its token budget ended it (--max-tokens)' : '';
  const own = acted.status === 'empty' ? `the world model gave no observation${cut}` : 'the step was broken off';
  const reason = 'reason' in acted ? acted.reason.replace(/[.\s]+$/, '') : own;
  const message = `${reason}; nothing was done`;
  if (acted.status === 'spent') return new ApiError(429, message, 'BUDGET_SPENT');
  if (acted.status === 'failed' && !PASSING.includes(acted.class)) {
    return new ApiError(502, message, 'WORLD_MODEL_REFUSED');
  }
  return passing(`${message}, and the step can be tried again`, 'WORLD_MODEL_UNAVAILABLE');
}

/** As OpenEnv answers a reset and a step. The world rewards nothing. */
export type Answer = ReturnType<typeof answerOf>;

/** @param history after a reset into the middle of a trajectory: the turns before, the last one's observation being the text */
function answerOf({ id, steps, world, doneReason }: Episode, text: string, history: readonly object[] = []) {
  return {
    observation: {
      text,
      turn: steps,
      domain: world.domain,
      history: history.length === 0 ? undefined : history,
      metadata: { episode_id: id, done_reason: doneReason },
    },
    reward: null,
    done: doneReason !== undefined,
  };
}

function passing(message: string, code: string): ApiError {
  return new ApiError(503, message, code, null, { 'retry-after': String(RETRY_AFTER_S) });
}

/** All sessions of a server. */
export class Sessions {
  /** In the order of their opening. */
  readonly opened = new Set<Session>();
  readonly underWay = new Set<Promise<unknown>>();
  #isStopping = false;

  constructor(readonly grounds: SessionGrounds) {}

  /** Opens a further session, as its constructor says. @throws ApiError (503) where all places are taken, or the server is stopping */
  open(onGone?: () => void, mayLeave = false): Session {
    this.requireRunning();
    const { most } = this.grounds;
    if (this.opened.size >= most) {
      const over = [...this.opened].find((session) => session.mayLeave && session.isDone && !session.isBusy);
      const message = `no session is left of the ${most} of this server; try again later, or start it with more --sessions`;
      if (over === undefined) throw passing(message, 'CAPACITY_REACHED');
      this.dismiss(over);
    }
    const session = new Session(this, onGone, mayLeave);
    this.opened.add(session);
    return session;
  }

  /** Ends a session whose client has gone. */
  end(session: Session): void {
    this.opened.delete(session);
    session.end();
  }

  /** Ends a session and says so. */
  dismiss(session: Session): void {
    this.end(session);
    session.onGone?.();
  }

  /** Takes nothing more; resolves when what is under way has ended, or is broken off after `drainMs`. */
  async stop(drainMs: number): Promise<void> {
    this.#isStopping = true;
    const late = setTimeout(() => {
      for (const session of this.opened) session.end();
    }, drainMs);
    await Promise.allSettled(this.underWay);
    // The last answer is on its way before its client is sent away.
    await new Promise((resolve) => setImmediate(resolve));
    clearTimeout(late);
    for (const session of [...this.opened]) this.end(session);
  }

  requireRunning(): void {
    if (!this.#isStopping) return;
    throw new ApiError(503, 'the server is shutting down', 'SHUTTING_DOWN', null, { connection: 'close' });
  }
}

function timerOf(ms: number): number {
  return Math.min(Math.ceil(ms), LONGEST_TIMER_MS);
}

const LONGEST_NAME = 80;

/**
 * Opens the folder of records. An episode's file is named by its first step, and replaced as a whole by each further one, so that a
 * process that is killed leaves the last step that it finished.
 * @returns for an episode what writes it, and resolves when it is on the disk
 * @throws UserError (73) where there can be no such folder
 */
export async function openRecords(directory: string) {
  await makeFolders(directory).catch((error: unknown) => {
    throw cannotCreate(`cannot make ${directory} (--record): ${messageOf(error)}`);
  });
  return (episodeId: string) => {
    let place: string | undefined;
    return async (world: World) => {
      const row = present(trajectoryRow(world, episodeId));
      const base = `${world.domain}-${episodeId}`.replace(/[^\w.-]/g, '_').slice(0, LONGEST_NAME);
      const write = (path: string, mayReplace: boolean) =>
        writeRow(path, row, { name: basename(path), remedy: 'make room for it' }, mayReplace);
      if (place !== undefined) return write(place, true);
      for (let number = 1; place === undefined; number++) {
        const path = join(directory, `${number === 1 ? base : `${base}-${number}`}${ENDING}`);
        try {
          await write(path, false);
          place = path;
        } catch (error) {
          if (codeOf(error) !== 'EEXIST') throw error;
        }
      }
    };
  };
}

// A simulation for others to act in: worlds that begin as an agent asks, and answer one action after the other.

export type Simulator = Awaited<ReturnType<typeof simulatorOf>>;

/** So many turns of an episode have seeds apart from those of the next. */
const TURNS_APART = 10_000;
const SEEDS = 2 ** 31;

/** What a start leaves open, the flags say. @throws UserError for a start of the flags that cannot be had */
export async function simulatorOf(simulation: Simulation, settings: SimulationSettings, io: Io) {
  const flags = await startOfFlags(settings, io);
  // Agents would be told of it at each reset, and whoever mistyped the flag never.
  if (flags !== undefined) await simulation.world(flags);
  let begun = 0;
  return {
    /** Under which the world model is asked. */
    model: simulation.model,
    /** Begins without any member what the flags name. @throws UserError for a start that cannot be had */
    async begin({ scenario: instruction, seed: given, ...start }: WorldStart) {
      const first = await simulation.world(startOf(start, flags));
      const firstOffset = given === undefined ? TURNS_APART * begun++ : 0;
      const seed = given && given % SEEDS;
      return {
        world: first,
        /** Under one instruction, and each turn under a seed of its own. */
        step(world: World, action: string, signal: AbortSignal) {
          const seedOffset = firstOffset + world.turns.length;
          return simulation.step({ world, action, instruction, seed, seedOffset }, { signal });
        },
        /** Whether the context has no room for a further action. */
        isFull: (world: World) => simulation.roomFor({ world, action: '', instruction })?.state === 'full',
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
