// A request inside the engine, and its events on their way from the slot's steps to the one who reads them.

import type { GenerateEvent, GenerateOptions } from './engine-contract.js';
import type { ReplyReader } from './reply-reader.js';
import type { LlamaCpp } from './runtime.js';
import type { Scheduled } from './scheduler.js';

/** A request from its arrival to the end of its events. */
export interface Request extends Scheduled {
  readonly options: GenerateOptions;
  readonly reader: ReplyReader;
  readonly grammar: LlamaCpp.LlamaGrammarEvaluationState | undefined;
  readonly events: EventQueue;
  /** Tokens behind the prompt that are scored, at least one; nothing is generated then. */
  readonly scoring: { readonly tokens: readonly number[]; readonly top: number } | undefined;
  /** The reply's tokens, as they were evaluated. */
  readonly spoken: number[];
  /** How many of them belong to the thinking, its end included. */
  spokenThinking: number;
  /** Set when the reply is over. */
  finished: 'stop' | 'length' | undefined;
  /** Prompt tokens that needed no evaluation; known once it has a slot. */
  cachedTokens: number;
}

/** Events from the steps to the one who reads them. */
interface EventQueue {
  push(event: GenerateEvent): void;
  fail(error: unknown): void;
  /** What was pushed before is still read. */
  close(): void;
  read(): AsyncGenerator<GenerateEvent, void, void>;
}

export function eventQueue(): EventQueue {
  const events: GenerateEvent[] = [];
  let failure: { readonly error: unknown } | undefined;
  let ended = false;
  let notify: () => void = () => undefined;
  const end = (): void => {
    ended = true;
    notify();
  };
  return {
    push(event) {
      events.push(event);
      notify();
    },
    fail(error) {
      failure = { error };
      end();
    },
    close: end,
    async *read() {
      for (;;) {
        yield* events.splice(0);
        if (failure !== undefined) throw failure.error;
        if (ended && events.length === 0) return;
        if (events.length === 0) {
          await new Promise<void>((resolve) => {
            notify = resolve;
          });
        }
      }
    },
  };
}
