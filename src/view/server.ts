// The viewer's server: the app and its documents, only for the machine it runs on, or for others with a token.

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { codeOf, messageOf, UserError } from '../core/errors.js';
import { builtFile, frame, SAFE_POLICY } from './page.js';

const HEADERS = {
  'Content-Security-Policy': `${SAFE_POLICY}; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'`,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

/**
 * Starts the server. On loopback it only answers requests with its own Host, so that no web page reaches it by another name; on any
 * other address every request needs the token in its URL.
 * @param document returns a document by name, or `undefined` if there is none
 * @param onError called with errors that are not the user's
 * @throws UserError (2) if the port is taken or the address does not exist
 */
export async function startViewer(
  { document }: { document(name: string): Promise<unknown> },
  { host, port, onError }: { readonly host: string; readonly port: number; onError(text: string): void },
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const isLocal = /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host);
  const token = isLocal ? '' : randomBytes(24).toString('base64url');
  const query = isLocal ? '' : `?token=${token}`;
  let address = '';
  const app = new Hono();
  app.use(async (context, next) => {
    const { req } = context;
    const [named, origin] = [req.header('host') ?? '', req.header('origin')];
    const isOurs = (name: string) => (isLocal ? [address, `localhost:${portOf(address)}`].includes(name) : true);
    if (!isOurs(named) || (origin !== undefined && origin !== `http://${named}`)) {
      return context.text('This is not the address of the viewer. Open the one that awb view printed.', 403, HEADERS);
    }
    if (!isLocal && !isEqual(req.query('token') ?? '', token)) {
      return context.text('The token is missing. Open the complete address that awb view printed.', 403, HEADERS);
    }
    for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
    return next();
  });
  app.get('/', (context) => {
    const policy = HEADERS['Content-Security-Policy'].replace(/; frame-ancestors .*/, '');
    const page = frame(
      { title: 'AgentWorldBench', source: 'server', policy },
      `<link rel="stylesheet" href="app.css${query}">`,
      [`<script src="app.js${query}"></script>`],
    );
    return context.html(page.join(''));
  });
  app.get('/app.js', async (context) =>
    context.body(await builtFile('app.js'), 200, { 'Content-Type': 'text/javascript' }),
  );
  app.get('/app.css', async (context) => context.body(await builtFile('app.css'), 200, { 'Content-Type': 'text/css' }));
  app.get('/api/:name{.+}', async (context) => {
    const found = await document(context.req.param('name'));
    return found === undefined ? context.text('There is no such document.', 404) : context.json(found);
  });
  app.onError((error, context) => {
    if (error instanceof UserError) return context.text(error.message, 422);
    onError(messageOf(error));
    return context.text('The viewer failed here. See its terminal for details.', 500);
  });
  const server = createServer(getRequestListener(app.fetch));
  await new Promise<void>((done, failed) => {
    server.once('error', (error) => failed(notListening(error, host, port)));
    server.listen(port, host, done);
  });
  const bound = server.address();
  const shownHost = host.includes(':') ? `[${host}]` : host;
  address = `${shownHost}:${typeof bound === 'object' ? bound?.port : port}`;
  return {
    url: `http://${address}/${query}`,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

function portOf(address: string): string {
  return address.slice(address.lastIndexOf(':') + 1);
}

function isEqual(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function notListening(error: Error, host: string, port: number): Error {
  const code = codeOf(error);
  if (code === 'EADDRINUSE') {
    return new UserError(`port ${port} of ${host} is in use, perhaps by another awb view; use --port 0 for a free one`);
  }
  return code === undefined
    ? error
    : new UserError(`cannot listen at ${host}:${port} (${code}); name another --host or --port`);
}
