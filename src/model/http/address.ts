// Where an endpoint is: its base URL taken apart, with what of it must never be shown.

import { UserError } from '../../core/errors.js';

export interface Address {
  /** Host and port, without credentials or path. */
  readonly host: string;
  /** Without query, credentials and closing slashes. */
  readonly baseUrl: string;
  readonly query: Readonly<Record<string, string>>;
  /** The authorization header where the URL names a user and no key is given. */
  readonly basic?: string;
  readonly secrets: readonly string[];
}

/** Query parameters that hold credentials; others, such as an API version, may stand in any text. */
const CREDENTIAL = /key|token|secret|sig|auth|pass|code/i;

/** Takes a base URL apart. @throws UserError (2) for a base URL or a key that cannot be used */
export function readAddress(baseUrl: string, apiKey: string): Address {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UserError('the base URL must be an address like http://localhost:8000/v1');
  }
  if (!/^[\x21-\x7e]*$/.test(apiKey)) {
    throw new UserError('the API key holds characters that no HTTP header can carry (a space or line end at its end?)');
  }
  const query = Object.fromEntries(url.searchParams);
  const credentials = Object.entries(query).filter(([name]) => CREDENTIAL.test(name));
  const user = decode(url.username);
  const password = decode(url.password);
  const basic = Buffer.from(`${user}:${password}`).toString('base64');
  return {
    host: url.host,
    baseUrl: url.origin + url.pathname.replace(/\/+$/, ''),
    query,
    ...(user !== '' && apiKey === '' && { basic: `Basic ${basic}` }),
    secrets: [password, ...(user === '' ? [] : [basic]), ...credentials.map(([, value]) => value)],
  };
}

/** What is not percent-encoded text stands for itself. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
