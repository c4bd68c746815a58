// Where a chain starts: what is told to the world model there, with the instruction and without it.

import type { ChosenRows } from '../../asking/infer/chosen-rows.js';
import type { InferSettings } from '../../asking/infer/options.js';
import { buildMessages } from '../../infer/messages.js';
import { present } from '../../present.js';
import { withoutMarker } from '../../reply.js';
import { groundTruthOf, actionOf as turnOf } from '../../turn.js';
import type { ChatMessage, Domain, Sample } from '../../types.js';
import { readTurnPrompt } from '../turn-prompt.js';
import { scenarioAt } from './applies.js';
import { type Chain, scenarioOf } from './jobs.js';
import type { Scenario } from './scenario.js';
import { nextStep, putScenario, startMessages } from './steps.js';

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

export async function startOf({ dataset, prompts, settings }: Given, chain: Chain): Promise<Start> {
  if (chain.row !== undefined) {
    const sample = await dataset.readSample(chain.row);
    const messages = buildMessages(sample, settings.protocol, prompts.of(sample));
    return {
      ...startAtRow(sample),
      domain: chain.domain,
      messages,
      scenario: chain.scenario && scenarioIn(chain.scenario, sample),
    };
  }
  const scenario = scenarioOf(chain);
  if (!('start' in scenario.at)) throw new TypeError(`${scenario.name} has no start of its own`);
  const action = ownAction(scenario, 0);
  return {
    domain: chain.domain,
    scenario,
    messages: startMessages(scenario.at.start, action),
    action,
    truth: undefined,
  };
}

function startAtRow(sample: Sample): Pick<Start, 'action' | 'truth'> {
  return { action: readTurnPrompt(turnOf(sample)).action, truth: withoutMarker(groundTruthOf(sample)) };
}

/** A row that a scenario has taken is one that it is fit for. */
function scenarioIn(scenario: Scenario, sample: Sample): Scenario {
  return present(scenarioAt(scenario, sample));
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
