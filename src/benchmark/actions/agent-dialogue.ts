// A trajectory as its agent sees it: the tools, the task, its own actions, and the environment's answers.

import { isObject, nestsBeyond, parseObject } from '../../core/json.js';
import { withoutMarker } from '../../core/reply.js';
import { ACTION_HEADING, actionHeadingAt } from '../../core/turn.js';
import type { ChatMessage } from '../../core/types.js';
import { endOfValue } from '../row-text.js';

/** What an agent did, and what it saw afterwards. */
interface AgentTurn {
  /** As it appears after `**Action:**`. */
  readonly action: string;
  /** With or without its marker. */
  readonly observation: string;
}

/** The parts of a turn's prompt. Text after the action's fence is the request to predict, and belongs to neither part. */
export function partsOfPrompt(prompt: string) {
  const numbered = prompt.replace(/^\s*### Turn \d+[^\S\n]*\n?/, '');
  const heading = actionHeadingAt(numbered);
  if (heading === -1) return { preface: '', action: numbered.trim() };
  const behind = numbered.slice(heading + ACTION_HEADING.length).trim();
  const fence = behind.startsWith('```') ? behind.lastIndexOf('\n```') : -1;
  return {
    /** Task and state before the action, without the turn's number; often empty. */
    preface: numbered.slice(0, heading).trim(),
    action: fence === -1 ? behind : behind.slice(0, fence + '\n```'.length),
  };
}

/** Used if nothing precedes the first action. */
const NO_PREFACE = 'Begin.';

/**
 * The messages that ask an agent for its next action. The last observation comes last, so that requests that differ only in it share
 * everything before it.
 * @param system how to act, and the tools
 * @param preface task and state before the first action
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

/** An agent's system prompt, followed by the tools of its environment. */
export function agentSystemPrompt(prompt: string, tools: readonly string[]): string {
  return tools.length === 0 ? prompt : `${prompt}\n\nThe tools:\n\n${tools.join('\n')}`;
}

/** The search for unclosed objects stops after this many characters over the complete text. */
const MOST_LOOKED_AT = 8_000_000;
const DEEPEST = 64;

/**
 * The descriptions of tools in a text, verbatim: objects with a name, and parameters or a description of them. The rest of the text is
 * withheld: a system prompt written for the environment may contain what the agent has to find out.
 */
export function describedTools(text: string): string[] {
  const tools: string[] = [];
  let left = MOST_LOOKED_AT;
  let start = text.indexOf('{');
  while (start !== -1 && left > 0) {
    const end = endOfValue(text, start);
    left -= end - start;
    const found = text.slice(start, end);
    const isTool = isDescription(found);
    if (isTool) tools.push(found);
    start = text.indexOf('{', isTool ? end : start + 1);
  }
  return tools;
}

function isDescription(text: string): boolean {
  if (!text.endsWith('}') || !text.includes('"name"') || nestsBeyond(text, DEEPEST)) return false;
  const { function: inner, ...outer } = parseObject(text) ?? {};
  const { name, parameters, inputSchema, input_schema: schema } = isObject(inner) ? inner : outer;
  return typeof name === 'string' && [parameters, inputSchema, schema].some(isObject);
}
