// One session: an episode after the other in one place, each begun by a reset and gone on with by actions, one at a time.

import { messageOf, UserError } from '../errors.js';
import type { Acted, LiveWorld, Simulator, WorldStart } from '../simulator.js';
import { LONGEST_TIMER_MS } from '../timers.js';
import type { FailureClass } from '../types.js';
import type { EpisodeRecord } from './record.js';
import {
  budgetSpent,
  invalid,
  isOver,
  notBegun,
  notRecorded,
  refused,
  stepUnderWay,
  timedOut,
  unavailable,
} from './refusals.js';

/** What sessions stand on. */
export interface SessionGrounds {
  readonly simulator: Simulator;
  /** Turns after which an episode is over. */
  readonly steps: number;
  /** Where episodes are kept; undefined where they are not. */
  readonly records?: { begin(episodeId: string): EpisodeRecord } | undefined;
}

interface Observation {
  readonly text: string;
  /** Actions taken so far in this episode. */
  readonly turn: number;
  readonly domain: string;
  /** After a reset into the middle of a trajectory: the turns before, the last one's observation being the text. */
  readonly history?: readonly { readonly action: string; readonly observation: string }[];
  readonly metadata: { readonly episode_id: string; readonly done_reason?: DoneReason };
}

/** As OpenEnv answers a reset and a step. The world rewards nothing. */
export interface Answer {
  readonly observation: Observation;
  readonly reward: null;
  readonly done: boolean;
}

export interface State {
  readonly episode_id: string | null;
  readonly step_count: number;
  readonly domain?: string;
  readonly done?: boolean;
  readonly done_reason?: DoneReason;
  readonly steps_left?: number;
}

const DONE_REASONS = {
  'step-limit': 'its steps are used up',
  'context-full': "the world model's context is full",
} as const;
type DoneReason = keyof typeof DONE_REASONS;

interface Episode {
  readonly id: string;
  world: LiveWorld;
  /** Actions taken; a world begun at a row has turns before them. */
  steps: number;
  doneReason: DoneReason | undefined;
  readonly record: EpisodeRecord | undefined;
}

/** Failures that another try may not have. */
const PASSING: readonly FailureClass[] = ['rate-limit', 'transient', 'timeout', 'malformed'];

export class Session {
  readonly #grounds: SessionGrounds;
  #episode: Episode | undefined;
  #isBusy = false;
  /** Breaks off the step under way. */
  #breakOff: (() => void) | undefined;

  constructor(grounds: SessionGrounds) {
    this.#grounds = grounds;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  get isDone(): boolean {
    return this.#episode?.doneReason !== undefined;
  }

  /** The episode before stays where it was recorded. @throws ApiError */
  async reset(start: WorldStart, id: string): Promise<Answer> {
    return this.#alone(id, async () => {
      const { simulator, records } = this.#grounds;
      const world = await simulator.begin(start).catch((error: unknown) => {
        throw error instanceof UserError ? invalid(error.message) : error;
      });
      const episode: Episode = { id, world, steps: 0, doneReason: undefined, record: records?.begin(id) };
      this.#episode = episode;
      return answerOf(episode, world.observation ?? world.preface, world.history());
    });
  }

  /** @throws ApiError; the episode then stands where it stood */
  async step(action: string, { timeoutS, signal }: { timeoutS?: number | undefined; signal: AbortSignal }) {
    const episode = this.#episode;
    if (episode === undefined) throw notBegun();
    return this.#alone(episode.id, () => {
      if (episode.doneReason !== undefined) throw isOver(episode.id, DONE_REASONS[episode.doneReason]);
      return this.#act(episode, action, timeoutS, signal);
    });
  }

  async #act(episode: Episode, action: string, timeoutS: number | undefined, leaving: AbortSignal): Promise<Answer> {
    const { acted, isLate } = await this.#patiently(timeoutS, leaving, (signal) => episode.world.act(action, signal));
    switch (acted.status) {
      case 'failed':
        if (isLate && timeoutS !== undefined) throw timedOut(timeoutS);
        throw PASSING.includes(acted.class) ? unavailable(acted.reason) : refused(acted.reason);
      case 'spent':
        throw budgetSpent(acted.reason);
      case 'full':
        episode.doneReason = 'context-full';
        return answerOf(episode, '');
      case 'observed': {
        const { world, isFull } = acted;
        await episode.record?.keep(world).catch((error: unknown) => {
          throw notRecorded(messageOf(error));
        });
        episode.world = world;
        episode.steps++;
        if (isFull) episode.doneReason = 'context-full';
        else if (episode.steps >= this.#grounds.steps) episode.doneReason = 'step-limit';
        return answerOf(episode, world.observation ?? '');
      }
      default:
        return acted satisfies never;
    }
  }

  /** Asks until an answer is there, nobody waits for it any more, the session ends, or the time is over. */
  async #patiently(timeoutS: number | undefined, leaving: AbortSignal, ask: (signal: AbortSignal) => Promise<Acted>) {
    const ending = new AbortController();
    const late =
      timeoutS === undefined ? [] : [AbortSignal.timeout(Math.min(Math.ceil(timeoutS * 1_000), LONGEST_TIMER_MS))];
    this.#breakOff = () => ending.abort();
    try {
      const acted = await ask(AbortSignal.any([leaving, ending.signal, ...late]));
      return { acted, isLate: late.some(({ aborted }) => aborted) };
    } finally {
      this.#breakOff = undefined;
    }
  }

  get state(): State {
    const episode = this.#episode;
    if (episode === undefined) return { episode_id: null, step_count: 0 };
    const { id, steps, world, doneReason } = episode;
    return {
      episode_id: id,
      step_count: steps,
      domain: world.domain,
      done: doneReason !== undefined,
      ...(doneReason !== undefined && { done_reason: doneReason }),
      steps_left: doneReason === undefined ? this.#grounds.steps - steps : 0,
    };
  }

  /** Breaks off what is under way. */
  end(): void {
    this.#breakOff?.();
  }

  /** Two answers for one world would be of different worlds. */
  async #alone<T>(id: string, work: () => Promise<T>): Promise<T> {
    if (this.#isBusy) throw stepUnderWay(id);
    this.#isBusy = true;
    try {
      return await work();
    } finally {
      this.#isBusy = false;
    }
  }
}

function answerOf(episode: Episode, text: string, history: Observation['history'] = []): Answer {
  const { id, steps, world, doneReason } = episode;
  return {
    observation: {
      text,
      turn: steps,
      domain: world.domain,
      ...(history.length > 0 && { history }),
      metadata: { episode_id: id, ...(doneReason !== undefined && { done_reason: doneReason }) },
    },
    reward: null,
    done: doneReason !== undefined,
  };
}
