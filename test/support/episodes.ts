// A scripted agent and a scripted world on one server, distinguished by model name.

import type { Answer, LoopbackServer, SeenRequest } from './loopback-server.js';
import { startLoopbackServer } from './loopback-server.js';

interface Message {
  readonly role: string;
  readonly content: string;
}

/** A request as a player sees it. */
export interface Asked {
  readonly messages: readonly Message[];
  readonly system: string;
  /** The last user message. */
  readonly last: string;
  /** The number of earlier turns. */
  readonly turn: number;
  readonly request: SeenRequest;
}

/** A text is the reply. */
type Player = (asked: Asked) => Answer | string | Promise<Answer | string>;

export interface Players extends LoopbackServer {
  readonly asked: { readonly agent: Asked[]; readonly world: Asked[] };
  readonly flags: readonly string[];
}

const keys = (line: string) => JSON.stringify([{ keystrokes: `${line}\n`, duration: 0.5 }]);

/** A reply that types a line into a terminal. */
export function types(line: string): string {
  return `I look.\n\`\`\`json\n${keys(line)}\n\`\`\``;
}

/** A reply that shows this. */
export function shows(text: string): string {
  return `<think>so</think><predicted_observation>\n${text}\n</predicted_observation>`;
}

/** The line that an action types. */
export function typedIn(prompt: string): string {
  return /"keystrokes":\s*"(.*?)\\n"/.exec(prompt)?.[1] ?? '';
}

/** Starts both. Without a script, the agent types `step N`, and the world shows what was typed. */
export async function startPlayers({ agent, world }: { readonly agent?: Player; readonly world?: Player } = {}) {
  const seen: Players['asked'] = { agent: [], world: [] };
  const play: Record<string, Player> = {
    agent: agent ?? (({ turn }) => types(`step ${turn}`)),
    world: world ?? (({ last }) => shows(`$ ${typedIn(last)}`)),
  };
  const server = await startLoopbackServer(async (request) => {
    const name: 'agent' | 'world' = request.body.model;
    const messages: Message[] = request.body.messages;
    const asked = {
      messages,
      system: messages[0]?.role === 'system' ? messages[0].content : '',
      last: messages.at(-1)?.content ?? '',
      turn: messages.filter(({ role }) => role === 'assistant').length,
      request,
    };
    seen[name].push(asked);
    const answer = (await play[name]?.(asked)) ?? 'reset';
    return answer === 'reset' || answer === 'hang' || typeof answer !== 'string' ? answer : { content: answer };
  });
  const flags = ['--model-base-url', server.url, '--model-name', 'world'];
  return Object.assign(server, {
    asked: seen,
    flags: [...flags, '--agent-base-url', server.url, '--agent-model', 'agent'],
  });
}
