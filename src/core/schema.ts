// What is wrong in a file that a user wrote, according to its schema: each fault with its path, and the nearest known name.

import { z } from 'zod';
import { nearest } from './edits.js';
import { oneLine } from './printable.js';

export type Path = readonly PropertyKey[];

/** The messages of the schema; unknown keys get one each, at the key. */
export function faultsOf({ issues }: z.ZodError): { path: Path; text: string }[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return { path: issue.path, text: issue.message };
    return issue.message.split('\n').map((text, index) => ({ path: [...issue.path, issue.keys[index] ?? ''], text }));
  });
}

type KeyedError = (issue: z.core.$ZodRawIssue) => string;

/** The messages of a mapping that may have only these keys: one for each unknown key, and `wrong` for what is not a mapping. */
export function keysError(known: readonly string[], wrong: string | KeyedError, kind = 'key'): KeyedError {
  return (issue) => {
    if (issue.code !== 'unrecognized_keys') return typeof wrong === 'string' ? wrong : wrong(issue);
    return issue.keys.map((key) => unknownName(`${kind} "${oneLine(key, 60)}"`, key, known)).join('\n');
  };
}

/** A mapping that may have only these keys; `what` is its name in messages. */
export function mapping<Shape extends z.ZodRawShape>(what: string, shape: Shape) {
  const keys = Object.keys(shape);
  const listed = keys.length < 2 ? keys.join() : `${keys.slice(0, -1).join(', ')} and ${keys.at(-1)}`;
  return z.strictObject(shape, { error: keysError(keys, `${what} has to be a mapping with ${listed}`) });
}

/** Says that a name is unknown, and which known name is near. */
export function unknownName(what: string, name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return `unknown ${what}; ${near === undefined ? `known: ${known.join(', ')}` : `did you mean "${near}"?`}`;
}

export function oneOf<Name extends string>(kind: string, known: readonly Name[]) {
  return z.enum(known, {
    error: ({ input }) =>
      typeof input === 'string'
        ? unknownName(`${kind} "${oneLine(input, 60)}"`, input, known)
        : `a ${kind} is one of ${known.join(', ')}`,
  });
}
