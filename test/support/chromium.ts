// A headless Chromium, driven over its debugging protocol: pages opened from files, what they show, and what they tried to do.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'undici';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
/** Why tests that need a browser are left out; undefined where there is one. */
export const noChromium = existsSync(CHROMIUM) ? undefined : `there is no ${CHROMIUM} (apt-get install chromium)`;

export interface Page {
  /** Everything that was asked for, the page itself included. */
  readonly requests: readonly string[];
  /** Errors and warnings on the console, exceptions, and refusals of the content security policy. */
  readonly complaints: readonly string[];
  /** Empties both lists, for the next test in the same page. */
  forget(): void;
  /** Goes to an address and waits until its scripts have run. */
  open(url: string): Promise<void>;
  /** The value of an expression in the page; a promise is waited for. */
  // biome-ignore lint/suspicious/noExplicitAny: pages hold values of any shape
  evaluate(expression: string): Promise<any>;
  /** Presses a key by its name, such as `Tab` or `ArrowLeft`, or a character. */
  press(key: string): Promise<void>;
  /** Sets the width and height in pixels and the colour scheme. */
  look(width: number, height: number, scheme?: 'light' | 'dark'): Promise<void>;
  /** Writes a PNG of the window. */
  screenshot(path: string): Promise<void>;
  /** Lets the page save files, into this folder. */
  saveInto(folder: string): Promise<void>;
}

export interface Browser {
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

type Params = Readonly<Record<string, unknown>>;
// biome-ignore lint/suspicious/noExplicitAny: the protocol's results have many shapes
type Result = any;
type Send = (method: string, params?: Params, sessionId?: string) => Promise<Result>;
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Result;
  readonly sessionId?: string;
  readonly result?: Result;
  readonly error?: { readonly message: string };
}

/** Starts the browser with an empty profile of its own. */
export async function startChromium(): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'awb-chromium-'));
  const child = spawn(
    CHROMIUM,
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--remote-debugging-port=0',
      `--user-data-dir=${profile}`,
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const exited = new Promise<void>((done) => child.once('exit', () => done()));
  const socket = new WebSocket(await debuggerAddress(child));
  await new Promise<void>((done, failed) => {
    socket.addEventListener('open', () => done());
    socket.addEventListener('error', () => failed(new Error('cannot reach the browser')));
  });
  const { send, listen } = connection(socket);
  return {
    newPage: () => newPage(send, listen),
    async close() {
      socket.close();
      child.kill('SIGKILL');
      await exited;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function debuggerAddress(child: ChildProcess): Promise<string> {
  return new Promise((done, failed) => {
    let said = '';
    child.stderr?.on('data', (chunk) => {
      said += chunk;
      const address = /DevTools listening on (\S+)/.exec(said)?.[1];
      if (address !== undefined) done(address);
    });
    child.once('exit', (code) => failed(new Error(`chromium ended with ${code}: ${said}`)));
  });
}

function connection(socket: WebSocket) {
  let last = 0;
  const waiting = new Map<number, (message: Message) => void>();
  const listeners = new Map<string, (message: Message) => void>();
  socket.addEventListener('message', (event) => {
    const message = JSON.parse(String(event.data)) as Message;
    if (message.id !== undefined) waiting.get(message.id)?.(message);
    else if (message.sessionId !== undefined) listeners.get(message.sessionId)?.(message);
  });
  const send: Send = (method, params = {}, sessionId) =>
    new Promise((done, failed) => {
      const id = ++last;
      waiting.set(id, ({ result, error }) => {
        waiting.delete(id);
        if (error === undefined) done(result);
        else failed(new Error(`${method}: ${error.message}`));
      });
      socket.send(JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
    });
  const listen = (sessionId: string, listener: (message: Message) => void) => listeners.set(sessionId, listener);
  return { send, listen };
}

async function newPage(
  send: Send,
  listen: (sessionId: string, listener: (message: Message) => void) => void,
): Promise<Page> {
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
  const call = (method: string, params?: Params) => send(method, params, sessionId);
  const requests: string[] = [];
  const complaints: string[] = [];
  // Documents that have loaded, by the loader that Page.navigate names: its answer may come after the event.
  const loaded = new Set<string>();
  let onLoad = () => {};
  listen(sessionId, ({ method, params }) => {
    if (method === 'Network.requestWillBeSent') requests.push(params.request.url);
    if (method === 'Page.lifecycleEvent' && params.name === 'load') {
      loaded.add(params.loaderId);
      onLoad();
    }
    const complaint = complaintIn(method, params);
    if (complaint !== undefined) complaints.push(complaint);
  });
  for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await call(`${domain}.enable`);
  await call('Page.setLifecycleEventsEnabled', { enabled: true });
  return {
    requests,
    complaints,
    forget() {
      requests.length = 0;
      complaints.length = 0;
    },
    async open(url) {
      // Where only what stands behind # differs, nothing is loaded: the blank page lies between.
      for (const address of ['about:blank', url]) {
        const { loaderId, errorText } = await call('Page.navigate', { url: address });
        if (errorText !== undefined) throw new Error(`${address}: ${errorText}`);
        await new Promise<void>((done) => {
          onLoad = () => loaded.has(loaderId) && done();
          onLoad();
        });
      }
    },
    async evaluate(expression) {
      const answer = await call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
      if (answer.exceptionDetails !== undefined) {
        throw new Error(answer.exceptionDetails.exception?.description ?? answer.exceptionDetails.text);
      }
      return answer.result.value;
    },
    async press(key) {
      const codes: Readonly<Record<string, number>> = {
        Tab: 9,
        Enter: 13,
        Escape: 27,
        Space: 32,
        ArrowLeft: 37,
        ArrowRight: 39,
      };
      const text = key.length === 1 ? key : { Enter: '\r', Space: ' ' }[key];
      const code = codes[key] ?? key.toUpperCase().charCodeAt(0);
      const event = { key: key === 'Space' ? ' ' : key, code: key, windowsVirtualKeyCode: code };
      await call('Input.dispatchKeyEvent', { type: 'keyDown', ...event, ...(text === undefined ? {} : { text }) });
      await call('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
    },
    async look(width, height, scheme = 'light') {
      await call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 });
      await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
    },
    async screenshot(path) {
      const { data } = await call('Page.captureScreenshot', { format: 'png' });
      await writeFile(path, Buffer.from(data, 'base64'));
    },
    async saveInto(folder) {
      await send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder });
    },
  };
}

function complaintIn(method: string | undefined, params: Result): string | undefined {
  if (method === 'Runtime.exceptionThrown') {
    return params.exceptionDetails.exception?.description ?? params.exceptionDetails.text;
  }
  if (method === 'Log.entryAdded' && /error|warning/.test(params.entry.level)) return params.entry.text;
  if (method === 'Runtime.consoleAPICalled') return `${params.type}: ${JSON.stringify(params.args[0]?.value)}`;
  return undefined;
}
