// The address of an endpoint, and its proxy: addresses split into parts, with those that must never be shown.

import { unescape as decoded } from 'node:querystring';
import { UserError } from '../../core/errors.js';

export type Address = ReturnType<typeof readAddress>;
export type HttpProxy = ReturnType<typeof readProxy>;

/** Query parameters with credentials; others, such as an API version, may appear in any text. */
const CREDENTIAL = /key|token|secret|sig|auth|pass|code/i;
const SCHEMES = ['http:', 'https:', 'socks:', 'socks5:'];
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** Splits a base URL. @throws UserError (2) for a base URL or a key that cannot be used */
export function readAddress(baseUrl: string, apiKey: string) {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UserError('the base URL must be an address like http://localhost:8000/v1');
  }
  if (!/^[\x21-\x7e]*$/.test(apiKey)) {
    throw new UserError('the API key has characters that no HTTP header can carry (a trailing space or line end?)');
  }
  const query = Object.fromEntries(url.searchParams);
  const { basic, secrets } = credentialsOf(url);
  return {
    /** Host and port, without credentials or path. */
    host: url.host,
    /** Without query, credentials and trailing slashes. */
    baseUrl: url.origin + url.pathname.replace(/\/+$/, ''),
    query,
    /** The authorization header if the URL names a user and no key is given. */
    basic: apiKey === '' ? basic : undefined,
    secrets: [...secrets, ...Object.keys(query).flatMap((name) => (CREDENTIAL.test(name) ? (query[name] ?? []) : []))],
  };
}

/**
 * The proxy for a URL: HTTP_PROXY, or for https first HTTPS_PROXY, lower case before upper case; none for what NO_PROXY names (hosts
 * with their subdomains, with or without a port, `*` for all) and for loopback addresses, which no proxy can reach.
 * @throws UserError (2) for a proxy that cannot be used; the password is not shown
 */
export function proxyFor(url: string, env: Readonly<Record<string, string | undefined>>): HttpProxy | undefined {
  const { protocol, hostname, port } = new URL(url);
  const variables = [...(protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : []), 'http_proxy', 'HTTP_PROXY'];
  const variable = variables.find((name) => env[name]);
  if (variable === undefined) return undefined;
  const proxy = readProxy(variable, env[variable] ?? '');
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

/** A proxy as the environment variable gives it: its address without credentials, and its authorization. */
function readProxy(variable: string, value: string) {
  // curl and others also accept a host with a port.
  const given = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !SCHEMES.includes(url.protocol) || url.hostname === '') {
    const shown = value.replace(/^(.*:\/\/)?.*@/s, '$1');
    throw new UserError(`${variable}: "${shown}" is not a proxy; use an address like http://user:password@proxy:3128`);
  }
  const { basic, secrets } = credentialsOf(url);
  return { variable, host: url.host, url: `${url.protocol}//${url.host}`, authorization: basic, secrets };
}

/** The user and the password in a URL, as a header has them. */
function credentialsOf(url: URL): { readonly basic: string | undefined; readonly secrets: readonly string[] } {
  const [user = '', password = ''] = [url.username, url.password].map((text) => decoded(text));
  const secrets = [password, url.password];
  if (user === '') return { basic: undefined, secrets };
  const basic = Buffer.from(`${user}:${password}`).toString('base64');
  return { basic: `Basic ${basic}`, secrets: [...secrets, basic] };
}
