// The form that a judge's replies are held to: by the server that is started here always, by others where the user wants it.

import { EXIT, UserError } from '../../errors.js';
import type { Method } from '../../judge/mode.js';
import type { AskingSettings } from '../options.js';

/** What the settings say of it. */
interface FormSettings extends Pick<AskingSettings, 'local' | 'extraBody'> {
  readonly verdictSchema: boolean;
}

/** What a mode has to know of it when it is opened. */
export function holdingOf({ local, verdictSchema }: FormSettings): { holdsReplies: boolean; isServedHere: boolean } {
  return { holdsReplies: verdictSchema, isServedHere: local !== undefined };
}

/** The `response_format` of every request; undefined where replies are free. */
export function replyFormOf({ local, verdictSchema }: FormSettings, { replyForm }: Method): unknown {
  return local !== undefined || verdictSchema ? replyForm : undefined;
}

/** @throws UserError (2) where --verdict-schema is given, and there is no such form or another one stands in its way. */
export function requireForm({ verdictSchema, extraBody }: FormSettings, method: Method): void {
  if (!verdictSchema) return;
  if (method.replyForm === undefined) {
    throw new UserError(
      `--verdict-schema holds verdicts to a JSON schema, and what is judged by (${method.name}) takes none; do without it, or name another pack with --rubrics`,
      EXIT.usage,
    );
  }
  if (extraBody !== undefined && 'response_format' in extraBody) {
    throw new UserError(
      '--verdict-schema and response_format in --extra-body are two forms of one reply; give one of them',
      EXIT.usage,
    );
  }
}
