// `fetch` for downloads: through the proxy that the environment names for an address, directly where it names none.

import type { Dispatcher } from 'undici';
import { openProxy } from './fetch.js';
import { type HttpProxy, proxyFor } from './proxy.js';

/** How files are got. Both methods throw a UserError (2) for a proxy that cannot be used. */
export function proxiedDownloads(env: Readonly<Record<string, string | undefined>>) {
  const dispatchers = new Map<string, Promise<Dispatcher>>();
  const dispatcherFor = (proxy: HttpProxy) => {
    const known = dispatchers.get(proxy.url) ?? openProxy(proxy);
    dispatchers.set(proxy.url, known);
    return known;
  };
  return {
    async fetch(url: URL, init: RequestInit): Promise<Response> {
      const proxy = proxyFor(url.href, env);
      if (proxy === undefined) return fetch(url, init);
      const undici = await import('undici');
      const through = { ...init, dispatcher: await dispatcherFor(proxy) };
      // Node's own fetch is undici's, of another version: only the names of their types differ.
      const send = undici.fetch as unknown as (url: URL, init: object) => Promise<Response>;
      return send(url, through);
    },
    /** The proxy for an address, as people are told of it: `HTTPS_PROXY, proxy:3128`. */
    proxyOf(url: URL): string | undefined {
      const proxy = proxyFor(url.href, env);
      return proxy && `${proxy.variable}, ${proxy.host}`;
    },
  };
}
