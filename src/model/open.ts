// Chooses the backend by what the user named. Each backend has a file of its own.

import { type NamedBatch, openBatch } from '../asking/by-batch/backend.js';
import type { BackendOptions, OpenBackend } from './backend.js';
import { type NamedEndpoints, openEndpoints } from './http-backend.js';

/** Everything that a user can name to be asked; `kind` tells which backend it is for. */
type Named = NamedEndpoints | NamedBatch;

/**
 * Opens the backend for what the user named. No row is asked yet.
 * @throws UserError (2) for a base URL or a key that cannot be used
 */
export function openBackend(named: Named, options: BackendOptions): Promise<OpenBackend> {
  switch (named.kind) {
    case 'endpoints':
      return openEndpoints(named, options);
    case 'batch':
      return openBatch(named, options);
    default:
      return named satisfies never;
  }
}
