// Simulated worlds as those see them who let others act in them: begun by a simulator, each answers an action with the world behind it.

import type { Domain, FailureClass } from '../../core/types.js';

/** What a world begins with: a domain, a row of the benchmark, or a prompt of its own. */
export interface WorldStart {
  readonly domain?: string;
  /** The key or id of a row; the world stands where that row's last turn is to be predicted. */
  readonly row?: string;
  /** The system prompt of the world model. */
  readonly prompt?: string;
  /** What the agent is to do, as the world model is told. */
  readonly task?: string;
  /** An instruction to the world model alone, in front of each action. */
  readonly scenario?: string;
  readonly seed?: number;
}

export interface Simulator {
  /** Under which the world model is asked. */
  readonly model: string;
  /** Those that have a bundled prompt. */
  readonly domains: readonly Domain[];
  /** Begins without any member what the flags name. @throws UserError for a start that cannot be had */
  begin(start: WorldStart): Promise<LiveWorld>;
}

/** A world at one moment. It never changes: acting gives another. */
export interface LiveWorld {
  readonly domain: Domain;
  /** What stands in front of the first action: the task, the state. */
  readonly preface: string;
  /** What came of the last action; undefined where nothing has happened. */
  readonly observation: string | undefined;
  /** All turns so far, as an agent may see them. */
  history(): readonly { readonly action: string; readonly observation: string }[];
  /** Aborting gives `failed`, and the world stands. */
  act(action: string, signal: AbortSignal): Promise<Acted>;
  /** The turns so far as a row of the benchmark. */
  row(id: string): object;
}

/**
 * `full`: the context has no room for the action; `spent`: the budget lets nothing more be asked. A failure is the model's or its
 * server's. In all cases but the first the world stands where it stood.
 */
export type Acted =
  | { readonly status: 'observed'; readonly world: LiveWorld; readonly isFull: boolean }
  | { readonly status: 'full' }
  | { readonly status: 'spent'; readonly reason: string }
  | { readonly status: 'failed'; readonly class: FailureClass; readonly reason: string };
