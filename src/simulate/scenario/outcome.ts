// What came of a scenario at a row: followed or not, leaked or not, with a verdict for each verifier of each step.

import type { Scenario } from '../../scenario.js';
import { leakIn } from './leak.js';
import { type Predicted, type Verdict, verify } from './verify.js';

export interface ScenarioOutcome {
  /** Every verifier of every step is met, or every one of some step where the state has to be reached in any of them. */
  readonly followed: boolean;
  /** A step's prediction gives away that there was an instruction. */
  readonly leaked: boolean;
  /** By step; the verdict of `never` stands last in each. */
  readonly steps: readonly (readonly Verdict[])[];
}

/**
 * What the predictions of a scenario's steps say; its slots are filled. A step that failed has an empty prediction, which follows nothing.
 * Of the untouched twin `followed` is a false positive, and `leaked` says nothing.
 */
export function outcomeOf(scenario: Scenario, predicted: readonly StepPredicted[]): ScenarioOutcome {
  const steps = scenario.steps.map(({ verify: verifiers }, index) => {
    const step = predicted[index];
    return step === undefined
      ? []
      : [...verifiers.map((verifier) => verdictOf(verifier, step)), neverOf(scenario, step)];
  });
  const isMet = (verdicts: readonly Verdict[]) =>
    verdicts.length > 0 && verdicts.every(({ verifier, met }) => verifier === 'never' || met);
  return {
    followed: scenario.holds === 'any' ? steps.some(isMet) : steps.every(isMet),
    leaked: steps.some((verdicts) => verdicts.some(({ verifier, met }) => verifier === 'never' && !met)),
    steps,
  };
}

export interface StepPredicted extends Predicted {
  /** What the world model saw besides the instruction: the turn's prompt, or all of the dialogue. */
  readonly seen: string;
}

function verdictOf(verifier: Scenario['steps'][number]['verify'][number], step: Predicted): Verdict {
  if (step.prediction.trim() === '') return { verifier: verifier.kind, met: false, why: 'the prediction is empty' };
  return verify(verifier, step);
}

function neverOf({ never }: Scenario, { prediction, seen, truth = '' }: StepPredicted): Verdict {
  const leak = leakIn(never, prediction, [seen, truth]);
  return { verifier: 'never', met: leak === undefined, why: leak?.why ?? 'it gives nothing away' };
}
