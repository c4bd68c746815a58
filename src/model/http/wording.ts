// Makes a server's words fit to be shown and kept: replies without secrets, names and reasons on one line, the same in every run.

import { oneLine, printable } from '../../core/printable.js';
import type { Redact } from '../../core/redaction.js';
import type { AttemptReply } from '../attempt.js';

/** How much of a server's text the patterns are applied to, in characters. */
export const MOST_LOOKED_THROUGH = 4000;
/** The longest name of a model, or of a finish reason, that is kept; in terminal columns. */
const MOST_NAME = 200;
/** Longest piece of a server's text in a reason, in terminal columns. */
const MOST_SERVER_TEXT = 300;

/**
 * A server's text on one line, cut to 300 columns: secrets removed, and what differs from call to call (ids, times) masked, so that a
 * failure reads the same in every run. `isName` says whether something that looks like an id or a time is a model's name, which is
 * kept.
 */
export function tidy(text: string, redact: Redact, isName: (found: string) => boolean = () => false): string {
  // Invisible characters go first, since they could hide a secret. The text is cut after redacting, so that no half of a secret is left,
  // but before the patterns, whose time may grow with the square of its length.
  const clean = redact(printable(text))
    .slice(0, MOST_LOOKED_THROUGH)
    .replace(/\S*\*{3,}\S*/g, '[redacted]');
  const steady = VARYING.reduce(
    (masked, [pattern, mask]) => masked.replace(pattern, (found) => (isName(found) ? found : mask)),
    clean,
  );
  return oneLine(steady, MOST_SERVER_TEXT);
}

/** Ids and times are words of their own: within a word they belong to a name, such as that of a checkpoint. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/\s*[([{]?\b(?:request|trace|ray|correlation|log)[ _-]?id[\s:="']*[\w-]{6,}["')\]}.]*/gi, ''],
  [/(?<![\w./@-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w/@-]|\.\w)/gi, '[id]'],
  [/(?<![\w./@-])(?:req|chatcmpl|cmpl|gen|resp|msg|org|proj|user)[-_](?=[\w-]*\d)[\w-]{8,}(?![\w/@-]|\.\w)/g, '[id]'],
  [/(?<![\w./@-])(?=[a-z]*\d)(?=\d*[a-f])[0-9a-f]{16,}(?![\w/@-]|\.\w)/gi, '[id]'],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g, '[time]'],
  [/(?<![\w.-])(?:\d+m)?\d+(?:\.\d+)?\s?(?:ms|s|sec|secs|seconds?|minutes?)(?![\w-])/gi, '[time]'],
];

/** A reply without the secrets that the server echoed; names are shortened and put on one line. */
export function cleaned({ finishReason, servedModel, ...reply }: AttemptReply, redact: Redact): AttemptReply {
  let redacted = false;
  const withoutSecrets = (text: string): string => {
    const shown = redact(text);
    redacted ||= shown !== text;
    return shown;
  };
  // Cut after redacting, so that no half of a secret is left.
  const named = (text: string) => oneLine(withoutSecrets(printable(text)), MOST_NAME);
  const texts = {
    content: withoutSecrets(reply.content),
    ...(reply.reasoning !== undefined && { reasoning: withoutSecrets(reply.reasoning) }),
    ...(finishReason !== undefined && { finishReason: named(finishReason) }),
    ...(servedModel !== undefined && { servedModel: named(servedModel) }),
  };
  return redacted ? { ...reply, ...texts, redacted } : { ...reply, ...texts };
}
