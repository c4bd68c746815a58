// A running environment for tests, and ways to talk to it.

import { once } from 'node:events';
import WebSocket from 'ws';
import { ApiError } from '../../src/serve/http/wire.js';
import { type EnvironmentOptions, startEnvironment } from '../../src/simulate/environment/http.js';
import { type SessionGrounds, Sessions, type Simulator } from '../../src/simulate/environment/sessions.js';
import { cleanups } from './cleanups.js';

type RunningEnvironment = Awaited<ReturnType<typeof startEnvironment>>;

const open: RunningEnvironment[] = [];

cleanups.push(async () => {
  for (const environment of open.splice(0)) await environment.close(0);
});

export interface TestEnvironment extends RunningEnvironment {
  readonly sessions: Sessions;
  /** What clients are not told. */
  readonly errors: readonly unknown[];
}

/** Starts on a free port of 127.0.0.1; it is closed after the test. */
export async function startTestEnvironment(
  simulator: Simulator,
  given: Partial<Omit<EnvironmentOptions, 'sessions'> & SessionGrounds & { readonly sessions: number }> = {},
): Promise<TestEnvironment> {
  const errors: unknown[] = [];
  const { steps = 100, records, sessions: most = 100, idleMs = 60_000 } = given;
  const sessions = new Sessions({ simulator, steps, records, most, idleMs });
  const environment = await startEnvironment({
    host: '127.0.0.1',
    port: 0,
    apiKey: '',
    messageBytes: 65_536,
    onError: (error) => errors.push(error),
    toldOf: (error) => {
      if (error instanceof ApiError) return error;
      errors.push(error);
      return new ApiError(500, 'the environment failed', 'EXECUTION_ERROR');
    },
    ...given,
    sessions,
  });
  open.push(environment);
  return { ...environment, sessions, errors };
}

export async function post(
  environment: RunningEnvironment,
  path: string,
  body: unknown,
  init: RequestInit = {},
): Promise<Response> {
  return fetch(`${environment.url}${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
    headers: { 'content-type': 'application/json', ...init.headers },
  });
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
export type Said = any;

export async function json(response: Promise<Response>): Promise<{ status: number; body: Said; headers: Headers }> {
  const { status, headers, ...rest } = await response.then(async (answered) => ({
    status: answered.status,
    headers: answered.headers,
    body: await answered.json(),
  }));
  return { status, headers, body: rest.body };
}

/** An agent on a WebSocket: its messages are answered in order. */
export class SocketAgent {
  readonly #answers: Said[] = [];
  #waiting: ((answer: Said) => void) | undefined;
  readonly socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (bytes) => {
      const answer = JSON.parse(String(bytes));
      if (this.#waiting === undefined) this.#answers.push(answer);
      else this.#waiting(answer);
      this.#waiting = undefined;
    });
  }

  static async connect({ url }: RunningEnvironment, options: WebSocket.ClientOptions = {}): Promise<SocketAgent> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, options);
    const agent = new SocketAgent(socket);
    await once(socket, 'open');
    return agent;
  }

  async heard(): Promise<Said> {
    return this.#answers.shift() ?? new Promise((resolve) => (this.#waiting = resolve));
  }

  async say(message: unknown): Promise<Said> {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
    return this.heard();
  }

  reset(data: unknown = {}): Promise<Said> {
    return this.say({ type: 'reset', data });
  }

  act(action: unknown): Promise<Said> {
    return this.say({ type: 'step', data: { action } });
  }

  async close(): Promise<void> {
    this.socket.close();
    if (this.socket.readyState !== WebSocket.CLOSED) await once(this.socket, 'close');
  }
}

/** The HTTP status with which an upgrade is refused. */
export async function refusedUpgrade({ url }: RunningEnvironment, options: WebSocket.ClientOptions, path = '/ws') {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, options);
  const [, response] = await once(socket, 'unexpected-response');
  response.resume();
  return response.statusCode;
}
