// What can go wrong for a user, each with its exit code and its next step; and values that must be there.

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

/** An error that the user can act on: its message says what is wrong, where, and how to mend it. It is printed without a stack. */
export class UserError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = EXIT.usage) {
    super(message);
    this.name = 'UserError';
    this.exitCode = exitCode;
  }
}

/** The errors by their usual reasons, each with its exit code. */
export const badData = (message: string) => new UserError(message, EXIT.badData);
export const inputMissing = (message: string) => new UserError(message, EXIT.inputMissing);
export const unavailable = (message: string) => new UserError(message, EXIT.unavailable);
export const identityDiffers = (message: string) => new UserError(message, EXIT.identityDiffers);
export const cannotCreate = (message: string) => new UserError(message, EXIT.cannotCreate);
export const cannotWrite = (message: string) => new UserError(message, EXIT.cannotWrite);

/** The exit code of a command that a signal ended: Ctrl-C (SIGINT), or any other. */
export function exitCodeOf(signal: unknown): ExitCode {
  return signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
}

/** The exit code of a command that its user has interrupted. */
export function interruption(stop: AbortSignal): ExitCode {
  return exitCodeOf(stop.reason);
}

/** @throws UserError (130 or 143) once the user has interrupted a command that has nothing to save. */
export function throwIfStopped(stop: AbortSignal | undefined): void {
  if (stop?.aborted) throw new UserError('interrupted; the same command starts over', interruption(stop));
}

/** Lets in the signals that came during a long calculation. @throws UserError as `throwIfStopped` */
export async function heedStop({ stop }: { readonly stop: AbortSignal }): Promise<void> {
  await new Promise((done) => setImmediate(done));
  throwIfStopped(stop);
}

/** The code that Node and its packages give an error, such as `ENOENT`; undefined where there is none. */
export function codeOf(error: unknown): string | undefined {
  return isObject(error) && typeof error.code === 'string' ? error.code : undefined;
}

/** What the file system refused, as the error that its code makes; any other error comes back as it is. */
export function refusedBy(error: unknown, told: (code: string) => UserError): unknown {
  const code = codeOf(error);
  return error instanceof UserError || code === undefined ? error : told(code);
}

/** What an error says, whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// A value that the program's own logic says is there.

/**
 * The value, for an entry that cannot be missing: `present(names.at(-1))` of a list that is not empty. Where it is missing all the
 * same, the program is at fault, and says so here instead of computing with nothing. For data that others wrote, use a guard.
 * @throws Error
 */
export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a value is missing that had to be there');
  return value;
}

// What is open is closed, whatever is thrown meanwhile.

/** What `use` makes of something that is open; it is closed then, whatever has come of it. */
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

/** What `make` makes over something that is open; only where that fails it is closed. */
export async function closingOnFailure<T>(opened: { close(): unknown }, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    await opened.close();
    throw error;
  }
}
