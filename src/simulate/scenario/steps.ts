// The messages of a scenario's steps: the first as a row or a start has it, the next with what was predicted behind it.

import { OBSERVATION_MARKER } from '../../reply.js';
import type { Scenario, ScenarioStart } from '../../scenario.js';
import type { ChatMessage } from '../../types.js';
import { actionIn, actionSection } from './action.js';
import { putScenario } from './put.js';

/** What an action's fence names, by domain; a domain that is not here has none. */
const FENCES: Readonly<Record<string, string>> = {
  mcp: 'json',
  search: 'json',
  terminal: 'json',
  swe: 'json',
  android: 'json',
  web: 'text',
  os: 'python',
};

/** The request to predict behind a turn's prompt: what rows of the benchmark begin it with. */
const REQUEST = '\n\nPlease analyze the input above';
const OWN_REQUEST = `${REQUEST} and predict what the environment returns once the action has been carried out. Keep to the formats and to all that was said and shown before. Put only the predicted observation inside <predicted_observation></predicted_observation> tags.`;
/** The state of a screen, which GUI domains repeat in front of every action. */
const STATE = /^\*\*Current (?:Phone )?State:\*\*[ \t]*\n/m;

/** The messages of the first step at a start of the suite's own, without the instruction. */
export function startMessages(start: ScenarioStart, action: string): ChatMessage[] {
  const { domain, systemPrompt, preface } = start;
  const before = preface === '' ? '' : `${preface.trimEnd()}\n\n`;
  const prompt = `### Turn 1\n${before}${actionSection(action, FENCES[domain] ?? '')}${OWN_REQUEST}`;
  return [
    { role: 'system', content: systemPrompt },
    { role: 'user', content: prompt },
  ];
}

/** The messages of the first step, with the instruction; without it (the untouched twin) where there is no scenario. */
export function firstStep(messages: readonly ChatMessage[], scenario?: Scenario): ChatMessage[] {
  return scenario === undefined ? [...messages] : putScenario(scenario, messages);
}

/**
 * The messages of the next step: the last prompt loses its request, the prediction (without thinking, tag and marker) stands behind
 * it as the observation, and the action is asked with the request that was taken off. Where a later turn of a row repeats the
 * screen's state, the prediction stands there, too.
 */
export function nextStep(messages: readonly ChatMessage[], prediction: string, action: string): ChatMessage[] {
  const asked = messages.at(-1)?.content ?? '';
  const cut = asked.lastIndexOf(REQUEST);
  const [prompt, request] = cut < 0 ? [asked, ''] : [asked.slice(0, cut), asked.slice(cut)];
  const turn = Number(/^### Turn (\d+)/.exec(prompt)?.[1] ?? 1);
  const place = actionIn(prompt);
  const state = turn > 1 ? STATE.exec(prompt.slice(0, place?.heading))?.[0] : undefined;
  const repeated = state === undefined ? '' : `${state}${prediction}\n\n`;
  const next = `### Turn ${turn + 1}\n${repeated}${actionSection(action, place?.language ?? '')}${request}`;
  return [
    ...messages.slice(0, -1),
    { role: 'user', content: prompt },
    { role: 'assistant', content: `${OBSERVATION_MARKER}\n${prediction}` },
    { role: 'user', content: next },
  ];
}
