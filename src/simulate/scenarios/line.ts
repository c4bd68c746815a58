// A line of scenarios.jsonl: what was answered, and at the end of a chain what came of the scenario, held against its twin.

import { present } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { judgementMembers } from '../../core/judged-row.js';
import { measured, unmeasured, withoutPrediction } from '../../core/judgement.js';
import { isModelCaused } from '../../core/points.js';
import { type NoPrediction, readPredictionRow, recordedPrediction } from '../../core/prediction.js';
import { writtenPrediction } from '../../core/reply.js';
import type { ScenarioMeasure } from '../../core/scenario-row.js';
import type { Flag } from '../../core/types.js';
import type { JournalRecord } from '../../run/journal.js';
import { actionOf, messagesAt, type Start } from './messages.js';
import { type Chain, isSample, keyOfStep, type ScenarioJob, stepId } from './plan.js';
import type { Scenario } from './scenario.js';
import { keptLines, outcomeOf, type StepPredicted } from './verify.js';

/** Gives the record of a step; undefined where there is none that holds. */
type RecordOf = (id: string) => JournalRecord | undefined;

/** The line of a step. */
export function lineOf(job: ScenarioJob, record: JournalRecord, start: Start, recordOf: RecordOf): string {
  const { chain, step } = job;
  const { scenario, row, domain: task, steps, twin } = chain;
  const names = {
    task,
    id: row === undefined ? scenario?.name : row.id,
    turn_idx: (row?.turnIdx ?? 1) + step,
    scenario: scenario?.name,
    ...(twin === undefined ? { twin: true } : {}),
    ...(steps === 1 ? {} : { step: step + 1, steps }),
    ...(scenario === undefined ? {} : { action: actionOf(start, step) }),
  };
  const members = isSample(job) ? sampleMembers(chain, record, start, foundIn(chain, start, recordOf)) : record.row;
  return JSON.stringify({ ...names, ...members });
}

/** What stands behind the names where a chain ends. */
function sampleMembers(
  chain: Chain,
  { row }: JournalRecord,
  { scenario }: Start,
  { failure, verdicts, measures }: ReturnType<typeof foundIn>,
): JsonObject {
  const { trajectory, steps } = chain;
  const awb = { ...recordedPrediction(row) };
  // A record of predictions has a text, and its flags are written by the program alone, from the list of them.
  const said = { gen: String(row.gen), awb, flags: awb.flags as readonly Flag[] };
  const prediction = { key: keyOfStep(chain, steps - 1), trajectory, repeat: 0, ...said };
  const missing = failure && unmeasured(withoutPrediction(failure));
  const record = measures === undefined ? present(missing) : { ...(missing ?? measured(measures)), measures };
  const { instruction } = present(scenario);
  return { instruction, gen: row.gen, verdicts, ...judgementMembers(prediction, record, 0) };
}

/** A step's answer. */
interface Answer {
  /** The reply as it came; empty where there is none. */
  readonly gen: string;
  /** The observation in it; empty where there is none. */
  readonly prediction: string;
  readonly failure: NoPrediction | undefined;
}

/** What the world model has answered in a chain's first steps, as far as one follows the other. */
export function answersOf(chain: Chain, steps: number, recordOf: RecordOf): Answer[] {
  const answers: Answer[] = [];
  for (let step = 0; step < steps; step++) {
    const record = recordOf(stepId(chain, step));
    if (record === undefined) break;
    const { gen, failure } = present(readPredictionRow(record.row));
    answers.push({ gen, prediction: writtenPrediction(gen), failure });
  }
  return answers;
}

/** Why nothing is known of a chain, or what the model made of it instead of answering; of several reasons the first that is not its own. */
function failureOf(answers: readonly Answer[]): NoPrediction | undefined {
  const failures = answers.flatMap(({ failure }) => failure ?? []);
  return failures.find(({ class: name }) => !isModelCaused(name)) ?? failures[0];
}

/**
 * What is found in the predictions of a chain, held against those of its twin: the verdicts by step, the measures that rest on them, and
 * why there is no prediction in some step; only that where nothing is known of the chain.
 *
 * Followed and leaked are 0 or 100. A step without a prediction by the model's own doing follows nothing; where no step has one, nothing
 * is known of leaks. Undisturbed is the share of lines that the twin predicts rightly, outside of what the instruction changes, which are
 * still there: none where the twin predicts no such line rightly. The twin is a false positive where it would count as followed.
 */
function foundIn(chain: Chain, start: Start, recordOf: RecordOf) {
  const answers = answersOf(chain, chain.steps, recordOf);
  const failure = failureOf(answers);
  if (failure !== undefined && !isModelCaused(failure.class)) return { failure };
  const scenario = present(start.scenario);
  const twins = knownAnswers(present(chain.twin), recordOf);
  const steps = predictedSteps(start, answers, twins);
  const { followed, leaked, steps: verdicts } = outcomeOf(scenario, steps);
  const undisturbed = twins && undisturbedIn(scenario, steps);
  const measures: Partial<Record<ScenarioMeasure, number>> = { followed: percent(followed) };
  if (answers.some((answer) => answer.failure === undefined)) measures.leaked = percent(leaked);
  if (undisturbed !== undefined) measures.undisturbed = undisturbed;
  if (twins !== undefined) {
    measures.twin_false_positives = percent(outcomeOf(scenario, predictedSteps(start, twins, undefined)).followed);
  }
  return { verdicts, measures, failure };
}

/** A twin's answers; undefined where nothing is known of one of them. */
function knownAnswers(twin: Chain, recordOf: RecordOf): readonly Answer[] | undefined {
  const answers = answersOf(twin, twin.steps, recordOf);
  const failure = failureOf(answers);
  return answers.length === twin.steps && (failure === undefined || isModelCaused(failure.class)) ? answers : undefined;
}

function predictedSteps(
  start: Start,
  answers: readonly Answer[],
  twins: readonly Answer[] | undefined,
): StepPredicted[] {
  const predictions = answers.map(({ prediction }) => prediction);
  return answers.map(({ prediction }, step) => {
    return {
      domain: start.domain,
      prediction,
      action: actionOf(start, step),
      seen: messagesAt(start, step, predictions, false)
        .map(({ content }) => content)
        .join('\n'),
      truth: step > 0 ? undefined : start.truth,
      twin: twins?.[step]?.prediction,
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
