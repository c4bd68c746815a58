// What the run has learned about its servers' context, shared by all endpoints: whether prompt and output budget fit.

import { EXIT, UserError } from '../../errors.js';
import { counted } from '../../figures.js';

/** So many calls that overflow only by their output budget show that the whole set will, not only a few rows ... */
const ENOUGH = 5;
/** ... if they are at least this share of the calls. */
const SHARE = 0.05;

/** Sizes in tokens, as far as the server told. */
export interface Sizes {
  readonly contextTokens?: number | undefined;
  readonly promptTokens?: number | undefined;
}

export interface ContextWatch {
  /** A call was answered, or overflowed. */
  called(): void;
  /**
   * A prompt fits, but not together with the output budget. The user is told of the first; once there are many, the error that ends
   * the run is returned.
   */
  overBudget(host: string, sizes: Sizes): UserError | undefined;
  /** A prompt does not fit even alone, or nobody knows whether it would. The user is told of the first. */
  overLong(host: string, sizes: Sizes): void;
  /**
   * What a server says about its model at /models, before anything is asked.
   * @throws UserError (2) where no prompt can fit beside the output budget
   */
  described(host: string, contextTokens: number, endsReplies: boolean): void;
}

/** Opens a watch. `maxTokens` is the output budget, `fits` whether it is lowered to what the context leaves. */
export function openContextWatch(options: {
  readonly maxTokens: number | undefined;
  readonly fits: boolean;
  onNotice(text: string): void;
}): ContextWatch {
  const { maxTokens = 0, fits, onNotice } = options;
  let calls = 0;
  let overBudget = 0;
  let longest = 0;
  let saidTooLong = false;
  return {
    called() {
      calls++;
    },
    overBudget(host, { contextTokens, promptTokens = 0 }) {
      overBudget++;
      longest = Math.max(longest, promptTokens);
      const left = contextTokens === undefined ? 0 : contextTokens - longest;
      const lower = left > 0 && longest > 0 ? ` (or --max-tokens ${roundDown(left)}, from the start)` : '';
      const remedy = `add --fit-max-tokens, which gives such a row the budget that is left and flags it${lower}, or serve a longer context`;
      const what = `${host}: prompts fit into the context${tokens(contextTokens)}, but not with --max-tokens ${maxTokens} beside them`;
      if (overBudget === 1) onNotice(`${what}: such rows are missing; ${remedy}`);
      if (overBudget < ENOUGH || overBudget < SHARE * calls) return undefined;
      return new UserError(
        `${what} (${overBudget} of ${counted(calls, 'call')}): ${remedy}, and repeat the command: finished rows are kept`,
      );
    },
    overLong(host, { contextTokens, promptTokens }) {
      if (saidTooLong) return;
      saidTooLong = true;
      const what =
        contextTokens === undefined
          ? 'the context overflows'
          : `a prompt${tokens(promptTokens)} leaves no room for a reply in the context${tokens(contextTokens)}`;
      onNotice(
        `${host}: ${what}: such rows are missing, no failures of the model; serve a longer context (vLLM --max-model-len, SGLang --context-length, llama.cpp -c, awb serve --context)`,
      );
    },
    described(host, contextTokens, endsReplies) {
      if (maxTokens < contextTokens || fits) return;
      const what = `${host} has a context${tokens(contextTokens)}, prompt included, and --max-tokens is ${maxTokens}`;
      if (endsReplies) onNotice(`${what}: replies end where the context does`);
      else {
        throw new UserError(
          `${what}: no row can fit; add --fit-max-tokens, give a lower --max-tokens, or serve a longer context`,
          EXIT.usage,
        );
      }
    },
  };
}

function tokens(count: number | undefined): string {
  return count === undefined ? '' : ` of ${count.toLocaleString('en')} ${count === 1 ? 'token' : 'tokens'}`;
}

/** A power of two is a usual budget. */
function roundDown(left: number): number {
  return 2 ** Math.floor(Math.log2(left));
}
