// MCP: the one tool `act` over standard input and output, and over streamable HTTP. No other file imports the SDK, an optional peer.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { CallToolRequest, CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import { codeOf, unavailable } from '../../core/errors.js';
import { ApiError } from '../../serve/http/wire.js';
import { ACT_SCHEMA, invalid, readAct } from './protocol.js';
import type { Answer, Session, Sessions } from './sessions.js';

/** The tested release; the message about a missing SDK names it. */
const SDK_VERSION = '1.32.2';

/** @throws UserError (69) if the SDK is not installed */
export async function importSdk() {
  try {
    const [server, stdio, http, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/server/index.js'),
      import('@modelcontextprotocol/sdk/server/stdio.js'),
      import('@modelcontextprotocol/sdk/server/streamableHttp.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    return { server, stdio, http, types };
  } catch (error) {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw unavailable(
      `--mcp needs @modelcontextprotocol/sdk, which is not installed; add it with: npm i @modelcontextprotocol/sdk@${SDK_VERSION}`,
    );
  }
}

type Sdk = Awaited<ReturnType<typeof importSdk>>;

/** Shared by all protocols through which agents act. */
export interface Grounds {
  readonly sessions: Sessions;
  /** Largest message of an agent. */
  readonly messageBytes: number;
  /** The error that a client sees. */
  readonly toldOf: (error: unknown) => ApiError;
}

/** Speaks MCP on a pair of streams; resolves when all input is answered and has ended, or when `stop` is aborted. */
export async function serveStdio(
  sdk: Sdk,
  grounds: Grounds,
  { input, output }: { readonly input: Readable; readonly output: Writable },
  stop: AbortSignal,
): Promise<void> {
  const { server, answered } = actServer(sdk, grounds, grounds.sessions.open());
  // The parent process may send anything: the cap on messages is for those from the network.
  const transport = new sdk.stdio.StdioServerTransport(input, output, { maxBufferSize: Number.POSITIVE_INFINITY });
  const ended = new Promise<void>((resolve) => {
    transport.onclose = resolve;
    // Messages that came with the end are handed on first.
    input.once('end', () => setImmediate(() => void answered().then(() => resolve())));
    stop.addEventListener('abort', () => resolve(), { once: true });
    if (stop.aborted) resolve();
  });
  await server.connect(transport);
  await ended;
  // Unread standard input must not keep the process alive.
  input.destroy();
}

export type McpRoute = ReturnType<typeof mcpRoute>;

/** Streamable HTTP: serves requests to `/mcp`, and closes their sessions. */
export function mcpRoute(sdk: Sdk, grounds: Grounds) {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  async function open(): Promise<StreamableHTTPServerTransport> {
    const session = grounds.sessions.open(() => void transport.close());
    const transport = new sdk.http.StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void transports.set(id, transport),
    });
    const { server } = actServer(sdk, grounds, session);
    server.onclose = () => {
      grounds.sessions.end(session);
      if (transport.sessionId !== undefined) transports.delete(transport.sessionId);
    };
    // Its accessors allow undefined; under exactOptionalPropertyTypes the interface only allows absence.
    await server.connect(transport as Parameters<Server['connect']>[0]);
    return transport;
  }
  return {
    async serve(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
      const id = request.headers['mcp-session-id'];
      const known = typeof id === 'string' ? transports.get(id) : undefined;
      if (known !== undefined) return known.handleRequest(request, response, body);
      if (id !== undefined || !sdk.types.isInitializeRequest(body)) {
        const message = 'there is no such MCP session here; initialize starts one, and its response gives the id';
        throw new ApiError(id === undefined ? 400 : 404, message, 'SESSION_NOT_FOUND');
      }
      const transport = await open();
      await transport.handleRequest(request, response, body);
      // The request was refused, so there is no session.
      if (transport.sessionId === undefined) await transport.close();
    },
    async close(): Promise<void> {
      await Promise.all([...transports.values()].map((transport) => transport.close()));
    },
  };
}

/** An MCP server with the one tool, for one session. A model's parallel calls are executed one after another. */
function actServer(sdk: Sdk, grounds: Grounds, session: Session): { server: Server; answered(): Promise<unknown> } {
  const server = new sdk.server.Server({ name: 'agentworldbench', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(sdk.types.ListToolsRequestSchema, () => ({ tools: [TOOL] }));
  const call = async (params: CallToolRequest['params'], signal: AbortSignal): Promise<CallToolResult> => {
    try {
      if (params.name !== 'act') throw invalid(`there is no tool "${params.name.slice(0, 100)}"; the only one is act`);
      const { observation, done } = await act(session, params.arguments ?? {}, signal);
      const { done_reason: reason } = observation.metadata;
      const texts = [observation.text, ...(reason === undefined ? [] : [`(the episode is over: ${reason})`])];
      const content = texts.map((text) => ({ type: 'text' as const, text }));
      return { content, structuredContent: { ...observation, done } };
    } catch (error) {
      const { message } = grounds.toldOf(error);
      return { content: [{ type: 'text', text: message }], isError: true };
    }
  };
  let last: Promise<unknown> = Promise.resolve();
  server.setRequestHandler(sdk.types.CallToolRequestSchema, ({ params }, { signal }) => {
    const result = last.then(() => call(params, signal));
    last = result;
    return result;
  });
  return { server, answered: () => last };
}

const TOOL: Tool = {
  name: 'act',
  description:
    'Takes an action in a simulated world and answers what the environment shows. With reset (or as the first call) a new episode begins; with reset alone, no action is taken.',
  // The SDK's type only allows objects where JSON Schema also allows true and false.
  inputSchema: ACT_SCHEMA as Tool['inputSchema'],
};

async function act(session: Session, given: unknown, signal: AbortSignal): Promise<Answer> {
  const { action, reset } = readAct(given);
  let begun: Answer | undefined;
  if (reset !== undefined || session.state.episode_id === null) {
    const { start = {}, episodeId = randomUUID() } = reset ?? {};
    begun = await session.reset(start, episodeId);
  }
  if (action === undefined && begun !== undefined) return begun;
  return session.step(action ?? '', { signal });
}
