// One episode: the agent acts, the world answers, until one of them ends it. Every reply is on the disk before the next call.

import type { UserError } from '../../../errors.js';
import type { LiveFailure } from '../../../model/live.js';
import type { Journal } from '../../../run/journal.js';
import type { JournalRecord } from '../../../run/journal-record.js';
import { readAgentTurn } from '../../../simulate/agent-turn.js';
import type { World } from '../../../simulate/world.js';
import type { CallLog, ModelReply } from '../../../types.js';
import type { RowSummary } from '../../run.js';
import type { Simulation } from '../simulation.js';
import type { Agent } from './agent.js';
import { MOST_EPISODES } from './options.js';
import type { Episode } from './plan.js';
import type { Player } from './purse.js';
import { type Ending, endRecord, idOf, lostOf, lostRecord, replyRecord, standingOf, UNUSABLE } from './records.js';

/** What all episodes of a run are played with. */
export interface Play {
  readonly simulation: Pick<Simulation, 'step'>;
  readonly agent: Pick<Agent, 'briefing' | 'ask'>;
  readonly journal: Journal<RowSummary>;
  readonly steps: number;
  readonly tries: number;
  /** Ends calls in flight. */
  readonly signal: AbortSignal;
  /** Whether nothing more may be asked: the user has interrupted, the budget is spent, or nothing can be asked at all. */
  isOver(): boolean;
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
export async function playEpisode(episode: Episode, begun: World, play: Play): Promise<Played> {
  const { number } = episode;
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
      const acted = await agentTurn(world, { briefing, number, step }, play);
      if ('status' in acted) return acted;
      if ('end' in acted) return end(acted, step);
      action = acted.action;
    }
    const answered = await worldTurn(world, action, { number, step }, play);
    if ('status' in answered) return answered;
    if ('end' in answered) return end(answered, step);
    ({ world } = answered);
    action = undefined;
  }
  return end({ end: 'steps' }, play.steps);
}

interface Place {
  readonly number: number;
  readonly step: number;
}

async function agentTurn(
  world: World,
  { briefing, ...place }: Place & { readonly briefing: string },
  play: Play,
): Promise<{ readonly action: string } | Ended | Halted> {
  const id = idOf(place.number, place.step, 'agent');
  const last = lastWordIn(play.journal, id);
  if (last !== undefined) return last;
  let flaw = '';
  for (let lost = lostOf(play.journal, id); lost.unusable < play.tries; lost = lostOf(play.journal, id)) {
    if (play.isOver()) return HALTED;
    const outcome = await play.agent.ask(briefing, world, {
      seedOffset: seedOffsetOf(place, lost.unusable),
      ...hooksFor(place, play),
    });
    if (outcome.status === 'full') return { end: 'context', reason: "the agent's" };
    const asked = { log: outcome.log, player: 'agent' as const };
    if (outcome.status !== 'ok') {
      const over = await keepLost({ id, count: lost.all, ...asked }, outcome, play);
      return over;
    }
    const turn = readAgentTurn(world.domain, outcome.content);
    const reply = { ...asked, model: outcome.servedModel };
    if (turn.kind === 'flaw') {
      flaw = turn.reason;
      await play.keep(lostRecord(id, lost.all, { class: UNUSABLE, reason: flaw, ...saidIn(outcome) }, reply));
      continue;
    }
    const { kind: _, ...said } = turn;
    await play.keep(replyRecord(id, { ...said, ...saidIn(outcome) }, reply));
    return turn.kind === 'action' ? { action: turn.action } : endedBy(turn);
  }
  return { end: 'unreadable', ...(flaw === '' ? {} : { reason: flaw }) };
}

async function worldTurn(
  world: World,
  action: string,
  place: Place,
  play: Play,
): Promise<{ readonly world: World } | Ended | Halted> {
  const id = idOf(place.number, place.step, 'world');
  for (let lost = lostOf(play.journal, id); lost.unusable < play.tries; lost = lostOf(play.journal, id)) {
    if (play.isOver()) return HALTED;
    const seedOffset = seedOffsetOf(place, lost.unusable);
    const outcome = await play.simulation.step({ world, action, seedOffset }, hooksFor(place, play));
    const count = lost.all;
    switch (outcome.status) {
      case 'ok': {
        const { reply, observation, truncated } = outcome;
        const row = { observation, ...(truncated ? { truncated } : {}), ...saidIn(reply) };
        await play.keep(replyRecord(id, row, { log: reply.log, player: 'world', model: reply.servedModel }));
        return { world: outcome.world };
      }
      case 'empty': {
        const { log, servedModel: model } = outcome.reply;
        const reason = 'the reply holds no observation';
        const failure = { class: UNUSABLE, reason, ...saidIn(outcome.reply) };
        await play.keep(lostRecord(id, count, failure, { log, player: 'world', model }));
        break;
      }
      case 'failed':
        return keepLost({ id, count, player: 'world', log: outcome.failure.log }, outcome.failure, play);
      case 'interrupted':
        return keepLost({ id, count, player: 'world', log: outcome.log }, outcome, play);
      case 'full':
        return { end: 'context', reason: "the world model's" };
      case 'spent':
        return HALTED;
      default:
        return outcome satisfies never;
    }
  }
  return { end: 'no-observation' };
}

/** Keeps what a call cost that gave no reply, and says what that is for the episode: its end, or a halt that the same command mends. */
async function keepLost(
  call: { readonly id: string; readonly count: number; readonly player: Player; readonly log: CallLog },
  outcome: LiveFailure | { readonly status: 'interrupted' },
  play: Play,
): Promise<Ended | Halted> {
  const { id, count, ...asked } = call;
  const failure =
    outcome.status === 'interrupted'
      ? { class: 'interrupted', reason: 'the call was broken off' }
      : { class: outcome.class, reason: outcome.reason };
  if (call.log.attempts > 0) await play.keep(lostRecord(id, count, failure, asked));
  if (outcome.status === 'interrupted') return HALTED;
  const whose = call.player === 'agent' ? "the agent's" : "the world model's";
  if (outcome.class === 'context-overflow') return { end: 'context', reason: whose };
  if (outcome.class === 'refused') return { end: 'refused', reason: `${whose} server: ${outcome.reason}` };
  const { class: kind, reason, stop } = outcome;
  return { status: 'halted', failure: { class: kind, reason }, ...(stop === undefined ? {} : { stop }) };
}

/** What a model wrote, thinking included: the journal is the evidence. */
function saidIn({ content, reasoning }: ModelReply): { readonly gen: string; readonly reasoning?: string } {
  return { gen: content, ...(reasoning === undefined ? {} : { reasoning }) };
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

function hooksFor({ number }: Place, { signal }: Play) {
  return { signal, group: groupOf(number) };
}

/** By what the calls of an episode are known, of which one at a time is in flight. */
export function groupOf(number: number): string {
  return `episode ${number}`;
}

function seedOffsetOf({ number, step }: Place, tries: number): number {
  return (number % MOST_EPISODES) * EPISODES_APART + step * TRIES_APART + tries;
}
