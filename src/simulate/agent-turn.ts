// An agent's turn in a world: what it is asked, and what its reply does: an action, or the word that it is done.

import { lastFence, readAction } from '../benchmark/actions/agent-action.js';
import {
  agentMessages,
  agentSystemPrompt,
  describedTools,
  partsOfPrompt,
} from '../benchmark/actions/agent-dialogue.js';
import { withoutThought } from '../core/reply.js';
import type { Domain, Question } from '../core/types.js';
import type { World } from '../infer/world.js';

/** Changes with what an agent is told beside its prompt, and with how its replies are read. */
export const AGENT_TURN_VERSION = 1;

/** The words by which an agent ends its episode. */
const LAST_WORDS = { DONE: 'done', FAIL: 'gave-up' } as const;

const ENDING =
  'How you end: when the task is done, answer with the single word DONE in place of an action; where nothing more can be done about it, with the single word FAIL. What you have found out, if the task asks for it, stands in front of that word.';

/** What an agent's reply comes to. */
type AgentTurn =
  /** Without the fence around it. */
  | { readonly kind: 'action'; readonly action: string }
  /** `said` is what it found out; empty where it said nothing. */
  | { readonly kind: 'end'; readonly end: (typeof LAST_WORDS)[keyof typeof LAST_WORDS]; readonly said: string }
  | { readonly kind: 'flaw'; readonly reason: string };

/** The agent's system prompt in a world: how to act, how to end, and the tools that the world's own prompt describes. */
export function agentBriefing(prompt: string, world: World): string {
  return agentSystemPrompt(`${prompt}\n\n${ENDING}`, describedTools(world.systemPrompt));
}

/** What is asked of the agent: its next action, in front of the world as it stands. Instructions to the world are none of its business. */
export function agentQuestion(briefing: string, { preface, turns }: World): Question {
  const seen = turns.map(({ prompt, response }) => ({ action: partsOfPrompt(prompt).action, observation: response }));
  return { messages: agentMessages(briefing, preface, seen) };
}

/** What a reply does. A last word counts where the reply holds no action in a fence beside it: an action is carried out first. */
export function readAgentTurn(domain: Domain, reply: string): AgentTurn {
  const text = withoutThought(reply).trim();
  const fenced = lastFence(text)?.body.trim();
  const lines = text.split('\n');
  const word = wordIn(fenced ?? lines.at(-1) ?? '');
  if (word !== undefined) {
    const said = fenced === undefined ? lines.slice(0, -1).join('\n').trim() : '';
    return { kind: 'end', end: LAST_WORDS[word], said };
  }
  const read = readAction(domain, reply);
  if ('flaw' in read) return { kind: 'flaw', reason: read.flaw };
  return { kind: 'action', action: read.text.split('\n').slice(1, -1).join('\n') };
}

function wordIn(line: string): keyof typeof LAST_WORDS | undefined {
  const word = line.replace(/^[\s*_"'`]+|[\s*_"'`.!]+$/g, '');
  return word === 'DONE' || word === 'FAIL' ? word : undefined;
}
