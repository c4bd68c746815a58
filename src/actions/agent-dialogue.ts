// A trajectory as the agent in it sees it: the task, its own actions, and what the environment answered.

import { withoutMarker } from '../reply.js';
import { ACTION_HEADING, actionHeadingAt } from '../turn.js';
import type { ChatMessage } from '../types.js';

/** What an agent did, and what it saw then. */
interface AgentTurn {
  /** As it stands behind `**Action:**`. */
  readonly action: string;
  /** With or without its marker. */
  readonly observation: string;
}

/** A turn's prompt, taken apart. */
interface TurnPrompt {
  /** Task and state in front of the action, without the turn's number; often empty. */
  readonly preface: string;
  readonly action: string;
}

/** The parts of a turn's prompt. What stands behind the action's fence is the request to predict, and no part of either. */
export function partsOfPrompt(prompt: string): TurnPrompt {
  const numbered = prompt.replace(/^\s*### Turn \d+[^\S\n]*\n?/, '');
  const heading = actionHeadingAt(numbered);
  if (heading === -1) return { preface: '', action: numbered.trim() };
  const behind = numbered.slice(heading + ACTION_HEADING.length).trim();
  const fence = behind.startsWith('```') ? behind.lastIndexOf('\n```') : -1;
  return {
    preface: numbered.slice(0, heading).trim(),
    action: fence === -1 ? behind : behind.slice(0, fence + '\n```'.length),
  };
}

/** Said where nothing stands in front of the first action. */
const NO_PREFACE = 'Begin.';

/**
 * The messages that ask an agent for its next action. The last observation comes last, so that requests which differ in it alone share
 * all that stands in front of it.
 * @param system how to act, and the tools
 * @param preface task and state in front of the first action
 */
export function agentMessages(system: string, preface: string, turns: readonly AgentTurn[]): ChatMessage[] {
  return [
    { role: 'system', content: system },
    { role: 'user', content: preface === '' ? NO_PREFACE : preface },
    ...turns.flatMap(({ action, observation }): ChatMessage[] => [
      { role: 'assistant', content: action },
      { role: 'user', content: withoutMarker(observation) },
    ]),
  ];
}

/** The system prompt of an agent, with the tools of its environment behind it. */
export function agentSystemPrompt(prompt: string, tools: readonly string[]): string {
  return tools.length === 0 ? prompt : `${prompt}\n\nThe tools:\n\n${tools.join('\n')}`;
}
