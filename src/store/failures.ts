// What a failure of SQLite means to the user: a UserError with the next step.

import { codeOf, EXIT, UserError } from '../errors.js';
import { DamagedValue, sqliteCode } from './sqlite.js';

/** What a failure of SQLite means to those who write; other errors come back as they are. */
export function explainWriting(error: unknown, path: string, busyMs: number): unknown {
  if (error instanceof TypeError && error.message.includes('directory does not exist')) {
    return new UserError(
      `cannot write ${path}: its folder does not exist; create it or name another with --db`,
      EXIT.cannotWrite,
    );
  }
  const code = sqliteCode(error) ?? '';
  const reason = writeFailure(code, busyMs);
  return reason === undefined
    ? explainDamage(error, path)
    : new UserError(`cannot write ${path}: ${reason}`, EXIT.cannotWrite);
}

function writeFailure(code: string, busyMs: number): string | undefined {
  if (code.startsWith('SQLITE_BUSY')) {
    return `another process kept it locked for ${busyMs / 1000} s; try again when it is done`;
  }
  if (code === 'SQLITE_FULL') return 'the disk is full, and nothing in it was changed; free some space, or use --db';
  if (/^SQLITE_(READONLY|CANTOPEN|PERM)/.test(code)) {
    return `it or its folder cannot be written (${code}); mend the permissions, or use --db`;
  }
  if (code.startsWith('SQLITE_IOERR')) return `the disk reports an error (${code}); use --db for another place`;
  return undefined;
}

/** The same to those who read. */
export function explainReading(error: unknown, path: string, busyMs: number): unknown {
  const code = sqliteCode(error) ?? codeOf(error) ?? '';
  if (code.startsWith('SQLITE_BUSY')) {
    const reason = `another process kept it locked for ${busyMs / 1000} s; try again when it is done`;
    return new UserError(`cannot read ${path}: ${reason}`, EXIT.inputMissing);
  }
  if (/^(SQLITE_(CANTOPEN|PERM|READONLY|IOERR)|E[A-Z]+$)/.test(code)) {
    return new UserError(`cannot read ${path} (${code}); mend that, or name another file with --db`, EXIT.inputMissing);
  }
  return explainDamage(error, path);
}

function explainDamage(error: unknown, path: string): unknown {
  const code = error instanceof DamagedValue ? error.message : sqliteCode(error);
  if (!(error instanceof Error) || code === undefined) return error;
  if (code.startsWith('SQLITE_CONSTRAINT')) {
    return new UserError(`${path} does not take this run: ${error.message}`, EXIT.badData);
  }
  if (code === 'SQLITE_NOTADB') {
    return new UserError(`${path} is not a SQLite database; name another file with --db`, EXIT.badData);
  }
  return new UserError(
    `${path} is damaged (${code}); move it away and score again: the judged files hold all that was in it`,
    EXIT.badData,
  );
}
