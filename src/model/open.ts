// Which backend asks: chosen here by what the user named, each in a file of its own.

import type { BackendOptions, OpenBackend } from './backend.js';
import { type NamedEndpoints, openEndpoints } from './endpoints.js';

/** What a user can name to be asked; `kind` tells the backend. */
export type Named = NamedEndpoints;

/**
 * Opens the backend for what the user named. No row is asked yet.
 * @throws UserError (2) for a base URL or a key that cannot be used
 */
export function openBackend(named: Named, options: BackendOptions): Promise<OpenBackend> {
  switch (named.kind) {
    case 'endpoints':
      return openEndpoints(named, options);
    default:
      return named.kind satisfies never;
  }
}
