// One episode: the agent acts, the world answers, until one of them ends it. Every reply is on the disk before the next call.

import type { UserError } from '../../core/errors.js';
import { charactersOf } from '../../core/question.js';
import type { CallLog, ModelReply, Usage } from '../../core/types.js';
import { requestOf, type World } from '../../infer/world.js';
import type { LiveFailure } from '../../model/live.js';
import type { Journal, JournalRecord } from '../../run/journal.js';
import type { RowSummary } from '../../run/run.js';
import { agentQuestion, readAgentTurn } from '../agent-turn.js';
import type { Simulation } from '../simulation.js';
import type { Agent } from './agent.js';
import { MOST_EPISODES } from './options.js';
import type { Episode } from './plan.js';
import type { Player } from './purse.js';
import { type Ending, endRecord, idOf, lostIdOf, lostOf, standingOf, UNUSABLE } from './records.js';

/** What all episodes of a run are played with. */
interface Play {
  readonly simulation: Pick<Simulation, 'step'>;
  readonly agent: Pick<Agent, 'briefing' | 'ask'>;
  readonly journal: Journal<RowSummary>;
  readonly steps: number;
  readonly tries: number;
  /** Ends calls in flight. */
  readonly signal: AbortSignal;
  /**
   * Waits until the budget has room for a call, and gives what is to be called once its cost is counted; undefined where nothing more may
   * be asked: the user has interrupted, the budget is spent, or nothing can be asked at all.
   * @param chars of its prompt
   */
  room(player: Player, chars: number): Promise<((usage: Usage) => void) | undefined>;
  /** Puts a record on the disk and counts what it cost. */
  keep(record: JournalRecord): Promise<void>;
}

/** What has come of an episode in this session. A halted one goes on when the command is repeated. */
export type Played =
  | { readonly status: 'ended'; readonly ending: Ending }
  | { readonly status: 'halted'; readonly failure?: Pick<LiveFailure, 'class' | 'reason'>; readonly stop?: UserError };

type Halted = Extract<Played, { status: 'halted' }>;
type Ended = Pick<Ending, 'end' | 'said' | 'reason'>;
const HALTED: Halted = { status: 'halted' };

/** Seeds of a turn, of an episode's turns, and of episodes lie apart. */
const TRIES_APART = 10;
const EPISODES_APART = 10_000;

/** Plays an episode to its end, from where its records leave it. */
export async function playEpisode({ number }: Episode, begun: World, play: Play): Promise<Played> {
  const end = async (ended: Ended, steps: number): Promise<Played> => {
    const ending = { ...ended, steps };
    await play.keep(endRecord(number, ending));
    return { status: 'ended', ending };
  };
  const briefing = play.agent.briefing(begun);
  const standing = standingOf(play.journal, number, begun);
  let { world, action } = standing;
  for (let { step } = standing; step < play.steps; step++) {
    if (action === undefined) {
      const acted = lastWordIn(play.journal, idOf(number, step, 'agent')) ?? (await agentTurn(step));
      if ('status' in acted) return acted;
      if ('end' in acted) return end(acted, step);
      action = acted.value;
    }
    const answered = await worldTurn(step, action);
    if ('status' in answered) return answered;
    if ('end' in answered) return end(answered, step);
    [world, action] = [answered.value, undefined];
  }
  return end({ end: 'steps' }, play.steps);

  function agentTurn(step: number) {
    const turn = { player: 'agent', chars: charactersOf(agentQuestion(briefing, world)), number, step } as const;
    return takeTurn(turn, play, async (asking): Promise<Asked<string>> => {
      const outcome = await play.agent.ask(briefing, world, asking);
      if (outcome.status === 'full') return { comesTo: { end: 'context', reason: WHOSE.agent } };
      if (outcome.status !== 'ok') return lost('agent', outcome);
      const { kind, ...said } = readAgentTurn(world.domain, outcome.content);
      if ('reason' in said) return unusable(outcome, said.reason);
      return { ...kept(outcome, said), comesTo: 'action' in said ? { value: said.action } : endedBy(said) };
    });
  }

  function worldTurn(step: number, action: string) {
    const turn = { player: 'world', chars: charactersOf(requestOf(world, action)), number, step } as const;
    return takeTurn(turn, play, async ({ seedOffset, ...hooks }): Promise<Asked<World>> => {
      const outcome = await play.simulation.step({ world, action, seedOffset }, hooks);
      switch (outcome.status) {
        case 'ok': {
          const { reply, observation, truncated } = outcome;
          const said = { observation, ...(truncated ? { truncated } : {}) };
          return { ...kept(reply, said), comesTo: { value: outcome.world } };
        }
        case 'empty':
          return unusable(outcome.reply, 'the reply holds no observation');
        case 'failed':
          return lost('world', outcome.failure);
        case 'interrupted':
          return lost('world', outcome);
        case 'full':
          return { comesTo: { end: 'context', reason: WHOSE.world } };
        case 'spent':
          return { comesTo: HALTED };
        default:
          return outcome satisfies never;
      }
    });
  }
}

/** What has come of a call. */
interface Asked<T> {
  /** What is kept of it: the row without its status, and the log. Absent where nothing was sent. */
  readonly row?: Readonly<Record<string, unknown>>;
  readonly log?: CallLog;
  readonly model?: string | undefined;
  /** What it makes of the turn; undefined where the reply cannot be used, and another may. */
  readonly comesTo: { readonly value: T } | Ended | Halted | undefined;
}

const WHOSE: Readonly<Record<Player, string>> = { agent: "the agent's", world: "the world model's" };

/** What is asked for a turn, and under which seed. */
interface Turn {
  readonly player: Player;
  /** Of the prompt. */
  readonly chars: number;
  readonly number: number;
  readonly step: number;
}

type Ask<T> = (asking: { signal: AbortSignal; group: string; seedOffset: number }) => Promise<Asked<T>>;

/** Asks until a reply can be used, or the tries are used up; each call is on the disk before the next. */
async function takeTurn<T>({ player, chars, number, step }: Turn, play: Play, ask: Ask<T>) {
  const id = idOf(number, step, player);
  const group = `episode ${number}`;
  let flaw: unknown;
  for (let lost = lostOf(play.journal, id); lost.unusable < play.tries; lost = lostOf(play.journal, id)) {
    const release = await play.room(player, chars);
    if (release === undefined) return HALTED;
    const seedOffset = (number % MOST_EPISODES) * EPISODES_APART + step * TRIES_APART + lost.unusable;
    const { row, log, model, comesTo } = await ask({ signal: play.signal, group, seedOffset });
    if (row !== undefined && log !== undefined) {
      const isLost = 'class' in row;
      await play.keep({
        id: isLost ? lostIdOf(id, lost.all) : id,
        row: { status: isLost ? 'failed' : 'ok', flags: [], ...row },
        log: { ...log, player, ...(model === undefined ? {} : { model }), at: new Date().toISOString() },
      });
    }
    release(log?.attempts === 1 ? log.usage : {});
    if (comesTo !== undefined) return comesTo;
    flaw = row?.reason;
  }
  if (player === 'world') return { end: 'no-observation' } satisfies Ended;
  return { end: 'unreadable', ...(typeof flaw === 'string' ? { reason: flaw } : {}) } satisfies Ended;
}

/** A reply that counts: an action, the agent's last word, or an observation. What the model wrote, thinking included, is the evidence. */
function kept({ content, reasoning, log, servedModel: model }: ModelReply, said: Readonly<Record<string, unknown>>) {
  return { row: { ...said, gen: content, ...(reasoning === undefined ? {} : { reasoning }) }, log, model };
}

function unusable(reply: ModelReply, reason: string) {
  return { ...kept(reply, { class: UNUSABLE, reason }), comesTo: undefined };
}

/** A call that gave no reply, and what that is for the episode: its end, or a halt that the same command mends. */
function lost(player: Player, outcome: LiveFailure | { readonly status: 'interrupted'; readonly log: CallLog }) {
  const { log } = outcome;
  const keep = (row: { readonly class: string; readonly reason: string }) => (log.attempts > 0 ? { row, log } : {});
  if (outcome.status === 'interrupted') {
    return { ...keep({ class: 'interrupted', reason: 'the call was broken off' }), comesTo: HALTED };
  }
  const { class: kind, reason, stop } = outcome;
  return { ...keep({ class: kind, reason }), comesTo: endOrHalt() };

  function endOrHalt(): Ended | Halted {
    if (kind === 'context-overflow') return { end: 'context', reason: WHOSE[player] };
    if (kind === 'refused') return { end: 'refused', reason: `${WHOSE[player]} server: ${reason}` };
    return { status: 'halted', failure: { class: kind, reason }, ...(stop === undefined ? {} : { stop }) };
  }
}

/** The agent's last word, where its record is there and the episode's end is not. */
function lastWordIn(journal: Journal<RowSummary>, id: string): Ended | undefined {
  if (!journal.has(id)) return undefined;
  const { end, said } = journal.read(id).row;
  if (end !== 'done' && end !== 'gave-up') return undefined;
  return endedBy({ end, said: typeof said === 'string' ? said : '' });
}

function endedBy({ end, said }: { readonly end: 'done' | 'gave-up'; readonly said: string }): Ended {
  return { end, ...(said === '' ? {} : { said }) };
}
