// What a model is asked, by its size.

import type { Question } from './types.js';

/** Characters a token where nothing has been measured: English text and code. */
export const CHARS_A_TOKEN = 4;

/** The texts of all messages, or a completion's prompt. */
export function textsOf(question: Question): readonly string[] {
  return 'prompt' in question ? [question.prompt] : question.messages.map(({ content }) => content);
}

/** Characters (UTF-16 units) of all messages, or of a completion's prompt. */
export function charactersOf(question: Question): number {
  return textsOf(question).reduce((sum, { length }) => sum + length, 0);
}
