// Single questions, as many in parallel as the endpoints accept, each with its reply as it arrives: for anyone who acts in a world and
// waits.

import { closingOnFailure, messageOf, UserError, unavailable } from '../core/errors.js';
import {
  type Asking,
  type CallLog,
  charactersOf,
  type Job,
  type ModelFailure,
  type ModelOutcome,
  type ModelReply,
  type ModelRequest,
  type Question,
  type Solve,
} from '../core/types.js';
import { type BackendOptions, type NamedEndpoints, openEndpoints } from './backend.js';
import { type Measured, type Room, roomFor } from './context.js';

/** How one question is watched and ended. */
export interface LiveHooks {
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Questions of one group go to one endpoint as long as it answers, so that its prefix cache hits. */
  readonly group?: string;
  readonly onText?: Asking['hear'];
  readonly onAgain?: Asking['again'];
}

/** A failure; `stop` is set if no other question would fare better, and its message has the remedy. */
export type LiveFailure = ModelFailure & { readonly stop?: UserError };

/** The result of a question; `interrupted` if its user ended it. */
type LiveOutcome = ModelReply | LiveFailure | { readonly status: 'interrupted'; readonly log: CallLog };

export type LiveModel = Awaited<ReturnType<typeof openLive>>;

/**
 * Opens a pool over the named endpoints, for single questions. `context` is the context length, if the user gives it.
 * @throws UserError (2) for a base URL or a key that cannot be used, or if no prompt can fit together with the output budget
 */
export async function openLive(named: NamedEndpoints, options: Omit<BackendOptions, 'keepGoing'>, context?: number) {
  const backend = await openEndpoints(named, { ...options, keepGoing: true });
  const contexts = await closingOnFailure(backend, () => backend.contexts());
  const contextTokens = context ?? Math.min(...contexts.map(({ tokens }) => tokens));
  const all = { chars: 0, promptTokens: 0 };
  const { own } = named;
  const askOne = async (request: ModelRequest, hooks: LiveHooks): Promise<LiveOutcome> => {
    const { signal, group = '', onText, onAgain } = hooks;
    /** Characters of the reply that have arrived. */
    let heard = 0;
    const asking: Asking = {
      make: async () => request,
      hear(piece, kind) {
        heard += piece.length;
        onText?.(piece, kind);
      },
      again(reason, waitMs) {
        heard = 0;
        onAgain?.(reason, waitMs);
      },
    };
    const done = new AbortController();
    const ended = AbortSignal.any([signal, done.signal]);
    const outcome = await new Promise<ModelOutcome>((resolve) => {
      const solve: Solve<Job> = async (_, ask) => resolve(await ask(asking));
      backend.work([{ group }], solve, { stop: ended, abort: ended }).then(
        () => resolve({ status: 'interrupted' }),
        (error: unknown) => resolve({ status: 'interrupted', failure: failureOf(error) }),
      );
    });
    // Anything else begun for it, such as a probe, is no longer needed.
    done.abort();
    if (outcome.status !== 'interrupted') return outcome;
    const { log = { attempts: 0, usage: {}, ms: 0, host: '' } } = outcome;
    const failure = own?.lost.aborted ? failureOf(own.lost.reason) : signal.aborted ? undefined : outcome.failure;
    if (failure !== undefined) {
      const { stop, ...what } = failure;
      return { status: 'failed', ...what, log, ...(stop instanceof UserError && { stop }) };
    }
    // The part of the reply that had arrived was generated.
    const uncounted = log.uncounted && { ...log.uncounted, received: log.uncounted.received + heard };
    return { status: 'interrupted', log: { ...log, ...(uncounted && { uncounted }) } };
  };
  return {
    /**
     * How much a question would take of the smallest context; undefined if no context is known. `before` is a question that it
     * continues.
     */
    roomFor(question: Question, before?: Measured): Room | undefined {
      if (contextTokens === Number.POSITIVE_INFINITY) return undefined;
      const charsAToken = all.promptTokens === 0 ? undefined : all.chars / all.promptTokens;
      return roomFor(contextTokens, charactersOf(question), before, charsAToken);
    },
    /** Never rejects. Questions beyond what the endpoints accept wait in order. */
    async ask(request: ModelRequest, hooks: LiveHooks): Promise<LiveOutcome> {
      const outcome = await askOne(request, hooks);
      const { chars = 0, promptTokens = 0 } = measuredBy(request, outcome) ?? {};
      all.chars += chars;
      all.promptTokens += promptTokens;
      return outcome;
    },
    close: () => backend.close(),
  };
}

/** The measured prompt of a question; undefined if it was not counted on its own. */
export function measuredBy(question: Question, outcome: LiveOutcome): Measured | undefined {
  const { attempts, usage } = outcome.log;
  // A try under a fitted budget may consist of several requests.
  const isOneCall = attempts === 1 && !(outcome.status === 'ok' && outcome.fittedMaxTokens !== undefined);
  const { promptTokens = 0 } = usage;
  return isOneCall && promptTokens > 0 ? { chars: charactersOf(question), promptTokens } : undefined;
}

/** The reason for ending all calls. */
function failureOf(error: unknown) {
  const stop = error instanceof UserError ? error : unavailable(messageOf(error));
  return { class: 'transient', reason: stop.message, stop } as const;
}
