// Classifies what went wrong with a call: an error reported by a server, or thrown by the connection, TLS or a proxy.

import { EXIT, UserError, unavailable } from '../../core/errors.js';
import { asObject } from '../../core/json.js';
import type { AttemptFailure } from '../attempt.js';
import { tidy } from '../http/wording.js';
import { asText, type CallContext, type Classified, RULES, readError, type Situation } from './rules.js';

/** The outcome of a failed call: an HTTP answer, an error object in a stream (no status, or 200), or what the connection threw. */
export interface Evidence {
  readonly status?: number | undefined;
  /** The body as text. */
  readonly body?: string;
  readonly headers?: { get(name: string): string | null };
  /** What the client or the connection threw. */
  readonly error?: unknown;
}

/**
 * Classifies a failure. `rate-limit`, `transient`, `timeout` and `malformed` are worth a retry. `fatal` with `stop` ends the run.
 * `fatal` without `stop` fails this row for good: an unknown 4xx may concern only this row, is not the model's refusal, and is unlikely
 * to change.
 */
export function classify(evidence: Evidence, context: CallContext): AttemptFailure {
  if (evidence.error !== undefined) return classifyConnection(evidence.error, context);
  const said = readError(evidence.body ?? '');
  const situation = { ...context, said, status: statusOf(evidence, said) };
  const classified = RULES.reduce<Classified | false>((found, rule) => found || rule(situation), false);
  const { failure, what, remedy, exitCode = EXIT.unavailable } = classified || UNEXPLAINED;
  const reason = describe(what, situation, failure);
  return {
    status: 'failed',
    ...failure,
    reason,
    ...retryAfter(evidence, context.nowMs),
    ...(remedy !== undefined && { stop: new UserError(`${context.host}: ${reason}; ${remedy}`, exitCode) }),
  };
}

/** The statuses of error types, for error objects that came without a status (in a stream, or with a 200). */
const STATUS_OF_TYPE: readonly (readonly [RegExp, number])[] = [
  [/rate.?limit|resource_exhausted|too_many_requests|insufficient_quota/i, 429],
  [/authentication/i, 401],
  [/permission/i, 403],
  [/not_?found/i, 404],
  [/invalid_request|invalid_argument|bad_?request|validation|exceed_context|context_length/i, 400],
];

function statusOf({ status }: Evidence, said: Situation['said']): number {
  if (status !== undefined && status !== 200) return status;
  const code = /^[45]\d\d$/.test(said.code) ? Number(said.code) : undefined;
  const known = STATUS_OF_TYPE.find(([pattern]) => pattern.test(said.type) || pattern.test(said.code));
  return code ?? known?.[1] ?? 500;
}

const UNEXPLAINED: Classified = { failure: { class: 'fatal' }, what: 'the server rejects the request' };

function describe(what: string, { said, status, model, redact }: Situation, failure: Classified['failure']): string {
  const page = said.html ? 'a web page' : '';
  // For an unknown model, a server names those that it has.
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

const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'host not found',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
};
const BROKEN = /^(?:ECONNRESET|EPIPE|ECONNABORTED|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/;
const TLS = /^(?:ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(?:GET|VERIFY)|HOSTNAME_MISMATCH)/;

function classifyConnection(error: unknown, { host, proxy, redact }: CallContext): AttemptFailure {
  const { code, message } = rootOf(error);
  const failed = (kind: AttemptFailure['class'], reason: string, remedy?: string): AttemptFailure => ({
    status: 'failed',
    class: kind,
    reason,
    ...(remedy !== undefined && { stop: unavailable(`${host}: ${reason}; ${remedy}`) }),
  });
  // With a proxy, it is the proxy that could not be reached.
  const named = proxy && `the proxy ${proxy.host} (${proxy.variable})`;
  const known = UNREACHABLE[code];
  if (known !== undefined) {
    return { ...failed('transient', `${known} (${code})${named ? ` at ${named}` : ''}`), unreachable: true };
  }
  if (TLS.test(code)) {
    const remedy = /WRONG_VERSION|EPROTO|PACKET_LENGTH/.test(code)
      ? 'the server may speak plain HTTP: try http:// in the base URL'
      : 'if the certificate is your own, name its authority in NODE_EXTRA_CA_CERTS';
    return failed('fatal', `TLS failed (${code})`, remedy);
  }
  if (BROKEN.test(code)) return failed('transient', `the connection broke (${code})`);
  if (code.startsWith('HPE_')) {
    return failed('malformed', `the server does not answer in HTTP (${code}): should the base URL be https?`);
  }
  const refusal = /Proxy response \((\d+)\)/.exec(message)?.[1];
  if (refusal === undefined || proxy === undefined) {
    return failed('transient', `the call failed (${tidy(code === '' ? message : code, redact)})`);
  }
  if (refusal !== '407') {
    return { ...failed('transient', `${named} refuses the connection (HTTP ${refusal})`), unreachable: true };
  }
  const remedy = `set it to http://user:password@${proxy.host}, or exclude the host with NO_PROXY=${host}`;
  return failed('fatal', `${named} requires other credentials (HTTP 407)`, remedy);
}

/** The innermost cause with a code, since the client and Node wrap the socket's error. */
function rootOf(error: unknown): { code: string; message: string } {
  let code = '';
  let message = '';
  for (let cause = error, depth = 0; cause !== undefined && cause !== null && depth < 8; depth++) {
    const told = asObject(cause);
    // Only some of the parser's errors have a code.
    code = asText(told.code) || (told.name === 'HTTPParserError' ? 'HPE_INVALID' : code);
    message = asText(told.message) || message;
    cause = Array.isArray(told.errors) && told.errors.length > 0 ? told.errors[0] : told.cause;
  }
  // The client keeps no details if a connection attempt times out.
  return { code: code === '' && message === 'Request timed out.' ? 'ETIMEDOUT' : code, message };
}
