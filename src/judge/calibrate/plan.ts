// Which rows a calibration takes, and what it asks about each: as many trajectories as the calls allow, equally from every domain; and a
// summary line to show before asking. Predictions are made when needed and never stored.

import { createHash } from 'node:crypto';
import { donorsOf } from '../../benchmark/baselines.js';
import type { Dataset, RowRef } from '../../benchmark/dataset.js';
import { present, UserError } from '../../core/errors.js';
import { groupBy, inOrderOf } from '../../core/groups.js';
import { inHashOrder } from '../../core/identity.js';
import { counted } from '../../core/printable.js';
import { randomOf } from '../../core/random.js';
import { rowId } from '../../core/row-id.js';
import type { Sample } from '../../core/types.js';
import type { StageJob } from '../../run/stage-contract.js';
import { variantOf } from './variants.js';

/** One judgement of one variant of one row. */
export interface CalibrationJob extends StageJob {
  readonly row: RowRef;
  readonly variant: string;
  /** The index of this judgement of the prediction, from 0. */
  readonly index: number;
  /** A hash of the prediction: a record of a different text counts as missing. */
  readonly stamp: string;
}

/**
 * The inputs of a plan: the seed, the variants by name, the maximum number of judgements that take a call, how often to judge the variants
 * that show the judge's noise, and the maximum number of trajectories per domain.
 */
type PlanChoice = Readonly<Record<'seed' | 'maxCalls' | 'judgeRepeats' | 'trajectories', number>> & {
  readonly variants: readonly string[];
};

/**
 * The judgements in the order of asking: those of a row are adjacent, followed by the trajectory's next rows, so that prefix caches hit.
 * Rows are taken in rounds, one per domain at a time: every trajectory gives one row before any gives a second.
 * @throws UserError (2) if the calls do not suffice for even one row
 */
export async function planOf(
  rows: readonly RowRef[],
  chosen: readonly RowRef[],
  predictions: MadePredictions,
  choice: PlanChoice,
): Promise<CalibrationJob[]> {
  const { maxCalls } = choice;
  const domains = groupBy(chosen, ({ domain }) => domain).values();
  const open = new Set(Array.from(domains, (own) => inTurn(own, predictions, choice)));
  const taken: CalibrationJob[][] = [];
  let calls = 0;
  while (open.size > 0) {
    for (const queue of open) {
      const { value: jobs, done } = await queue.next();
      if (done) {
        open.delete(queue);
        continue;
      }
      calls += jobs.filter(takesCall).length;
      if (calls > maxCalls && taken.length > 0) return inOrder(rows, taken);
      if (calls > maxCalls) {
        throw new UserError(
          `--max-calls ${maxCalls} is too few: the first row already takes ${calls}; allow more, or judge less with --corruptions, --attacks and --judge-repeats`,
        );
      }
      taken.push(jobs);
    }
  }
  return inOrder(rows, taken);
}

/** An empty prediction is rated by a fixed rule, without a call. */
export function takesCall({ variant }: CalibrationJob): boolean {
  return variant !== 'empty';
}

/** The judgements of a domain's rows, row by row in the order in which they are taken. */
async function* inTurn(members: readonly RowRef[], predictions: MadePredictions, choice: PlanChoice) {
  const ranked = <T>(items: readonly T[], nameOf: (item: T) => string) =>
    inHashOrder(items, (item) => `calibrate ${choice.seed} ${nameOf(item)}`);
  const byTrajectory = groupBy(members, ({ trajectory }) => trajectory);
  const trajectories = ranked([...byTrajectory], ([trajectory]) => trajectory)
    .slice(0, choice.trajectories)
    .map(([, own]) => ranked(own, ({ key }) => key));
  for (let round = 0; trajectories.some((own) => own.length > round); round++) {
    for (const row of trajectories.flatMap((own) => own[round] ?? [])) yield await jobsOf(row, predictions, choice);
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function jobsOf(row: RowRef, predictions: MadePredictions, { variants, judgeRepeats }: PlanChoice) {
  const { key, trajectory: group, domain } = row;
  const jobs: CalibrationJob[] = [];
  for (const variant of variants) {
    const made = await predictions.make(row, variant);
    if (made === undefined) continue;
    const stamp = hashOf(made.gen).slice(0, 24);
    const { isRepeated } = variantOf(variant);
    for (let index = 0; index < (isRepeated ? judgeRepeats : 1); index++) {
      const further = index === 0 ? {} : { isFurther: true as const };
      jobs.push({ id: rowId(key, variant, index), domain, group, row, variant, index, stamp, ...further });
    }
  }
  return jobs;
}

/** Domain by domain in the order of the data, since a domain's rows share the judge's prompt; within a domain, trajectory by trajectory. */
function inOrder(rows: readonly RowRef[], taken: readonly CalibrationJob[][]): CalibrationJob[] {
  const domains = [...new Set(rows.map(({ domain }) => domain))];
  return inOrderOf(taken.flat(), ({ row }) => [
    domains.indexOf(row.domain),
    row.trajectoryNumber,
    row.turnIdx,
    row.position,
  ]);
}

/** A summary of what is judged. */
export function planLine(jobs: readonly CalibrationJob[]): string {
  const count = (of: (job: CalibrationJob) => unknown) => new Set(jobs.map(of)).size;
  const [rows, trajectories, variants] = [
    count(({ row }) => row),
    count(({ group }) => group),
    count(({ variant }) => variant),
  ];
  return `${counted(rows, 'row')} of ${counted(trajectories, 'trajectory', 'trajectories')}, ${counted(variants, 'variant')} of them`;
}

export type MadePredictions = ReturnType<typeof openMadePredictions>;

/** Variants of a row follow one another, so the rows read last are kept, along with their tokens. */
const ROWS_HELD = 16;

/** The same seed gives the same predictions of the same rows, whatever else is chosen. */
export function openMadePredictions(dataset: Dataset, seed: number) {
  const donors = donorsOf(dataset.rows);
  const held = new Map<RowRef, Promise<(Sample | undefined)[]>>();
  const samplesOf = (row: RowRef) => {
    const donor = donors(row);
    const samples = held.get(row) ?? Promise.all([dataset.readSample(row), donor && dataset.readSample(donor)]);
    // The most recently used row is last.
    held.delete(row);
    held.set(row, samples);
    const [oldest] = held.keys();
    if (held.size > ROWS_HELD && oldest !== undefined) held.delete(oldest);
    return samples;
  };
  return {
    /** What a world model would have replied, and to which row; undefined if the row has nothing to make the variant from. */
    async make(row: RowRef, variant: string): Promise<{ sample: Sample; gen: string } | undefined> {
      const [read, donor] = await samplesOf(row);
      const sample = present(read);
      const randomFor = (name: string) =>
        randomOf(createHash('sha256').update(`${seed} ${sample.key} ${name}`).digest().readInt32LE());
      const gen = variantOf(variant).make({ sample, donor, random: randomFor(variant), rowRandom: randomFor('') });
      return gen === undefined ? undefined : { sample, gen };
    },
  };
}
