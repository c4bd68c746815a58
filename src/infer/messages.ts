// The chat messages that put one turn to the world model, by protocol.
import { actionOf, earlierTurns, promptOf } from '../core/turn.js';
import type { ChatMessage, Sample } from '../core/types.js';

/**
 * What is sent behind the system message, by protocol. Scores under different protocols are not comparable.
 * Each sends nothing that comes after `turnIdx`, the ground truth included.
 */
export const PROTOCOLS = {
  /** The official script today: earlier turns as a dialogue, then the turn with its request to predict. */
  history: (sample) => [...dialogue(sample), user(promptOf(sample))],
  /** The same without the request to predict behind the last turn. */
  'history-bare': (sample) => [...dialogue(sample), user(actionOf(sample))],
  /** The turn alone, as the script's first release sent it. */
  blind: (sample) => [user(actionOf(sample))],
} satisfies Record<string, (sample: Sample) => ChatMessage[]>;
type Protocol = keyof typeof PROTOCOLS;

/** The messages of one request to the world model; an empty system prompt is left out. */
export function buildMessages(sample: Sample, protocol: Protocol, systemPrompt: string): ChatMessage[] {
  const system: ChatMessage[] = systemPrompt === '' ? [] : [{ role: 'system', content: systemPrompt }];
  return [...system, ...PROTOCOLS[protocol](sample)];
}

function dialogue(sample: Sample): ChatMessage[] {
  return earlierTurns(sample).flatMap(({ prompt, response }) => [
    user(prompt),
    { role: 'assistant', content: response },
  ]);
}

function user(content: string): ChatMessage {
  return { role: 'user', content };
}
