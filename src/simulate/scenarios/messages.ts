// What the world model is told in a chain: at its start, with the instruction and without it, and behind each step that was predicted.

import { present } from '../../core/errors.js';
import { OBSERVATION_MARKER, withoutMarker } from '../../core/reply.js';
import { actionHeadingAt, groundTruthOf, actionOf as turnOf } from '../../core/turn.js';
import type { ChatMessage, Domain } from '../../core/types.js';
import type { ChosenRows } from '../../infer/chosen-rows.js';
import { buildMessages } from '../../infer/messages.js';
import type { InferSettings } from '../../infer/options.js';
import { actionText, freshWorld, languageOf, readTurnPrompt, requestOf, turnPrompt } from '../../infer/world.js';
import { withSlots } from './pattern.js';
import type { Chain } from './plan.js';
import { type Scenario, type ScenarioStart, scenarioAt } from './scenario.js';

/** What starts are made of. */
interface Given extends Pick<ChosenRows, 'dataset' | 'prompts'> {
  readonly settings: Pick<InferSettings, 'protocol'>;
}

export interface Start {
  readonly domain: Domain;
  /** The chain's scenario with its slots filled; undefined for a row's twin. */
  readonly scenario: Scenario | undefined;
  /** The first step's messages, without the instruction. */
  readonly messages: readonly ChatMessage[];
  /** The first step's action. */
  readonly action: string;
  /** What the environment really answered to it; undefined where no row tells. */
  readonly truth: string | undefined;
}

export async function startOf({ dataset, prompts, settings }: Given, { row, domain, scenario }: Chain): Promise<Start> {
  if (row !== undefined) {
    const sample = await dataset.readSample(row);
    return {
      domain,
      // A row that a scenario has taken is one that it is fit for.
      scenario: scenario && present(scenarioAt(scenario, sample)),
      messages: buildMessages(sample, settings.protocol, prompts.of(sample)),
      action: readTurnPrompt(turnOf(sample)).action,
      truth: withoutMarker(groundTruthOf(sample)),
    };
  }
  if (scenario === undefined || !('start' in scenario.at))
    throw new TypeError(`${scenario?.name} has no start of its own`);
  const action = ownAction(scenario, 0);
  return { domain, scenario, messages: startMessages(scenario.at.start, action), action, truth: undefined };
}

/** The messages of the first step at a start of the suite's own, without the instruction. */
export function startMessages(start: ScenarioStart, action: string): ChatMessage[] {
  const question = requestOf(freshWorld(start), action);
  return 'messages' in question ? [...question.messages] : [];
}

/**
 * What is told at a step.
 * @param predictions what the world model has predicted in the steps before
 * @param isTold whether the instruction is among it
 */
export function messagesAt(
  { domain, scenario, messages }: Start,
  step: number,
  predictions: readonly string[],
  isTold: boolean,
): readonly ChatMessage[] {
  let told = isTold ? putScenario(present(scenario), messages) : messages;
  for (let next = 1; next <= step; next++) {
    const prediction = predictions[next - 1] ?? '';
    told = nextStep(told, { domain, prediction, action: ownAction(present(scenario), next) });
  }
  return told;
}

/** The action of a step: at a row, the first one is the row's own. */
export function actionOf({ scenario, action }: Pick<Start, 'scenario' | 'action'>, step: number): string {
  return step === 0 ? action : ownAction(present(scenario), step);
}

function ownAction({ steps }: Scenario, step: number): string {
  return present(steps[step]?.action);
}

/** The request to predict behind a turn's prompt: what rows of the benchmark begin it with. */
const REQUEST = '\n\nPlease analyze the input above';

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
  if (put === 'system') {
    const [first, ...others] = messages;
    if (first?.role !== 'system') return [{ role: 'system', content: told }, ...messages];
    return [{ role: 'system', content: `${first.content.trimEnd()}\n\n${told}` }, ...others];
  }
  const last = present(messages.at(-1));
  const prompt = last.content;
  // In front of the action's heading; else behind the line that names the turn.
  const heading = actionHeadingAt(prompt);
  const at = heading < 0 ? (/^### Turn \d+[ \t]*\n/.exec(prompt)?.[0].length ?? 0) : heading;
  return [...messages.slice(0, -1), { ...last, content: `${prompt.slice(0, at)}${told}\n\n${prompt.slice(at)}` }];
}
