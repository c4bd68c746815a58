// Where a prompt's evaluation pauses, and after which pauses its state is kept: where later prompts may leave it.

import { commonPrefix, type Prompt } from './slots.js';

/** How a chat template marks messages: the special tokens that open and close each, as text and as id. */
export interface MessageMarks {
  readonly opener: string;
  readonly openerId: number;
  readonly closer: string;
}

/** How the benchmark's request to predict begins; it stands behind the last turn only, and is gone when that turn is history. */
const REQUEST_TO_PREDICT = '\n\nPlease analyze the input above';

/** Without known marks: a pause every so many tokens. */
const GRID = 512;

/**
 * Pauses a prompt where later prompts may leave it: at the start of every user message, and at the end of what stays of it once it is
 * history (before the request to predict, else its end). Earlier messages pause like the last one, because they were the last one in the
 * prompt whose state is to be reused. Checkpoints: after the system message, and both pauses of the last user message.
 *
 * The end in tokens is where the text with a blank line behind it and the text with the closing mark behind it still agree: a tokeniser
 * may join a blank line to what precedes it.
 */
export function planPrompt(
  text: string,
  tokens: readonly number[],
  marks: MessageMarks | undefined,
  tokenize: (text: string) => readonly number[],
): Prompt {
  const starts = marks === undefined ? [] : tokens.flatMap((token, at) => (token === marks.openerId ? [at] : []));
  const parts = marks === undefined ? [] : text.split(marks.opener).slice(1);
  if (marks === undefined || starts.length === 0 || starts.length !== parts.length) return onGrid(tokens);
  const users = starts.flatMap((start, index) => {
    const part = parts[index] ?? '';
    if (!/^\s*user\b/.test(part)) return [];
    const kept = marks.opener + keptText(part, marks.closer);
    const length = commonPrefix(tokenize(`${kept}\n\nP`), tokenize(kept + marks.closer));
    return [{ start, end: start + length }];
  });
  const inside = (at: number | undefined): at is number => at !== undefined && at > 0 && at < tokens.length;
  const last = users.at(-1);
  const ascending = (positions: readonly (number | undefined)[]): number[] =>
    [...new Set(positions.filter(inside))].sort((a, b) => a - b);
  return {
    tokens,
    pauses: ascending(users.flatMap(({ start, end }) => [start, end])),
    checkpoints: ascending([users[0]?.start, last?.start, last?.end]),
  };
}

/** A user message's text without what the next turn's prompt leaves out. */
function keptText(part: string, closer: string): string {
  const request = part.lastIndexOf(REQUEST_TO_PREDICT);
  if (request >= 0) return part.slice(0, request);
  const close = part.lastIndexOf(closer);
  return close >= 0 ? part.slice(0, close) : part;
}

function onGrid(tokens: readonly number[]): Prompt {
  const pauses = Array.from(
    { length: Math.max(0, Math.ceil(tokens.length / GRID) - 1) },
    (_, index) => (index + 1) * GRID,
  );
  return { tokens, pauses, checkpoints: pauses.slice(-1) };
}
