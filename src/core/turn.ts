// The turn of a sample to predict, and the turns before it. Readers of samples ensure that they exist.

import { present } from './errors.js';
import { isContainer, parseJson } from './json.js';
import type { Domain, Sample } from './types.js';

const REQUEST = '\n\nPlease analyze the input above';
/** Precedes the action in a turn's prompt, on a line of its own. */
export const ACTION_HEADING = '**Action:**';

/** What the environment was asked, and what it answered. */
export interface Turn {
  readonly prompt: string;
  readonly response: string;
}

/** The turns before the one to predict, in order. */
export function earlierTurns({ prompts, responses, turnIdx }: Sample): Turn[] {
  return prompts.slice(0, turnIdx - 1).map((prompt, index) => ({ prompt, response: present(responses[index]) }));
}

/** The texts of the turns: each prompt, followed by its answer. */
export function textsOf(turns: readonly Turn[]): string[] {
  return turns.flatMap(({ prompt, response }) => [prompt, response]);
}

/** The prompt of the turn to predict, followed by the request to predict. */
export function promptOf({ prompts, turnIdx }: Sample): string {
  return present(prompts[turnIdx - 1]);
}

/** The turn to predict without the request to predict, if the row has it separately. */
export function actionOf(sample: Sample): string {
  return sample.currentPrompt || promptOf(sample);
}

/**
 * Where the heading of a turn's action starts in its prompt, or -1. A state before it may contain such a line, too: the last one is the
 * prompt's own.
 */
export function actionHeadingAt(prompt: string): number {
  const line = prompt.lastIndexOf(`\n${ACTION_HEADING}`);
  if (line >= 0) return line + 1;
  return prompt.startsWith(ACTION_HEADING) ? 0 : -1;
}

/**
 * A turn's prompt without the request to predict that the benchmark appends. Cut at the first such words, so that a turn that quotes
 * them gives the same text with and without its own request.
 */
export function withoutRequest(prompt: string): string {
  const end = prompt.indexOf(REQUEST);
  return end === -1 ? prompt : prompt.slice(0, end);
}

/** The request to predict after the turn to predict; empty if there is none. */
export function requestIn(sample: Sample): string {
  const [prompt, action] = [promptOf(sample), actionOf(sample)];
  return prompt !== action && prompt.startsWith(action)
    ? prompt.slice(action.length)
    : prompt.slice(withoutRequest(prompt).length);
}

/** What the environment answered in the turn to predict. */
export function groundTruthOf({ responses, turnIdx }: Sample): string {
  return present(responses[turnIdx - 1]);
}

/** Domains whose actions are JSON; the format of domains outside the benchmark is unknown. */
export const IN_JSON: readonly Domain[] = ['mcp', 'search', 'terminal', 'swe', 'android'];

/** The language of the fence around an action. Some Android actions are not JSON. */
export function languageOf(domain: Domain, action: string): string {
  if (IN_JSON.includes(domain) && isContainer(parseJson(action))) return 'json';
  return domain === 'os' ? 'python' : 'text';
}
