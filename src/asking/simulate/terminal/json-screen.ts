// A session for a program: one JSON document a line on standard output, one for each turn and each command.

import type { Io } from '../../../types.js';
import type { Screen, TurnResult } from './screen.js';
import { faultText, isUntagged } from './words.js';

export function jsonScreen({ stdout }: Pick<Io, 'stdout'>): Screen {
  const print = (document: Readonly<Record<string, unknown>>) => stdout.write(`${JSON.stringify(document)}\n`);
  return {
    say: (command, text) => print({ type: 'command', command, text }),
    note: (text) => print({ type: 'note', text }),
    fault: (text) => print({ type: 'fault', text }),
    reply: () => ({
      hear() {},
      again: (reason, waitMs) => print({ type: 'again', reason, wait_ms: Math.ceil(waitMs) }),
      end: (result) => print(turnDocument(result)),
    }),
  };
}

function turnDocument({ turn, branch, action, instruction, outcome, ms }: TurnResult): Record<string, unknown> {
  const said = { type: 'turn', turn, branch, action, ...(instruction === '' ? {} : { instruction }) };
  if (outcome.status !== 'ok') {
    const kind = outcome.status === 'failed' ? { class: outcome.failure.class } : {};
    return { ...said, status: outcome.status, ...kind, reason: faultText(outcome), ms };
  }
  const { observation, truncated, reply } = outcome;
  const { promptTokens, completionTokens } = reply.log.usage;
  const usage = {
    ...(promptTokens === undefined ? {} : { prompt_tokens: promptTokens }),
    ...(completionTokens === undefined ? {} : { completion_tokens: completionTokens }),
  };
  const odd = isUntagged(outcome) ? { untagged: true } : {};
  return { ...said, status: 'ok', observation, truncated, ...odd, usage, ms };
}
