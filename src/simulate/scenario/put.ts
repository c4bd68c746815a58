// An instruction put to a world model: behind the system prompt, or in front of the action.

import type { Scenario } from '../../scenario.js';
import { actionHeadingAt } from '../../turn.js';
import type { ChatMessage } from '../../types.js';
import { withSlots } from './slots.js';

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
