// Ctrl-C between two long calculations.

import { throwIfStopped } from '../errors.js';
import type { Io } from '../types.js';

/** Lets in the signals that came during a calculation. @throws UserError (130 or 143) where the user has interrupted the program. */
export async function heedStop(io: Io): Promise<void> {
  await new Promise((done) => setImmediate(done));
  throwIfStopped(io.stop);
}
