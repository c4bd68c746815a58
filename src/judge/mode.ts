// The contract of a judge mode: what it needs, what it asks about a prediction, how it reads replies, and what it makes of them.

import type { JsonObject } from '../core/json.js';
import type { JudgementRecord, NoJudgement } from '../core/judgement.js';
import type { Measure, MeasureWords } from '../core/measures.js';
import type { NoPrediction } from '../core/prediction.js';
import type { RubricPack } from '../core/rubric.js';
import type { ModelReply, Question, Sample } from '../core/types.js';

/** An entry of the list of modes. `Readings` are what its parts read from their replies, in the order of the parts. */
export interface Mode<Readings extends readonly Reading[] = readonly Reading[]> {
  /** What the mode does, for the help of `--mode`. */
  readonly help: string;
  /** What it makes, in the plural, for the summary. */
  readonly noun: string;
  /** Whether it asks a model, which the user then has to name. */
  readonly asksJudge: boolean;
  /** Whether it asks an agent instead of a judge; calibrations do not apply to agents. Absent if it asks a judge, or no model. */
  readonly asksAgent?: true;
  /** Whether its records rate the dimensions of the rubric; otherwise they contain only measures. */
  readonly rates: boolean;
  /**
   * What it shows next to each prediction for comparison: `prediction` is that of the same row in another file, `truth` that of another row
   * of the domain. Absent if it judges the prediction on its own.
   */
  readonly beside?: 'prediction' | 'truth';
  /** Whether it can judge a rollout by its simulated history only. */
  readonly judgesWithoutTruth?: true;
  /** The measures in its records, by name. */
  readonly measures: Readonly<Record<string, Measure>>;
  /** The measure that represents a run without ratings; if absent, the run's first. */
  readonly lead?: string;
  /** What its measures are called. */
  readonly words?: MeasureWords;
  /** Opens the mode as the user wants it. It uses only those inputs that it needs. */
  open(given: Given): Promise<Method<Readings>>;
}

/** What a judge sees of a rollout: the recorded history and the truth, or the simulated history and no truth. */
export const SIGHTS = ['history', 'rollout'] as const;
/** The ways to read a verdict. */
export const VERDICT_READINGS = ['strict', 'official'] as const;
export type VerdictReading = (typeof VERDICT_READINGS)[number];

/** What a user may give a mode. */
export interface Given {
  /** How to read verdicts; if undefined, as the pack says. */
  readonly verdicts: VerdictReading | undefined;
  /** Whether replies must follow the mode's form, if it has one; false if absent. */
  readonly holdsReplies?: boolean;
  /** What the judge of a rollout sees: with `rollout`, only the simulated history, without the truth. */
  readonly sees?: (typeof SIGHTS)[number];
  /** Reads the rubric pack. */
  rubrics(): Promise<RubricPack>;
  /** A folder of agent prompts in addition to the bundled ones. */
  readonly agentFolder?: string | undefined;
  /** The identity of the predictions in --reference. */
  readonly reference?: string | undefined;
}

/** An opened mode: how the predictions of one run are judged. */
export interface Method<Readings extends readonly Reading[] = readonly Reading[]> {
  /**
   * What its records depend on, besides the predictions and the judge: the user's choices, under `rubrics`, `verdicts` and `reference`, and
   * what changes with its version, under any name not used by `judgeIdentity`.
   */
  readonly identity: JsonObject;
  /** What it judges by, as a part of file names. */
  readonly name: string;
  /** The `response_format` that replies must follow; absent if they are free. */
  readonly replyForm?: unknown;
  /** Why predictions of a domain cannot be judged; undefined if they can. Absent if all can. */
  refusal?(domain: string): string | undefined;
  /** What it asks about a prediction, one part after another: at least one if the mode asks a judge, otherwise none. */
  parts(subject: Subject): { readonly [Place in keyof Readings]: Part<Readings[Place]> };
  /** The record of a prediction that needs no judge; undefined if it needs one. Absent if all of them do. */
  alone?(subject: Subject): JudgementRecord | undefined;
  /** The record of a prediction whose parts were all read. */
  join(answers: { readonly [Place in keyof Readings]: Answer<Readings[Place]> }, subject: Subject): JudgementRecord;
  /** The record of a prediction that is missing, or for which a part got no readable reply; `reply` is the last one. */
  fail(failure: NoJudgement, subject: Subject, reply?: ModelReply): JudgementRecord;
}

/** A prediction to be judged. */
export interface Subject {
  readonly sample: Sample;
  /** The world model's raw reply; empty if there is none. */
  readonly gen: string;
  /** What the mode shows next to it. */
  readonly beside?: Beside;
}

/** What is shown next to a prediction. */
export interface Beside {
  /** The other world model's raw reply, or the other row's truth; empty if there is none. */
  readonly text: string;
  /** Why there is none. */
  readonly failure?: NoPrediction | undefined;
}

/** One request about a prediction. */
export interface Part<R> {
  /** The question of an attempt, counted from 0. The caller chooses the seed. */
  request(attempt: number): Question;
  /** Reads the reply to an attempt. A reply that cannot be read is asked for again. */
  read(reply: ModelReply, attempt: number): R | Unreadable;
  /** The substitute if no attempt could be read. If absent, there is no judgement then. */
  readonly unread?: R;
}

/** What a part reads from a reply, in whatever form the mode joins. */
export interface Reading {
  readonly status: 'ok';
}

export type Unreadable = ReturnType<typeof unreadable>;

export function unreadable(reason: string) {
  return { status: 'unreadable', reason } as const;
}

/** A part's reply, and what was read from it. */
export interface Answer<R> {
  readonly reading: R;
  readonly reply: ModelReply;
}

/** The most parts that a mode may ask about a prediction; seeds are reserved for this many. */
export const MOST_PARTS = 16;
