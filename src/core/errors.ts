// What can go wrong for a user, each with its exit code and next step; and values that must exist.

import { isObject } from './json.js';

/** Exit codes, as docs/exit-codes.md lists them. The larger ones follow sysexits.h. */
export const EXIT = {
  done: 0,
  unexpected: 1,
  usage: 2,
  incomplete: 3,
  noGo: 4,
  inconclusive: 5,
  badData: 65,
  inputMissing: 66,
  unavailable: 69,
  cannotCreate: 73,
  cannotWrite: 74,
  later: 75,
  authRefused: 77,
  identityDiffers: 78,
  interrupted: 130,
  terminated: 143,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An error that the user can act on: its message says what is wrong, where, and how to fix it. It is printed without a stack. */
export class UserError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = EXIT.usage) {
    super(message);
    this.name = 'UserError';
    this.exitCode = exitCode;
  }
}

/** Errors by their usual reasons, each with its exit code. */
export const badData = (message: string) => new UserError(message, EXIT.badData);
export const inputMissing = (message: string) => new UserError(message, EXIT.inputMissing);
export const unavailable = (message: string) => new UserError(message, EXIT.unavailable);
export const identityDiffers = (message: string) => new UserError(message, EXIT.identityDiffers);
export const cannotCreate = (message: string) => new UserError(message, EXIT.cannotCreate);
export const cannotWrite = (message: string) => new UserError(message, EXIT.cannotWrite);

/** The exit code of a command ended by a signal: Ctrl-C (SIGINT), or any other. */
export function exitCodeOf(signal: unknown): ExitCode {
  return signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
}

/** The exit code of a command that its user interrupted. */
export function interruption(stop: AbortSignal): ExitCode {
  return exitCodeOf(stop.reason);
}

/** @throws UserError (130 or 143) if the user interrupted a command that has nothing to save. */
export function throwIfStopped(stop: AbortSignal | undefined): void {
  if (stop?.aborted) throw new UserError('interrupted; run the same command to start over', interruption(stop));
}

/** Lets signals in that arrived during a long calculation. @throws UserError as `throwIfStopped` */
export async function heedStop({ stop }: { readonly stop: AbortSignal }): Promise<void> {
  await new Promise((done) => setImmediate(done));
  throwIfStopped(stop);
}

/** The code that Node and its packages give an error, such as `ENOENT`; undefined if there is none. */
export function codeOf(error: unknown): string | undefined {
  return isObject(error) && typeof error.code === 'string' ? error.code : undefined;
}

/** A file system error as the UserError made from its code; any other error is returned unchanged. */
export function refusedBy(error: unknown, told: (code: string) => UserError): unknown {
  const code = codeOf(error);
  return error instanceof UserError || code === undefined ? error : told(code);
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// A value that the program's own logic guarantees.

/**
 * The value of an entry that cannot be missing: `present(names.at(-1))` of a non-empty list. If it is missing anyway, this reports the
 * program's fault instead of computing with nothing. For data that others wrote, use a guard.
 * @throws Error
 */
export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a required value is missing');
  return value;
}

// Closes what was opened, whatever is thrown in the meantime.

/** Passes something open to `use`, and returns its result; closes it afterwards in any case. */
export async function closing<Open extends { close(): unknown }, T>(
  opened: Open,
  use: (opened: Open) => Promise<T>,
): Promise<T> {
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

/** Returns what `make` returns; closes `opened` only if that fails. */
export async function closingOnFailure<T>(opened: { close(): unknown }, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    await opened.close();
    throw error;
  }
}
