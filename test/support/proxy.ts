// A proxy on 127.0.0.1 that tunnels every host to one port, or refuses.

import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

export interface TunnelProxy {
  readonly url: string;
  readonly host: string;
  /** The host and port of each requested tunnel, and the credentials that came with it. */
  readonly tunnels: readonly string[];
  readonly credentials: readonly (string | undefined)[];
  close(): void;
}

/** `refuse` is a status to answer instead. */
export async function startProxy(options: { readonly to?: number; readonly refuse?: number }): Promise<TunnelProxy> {
  const tunnels: string[] = [];
  const credentials: (string | undefined)[] = [];
  const proxy = createServer().on('connect', (request, client, head) => {
    tunnels.push(String(request.url));
    credentials.push(request.headers['proxy-authorization']);
    client.on('error', () => {});
    if (options.to === undefined) {
      client.end(`HTTP/1.1 ${options.refuse} No\r\n\r\n`);
      return;
    }
    const upstream = connect(options.to, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.write(head);
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on('error', () => client.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return {
    url: `http://${host}`,
    host,
    tunnels,
    credentials,
    close() {
      proxy.close();
      proxy.closeAllConnections();
    },
  };
}
