// One question to an agent: its next action, given the trajectory so far and the observation of this turn.

import { type AgentAction, readAction } from '../benchmark/actions/agent-action.js';
import {
  agentMessages,
  agentSystemPrompt,
  describedTools,
  partsOfPrompt,
} from '../benchmark/actions/agent-dialogue.js';
import { actionOf, earlierTurns } from '../core/turn.js';
import type { ChatMessage, ModelReply, Sample } from '../core/types.js';
import type { Reading, Unreadable } from './mode.js';

/** Changes with what an agent is shown, with what is read as its action, and with which actions count as the same. */
export const AGENT_QUESTION = 1;

/** What an agent did; nothing where none of its replies held an action. */
export interface AgentAnswer extends Reading {
  readonly action: AgentAction | undefined;
}

/**
 * The messages that ask for the next action. A GUI's prompts repeat the state, which the observation before has shown: of what stands in
 * front of actions, the agent is shown the first turn's. All that stands in front of the observation is the same whatever is observed.
 * @param prompt how to act in the domain
 * @param observation what the environment is said to have answered to the sample's action
 */
export function agentQuestion(prompt: string, sample: Sample, observation: string): ChatMessage[] {
  const own = partsOfPrompt(actionOf(sample));
  const earlier = earlierTurns(sample).map((turn) => ({ ...partsOfPrompt(turn.prompt), observation: turn.response }));
  const turns = [...earlier, { ...own, observation }];
  const system = agentSystemPrompt(prompt, describedTools(sample.systemPrompt));
  return agentMessages(system, turns[0]?.preface ?? '', turns);
}

/** The action in an agent's reply. What was cut off behind a whole action does not matter. `place` stands in front of a reason. */
export function readAnswer({ domain }: Sample, { content }: ModelReply, place = ''): AgentAnswer | Unreadable {
  const read = readAction(domain, content);
  return 'flaw' in read
    ? { status: 'unreadable', reason: `${place}${read.flaw}` }
    : { status: 'ok', action: read.action };
}
