// An MLflow server over its REST API: calls, their credentials, and what its refusals mean.

import { EXIT, interruption, messageOf, UserError } from '../../core/errors.js';
import { type JsonObject, parseObject } from '../../core/json.js';
import { oneLine, printable } from '../../core/printable.js';
import type { Io } from '../../core/types.js';
import { proxiedDownloads } from '../../model/http/wire.js';
import { cutPasswords } from '../../settings/address.js';

export interface MlflowServer {
  /** Its address without credentials. */
  readonly root: string;
  /** Where it is, as people are told of it. */
  readonly shown: string;
  get(path: string, query: Readonly<Record<string, string>>): Promise<JsonObject>;
  post(path: string, body: object): Promise<JsonObject>;
  /** Puts a file among the artifacts that the server keeps for its clients. */
  putArtifact(path: string, text: string): Promise<void>;
}

/** What a server says that refuses. */
export class MlflowRefusal extends UserError {
  constructor(
    message: string,
    exitCode: UserError['exitCode'],
    /** MLflow's name for it, such as `RESOURCE_DOES_NOT_EXIST`; undefined where it gave none. */
    readonly code: string | undefined,
  ) {
    super(message, exitCode);
  }
}

const API = 'api/2.0/mlflow';
const ARTIFACTS = 'api/2.0/mlflow-artifacts/artifacts';
const TIME_LIMIT_MS = 60_000;
const MOST_TEXT = 300;

/**
 * The server at an address. `MLFLOW_TRACKING_TOKEN`, or `MLFLOW_TRACKING_USERNAME` and `MLFLOW_TRACKING_PASSWORD`, are sent to it.
 * @throws UserError (2) for an address that is none of a server. Calls throw UserError: 77 where it refuses the credentials, 69 where it
 * cannot be reached or fails, 130 or 143 once `io.stop` is aborted, and a MlflowRefusal for all else that it refuses.
 */
export function mlflowAt(address: string, io: Pick<Io, 'env' | 'stop'>): MlflowServer {
  const url = new URL(address);
  const root = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  const { authorization, secrets } = credentials(url, io.env);
  const { fetch: send, proxyOf } = proxiedDownloads(io.env);
  const proxy = proxyOf(url);
  const shown = proxy === undefined ? root : `${root} (through the proxy of ${proxy})`;
  const clean = (text: string) =>
    secrets.reduce(
      (cut, secret) => cut.replaceAll(secret, '[secret]'),
      oneLine(printable(cutPasswords(text)), MOST_TEXT),
    );

  const call = async (method: string, path: string, body?: string, type = 'application/json'): Promise<JsonObject> => {
    let response: Response;
    let text: string;
    try {
      response = await send(new URL(`${root}/${path}`), {
        method,
        headers: { ...(authorization && { authorization }), ...(body !== undefined && { 'content-type': type }) },
        ...(body !== undefined && { body }),
        // A token goes to the server that was named alone.
        redirect: 'manual',
        signal: AbortSignal.any([io.stop, AbortSignal.timeout(TIME_LIMIT_MS)]),
      });
      text = await response.text();
    } catch (error) {
      if (io.stop.aborted) throw new UserError('interrupted; the same command goes on', interruption(io.stop));
      if (error instanceof UserError) throw error;
      throw new UserError(
        `no answer from the MLflow server at ${shown} (${clean(reasonOf(error))}); check --tracking-uri, and that the server runs`,
        EXIT.unavailable,
      );
    }
    if (response.ok) return parseObject(text) ?? {};
    throw refusalOf(response.status, text, shown, clean);
  };
  return {
    root,
    shown,
    get: (path, query) => call('GET', `${API}/${path}?${new URLSearchParams(query)}`),
    post: (path, body) => call('POST', `${API}/${path}`, JSON.stringify(body)),
    async putArtifact(path, text) {
      await call(
        'PUT',
        `${ARTIFACTS}/${path.split('/').map(encodeURIComponent).join('/')}`,
        text,
        'application/octet-stream',
      );
    },
  };
}

function credentials(
  url: URL,
  env: Io['env'],
): { readonly authorization?: string; readonly secrets: readonly string[] } {
  const token = env.MLFLOW_TRACKING_TOKEN?.trim() ?? '';
  const user = env.MLFLOW_TRACKING_USERNAME || decodeURIComponent(url.username);
  const password = env.MLFLOW_TRACKING_PASSWORD || decodeURIComponent(url.password);
  if (user === '' && token === '') return { secrets: [] };
  // fetch would show such a token in its error.
  if (!/^[\x21-\x7e]*$/.test(token)) {
    throw new UserError('MLFLOW_TRACKING_TOKEN holds characters that no token has; set it anew');
  }
  // As MLflow's own clients do, user and password come before a token.
  const basic = Buffer.from(`${user}:${password}`).toString('base64');
  const authorization = user === '' ? `Bearer ${token}` : `Basic ${basic}`;
  return { authorization, secrets: [token, password, basic].filter((secret) => secret !== '') };
}

function refusalOf(status: number, text: string, shown: string, clean: (text: string) => string): UserError {
  const found = parseObject(text);
  const said = typeof found?.message === 'string' ? `: ${clean(found.message)}` : '';
  if (status === 401 || status === 403) {
    const remedy = 'set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD';
    return new UserError(
      `the MLflow server at ${shown} refuses access (${status})${said}; ${remedy}`,
      EXIT.authRefused,
    );
  }
  if (status >= 300 && status < 400) {
    return new UserError(`${shown} sends elsewhere (${status}); give that address as --tracking-uri`, EXIT.unavailable);
  }
  const code = typeof found?.error_code === 'string' ? found.error_code : undefined;
  if (code === undefined && status === 404) {
    return new UserError(`${shown} is no MLflow server (404); check --tracking-uri`, EXIT.unavailable);
  }
  return new MlflowRefusal(
    `the MLflow server at ${shown} refuses (${status}${code === undefined ? '' : `, ${clean(code)}`})${said}`,
    EXIT.unavailable,
    code,
  );
}

/** A member that is a text; the server is no MLflow where it has none. @throws UserError (69) */
export function textIn(found: JsonObject, name: string, { shown }: MlflowServer): string {
  const value = found[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new UserError(`${shown} answers, but not as an MLflow server does; check --tracking-uri`, EXIT.unavailable);
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return messageOf(cause) || 'connection failed';
}
