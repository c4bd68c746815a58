// Handles a call whose prompt and output budget together overflow the context.

import type { Attempt, AttemptFailure } from '../attempt.js';
import type { ContextWatch, Sizes } from './context.js';

/** Tokens left free, since servers differ by a few tokens in what they count. */
const FIT_MARGIN = 16;
/** A smaller budget is not worth a call: the reply would be cut off. */
const FIT_MINIMUM = 256;

interface Fitting {
  /** The output budget that was asked for; undefined where it was left to the server. */
  readonly maxTokens: number | undefined;
  /** Whether to ask once more with the tokens that are left. */
  readonly fits: boolean;
  readonly host: string;
  readonly context: ContextWatch;
}

/** Asks again with the tokens that the context leaves, or returns the failure with its reason. `ask` asks with a given budget. */
export async function afterOverflow(
  failure: AttemptFailure,
  overflow: Sizes,
  { maxTokens, fits, host, context }: Fitting,
  ask: (maxTokens: number) => Promise<Attempt>,
): Promise<Attempt> {
  context.called();
  const sizes = await measured(overflow, maxTokens, ask);
  if ('status' in sizes) return sizes;
  const left = roomIn(sizes, maxTokens);
  if (left === undefined || left < FIT_MINIMUM) {
    context.overLong(host, sizes);
    return failure;
  }
  if (!fits) {
    const stop = context.overBudget(host, sizes);
    const reason = `the prompt fits into the context, but not with --max-tokens ${maxTokens}: ${failure.reason}`;
    return { ...failure, reason, ...(stop && { stop }) };
  }
  const second = await ask(left);
  return second.status === 'ok' ? { ...second, fittedMaxTokens: left } : second;
}

/**
 * The sizes that show whether the prompt alone would fit. If the server did not count the prompt, a request for a reply of one
 * token makes it do so; if that fails, its failure is the call's.
 */
async function measured(
  sizes: Sizes,
  maxTokens: number | undefined,
  ask: (maxTokens: number) => Promise<Attempt>,
): Promise<Sizes | Attempt> {
  if (sizes.contextTokens === undefined || sizes.promptTokens !== undefined || maxTokens === undefined) return sizes;
  const counted = await ask(1);
  if (counted.status === 'failed' && counted.overflow !== undefined) return { ...sizes, ...counted.overflow };
  return counted.status === 'ok' ? { ...sizes, promptTokens: counted.usage.promptTokens } : counted;
}

/** The output budget that the context leaves; undefined where that is not known, or no less than was asked for. */
function roomIn({ contextTokens, promptTokens }: Sizes, maxTokens: number | undefined): number | undefined {
  if (contextTokens === undefined || promptTokens === undefined || maxTokens === undefined) return undefined;
  const left = contextTokens - promptTokens - FIT_MARGIN;
  return left < maxTokens ? left : undefined;
}
