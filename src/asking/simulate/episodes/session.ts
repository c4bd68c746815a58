// One session of playing: episodes that have not ended are played side by side, until all have, or nothing more may be asked.

import type { UserError } from '../../../errors.js';
import type { World } from '../../../simulate/world.js';
import { countsIn } from '../../../usage.js';
import { reachedIn } from '../../budget.js';
import type { Run } from '../../run.js';
import type { EpisodeSettings } from './options.js';
import type { Episode } from './plan.js';
import { type Play, type Played, playEpisode } from './playing.js';
import type { Purse } from './purse.js';
import { endingOf, playerOf } from './records.js';

/** So many episodes are played side by side where concurrency is adaptive. */
const SIDE_BY_SIDE = 16;

/** What a session works on. */
interface SessionWork extends Pick<Play, 'simulation' | 'agent'> {
  readonly settings: EpisodeSettings;
  readonly run: Run;
  readonly purse: Purse;
  readonly episodes: readonly Episode[];
  /** Where an episode starts. @throws UserError for a row that has changed */
  world(episode: Episode): Promise<World>;
  /** The user's interrupt: nothing more is asked. */
  readonly stop: AbortSignal;
  /** Ends calls in flight. */
  readonly over: AbortSignal;
  /** @param tokens of output that the session took for the episode */
  onPlayed(episode: Episode, played: Played, tokens: number): void;
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

/** Never rejects. */
export async function playAll(work: SessionWork): Promise<SessionResult> {
  const { run, purse, settings, episodes } = work;
  const todo = episodes.filter(({ number }) => endingOf(run.journal, number) === undefined);
  const failures = new Map<string, { episodes: number; reason: string }>();
  const tokens = new Map<number, number>();
  let ended = 0;
  let spent: string | undefined;
  let error: unknown;
  const play: Play = {
    ...work,
    journal: run.journal,
    steps: settings.steps,
    tries: settings.agentTries,
    signal: work.over,
    isOver() {
      spent ??= reachedIn(purse, settings);
      return spent !== undefined || error !== undefined || work.stop.aborted;
    },
    async keep(record) {
      await run.journal.append(record);
      const player = playerOf(record);
      if (player === undefined) return;
      purse.add(player, record.log);
      const episode = Number.parseInt(record.id, 10);
      tokens.set(episode, (tokens.get(episode) ?? 0) + (countsIn(record.log.usage).completionTokens ?? 0));
    },
  };
  const halted = ({
    failure,
    stop,
  }: {
    readonly failure?: { class: string; reason: string };
    readonly stop?: UserError;
  }) => {
    if (stop !== undefined) error ??= stop;
    if (failure === undefined) return;
    const known = failures.get(failure.class);
    failures.set(failure.class, { episodes: (known?.episodes ?? 0) + 1, reason: known?.reason ?? failure.reason });
  };
  const waiting = todo.values();
  const player = async () => {
    for (const episode of waiting) {
      if (play.isOver()) return;
      const played = await playEpisode(episode, await work.world(episode), play);
      if (played.status === 'ended') ended++;
      else halted(played);
      work.onPlayed(episode, played, tokens.get(episode.number) ?? 0);
    }
  };
  const { concurrency } = settings;
  const players = Math.min(todo.length, typeof concurrency === 'number' ? concurrency : SIDE_BY_SIDE);
  await Promise.all(
    Array.from({ length: players }, () =>
      player().catch((failure: unknown) => {
        error ??= failure;
      }),
    ),
  );
  return { ended, failures, spent, error };
}
