// The proxy that the environment names for an endpoint, checked before anything is asked through it.

import { UserError } from '../../core/errors.js';

export interface HttpProxy {
  /** The environment variable that names it. */
  readonly variable: string;
  /** Host and port, without credentials. */
  readonly host: string;
  /** Its address without credentials. */
  readonly url: string;
  /** What it is given to let us through: the value of the Proxy-Authorization header. */
  readonly authorization?: string;
  readonly secrets: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

const SCHEMES = ['http:', 'https:', 'socks:', 'socks5:'];
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/**
 * The proxy for a URL: HTTP_PROXY, for https HTTPS_PROXY before it, in small letters before capitals; none for what NO_PROXY names
 * (hosts with their subdomains, with or without a port, `*` for all) and for loopback addresses, which no proxy can reach.
 * @throws UserError (2) for a proxy that cannot be used; the password is not shown
 */
export function proxyFor(url: string, env: Environment): HttpProxy | undefined {
  const { protocol, hostname, port } = new URL(url);
  const variables = [...(protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : []), 'http_proxy', 'HTTP_PROXY'];
  const [named] = variables.flatMap((variable) => (env[variable] ? [{ variable, value: env[variable] }] : []));
  if (named === undefined) return undefined;
  const proxy = readProxy(named.variable, named.value);
  const isOwn = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  const excluded = env.no_proxy ?? env.NO_PROXY ?? '';
  return isOwn || isExcluded(hostname, port || (DEFAULT_PORTS[protocol] ?? ''), excluded) ? undefined : proxy;
}

function isExcluded(hostname: string, port: string, excluded: string): boolean {
  return excluded.split(/[,\s]+/).some((entry) => {
    if (entry === '*') return true;
    const [, name = '', itsPort = port] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    const domain = name.replace(/^\*?\./, '');
    return domain !== '' && itsPort === port && (hostname === domain || hostname.endsWith(`.${domain}`));
  });
}

function readProxy(variable: string, value: string): HttpProxy {
  // curl and others take a host with a port as well.
  const given = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !SCHEMES.includes(url.protocol) || url.hostname === '') {
    const shown = value.replace(/^(.*:\/\/)?.*@/s, '$1');
    throw new UserError(`${variable}: "${shown}" is no proxy; give an address like http://user:password@proxy:3128`);
  }
  const user = decoded(url.username, variable);
  const password = decoded(url.password, variable);
  const basic = Buffer.from(`${user}:${password}`).toString('base64');
  return {
    variable,
    host: url.host,
    url: `${url.protocol}//${url.host}`,
    ...(user !== '' && { authorization: `Basic ${basic}` }),
    secrets: [password, url.password, ...(user === '' ? [] : [basic])],
  };
}

function decoded(text: string, variable: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new UserError(`${variable}: its user name or password holds a % that is no escape; write it as %25`);
  }
}
