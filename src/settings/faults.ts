// What is wrong with a command line: in words, and with which of its words.

import { nearest, UserError } from '../errors.js';
import { oneLine } from '../printable.js';

/** One thing that is wrong. */
interface Fault {
  readonly message: string;
  /** Place of the word that is wrong; -1 where that cannot be told. */
  readonly at: number;
}

/** What was called: how its line begins (`awb infer`), and the flags that it has, without dashes. */
interface Called {
  readonly line: string;
  readonly flags: readonly string[];
}

/** A flag of the command stands where another flag's value belongs. */
export class ValueMissing extends Error {
  constructor(
    readonly flag: string,
    readonly next: string,
  ) {
    super(`--${flag} needs a value; what follows it is the flag ${next}`);
  }
}

/** The error for a command that does not exist. */
export function noSuchCommand(asked: string, names: readonly string[]): UserError {
  const near = nearest(asked, names);
  const advice = near === undefined ? 'see awb --help' : `did you mean ${near}?`;
  return new UserError(`there is no command "${oneLine(asked, 60)}"; ${advice}`);
}

/** The error for the first word of several commands where the second is missing. */
export function wordMissing(first: string, names: readonly string[]): UserError {
  return new UserError(`${first} is the first word of ${names.join(', ')}; see awb ${first} --help`);
}

/** What the parser's error says of these words; its `code` is commander's. */
export function faultIn(
  error: ValueMissing | (Error & { readonly code: string }),
  words: readonly string[],
  { line, flags }: Called,
): Fault {
  if (error instanceof ValueMissing) {
    const at = words.findIndex((word, index) => word === `--${error.flag}` && words[index + 1] === error.next);
    return { message: error.message, at };
  }
  const help = `see ${line} --help`;
  const message = error.message.replace(/^error: |\.$/g, '').replaceAll('\n', ' ');
  if (error.code === 'commander.optionMissingArgument') return { message: `${message}; ${help}`, at: words.length - 1 };
  // The text behind a mistyped flag may be a key, and is not repeated.
  const flag = error.code === 'commander.unknownOption' ? /'(-*)([^'=]*)/.exec(message) : null;
  if (flag === null) return { message: `${message}; ${help}`, at: -1 };
  const [, dashes, name = ''] = flag;
  const near = longer(name, flags) ?? nearest(name, ['help', ...flags]);
  const advice = near === undefined ? help : `did you mean --${near}?`;
  const at = words.findIndex((word) => word.split('=')[0] === `${dashes}${name}`);
  return { message: `unknown flag ${dashes}${oneLine(name, 60)}; ${advice}`, at };
}

/** The shortest flag that begins with three letters or more that were typed. */
function longer(name: string, flags: readonly string[]): string | undefined {
  const found = name.length < 3 ? [] : flags.filter((flag) => flag.startsWith(name));
  return found.sort((a, b) => a.length - b.length)[0];
}
