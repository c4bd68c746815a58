// What an agent is told when its request cannot be served: an HTTP status, and the code that OpenEnv's messages carry.

import { ApiError } from '../serve/http/api-error.js';

/** After how many seconds a step that failed for a passing reason is worth another try. */
const RETRY_AFTER_S = 5;

/** The request itself is at fault. */
export function invalid(message: string): ApiError {
  return new ApiError(422, message, 'VALIDATION_ERROR');
}

export function tooManySessions(most: number): ApiError {
  const all = most === 1 ? 'the session of this server is' : `all ${most} sessions of this server are`;
  const message = `${all} in use; try again later, or start it with more --sessions`;
  return passing(message, 'CAPACITY_REACHED');
}

export function noEpisode(id: string): ApiError {
  const message = `there is no episode "${id}" here: it was never begun, or has ended by idleness; POST /reset begins one`;
  return new ApiError(404, message, 'EPISODE_NOT_FOUND', 'episode_id');
}

export function notBegun(): ApiError {
  return new ApiError(409, 'no episode has begun; reset begins one', 'EPISODE_NOT_BEGUN');
}

export function isOver(id: string, why: string): ApiError {
  const message = `episode "${id}" is over (${why}), and nothing was done; reset begins another`;
  return new ApiError(409, message, 'EPISODE_DONE');
}

export function stepUnderWay(id: string): ApiError {
  const message = `episode "${id}" is at work on another request; wait for its answer`;
  return new ApiError(409, message, 'STEP_UNDER_WAY', null, { 'retry-after': '1' });
}

export function timedOut(seconds: number): ApiError {
  const message = `the world model gave no observation within ${seconds} s; nothing was done, and the step can be tried again`;
  return new ApiError(504, message, 'STEP_TIMEOUT', 'timeout_s', { 'retry-after': '1' });
}

/** The model cannot be asked for a passing reason. */
export function unavailable(reason: string): ApiError {
  const message = `${endless(reason)}; nothing was done, and the step can be tried again`;
  return passing(message, 'WORLD_MODEL_UNAVAILABLE');
}

/** The model gave no observation, and will not for the same action. */
export function refused(reason: string): ApiError {
  return new ApiError(502, `${endless(reason)}; nothing was done`, 'WORLD_MODEL_REFUSED');
}

export function budgetSpent(reason: string): ApiError {
  return new ApiError(429, `${endless(reason)}; nothing was done`, 'BUDGET_SPENT');
}

export const NOT_RECORDED = 'RECORD_FAILED';

export function notRecorded(reason: string): ApiError {
  const message = `the step could not be recorded (${reason}), and counts as not done; it can be tried again`;
  return passing(message, NOT_RECORDED);
}

export function stopping(): ApiError {
  return new ApiError(503, 'the server is shutting down', 'SHUTTING_DOWN', null, { connection: 'close' });
}

function passing(message: string, code: string): ApiError {
  return new ApiError(503, message, code, null, { 'retry-after': String(RETRY_AFTER_S) });
}

/** A sentence that goes on. */
function endless(reason: string): string {
  return reason.replace(/[.\s]+$/, '');
}
