// What a judge mode is: what it needs, what it asks about a prediction, how it reads replies, and what it makes of them.

import type { JsonObject } from '../core/json.js';
import type { JudgementRecord, NoJudgement } from '../core/judgement.js';
import type { Measure, MeasureWords } from '../core/measures.js';
import type { NoPrediction } from '../core/prediction.js';
import type { RubricPack } from '../core/rubric.js';
import type { ModelReply, Question, Sample } from '../core/types.js';

/** An entry of the list of modes. `Readings` is what its parts read out of their replies, in the order of the parts. */
export interface Mode<Readings extends readonly Reading[] = readonly Reading[]> {
  /** What the mode does, for the help of `--mode`. */
  readonly help: string;
  /** What it makes, in the plural, for the summary. */
  readonly noun: string;
  /** Whether it asks a model, which the user then has to name. */
  readonly asksJudge: boolean;
  /** Whether what it asks is no judge but an agent, which no calibration can tell anything of. Absent where it asks a judge, or nobody. */
  readonly asksAgent?: true;
  /** Whether its records rate the dimensions of the rubric; else they hold measures alone. */
  readonly rates: boolean;
  /**
   * What it puts beside each prediction, to choose between: `prediction` is that of the same row in another file, `truth` that of
   * another row of the domain. Absent where it judges the prediction by itself.
   */
  readonly beside?: 'prediction' | 'truth';
  /** Whether it can judge a rollout by its simulated history alone. */
  readonly judgesWithoutTruth?: true;
  /** The measures in its records, by name. */
  readonly measures: Readonly<Record<string, Measure>>;
  /** The measure that stands for a run without ratings; the first that it has where absent. */
  readonly lead?: string;
  /** What its measures are called. */
  readonly words?: MeasureWords;
  /** The mode as the user wants it. It takes no more of what it is given than it needs. */
  open(given: Given): Promise<Method<Readings>>;
}

/** What a judge sees of a rollout: the recorded history and the truth, or the simulated history and no truth. */
export const SIGHTS = ['history', 'rollout'] as const;
type Sight = (typeof SIGHTS)[number];

/** The ways in which a verdict is read. */
export const VERDICT_READINGS = ['strict', 'official'] as const;
export type VerdictReading = (typeof VERDICT_READINGS)[number];

/** What a user may give a mode. */
export interface Given {
  /** How verdicts are to be read; as the pack has it where undefined. */
  readonly verdicts: VerdictReading | undefined;
  /** Whether replies are to be held to the mode's form, if it has one; false where absent. */
  readonly holdsReplies?: boolean;
  /** What the judge of a rollout sees: the simulated history alone, without the truth, under `rollout`. */
  readonly sees?: Sight;
  /** Reads the rubric pack. */
  rubrics(): Promise<RubricPack>;
  /** A folder of prompts for agents beside the bundled ones. */
  readonly agentFolder?: string | undefined;
  /** What the predictions of --reference are known by. */
  readonly reference?: string | undefined;
}

/** A mode at work: how the predictions of one run are judged. */
export interface Method<Readings extends readonly Reading[] = readonly Reading[]> {
  /**
   * What its records depend on, beside the predictions and the judge: what the user chose of it, under `rubrics`, `verdicts` and
   * `reference`, and what changes with its version, under any other name but those of `judgeIdentity`.
   */
  readonly identity: JsonObject;
  /** What it judges by, as a part of file names. */
  readonly name: string;
  /** The `response_format` that replies are held to; absent where they are free. */
  readonly replyForm?: unknown;
  /** Why predictions of a domain cannot be judged; undefined where they can. Absent where all can. */
  refusal?(domain: string): string | undefined;
  /** What it asks about a prediction, one part after the other: at least one where the mode asks a judge, else none. */
  parts(subject: Subject): { readonly [Place in keyof Readings]: Part<Readings[Place]> };
  /** The record of a prediction that no judge need be asked about; undefined where one has to be. Absent where that is so of all. */
  alone?(subject: Subject): JudgementRecord | undefined;
  /** The record of a prediction all of whose parts were read. */
  join(answers: { readonly [Place in keyof Readings]: Answer<Readings[Place]> }, subject: Subject): JudgementRecord;
  /** The record of a prediction that is missing, or of one that got no readable reply to a part; `reply` is the last one. */
  fail(failure: NoJudgement, subject: Subject, reply?: ModelReply): JudgementRecord;
}

/** A prediction to be judged. */
export interface Subject {
  readonly sample: Sample;
  /** The world model's reply as it came; empty where there is none. */
  readonly gen: string;
  /** What the mode has put beside it. */
  readonly beside?: Beside;
}

/** What stands beside a prediction. */
export interface Beside {
  /** The other world model's reply as it came, or the other row's truth; empty where there is none. */
  readonly text: string;
  /** Why there is none. */
  readonly failure?: NoPrediction | undefined;
}

/** One request about a prediction. */
export interface Part<R> {
  /** The question of an attempt, counted from 0. Whoever asks it chooses the seed. */
  request(attempt: number): Question;
  /** What the reply to an attempt says. A reply that cannot be read is asked for again. */
  read(reply: ModelReply, attempt: number): R | Unreadable;
  /** What stands for a reading where no attempt could be read. Absent where that is no judgement. */
  readonly unread?: R;
}

/** What a part reads out of a reply, in whatever form the mode joins it from. */
export interface Reading {
  readonly status: 'ok';
}

export type Unreadable = ReturnType<typeof unreadable>;

export function unreadable(reason: string) {
  return { status: 'unreadable', reason } as const;
}

/** A part's reply, and what was read out of it. */
export interface Answer<R> {
  readonly reading: R;
  readonly reply: ModelReply;
}

/** The most parts that a mode may ask about a prediction; seeds are counted for as many. */
export const MOST_PARTS = 16;
