// The turn that a sample puts to the world model, and the turns before it. Whoever reads a sample has made sure that they are there.

import { present } from './errors.js';
import { isContainer, parseJson } from './json.js';
import type { Domain, Sample } from './types.js';

const REQUEST = '\n\nPlease analyze the input above';
/** Stands over the action in a turn's prompt, on a line of its own. */
export const ACTION_HEADING = '**Action:**';

/** What was asked of the environment, and what it answered. */
export interface Turn {
  readonly prompt: string;
  readonly response: string;
}

/** The turns before the one to predict, in their order. */
export function earlierTurns({ prompts, responses, turnIdx }: Sample): Turn[] {
  return prompts.slice(0, turnIdx - 1).map((prompt, index) => ({ prompt, response: present(responses[index]) }));
}

/** What the turns say: each prompt, and behind it what was answered. */
export function textsOf(turns: readonly Turn[]): string[] {
  return turns.flatMap(({ prompt, response }) => [prompt, response]);
}

/** The prompt of the turn to predict, with the request to predict behind it. */
export function promptOf({ prompts, turnIdx }: Sample): string {
  return present(prompts[turnIdx - 1]);
}

/** The turn to predict without the request to predict, where the row has it apart. */
export function actionOf(sample: Sample): string {
  return sample.currentPrompt || promptOf(sample);
}

/**
 * Where the heading of a turn's action stands in its prompt, -1 without one. A state in front may show such a line, too: the last one is
 * the prompt's own.
 */
export function actionHeadingAt(prompt: string): number {
  const line = prompt.lastIndexOf(`\n${ACTION_HEADING}`);
  if (line >= 0) return line + 1;
  return prompt.startsWith(ACTION_HEADING) ? 0 : -1;
}

/**
 * A turn's prompt without the request to predict that the benchmark puts behind it. Cut where such words stand first, so that a turn
 * that quotes them comes out the same with and without its own request.
 */
export function withoutRequest(prompt: string): string {
  const end = prompt.indexOf(REQUEST);
  return end === -1 ? prompt : prompt.slice(0, end);
}

/** The request to predict that stands behind the turn to predict; empty where there is none. */
export function requestIn(sample: Sample): string {
  const [prompt, action] = [promptOf(sample), actionOf(sample)];
  return prompt !== action && prompt.startsWith(action)
    ? prompt.slice(action.length)
    : prompt.slice(withoutRequest(prompt).length);
}

/** What the environment answered to the turn to predict. */
export function groundTruthOf({ responses, turnIdx }: Sample): string {
  return present(responses[turnIdx - 1]);
}

/** Actions of these domains are JSON; of others than the benchmark's nobody knows what they are. */
export const IN_JSON: readonly Domain[] = ['mcp', 'search', 'terminal', 'swe', 'android'];

/** The language of the fence around an action. Android has actions that are no JSON. */
export function languageOf(domain: Domain, action: string): string {
  if (IN_JSON.includes(domain) && isContainer(parseJson(action))) return 'json';
  return domain === 'os' ? 'python' : 'text';
}
