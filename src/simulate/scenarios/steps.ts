// The messages of a scenario's steps: the first as a row or a start has it, the next with what was predicted behind it; and the instruction in them.

import { OBSERVATION_MARKER } from '../../reply.js';
import { actionHeadingAt } from '../../turn.js';
import type { ChatMessage, Domain } from '../../types.js';
import { actionText, languageOf } from '../action-text.js';
import { readTurnPrompt, turnPrompt } from '../turn-prompt.js';
import { freshWorld, requestOf } from '../world.js';
import type { Scenario, ScenarioStart } from './scenario.js';
import { withSlots } from './slots.js';

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

/** The messages of a turn with the scenario's instruction in them, in its framing. The scenario's slots are filled. */
export function putScenario(
  { put, framing, instruction }: Pick<Scenario, 'put' | 'framing' | 'instruction'>,
  messages: readonly ChatMessage[],
): ChatMessage[] {
  const told = withSlots(framing, { instruction }).trim();
  return put === 'system' ? behindSystemPrompt(told, messages) : beforeAction(told, messages);
}

function behindSystemPrompt(told: string, messages: readonly ChatMessage[]): ChatMessage[] {
  const [first, ...others] = messages;
  if (first?.role !== 'system') return [{ role: 'system', content: told }, ...messages];
  return [{ role: 'system', content: `${first.content.trimEnd()}\n\n${told}` }, ...others];
}

function beforeAction(told: string, messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.map((message, index) =>
    index === messages.length - 1 ? { ...message, content: insertedBeforeAction(told, message.content) } : message,
  );
}

/** In front of the action's heading; else behind the line that names the turn. */
function insertedBeforeAction(told: string, prompt: string): string {
  const heading = actionHeadingAt(prompt);
  const at = heading < 0 ? (/^### Turn \d+[ \t]*\n/.exec(prompt)?.[0].length ?? 0) : heading;
  return `${prompt.slice(0, at)}${told}\n\n${prompt.slice(at)}`;
}
