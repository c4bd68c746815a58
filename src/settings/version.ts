// The tool's own version, as package.json states it.

import { readFileSync } from 'node:fs';

let version: string | undefined;

/** For example `0.1.0`; read once. */
export function toolVersion(): string {
  version ??= String(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version);
  return version;
}
