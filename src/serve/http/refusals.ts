// What a client is told of any error that ends its request.

import { EngineError } from '../engine-contract.js';
import { shuttingDown } from './admission.js';
import { ApiError } from './api-error.js';

/** `signal` is the visit's; `onError` is told of what clients are not. */
export function toldOf(error: unknown, signal: AbortSignal, onError?: (error: unknown) => void): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof EngineError) return refusalOf(error);
  if (signal.aborted) return shuttingDown();
  onError?.(error);
  return new ApiError(500, "the engine failed; the server's own messages say why", 'engine_failed');
}

function refusalOf({ refusal }: EngineError): ApiError {
  if (refusal.reason === 'invalid-request') return new ApiError(400, refusal.message, 'invalid_value', refusal.param);
  const count = `${refusal.more ? 'more than ' : ''}${refusal.promptTokens}`;
  const message = `the prompt contains ${count} tokens, but the model's maximum context length is ${refusal.contextSize} tokens; shorten it, or serve with a larger --context`;
  return new ApiError(400, message, 'context_length_exceeded', 'messages');
}
