// What a model is asked, by its size.

import type { Question } from './types.js';

/** Characters (UTF-16 units) of all messages, or of a completion's prompt. */
export function charactersOf(question: Question): number {
  if ('prompt' in question) return question.prompt.length;
  return question.messages.reduce((sum, { content }) => sum + content.length, 0);
}
