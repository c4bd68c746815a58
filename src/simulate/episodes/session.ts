// One session of playing: episodes that have not ended are played side by side, until all have, or nothing more may be asked.

import type { Io } from '../../core/types.js';
import { countsIn } from '../../core/usage.js';
import { Reserve, reachedIn } from '../../run/budget.js';
import type { Run } from '../../run/run.js';
import type { ShownSettings } from '../../settings/command.js';
import type { Simulation } from '../simulation.js';
import type { Starts } from '../starts.js';
import type { Agent } from './agent.js';
import type { EpisodeSettings } from './options.js';
import type { Beginning, Episode } from './plan.js';
import { type Played, playEpisode } from './playing.js';
import type { Purse } from './purse.js';
import { endingOf, playerOf } from './records.js';

/** So many episodes are played side by side where concurrency is adaptive. */
const SIDE_BY_SIDE = 16;

/** What the episodes of a run are made with, before anything of the run is open. */
export interface Work {
  readonly settings: EpisodeSettings;
  readonly io: Io;
  readonly shown: ShownSettings;
  readonly starts: Starts;
  readonly beginnings: readonly Beginning[];
  readonly episodes: readonly Episode[];
  readonly agent: Agent;
  readonly notices: string[];
}

export interface OpenWork extends Work {
  readonly run: Run;
  readonly simulation: Simulation;
  readonly purse: Purse;
}

/** What a session came to. */
export interface SessionResult {
  /** Episodes that ended in it. */
  readonly ended: number;
  /** For each class of failure the reason of the first episode that it halted. */
  readonly failures: ReadonlyMap<string, { readonly episodes: number; readonly reason: string }>;
  /** The budget that is spent, in words. */
  readonly spent: string | undefined;
  /** Why nothing can be asked at all. */
  readonly error: unknown;
}

/**
 * Plays until `io.stop` is aborted at most; `over` ends calls in flight. Never rejects.
 * @param onPlayed is told of the output tokens that the session took for the episode
 */
export async function playAll(
  { run, purse, settings, episodes, starts, simulation, agent, io: { stop } }: OpenWork,
  over: AbortSignal,
  onPlayed: (episode: Episode, played: Played, tokens: number) => void,
): Promise<SessionResult> {
  const { journal } = run;
  const { steps, agentTries: tries, agentMaxTokens, maxTokens, concurrency } = settings;
  const mostTokens = { agent: agentMaxTokens, world: maxTokens };
  const reserve = new Reserve(purse, settings);
  const failures = new Map<string, { episodes: number; reason: string }>();
  let ended = 0;
  let spent: string | undefined;
  let error: unknown;
  const isOver = () => {
    spent ??= reachedIn(purse, settings);
    return spent !== undefined || error !== undefined || stop.aborted;
  };
  const play = async (episode: Episode) => {
    let tokens = 0;
    const played = await playEpisode(episode, await starts.world(episode.start), {
      ...{ simulation, agent, journal, steps, tries, signal: over },
      room: (player, chars) =>
        reserve.turn(() => over.aborted || isOver(), chars, mostTokens[player], purse[player].ledger),
      async keep(record) {
        await journal.append(record);
        const player = playerOf(record);
        if (player === undefined) return;
        purse[player].add(record.log);
        tokens += countsIn(record.log.usage).completionTokens ?? 0;
      },
    });
    if (played.status === 'ended') ended++;
    else {
      const { failure, stop: why } = played;
      if (why !== undefined) error ??= why;
      if (failure !== undefined) {
        const { episodes: count = 0, reason = failure.reason } = failures.get(failure.class) ?? {};
        failures.set(failure.class, { episodes: count + 1, reason });
      }
    }
    onPlayed(episode, played, tokens);
  };
  const todo = episodes.filter(({ number }) => endingOf(journal, number) === undefined);
  const waiting = todo.values();
  const worker = async () => {
    try {
      for (const episode of waiting) {
        if (isOver()) return;
        await play(episode);
      }
    } catch (failure) {
      error ??= failure;
    }
  };
  const workers = Math.min(todo.length, typeof concurrency === 'number' ? concurrency : SIDE_BY_SIDE);
  await Promise.all(Array.from({ length: workers }, worker));
  return { ended, failures, spent, error };
}
