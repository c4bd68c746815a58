// The messages of a scenario's steps: the first as a row or a start has it, the next with what was predicted behind it.

import { OBSERVATION_MARKER } from '../../reply.js';
import type { ScenarioStart } from '../../scenario.js';
import type { ChatMessage, Domain } from '../../types.js';
import { actionText, languageOf } from '../action-text.js';
import { readTurnPrompt, turnPrompt } from '../turn-prompt.js';
import { freshWorld, requestOf } from '../world.js';

/** The request to predict behind a turn's prompt: what rows of the benchmark begin it with. */
const REQUEST = '\n\nPlease analyze the input above';

/** The messages of the first step at a start of the suite's own, without the instruction. */
export function startMessages({ domain, systemPrompt, task, state }: ScenarioStart, action: string): ChatMessage[] {
  const world = freshWorld({
    domain,
    systemPrompt,
    ...(task === undefined ? {} : { task }),
    ...(state === undefined ? {} : { state }),
  });
  const question = requestOf(world, action);
  return 'messages' in question ? [...question.messages] : [];
}

/**
 * The messages of the next step: the last prompt loses its request, the prediction (without thinking, tag and marker) stands behind
 * it as the observation, and the action is asked with the request that was taken off. Where a turn behind the first repeats the
 * screen's state, the next one does so, too: with the prediction.
 */
export function nextStep(
  messages: readonly ChatMessage[],
  { domain, prediction, action }: { readonly domain: Domain; readonly prediction: string; readonly action: string },
): ChatMessage[] {
  const asked = messages.at(-1)?.content ?? '';
  const cut = asked.lastIndexOf(REQUEST);
  const [prompt, request] = cut < 0 ? [asked, ''] : [asked.slice(0, cut), asked.slice(cut)];
  const turn = Number(/^### Turn (\d+)/.exec(prompt)?.[1] ?? 1);
  const { state } = readTurnPrompt(prompt);
  const text = actionText(domain, action);
  const next = turnPrompt({
    turn: turn + 1,
    ...(turn > 1 && state !== undefined ? { state: { ...state, text: prediction } } : {}),
    action: text,
    language: languageOf(domain, text),
  });
  return [
    ...messages.slice(0, -1),
    { role: 'user', content: prompt },
    { role: 'assistant', content: `${OBSERVATION_MARKER}\n${prediction}` },
    { role: 'user', content: next + request },
  ];
}
