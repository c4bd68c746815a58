// The options of an environment for agents elsewhere: where it listens, what it speaks, and its caps.

import { isIPv6 } from 'node:net';
import { UserError } from '../../core/errors.js';
import { type OptionTable, type Settings, under } from '../../settings/options.js';

export const ENVIRONMENT_OPTIONS = under('Environment', {
  listen: {
    kind: 'text',
    value: 'HOST:PORT',
    check: placeForm,
    help: 'serve worlds by the OpenEnv protocol there, such as 127.0.0.1:7860; port 0 takes a free one',
  },
  mcp: {
    kind: 'boolean',
    help: 'serve the tool act by MCP: over standard input and output, or with --listen over HTTP at /mcp',
  },
  'listen-key': {
    kind: 'text',
    value: 'KEY',
    secret: true,
    help: 'key that agents have to send; needed on any address but loopback',
  },
  record: { kind: 'text', value: 'DIR', help: 'keep every episode there as a row of the benchmark, step by step' },
  sessions: { kind: 'integer', min: 1, max: 100_000, default: 256, help: 'most sessions at once' },
  'session-idle': { kind: 'duration', min: 1, default: 1800, help: 'end a session without requests for so long' },
  'message-kib': {
    kind: 'integer',
    min: 1,
    max: 1_048_576,
    default: 1024,
    help: 'largest message of an agent, in KiB',
  },
} as const satisfies OptionTable);

export type EnvironmentSettings = Settings<typeof ENVIRONMENT_OPTIONS>;

/** Whether agents elsewhere are to be served. @throws UserError (2) for a flag that says something of that where they are not */
export function servesAgents({
  listen,
  mcp,
  listenKey,
  record,
}: Pick<EnvironmentSettings, 'listen' | 'mcp' | 'listenKey' | 'record'>): boolean {
  if (listenKey !== undefined && listen === undefined) throw new UserError('--listen-key belongs to --listen; add it');
  if (listen !== undefined || mcp) return true;
  if (record !== undefined) throw new UserError('--record belongs to --listen or --mcp; add one');
  return false;
}

/** The host and port of `HOST:PORT`; a host that holds colons stands in brackets. Undefined for another form. */
export function placeOf(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]\s/]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > 65_535 || (bracketed !== undefined && !isIPv6(bracketed))) return undefined;
  return { host, port };
}

function placeForm(text: string): string | undefined {
  return placeOf(text) === undefined ? 'HOST:PORT, such as 127.0.0.1:7860 or [::1]:7860' : undefined;
}
