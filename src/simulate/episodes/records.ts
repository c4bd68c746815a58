// What the journal holds of episodes: a record for every reply, so that a kill loses none, and one for each episode's end.

import { afterObservation, type World } from '../../infer/world.js';
import type { Journal, JournalRecord } from '../../run/journal.js';
import type { RowState, RowSummary } from '../../run/run.js';
import { PLAYERS, type Player } from './purse.js';

/** Why an episode has ended. */
export const ENDS = {
  done: 'the agent said that the task is done',
  'gave-up': 'the agent said that nothing more can be done',
  steps: 'the limit of steps was reached (--steps)',
  unreadable: "no action could be read in the agent's replies",
  'no-observation': 'the world model gave no observation',
  context: 'the context of the world model or of the agent was full',
  refused: 'the world model or the agent refused',
} as const;
export type End = keyof typeof ENDS;

/** How an episode ended. */
export interface Ending {
  readonly end: End;
  /** Simulated turns. */
  readonly steps: number;
  /** What the agent found out. */
  readonly said?: string | undefined;
  /** Why, where that is not said by the end alone. */
  readonly reason?: string | undefined;
}

/** The class of a reply that cannot be used. */
export const UNUSABLE = 'unusable';

/** Of the agent's turn and of the world's, in step `step` (from 0) of an episode. */
export function idOf(episode: number, step: number, player: Player): string {
  return `${episode}/${step}${player === 'agent' ? 'a' : 'w'}`;
}

/** The id of a call that came to nothing, the `count`th of its turn. */
export function lostIdOf(turnId: string, count: number): string {
  return `${turnId}.${count}`;
}

export function endRecord(episode: number, ending: Ending): JournalRecord {
  return { id: String(episode), row: { status: 'ok', flags: [], ...ending }, log: { at: new Date().toISOString() } };
}

/** Who was asked for a record; undefined for an episode's end. */
export function playerOf({ log }: JournalRecord): Player | undefined {
  return PLAYERS.find((player) => player === log.player);
}

/** What a record has come to. @throws TypeError for what no episode writes */
export function episodeState({ row }: JournalRecord): RowState {
  const { status, class: failure, reason } = row;
  if (status === 'ok') return { status, flags: [] };
  if (status !== 'failed' || typeof failure !== 'string' || typeof reason !== 'string') {
    throw new TypeError('a record of this kind is never written');
  }
  return { status, class: failure, reason, flags: [] };
}

/** How an episode ended; undefined while it has not. */
export function endingOf(journal: Journal<RowSummary>, episode: number): Ending | undefined {
  const id = String(episode);
  if (!journal.has(id)) return undefined;
  const { end, steps, said, reason } = journal.read(id).row;
  const known = Object.keys(ENDS).find((name): name is End => name === end);
  if (known === undefined || typeof steps !== 'number') return undefined;
  return { end: known, steps, said: textOf(said), reason: textOf(reason) };
}

/** Where an episode stands by its records. */
interface Standing {
  readonly world: World;
  readonly step: number;
  /** What the agent has chosen to do, where the world has not answered yet. */
  readonly action?: string;
}

/** The world after all that the journal holds of an episode. */
export function standingOf(journal: Journal<RowSummary>, episode: number, begun: World): Standing {
  const textIn = (id: string, name: string) => (journal.has(id) ? textOf(journal.read(id).row[name]) : undefined);
  let world = begun;
  for (let step = 0; ; step++) {
    const action = textIn(idOf(episode, step, 'agent'), 'action');
    if (action === undefined) return { world, step };
    const observation = textIn(idOf(episode, step, 'world'), 'observation');
    if (observation === undefined) return { world, step, action };
    world = afterObservation(world, action, observation);
  }
}

/** The calls of a turn that came to nothing, and those of them whose replies could not be used. */
export function lostOf(journal: Journal<RowSummary>, id: string): { readonly all: number; readonly unusable: number } {
  let unusable = 0;
  for (let all = 0; ; all++) {
    const summary = journal.summaryOf(lostIdOf(id, all));
    if (summary === undefined) return { all, unusable };
    if (summary.class === UNUSABLE) unusable++;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
