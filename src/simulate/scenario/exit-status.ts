// The exit status that a prediction shows, as its domain shows one.

import type { Domain } from '../../types.js';

interface Shown {
  readonly domain: Domain;
  readonly prediction: string;
  readonly action: string;
}

/** `rc=2`, `exit status 1`, `[exit code: 127]`, `<returncode>0</returncode>`, `"exit_code": 1`: a line of its own, or a member. */
const STATED =
  /^[ \t([<"]*(?:rc|exit(?:ed)?|return ?code|(?:command )?exit(?:ed)?[ _-]?(?:with )?(?:status|code))["'>]?[ \t]*[=: ]?[ \t]*(-?\d{1,3})\b[^\n]*$/gim;
/** Whatever ends a shell's line with `$?`, the number stands on a line of its own. */
const ASKED = /\$\?/;
const NUMBER = /^[ \t]*(\d{1,3})[ \t]*$/gm;
const MEMBER = /"(?:exit_?code|return_?code|exit_?status|status_?code)"[ \t]*:[ \t]*(-?\d{1,3})\b/gi;
const TIMED_OUT = /^\[?timed out after /im;

/**
 * The status that the prediction shows last; undefined where it shows none. A terminal shows one where a command prints it (`echo $?`),
 * a tool of a coding agent where it is not 0; tools of other kinds state it in their result.
 */
export function exitStatusIn({ domain, prediction, action }: Shown): number | undefined {
  const stated = lastNumber(prediction, STATED) ?? lastNumber(prediction, MEMBER);
  if (stated !== undefined) return stated;
  if (domain === 'terminal') return ASKED.test(action) ? lastNumber(prediction, NUMBER) : undefined;
  return domain === 'swe' && !TIMED_OUT.test(prediction) && !/^Error:/.test(prediction) ? 0 : undefined;
}

function lastNumber(text: string, pattern: RegExp): number | undefined {
  const found = Array.from(text.matchAll(pattern)).at(-1)?.[1];
  return found === undefined ? undefined : Number(found);
}
