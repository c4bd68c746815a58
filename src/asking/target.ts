// Whom a run asks: the endpoints that the flags name, or a server of its own.

import { proxyFor } from '../model/http/proxy.js';
import type { Named } from '../model/open.js';
import type { Io } from '../types.js';
import { startLocal } from './local.js';
import type { AskingSettings } from './options.js';

/** Whom to ask, and what a run keeps of it. */
export type Target = Named & {
  /** What a run's identity holds of the model: its name, or the file that is served here. */
  readonly identity: unknown;
  /** Hosts and ports, fit for a manifest; a local server's port says nothing. */
  readonly hosts: readonly string[];
  close(): Promise<void>;
};

/**
 * The target that the flags name; under --local the server is started here, and stopped by `close`.
 * @throws UserError (2) for a proxy in the environment that cannot be used
 */
export async function openTarget(
  prefix: Target['prefix'],
  named: {
    readonly baseUrls: readonly string[];
    readonly model: string | undefined;
    readonly apiKey: string | undefined;
    readonly local: string | undefined;
  },
  settings: AskingSettings,
  io: Io,
): Promise<Target> {
  if (named.local !== undefined) {
    const server = await startLocal(named.local, io, settings);
    const { url, name: model, apiKey, identity, close } = server;
    return {
      kind: 'endpoints',
      prefix,
      baseUrls: [url],
      proxies: [undefined],
      model,
      apiKey,
      identity,
      hosts: ['local'],
      own: server,
      close,
    };
  }
  const { baseUrls, model = '' } = named;
  return {
    kind: 'endpoints',
    prefix,
    baseUrls,
    proxies: baseUrls.map((url) => proxyFor(url, io.env)),
    model,
    apiKey: named.apiKey ?? openAiKey(baseUrls, io.env),
    identity: model,
    hosts: baseUrls.map((url) => new URL(url).host),
    async close() {},
  };
}

/** `OPENAI_API_KEY` is meant for OpenAI alone, and goes to no other host unasked. */
function openAiKey(baseUrls: readonly string[], env: Io['env']): string {
  const atOpenAi = baseUrls.every((url) => new URL(url).hostname === 'api.openai.com');
  return (atOpenAi ? env.OPENAI_API_KEY : undefined) ?? '';
}
