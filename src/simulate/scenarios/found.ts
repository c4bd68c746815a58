// What is found in the predictions of a chain, held against those of its twin: verdicts, and the measures that rest on them.

import { isModelCaused } from '../../points.js';
import type { NoPrediction } from '../../prediction.js';
import { present } from '../../present.js';
import type { ScenarioMeasure } from '../../scenario-row.js';
import { type Answer, answersOf, failureOf, type RecordOf } from './answers.js';
import type { Chain } from './jobs.js';
import type { Scenario } from './scenario.js';
import { actionOf, messagesAt, type Start } from './start.js';
import { keptLines, outcomeOf, type ScenarioOutcome, type StepPredicted } from './verify.js';

export interface Found {
  /** By step; absent where nothing is known of the chain. */
  readonly verdicts?: ScenarioOutcome['steps'];
  /** In percent; absent where nothing is known of the chain. */
  readonly measures?: Readonly<Partial<Record<ScenarioMeasure, number>>>;
  /** Why there is no prediction in some step. */
  readonly failure?: NoPrediction | undefined;
}

/**
 * Followed and leaked are 0 or 100. A step without a prediction by the model's own doing follows nothing; where no step has one, nothing
 * is known of leaks. Undisturbed is the share of lines that the twin predicts rightly, outside of what the instruction changes, which are
 * still there: none where the twin predicts no such line rightly. The twin is a false positive where it would count as followed.
 */
export function foundIn(chain: Chain, start: Start, recordOf: RecordOf): Found {
  const answers = answersOf(chain, chain.steps, recordOf);
  const failure = failureOf(answers);
  if (failure !== undefined && !isModelCaused(failure.class)) return { failure };
  const scenario = present(start.scenario);
  const twins = knownAnswers(present(chain.twin), recordOf);
  const steps = predictedSteps(start, answers, twins);
  const { followed, leaked, steps: verdicts } = outcomeOf(scenario, steps);
  const answered = answers.some((answer) => answer.failure === undefined);
  const undisturbed = twins === undefined ? undefined : undisturbedIn(scenario, steps);
  const measures = {
    followed: percent(followed),
    ...(answered ? { leaked: percent(leaked) } : {}),
    ...(undisturbed === undefined ? {} : { undisturbed }),
    ...(twins === undefined ? {} : { twin_false_positives: percent(isFollowedBy(twins, scenario, start)) }),
  };
  return { verdicts, measures, ...(failure === undefined ? {} : { failure }) };
}

/** A twin's answers; undefined where nothing is known of one of them. */
function knownAnswers(twin: Chain, recordOf: RecordOf): readonly Answer[] | undefined {
  const answers = answersOf(twin, twin.steps, recordOf);
  const failure = failureOf(answers);
  return answers.length === twin.steps && (failure === undefined || isModelCaused(failure.class)) ? answers : undefined;
}

function isFollowedBy(twins: readonly Answer[], scenario: Scenario, start: Start): boolean {
  return outcomeOf(scenario, predictedSteps(start, twins, undefined)).followed;
}

function predictedSteps(
  start: Start,
  answers: readonly Answer[],
  twins: readonly Answer[] | undefined,
): StepPredicted[] {
  const predictions = answers.map(({ prediction }) => prediction);
  return answers.map(({ prediction }, step) => {
    const twin = twins?.[step]?.prediction;
    return {
      domain: start.domain,
      prediction,
      action: actionOf(start, step),
      seen: messagesAt(start, step, predictions, false)
        .map(({ content }) => content)
        .join('\n'),
      ...(step > 0 || start.truth === undefined ? {} : { truth: start.truth }),
      ...(twin === undefined ? {} : { twin }),
    };
  });
}

/** Over all steps of which a verifier says what must not change. */
function undisturbedIn(scenario: Scenario, steps: readonly StepPredicted[]): number | undefined {
  let [kept, all] = [0, 0];
  for (const [index, { verify }] of scenario.steps.entries()) {
    const step = steps[index];
    const verifier = verify.find((each) => each.kind === 'unchanged_elsewhere');
    if (step === undefined || verifier === undefined) continue;
    const lines = keptLines(step, verifier.except);
    kept += lines.kept;
    all += lines.of;
  }
  return all === 0 ? undefined : (100 * kept) / all;
}

function percent(isSo: boolean): number {
  return isSo ? 100 : 0;
}
