// Cleans a reply: secrets that the server echoed are taken out, and names are cut short and put on one line.

import { oneLine, printable } from '../../printable.js';
import type { Redact } from '../../redaction.js';
import type { AttemptReply } from '../attempt.js';

/** The longest name of a model, or of a reply's end, that is kept; in terminal columns. */
const MOST_NAME = 200;

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
