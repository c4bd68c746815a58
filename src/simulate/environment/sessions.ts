// Sessions: one episode after another, each begun by a reset and continued by one action at a time; the limit on sessions, and the end
// of idle ones; and `--record DIR`: every episode as a row of the benchmark in its own file, complete after each step. Below them, the
// simulator: worlds begin as an agent asks, and answer one action after another.

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

/** Settings and services that all sessions share. */
export interface SessionGrounds {
  readonly simulator: Simulator;
  /** Turns after which an episode is over. */
  readonly steps: number;
  /** Records episodes; undefined if they are not recorded. */
  readonly records?: Awaited<ReturnType<typeof openRecords>> | undefined;
  /** Most sessions at once. */
  readonly most: number;
  /** A session ends after this long without a request. */
  readonly idleMs: number;
}

const DONE_REASONS = {
  'step-limit': 'it has used all its steps',
  'context-full': "the world model's context is full",
} as const;

interface Episode {
  readonly id: string;
  readonly begun: Awaited<ReturnType<Simulator['begin']>>;
  world: World;
  /** Actions taken; a world begun at a row has earlier turns. */
  steps: number;
  doneReason: keyof typeof DONE_REASONS | undefined;
  /** Writes the episode's current state. */
  readonly keep: ((world: World) => Promise<void>) | undefined;
}

/** Failures that a retry may avoid. */
const PASSING: readonly FailureClass[] = ['rate-limit', 'transient', 'timeout', 'malformed'];
/** Seconds after which a transient failure is worth a retry. */
const RETRY_AFTER_S = 5;
/** The error code for a step that could not be recorded. */
export const NOT_RECORDED = 'RECORD_FAILED';

export class Session {
  isBusy = false;
  /** Ends the session when idle. */
  readonly timer: NodeJS.Timeout;
  #episode: Episode | undefined;
  readonly #ended = new AbortController();

  /**
   * @param onGone called when it ends because it is idle or makes room for another; absent for one that lives as long as its client
   * @param mayLeave whether it makes room for a new session once its episode is over
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

  /** In OpenEnv's form. */
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

  /** A recorded previous episode stays on disk. @throws ApiError */
  async reset(start: WorldStart, id: string): Promise<Answer> {
    return this.#alone(id, async () => {
      const { simulator, records } = this.all.grounds;
      const begun = await simulator.begin(start).catch((error: unknown) => {
        throw error instanceof UserError ? invalid(error.message) : error;
      });
      const { world } = begun;
      this.#episode = { id, begun, world, steps: 0, doneReason: undefined, keep: records?.(id) };
      // Instructions to the world model are not shown to the agent.
      const history = world.turns.map(({ action, observation }) => ({ action, observation }));
      return answerOf(this.#episode, history.at(-1)?.observation ?? world.preface, history);
    });
  }

  /** @throws ApiError; the episode is then unchanged */
  async step(action: string, { timeoutS, signal }: { timeoutS?: number | undefined; signal: AbortSignal }) {
    const episode = this.#episode;
    if (episode === undefined) throw new ApiError(409, 'no episode has started; reset starts one', 'EPISODE_NOT_BEGUN');
    const { id, begun } = episode;
    return this.#alone(id, async () => {
      const { doneReason, world } = episode;
      if (doneReason !== undefined) {
        const message = `episode "${id}" is over (${DONE_REASONS[doneReason]}), and nothing was done; reset starts another`;
        throw new ApiError(409, message, 'EPISODE_DONE');
      }
      // Stop waiting for an answer when the client leaves, the session ends, or the time is up.
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
   * Runs one request of the session at a time, since concurrent answers would lead to different worlds. The session is not idle meanwhile.
   * Nothing begins while the server stops. @throws ApiError (503, 409)
   */
  async #alone(id: string, work: () => Promise<Answer>): Promise<Answer> {
    this.all.requireRunning();
    if (this.isBusy) {
      const message = `episode "${id}" is busy with another request; wait for its answer`;
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

  /** Aborts work in progress; nothing more is asked. */
  end(): void {
    clearTimeout(this.timer);
    this.#ended.abort();
  }
}

/** The error for a step that did not happen. */
function refusalOf(acted: Exclude<StepOutcome, { status: 'ok' | 'full' }>): ApiError {
  const cut = acted.status === 'empty' && acted.truncated ? ' before its token budget ended it (--max-tokens)' : '';
  const own = acted.status === 'empty' ? `the world model gave no observation${cut}` : 'the step was aborted';
  const reason = 'reason' in acted ? acted.reason.replace(/[.\s]+$/, '') : own;
  const message = `${reason}; nothing was done`;
  if (acted.status === 'spent') return new ApiError(429, message, 'BUDGET_SPENT');
  if (acted.status === 'failed' && !PASSING.includes(acted.class)) {
    return new ApiError(502, message, 'WORLD_MODEL_REFUSED');
  }
  return passing(`${message}, and the step can be tried again`, 'WORLD_MODEL_UNAVAILABLE');
}

/** OpenEnv's answer to a reset or a step. The world gives no rewards. */
export type Answer = ReturnType<typeof answerOf>;

/** @param history after a reset into the middle of a trajectory: the earlier turns; `text` is then the last one's observation */
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
  /** In order of opening. */
  readonly opened = new Set<Session>();
  readonly underWay = new Set<Promise<unknown>>();
  #isStopping = false;

  constructor(readonly grounds: SessionGrounds) {}

  /** Opens a session; parameters as in its constructor. @throws ApiError (503) if all places are taken, or the server is stopping */
  open(onGone?: () => void, mayLeave = false): Session {
    this.requireRunning();
    const { most } = this.grounds;
    if (this.opened.size >= most) {
      const over = [...this.opened].find((session) => session.mayLeave && session.isDone && !session.isBusy);
      const message = `all sessions of this server (${most}) are in use; try again later, or start it with more --sessions`;
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

  /** Ends a session and notifies its owner. */
  dismiss(session: Session): void {
    this.end(session);
    session.onGone?.();
  }

  /** Accepts nothing more; resolves when work in progress has ended, or was aborted after `drainMs`. */
  async stop(drainMs: number): Promise<void> {
    this.#isStopping = true;
    const late = setTimeout(() => {
      for (const session of this.opened) session.end();
    }, drainMs);
    await Promise.allSettled(this.underWay);
    // Let the last answer go out before its client is dismissed.
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
 * Opens the record folder. An episode's first step creates its file, and each later one replaces it atomically, so a killed process
 * leaves the last finished step.
 * @returns a function that takes an episode's id and returns its writer, which resolves when the row is on disk
 * @throws UserError (73) if the folder cannot be made
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

// A simulator for external agents: worlds begin as an agent asks, and answer one action after another.

export type Simulator = Awaited<ReturnType<typeof simulatorOf>>;

/** Distance between the seeds of consecutive episodes; longer episodes would overlap. */
const TURNS_APART = 10_000;
const SEEDS = 2 ** 31;

/** The flags complete an agent's start. @throws UserError if the flags' own start is impossible */
export async function simulatorOf(simulation: Simulation, settings: SimulationSettings, io: Io) {
  const flags = await startOfFlags(settings, io);
  // Check the flags' start now; otherwise agents would see the error at each reset, and the user who mistyped the flag never.
  if (flags !== undefined) await simulation.world(flags);
  let begun = 0;
  return {
    /** The world model's name in requests. */
    model: simulation.model,
    /** Without any key, begins at the flags' start. @throws UserError for an impossible start */
    async begin({ scenario: instruction, seed: given, ...start }: WorldStart) {
      const first = await simulation.world(startOf(start, flags));
      const firstOffset = given === undefined ? TURNS_APART * begun++ : 0;
      const seed = given && given % SEEDS;
      return {
        world: first,
        /** One instruction for all turns, and a different seed for each. */
        step(world: World, action: string, signal: AbortSignal) {
          const seedOffset = firstOffset + world.turns.length;
          return simulation.step({ world, action, instruction, seed, seedOffset }, { signal });
        },
        /** Whether the context has no room for another action. */
        isFull: (world: World) => simulation.roomFor({ world, action: '', instruction })?.state === 'full',
      };
    },
  };
}

/** The start of a world that an agent asks for. @throws UserError (2) if the place is missing or ambiguous */
function startOf({ domain, row, task, prompt: systemPrompt }: WorldStart, flags: Start | undefined): Start {
  if (domain !== undefined && row !== undefined) throw new UserError('give one place to start: a domain, or a row');
  if (task !== undefined && (row !== undefined || (domain === undefined && flags !== undefined && 'row' in flags))) {
    throw new UserError('a row has its own task: give a task only with a domain');
  }
  if (row !== undefined) return { row, systemPrompt, isForeign: true };
  if (domain !== undefined) return { domain, task, systemPrompt, isForeign: true };
  if (flags !== undefined) return { ...flags, ...(task !== undefined && { task }), systemPrompt };
  const known = DOMAINS.join(', ');
  throw new UserError(`name the domain of the world (${known}), even with a prompt, or a row to start from`);
}
