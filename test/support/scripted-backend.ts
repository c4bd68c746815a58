// A backend without a network, which answers by a script: small, and written without any code of the real ones.

import { UserError } from '../../src/core/errors.js';
import type {
  Asking,
  Backend,
  BackendStatus,
  CallCost,
  ModelOutcome,
  ModelRequest,
  Usage,
} from '../../src/core/types.js';

/** A call as it reaches the model. */
export interface ModelCall {
  /** The content of the last message, or the prompt. */
  readonly text: string;
  readonly kind: 'chat' | 'completion';
  readonly seed: number;
  /** The endpoint that the backend chose. */
  readonly where: number;
}

/** A text is the model's reply; `passing` may be retried, `permanent` fails only the job, `fatal` ends the run. */
export type ModelAnswer = { readonly text: string } | 'passing' | 'permanent' | 'fatal';
export type ModelScript = (call: ModelCall) => ModelAnswer | Promise<ModelAnswer>;

/** The reported cost of each call. */
export const USAGE_OF_A_CALL = { promptTokens: 10, completionTokens: 2 } as const;

export interface ScriptedOptions {
  readonly slots: number;
  readonly maxAttempts?: number;
}

export function openScriptedBackend(script: ModelScript, { slots, maxAttempts = 3 }: ScriptedOptions): Backend {
  let inFlight = 0;
  let failure: BackendStatus['failure'];
  async function answered(asking: Asking, tried: (cost: CallCost) => void, ended: AbortSignal): Promise<ModelOutcome> {
    const request = await asking.make();
    const usage: Usage = { promptTokens: 0, completionTokens: 0 };
    for (let attempts = 1; ; attempts++) {
      const answer = await untilAborted(script(callOf(request, attempts)), ended);
      if (answer === undefined) {
        tried({ usage: {}, uncounted: { sent: 1, received: 0 } });
        return { status: 'interrupted' };
      }
      if (answer === 'fatal') throw new UserError('scripted: the key is refused; give another');
      tried({ usage: { ...USAGE_OF_A_CALL } });
      usage.promptTokens = attempts * USAGE_OF_A_CALL.promptTokens;
      usage.completionTokens = attempts * USAGE_OF_A_CALL.completionTokens;
      const log = { attempts, usage, ms: 0, host: 'scripted' };
      if (typeof answer === 'object') return { status: 'ok', content: answer.text, log };
      failure = { text: `scripted: ${answer}`, agoMs: 0 };
      if (answer === 'permanent') return { status: 'failed', class: 'context-overflow', reason: 'too long', log };
      if (attempts === maxAttempts) return { status: 'failed', class: 'transient', reason: 'it failed', log };
    }
  }
  return {
    async work(jobs, solve, { stop, abort }, hooks = {}) {
      const failed = new AbortController();
      const ended = AbortSignal.any([abort, failed.signal]);
      const isOver = () => stop.aborted || ended.aborted;
      const waiting = [...jobs];
      const running: string[] = [];
      const errors: unknown[] = [];
      const fail = (error: unknown): undefined => {
        errors.push(error);
        failed.abort();
      };
      const slot = async (): Promise<void> => {
        while (!isOver()) {
          const free = waiting.findIndex(({ group }) => !running.includes(group));
          const [job] = waiting.splice(Math.max(0, free), 1);
          if (job === undefined) return;
          inFlight++;
          running.push(job.group);
          const ask = async (asking: Asking): Promise<ModelOutcome> => {
            if (isOver()) return { status: 'interrupted' };
            const outcome = await answered(asking, (cost) => hooks.tried?.(job, cost), ended).catch(fail);
            return outcome ?? { status: 'interrupted' };
          };
          await solve(job, ask).catch(fail);
          running.splice(running.indexOf(job.group), 1);
          inFlight--;
        }
      };
      await Promise.all(Array.from({ length: slots }, slot));
      if (errors.length > 0) throw errors[0];
    },
    status: () => ({ inFlight, limit: slots, pausedMs: 0, ...(failure !== undefined && { failure }), outages: [] }),
    async close() {},
  };
}

function callOf(request: ModelRequest, attempts: number): ModelCall {
  const seed = 1_000 * request.seedOffset + attempts;
  if ('prompt' in request) return { text: request.prompt, kind: 'completion', seed, where: 0 };
  return { text: request.messages.at(-1)?.content ?? '', kind: 'chat', seed, where: 0 };
}

/** Undefined once the signal is aborted. */
function untilAborted<T>(value: T | Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
    Promise.resolve(value).then(resolve, reject);
  });
}
