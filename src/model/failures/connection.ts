// Failures of a call that got no answer at all: what the connection, TLS or a proxy threw.

import { EXIT, UserError } from '../../core/errors.js';
import { asObject } from '../../core/json.js';
import type { AttemptFailure } from '../attempt.js';
import { tidy } from '../http/wording.js';
import { asText } from './error-body.js';
import type { CallContext } from './rule.js';

const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'host not found',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'no connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
};
const BROKEN = /^(?:ECONNRESET|EPIPE|ECONNABORTED|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/;
const TLS = /^(?:ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(?:GET|VERIFY)|HOSTNAME_MISMATCH)/;

/** Classifies what was thrown. */
export function classifyConnection(error: unknown, context: CallContext): AttemptFailure {
  const { code, message } = rootOf(error);
  const failed = (rest: Omit<AttemptFailure, 'status'>): AttemptFailure => ({ status: 'failed', ...rest });
  const { proxy } = context;
  const known = UNREACHABLE[code];
  if (known !== undefined) {
    // Through a proxy it is the proxy that could not be reached.
    const where = proxy === undefined ? '' : ` at the proxy ${proxy.host} that ${proxy.variable} names`;
    return failed({ class: 'transient', reason: `${known} (${code})${where}`, unreachable: true });
  }
  if (TLS.test(code)) {
    const reason = `TLS failed (${code})`;
    const remedy = /WRONG_VERSION|EPROTO|PACKET_LENGTH/.test(code)
      ? 'the server may speak plain HTTP: try http:// in the base URL'
      : 'if the certificate is your own, name its authority in NODE_EXTRA_CA_CERTS';
    const stop = new UserError(`${context.host}: ${reason}; ${remedy}`, EXIT.unavailable);
    return failed({ class: 'fatal', reason, stop });
  }
  if (BROKEN.test(code)) return failed({ class: 'transient', reason: `the connection broke (${code})` });
  if (code.startsWith('HPE_')) {
    const reason = `the server does not answer in HTTP (${code}): does it want https:// in the base URL?`;
    return failed({ class: 'malformed', reason });
  }
  const refusal = /Proxy response \((\d+)\)/.exec(message)?.[1];
  if (refusal !== undefined && proxy !== undefined) return refusedByProxy(Number(refusal), proxy, context.host);
  const words = tidy(code === '' ? message : code, context.redact);
  return failed({ class: 'transient', reason: `the call failed (${words})` });
}

function refusedByProxy(status: number, proxy: NonNullable<CallContext['proxy']>, host: string): AttemptFailure {
  const name = `the proxy ${proxy.host} that ${proxy.variable} names`;
  if (status !== 407) {
    const reason = `${name} lets nothing through (HTTP ${status})`;
    return { status: 'failed', class: 'transient', reason, unreachable: true };
  }
  const reason = `${name} wants other credentials (HTTP 407)`;
  const remedy = `give it http://user:password@${proxy.host}, or exclude the host with NO_PROXY=${host}`;
  const stop = new UserError(`${host}: ${reason}; ${remedy}`, EXIT.unavailable);
  return { status: 'failed', class: 'fatal', reason, stop };
}

/** The innermost cause that has a code, as the client and Node wrap what the socket said. */
function rootOf(error: unknown): { code: string; message: string } {
  let code = '';
  let message = '';
  for (let cause = error, depth = 0; cause !== undefined && cause !== null && depth < 8; depth++) {
    const { errors, ...rest } = describeError(cause);
    if (rest.message !== '') message = rest.message;
    if (rest.code !== '') code = rest.code;
    cause = errors?.[0] ?? asObject(cause).cause;
  }
  // The client keeps nothing of a connection that was not made in time.
  return { code: code === '' && message === 'Request timed out.' ? 'ETIMEDOUT' : code, message };
}

function describeError(cause: unknown): { code: string; message: string; errors?: unknown[] } {
  const { name, code, message, errors } = asObject(cause);
  // Only some of the parser's errors have a code.
  const known = name === 'HTTPParserError' ? (code ?? 'HPE_INVALID') : code;
  return {
    code: typeof known === 'string' ? known : '',
    message: asText(message),
    ...(Array.isArray(errors) && { errors }),
  };
}
