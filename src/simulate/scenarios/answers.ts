// What the world model has answered in a chain, as far as the journal tells.

import { isModelCaused } from '../../points.js';
import { type NoPrediction, readPredictionRow } from '../../prediction.js';
import { present } from '../../present.js';
import { writtenPrediction } from '../../reply.js';
import type { JournalRecord } from '../../run/journal-record.js';
import { type Chain, stepId } from './jobs.js';

/** A step's answer. */
export interface Answer {
  /** The reply as it came; empty where there is none. */
  readonly gen: string;
  /** The observation in it; empty where there is none. */
  readonly prediction: string;
  readonly failure: NoPrediction | undefined;
}

/** Gives the record of a step; undefined where there is none that holds. */
export type RecordOf = (id: string) => JournalRecord | undefined;

function answerIn({ row }: JournalRecord): Answer {
  const { gen, failure } = present(readPredictionRow(row));
  return { gen, prediction: writtenPrediction(gen), failure };
}

/** The answers of a chain's first steps, as far as one follows the other. */
export function answersOf(chain: Chain, steps: number, recordOf: RecordOf): Answer[] {
  const answers: Answer[] = [];
  for (let step = 0; step < steps; step++) {
    const record = recordOf(stepId(chain, step));
    if (record === undefined) break;
    answers.push(answerIn(record));
  }
  return answers;
}

/** Why nothing is known of a chain, or what the model made of it instead of answering; of several reasons the first that is not its own. */
export function failureOf(answers: readonly Answer[]): NoPrediction | undefined {
  const failures = answers.flatMap(({ failure }) => failure ?? []);
  return failures.find(({ class: name }) => !isModelCaused(name)) ?? failures[0];
}
