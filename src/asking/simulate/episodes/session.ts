// One session of playing: episodes that have not ended are played side by side, until all have, or nothing more may be asked.

import type { LiveHooks } from '../../../model/live.js';
import { charactersOf } from '../../../question.js';
import type { JournalRecord } from '../../../run/journal-record.js';
import { agentQuestion } from '../../../simulate/agent-turn.js';
import { requestOf, type World } from '../../../simulate/world.js';
import type { Usage } from '../../../types.js';
import { countsIn } from '../../../usage.js';
import { Reserve, reachedIn } from '../../budget.js';
import type { Run } from '../../run.js';
import type { EpisodeSettings } from './options.js';
import type { Episode } from './plan.js';
import { groupOf, type Play, type Played, playEpisode } from './playing.js';
import type { Player, Purse } from './purse.js';
import { endingOf, playerOf } from './records.js';

/** So many episodes are played side by side where concurrency is adaptive. */
const SIDE_BY_SIDE = 16;

/** What a call comes to that the budget has no room for any more. */
const UNASKED = {
  status: 'interrupted',
  content: '',
  reasoning: '',
  log: { attempts: 0, usage: {}, ms: 0, host: '' },
} as const;

/** A call that is to be paid from the budget. */
interface ReservedCall {
  readonly player: Player;
  /** Of its prompt. */
  readonly chars: number;
  readonly maxTokens: number;
}

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
  const paid = reserving(work, () => play.isOver());
  const play: Play = {
    ...work,
    ...paid,
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
      const episode = Number.parseInt(record.id, 10);
      if (player !== undefined) purse.add(player, record.log);
      paid.release(episode, record.log);
      if (player === undefined) return;
      tokens.set(episode, (tokens.get(episode) ?? 0) + (countsIn(record.log.usage).completionTokens ?? 0));
    },
  };
  const halted = ({ failure, stop }: Extract<Played, { status: 'halted' }>) => {
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

/** The two players, each of whose calls waits until the budget has room for it; `release` is told once what it cost is counted. */
function reserving({ settings, purse, agent, simulation }: SessionWork, isOver: () => boolean) {
  const reserve = new Reserve(purse, settings);
  /** What is kept back for the calls in flight, one an episode. */
  const kept = new Map<string | undefined, (usage: Usage) => void>();
  const within = async <T>({ group, signal }: LiveHooks, call: ReservedCall, ask: () => Promise<T>) => {
    const isOff = () => signal.aborted || isOver();
    const release = await reserve.turn(isOff, call.chars, call.maxTokens, purse.ledgerOf(call.player));
    if (release === undefined) return UNASKED;
    kept.set(group, release);
    return ask();
  };
  return {
    release(episode: number, { attempts, usage }: JournalRecord['log']) {
      kept.get(groupOf(episode))?.(attempts === 1 ? countsIn(usage) : {});
      kept.delete(groupOf(episode));
    },
    agent: {
      briefing: (world) => agent.briefing(world),
      ask(briefing, world, asking) {
        const chars = charactersOf(agentQuestion(briefing, world));
        const call = { player: 'agent', chars, maxTokens: settings.agentMaxTokens } as const;
        return within(asking, call, () => agent.ask(briefing, world, asking));
      },
    },
    simulation: {
      step(step, hooks) {
        const chars = charactersOf(requestOf(step.world, step.action));
        const call = { player: 'world', chars, maxTokens: settings.maxTokens } as const;
        return within(hooks, call, () => simulation.step(step, hooks));
      },
    },
  } satisfies Pick<Play, 'agent' | 'simulation'> & { release: unknown };
}
