// Classifies what went wrong with a call, whatever words the server used for it.

import { UserError } from '../../core/errors.js';
import type { AttemptFailure } from '../attempt.js';
import { tidy } from '../http/wording.js';
import { formRejected, maxTokensRenamed, maxTokensTooLarge, overflown, parameterRejected } from './body-rules.js';
import { classifyConnection } from './connection.js';
import { readError, type Said } from './error-body.js';
import type { CallContext, Classified, Evidence, Rule, Situation } from './rule.js';
import {
  authRefused,
  filtered,
  quotaUsedUp,
  rateLimited,
  redirected,
  serverTrouble,
  tooLarge,
  unknownModel,
  wrongPath,
} from './service-rules.js';

/** First match wins. */
const RULES: readonly Rule[] = [
  redirected,
  filtered,
  unknownModel,
  authRefused,
  quotaUsedUp,
  rateLimited,
  maxTokensRenamed,
  overflown,
  maxTokensTooLarge,
  formRejected,
  parameterRejected,
  wrongPath,
  tooLarge,
  serverTrouble,
];

/**
 * Classifies a failure. `rate-limit`, `transient`, `timeout` and `malformed` are worth another try. `fatal` with `stop` ends
 * the run. `fatal` without `stop` fails this row for good: an unknown 4xx may be about this row alone, it is not the model's
 * refusal, and it is not likely to change.
 */
export function classify(evidence: Evidence, context: CallContext): AttemptFailure {
  if (evidence.error !== undefined) return classifyConnection(evidence.error, context);
  const said = readError(evidence.body ?? '');
  const situation = { ...context, said, status: statusOf(evidence, said) };
  const classified = RULES.reduce<Classified | undefined>((found, rule) => found ?? rule(situation), undefined);
  const { failure, what, stop } = classified ?? UNEXPLAINED;
  const reason = describe(what, situation, failure);
  return {
    status: 'failed',
    ...failure,
    reason,
    ...retryAfter(evidence, context.nowMs),
    ...(stop && { stop: new UserError(`${context.host}: ${reason}; ${stop.remedy}`, stop.exitCode) }),
  };
}

/** The statuses that error types stand for, for error objects that came without a status (in a stream, or with a 200). */
const STATUS_OF_TYPE: readonly (readonly [RegExp, number])[] = [
  [/rate.?limit|resource_exhausted|too_many_requests/i, 429],
  [/insufficient_quota/i, 429],
  [/authentication/i, 401],
  [/permission/i, 403],
  [/not_?found/i, 404],
  [/invalid_request|invalid_argument|bad_?request|validation|exceed_context|context_length/i, 400],
];

function statusOf({ status }: Evidence, said: Said): number {
  if (status !== undefined && status !== 200) return status;
  const code = /^[45]\d\d$/.test(said.code) ? Number(said.code) : undefined;
  const known = STATUS_OF_TYPE.find(([pattern]) => pattern.test(said.type) || pattern.test(said.code));
  return code ?? known?.[1] ?? 500;
}

const UNEXPLAINED: Classified = { failure: { class: 'fatal' }, what: 'the server rejects the request' };

function describe(what: string, { said, status, model, redact }: Situation, failure: Classified['failure']): string {
  const page = said.html ? 'a web page' : '';
  // Of an unknown model a server names those that it has.
  const isName = (found: string) => failure.unknownModel === true || model.includes(found);
  const words = [page, tidy(said.message, redact, isName)].filter((part) => part !== '').join(', ');
  // The used share of a rate limit differs from call to call.
  const steady = failure.class === 'rate-limit' ? words.replace(/(?<![\w.-])\d[\d.,]*(?![\w-])/g, 'N') : words;
  return `${redact(what)} (HTTP ${status}${steady === '' ? '' : `: ${steady}`})`;
}

/** retry-after-ms, or Retry-After in seconds or as a date (RFC 9110, 10.2.3), as milliseconds from now. */
function retryAfter({ headers }: Evidence, nowMs: number): { retryAfterMs?: number } {
  const exact = Number(headers?.get('retry-after-ms') ?? Number.NaN);
  if (exact >= 0) return { retryAfterMs: exact };
  const text = headers?.get('retry-after')?.trim();
  if (!text) return {};
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(ms) ? {} : { retryAfterMs: Math.max(0, ms) };
}
