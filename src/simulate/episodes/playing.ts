// Plays episodes concurrently: in each, the agent acts and the world answers until one of them ends it. Every reply, and each episode's
// end, is in the journal before the next call, so that a kill loses none.

import pLimit from 'p-limit';
import type { CallLog, Io, ModelReply } from '../../core/types.js';
import { afterObservation, type World } from '../../infer/world.js';
import type { LiveFailure, LiveHooks } from '../../model/live.js';
import type { Journal, JournalRecord } from '../../run/journal.js';
import type { RowState, RowSummary, Run } from '../../run/run.js';
import type { ShownSettings } from '../../settings/command.js';
import { type EpisodeSettings, MOST_EPISODES } from '../options.js';
import type { Budget, PaidModel, Simulation, Starts, StepOutcome } from '../simulation.js';
import { type Agent, agentQuestion, type Episode, readAgentTurn } from './plan.js';

/** The two models of an episode. */
export const PLAYERS = ['agent', 'world'] as const;
type Player = (typeof PLAYERS)[number];
const WHOSE: Readonly<Record<Player, string>> = { agent: "the agent's", world: "the world model's" };

/** Why an episode has ended. */
export const ENDS = {
  done: 'the agent said that the task is done',
  'gave-up': 'the agent said that nothing more can be done',
  steps: 'the step limit was reached (--steps)',
  unreadable: "the agent's replies had no readable action",
  'no-observation': 'the world model gave no observation',
  context: 'the context of the world model or of the agent was full',
  refused: 'the world model or the agent refused',
} as const;

/** How an episode ended. */
interface Ending {
  readonly end: keyof typeof ENDS;
  /** Simulated turns. */
  readonly steps: number;
  /** The agent's findings. */
  readonly said?: string | undefined;
  /** Details, if the end itself does not say why. */
  readonly reason?: string | undefined;
}

/** The recorded result of a turn or an episode: an action, an observation or an end. If all are absent, a later session continues it. */
interface Turn extends Partial<Ending> {
  readonly action?: string;
  readonly observation?: string;
  readonly truncated?: boolean;
  /** What halted it; its `stop` says why nothing can be asked, if that is the case. */
  readonly failure?: Pick<LiveFailure, 'class' | 'reason' | 'stop'> | undefined;
}

/** Everything needed to play the episodes of an open run. */
export interface Work {
  readonly settings: EpisodeSettings;
  readonly io: Io;
  readonly shown: ShownSettings;
  readonly starts: Starts;
  readonly beginnings: readonly unknown[];
  readonly episodes: readonly Episode[];
  readonly agent: Agent;
  readonly run: Run;
  readonly simulation: Simulation;
  readonly models: Readonly<Record<Player, PaidModel>>;
  readonly budget: Budget;
  readonly notices: readonly string[];
}

/** Episodes played at once if concurrency is adaptive. */
const SIDE_BY_SIDE = 16;

/**
 * Plays unfinished episodes until `io.stop` aborts; `over` ends calls in flight. Never rejects.
 * @param onPlayed called with the output tokens that the session used for the episode
 */
export async function playAll(
  work: Work,
  over: AbortSignal,
  onPlayed: (episode: Episode, played: Turn, tokens: number) => void,
) {
  const { run, budget, episodes, starts, settings, io } = work;
  /** By class of failure: the number of halted episodes, and the reason of the first. */
  const failures = new Map<string, { episodes: number; reason: string }>();
  /** Why nothing more can be asked. */
  let error: unknown;
  const isOver = () => budget.reached !== undefined || error !== undefined || io.stop.aborted;
  const play = async (episode: Episode) => {
    let tokens = 0;
    const keep: Play['keep'] = async (id, row, log) => {
      await run.journal.append({ id, row, log: { ...log, at: new Date().toISOString() } });
      tokens += log.usage?.completionTokens ?? 0;
    };
    const played = await playEpisode(episode, await starts.world(episode.start), { ...work, over, isOver, keep });
    const { failure } = played;
    if (failure !== undefined) {
      error ??= failure.stop;
      const { episodes: count, reason } = failures.get(failure.class) ?? { episodes: 0, reason: failure.reason };
      failures.set(failure.class, { episodes: count + 1, reason });
    }
    onPlayed(episode, played, tokens);
  };
  const note = (failure: unknown) => {
    error ??= failure;
  };
  const { concurrency } = settings;
  const slots = pLimit(typeof concurrency === 'number' ? concurrency : SIDE_BY_SIDE);
  const todo = episodes.filter(({ number }) => endingOf(run.journal, number) === undefined);
  await slots.map(todo, (episode) => (isOver() ? undefined : play(episode).catch(note)));
  /** `spent` names the exhausted budget. */
  return { failures, spent: budget.reached, error };
}

interface Play extends Work {
  readonly over: AbortSignal;
  /** Whether nothing more may be asked: the user has interrupted, the budget is spent, or requests are impossible. */
  isOver(): boolean;
  /** Resolves once the record is on disk. */
  keep(id: string, row: JournalRecord['row'], log: Partial<CallLog> & JournalRecord['log']): Promise<void>;
}

/** Plays an episode to its end, continuing from its records. */
async function playEpisode({ number }: Episode, begun: World, play: Play): Promise<Turn> {
  const briefing = play.agent.briefing(begun);
  let { world, step, turn } = standingOf(play.run.journal, number, begun);
  for (; step < play.settings.steps; step++) {
    turn ??= await takeTurn('agent', { number, step }, play, async (seedOffset, hooks) => {
      const reply = await play.models.agent.ask({ ...agentQuestion(briefing, world), seedOffset }, hooks);
      if (reply.status !== 'ok') return reply;
      const said = readAgentTurn(world.domain, reply.content);
      return 'flaw' in said ? { status: 'empty', reply, flaw: said.flaw } : { status: 'ok', reply, said };
    });
    const { action } = turn;
    if (action === undefined) return over(turn, step);
    let next = world;
    const shown = await takeTurn('world', { number, step }, play, async (seedOffset, hooks) => {
      const outcome = await play.simulation.step({ world, action, seedOffset }, hooks);
      if (outcome.status === 'empty') return { ...outcome, flaw: 'the reply contains no observation' };
      if (outcome.status !== 'ok') return outcome;
      next = outcome.world;
      const { reply, observation, truncated } = outcome;
      return { status: 'ok', reply, said: { observation, ...(truncated && { truncated }) } };
    });
    if (shown.observation === undefined) return over(shown, step);
    world = next;
    turn = undefined;
  }
  return over({ end: 'steps' }, step);

  async function over({ end, said, reason, failure }: Turn, steps: number): Promise<Turn> {
    if (end === undefined) return { failure };
    const ending = { end, steps, said, reason };
    await play.keep(String(number), { status: 'ok', ...ending }, {});
    return ending;
  }
}

/** The outcome of a call: a valid reply, an unusable one, or none. */
type Answer =
  | { readonly status: 'ok'; readonly reply: ModelReply; readonly said: Turn }
  | { readonly status: 'empty'; readonly reply: ModelReply; readonly flaw: string }
  | Exclude<StepOutcome, { status: 'ok' | 'empty' }>;

/** The class of an unusable reply. */
const UNUSABLE = 'unusable';
const BROKEN_OFF = { class: 'interrupted', reason: 'the call was aborted' };

/** Distances between the seeds of tries, turns and episodes. */
const TRIES_APART = 10;
const EPISODES_APART = 10_000;

/** Asks until a reply is usable or the tries are used up. Records all that the model wrote, including thinking, as evidence. */
async function takeTurn(
  player: Player,
  { number, step }: { readonly number: number; readonly step: number },
  { run: { journal }, settings, over, isOver, keep }: Play,
  ask: (seedOffset: number, hooks: LiveHooks & { isOff(): boolean }) => Promise<Answer>,
): Promise<Turn> {
  const id = idOf(number, step, player);
  const hooks = { signal: over, group: `episode ${number}`, isOff: isOver };
  const keepReply = (at: string, row: JournalRecord['row'], reply: ModelReply) => {
    const { content: gen, reasoning, log, servedModel: model } = reply;
    const said = { ...row, gen, ...(reasoning !== undefined && { reasoning }) };
    return keep(at, said, { ...log, player, ...(model && { model }) });
  };
  let flaw: string | undefined;
  for (let lost = lostOf(journal, id); lost.unusable < settings.agentTries; lost = lostOf(journal, id)) {
    if (isOver()) return {};
    const seedOffset = (number % MOST_EPISODES) * EPISODES_APART + step * TRIES_APART + lost.unusable;
    const answer = await ask(seedOffset, hooks);
    switch (answer.status) {
      case 'ok':
        await keepReply(id, { status: 'ok', ...answer.said }, answer.reply);
        return answer.said;
      case 'empty':
        flaw = answer.flaw;
        await keepReply(lostIdOf(id, lost.all), { status: 'failed', class: UNUSABLE, reason: flaw }, answer.reply);
        break;
      case 'full':
        return { end: 'context', reason: WHOSE[player] };
      case 'spent':
        return {};
      default: {
        const failure = answer.status === 'failed' ? answer : undefined;
        const { class: kind, reason } = failure ?? BROKEN_OFF;
        const row = { status: 'failed', class: kind, reason };
        if (answer.log.attempts > 0) await keep(lostIdOf(id, lost.all), row, { ...answer.log, player });
        if (kind === 'context-overflow') return { end: 'context', reason: WHOSE[player] };
        if (kind === 'refused') return { end: 'refused', reason: `${WHOSE[player]} server: ${reason}` };
        return { failure };
      }
    }
  }
  return player === 'world' ? { end: 'no-observation' } : { end: 'unreadable', reason: flaw };
}

/** The id of the agent's or the world's turn in a step (from 0) of an episode. The id of an episode's end is its number. */
function idOf(episode: number, step: number, player: Player): string {
  return `${episode}/${step}${player === 'agent' ? 'a' : 'w'}`;
}

/** The id of a call without result, the `count`th of its turn. */
function lostIdOf(turnId: string, count: number): string {
  return `${turnId}.${count}`;
}

function keptIn(journal: Journal<RowSummary>, id: string): Turn | undefined {
  // Records are written by this program, each with its checksum.
  return journal.has(id) ? (journal.read(id).row as Turn) : undefined;
}

/** How an episode ended; undefined before that. */
export function endingOf(journal: Journal<RowSummary>, episode: number): Ending | undefined {
  const { end, steps = 0, said, reason } = keptIn(journal, String(episode)) ?? {};
  return end && { end, steps, said, reason };
}

/** The world after all recorded turns of an episode, and the agent's turn if the world has not answered it yet. */
export function standingOf(journal: Journal<RowSummary>, episode: number, begun: World) {
  let world = begun;
  for (let step = 0; ; step++) {
    const turn = keptIn(journal, idOf(episode, step, 'agent'));
    const { observation } = keptIn(journal, idOf(episode, step, 'world')) ?? {};
    if (turn?.action === undefined || observation === undefined) return { world, step, turn };
    world = afterObservation(world, turn.action, observation);
  }
}

/** Counts a turn's calls without result, and those of them with unusable replies. */
function lostOf(journal: Journal<RowSummary>, id: string): { readonly all: number; readonly unusable: number } {
  let unusable = 0;
  for (let all = 0; ; all++) {
    const summary = journal.summaryOf(lostIdOf(id, all));
    if (summary === undefined) return { all, unusable };
    if (summary.class === UNUSABLE) unusable++;
  }
}

/** The state of a record. @throws TypeError for a record that no episode writes */
export function episodeState({ row }: JournalRecord): RowState {
  const { status, class: failure, reason } = row;
  if (status === 'ok') return { status, flags: [] };
  if (status !== 'failed' || typeof failure !== 'string' || typeof reason !== 'string') {
    throw new TypeError('a record of this kind is never written');
  }
  return { status, class: failure, reason, flags: [] };
}
