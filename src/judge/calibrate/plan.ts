// Which rows a calibration takes, and what it asks about each: as many trajectories as the calls allow, every domain alike; and the same in
// words, before it is asked. Its predictions are made whenever they are needed and never kept.

import { createHash } from 'node:crypto';
import { donorsOf } from '../../benchmark/baselines.js';
import type { Dataset, RowRef } from '../../benchmark/dataset.js';
import { LEAST_TRAJECTORIES } from '../../core/calibration.js';
import { UserError } from '../../core/errors.js';
import { counted } from '../../core/figures.js';
import { groupBy } from '../../core/groups.js';
import { present } from '../../core/present.js';
import { randomOf } from '../../core/random.js';
import { variantId } from '../../core/row-id.js';
import { LEAST_CLUSTERS, type Sample } from '../../core/types.js';
import type { StageJob } from '../../run/stage-contract.js';
import type { Variant } from './variant.js';
import { VARIANTS } from './variants.js';

/** One judgement of one variant of one row. */
export interface CalibrationJob extends StageJob {
  readonly row: RowRef;
  readonly variant: string;
  /** Which judgement of this prediction it is, from 0. */
  readonly index: number;
  /** A hash of the prediction: a record of another text counts as not there. */
  readonly stamp: string;
}

/** What a plan is made by. */
interface PlanChoice {
  readonly seed: number;
  readonly variants: readonly string[];
  /** Judgements at most, of those that take a call. */
  readonly maxCalls: number;
  /** How often the variants are judged that show the judge's noise. */
  readonly judgeRepeats: number;
  /** Trajectories of a domain at most. */
  readonly trajectories: number;
}

/**
 * Of a trajectory's rows, so many are looked at to take first the one to which most variants apply, and no further one once they hold
 * so many bytes: looking takes time with the length of a row, and a long one has what most variants need.
 */
const ROWS_LOOKED_AT = 3;
const BYTES_LOOKED_AT = 200_000;

/**
 * The judgements in the order of asking: those of a row follow one another, then come the trajectory's next rows, so that prefix caches
 * hit. Rows are taken in rounds, one of each domain at a time: every trajectory gives a row before any gives a second one.
 * @throws UserError (2) where not even one row can be judged by so few calls
 */
export async function planOf(
  rows: readonly RowRef[],
  chosen: readonly RowRef[],
  predictions: MadePredictions,
  choice: PlanChoice,
): Promise<CalibrationJob[]> {
  const domains = groupBy(chosen, ({ domain }) => domain);
  const queues = [...domains.values()].map((members) => new RowQueue(members, predictions, choice));
  const taken: CalibrationJob[][] = [];
  let calls = 0;
  for (let open = queues; open.length > 0; ) {
    const left: RowQueue[] = [];
    for (const queue of open) {
      const jobs = await queue.next();
      if (jobs === undefined) continue;
      const more = jobs.filter(takesCall).length;
      if (calls + more > choice.maxCalls) {
        if (calls === 0) throw new UserError(tooFew(choice.maxCalls, more));
        return inOrder(rows, taken);
      }
      calls += more;
      taken.push(jobs);
      left.push(queue);
    }
    open = left;
  }
  return inOrder(rows, taken);
}

function tooFew(maxCalls: number, needed: number): string {
  return `--max-calls ${maxCalls} is too few: the first row alone takes ${needed}; allow more, or have less judged with --damages, --canaries and --judge-repeats`;
}

/** An empty prediction is rated by rule. */
export function takesCall({ variant }: CalibrationJob): boolean {
  return variant !== 'empty';
}

/** A domain's rows in the order in which they are taken. */
class RowQueue {
  readonly #trajectories: RowRef[][];
  /** The judgements of rows that were looked at and not taken yet. */
  readonly #looked = new Map<RowRef, CalibrationJob[]>();
  #next = 0;

  constructor(
    members: readonly RowRef[],
    private readonly predictions: MadePredictions,
    private readonly choice: PlanChoice,
  ) {
    const rank = (text: string) => createHash('sha256').update(`calibrate ${choice.seed} ${text}`).digest('hex');
    const ranked = <T>(items: Iterable<T>, textOf: (item: T) => string): T[] =>
      Array.from(items, (item) => ({ item, rank: rank(textOf(item)) }))
        .sort((a, b) => (a.rank < b.rank ? -1 : 1))
        .map(({ item }) => item);
    const trajectories = groupBy(members, (row) => row.trajectory);
    this.#trajectories = ranked(trajectories, ([trajectory]) => trajectory)
      .slice(0, choice.trajectories)
      .map(([, own]) => ranked(own, (row) => row.key));
  }

  /** The judgements of the next row; undefined where none is left. */
  async next(): Promise<CalibrationJob[] | undefined> {
    for (;;) {
      if (this.#next === this.#trajectories.length) {
        if (!this.#trajectories.some((own) => own.length > 0)) return undefined;
        this.#next = 0;
      }
      const own = present(this.#trajectories[this.#next++]);
      const jobs = await this.#richest(own);
      if (jobs !== undefined) return jobs;
    }
  }

  /** Takes the row out to which most variants apply. */
  async #richest(own: RowRef[]): Promise<CalibrationJob[] | undefined> {
    let best: { readonly row: RowRef; readonly jobs: CalibrationJob[] } | undefined;
    let bytes = 0;
    for (const row of own.slice(0, ROWS_LOOKED_AT)) {
      if (bytes >= BYTES_LOOKED_AT) break;
      bytes += row.length;
      const jobs = this.#looked.get(row) ?? (await jobsOf(row, this.predictions, this.choice));
      this.#looked.set(row, jobs);
      if (best === undefined || jobs.length > best.jobs.length) best = { row, jobs };
    }
    if (best === undefined) return undefined;
    this.#looked.delete(best.row);
    own.splice(own.indexOf(best.row), 1);
    return best.jobs;
  }
}

async function jobsOf(
  row: RowRef,
  predictions: MadePredictions,
  { variants, judgeRepeats }: PlanChoice,
): Promise<CalibrationJob[]> {
  const { key, trajectory: group, domain } = row;
  const jobs: CalibrationJob[] = [];
  for (const variant of variants) {
    const made = await predictions.make(row, variant);
    if (made === undefined) continue;
    const stamp = createHash('sha256').update(made.gen).digest('hex').slice(0, 24);
    const { isRepeated } = variantOf(variant);
    for (let index = 0; index < (isRepeated ? judgeRepeats : 1); index++) {
      const further = index === 0 ? {} : { isFurther: true as const };
      jobs.push({ id: variantId(key, variant, index), domain, group, row, variant, index, stamp, ...further });
    }
  }
  return jobs;
}

/** Domain by domain in the order of the data, since a domain's rows share the judge's prompt; within it trajectory by trajectory. */
function inOrder(rows: readonly RowRef[], taken: readonly CalibrationJob[][]): CalibrationJob[] {
  const domains = [...new Set(rows.map(({ domain }) => domain))];
  const place = (job: CalibrationJob) => [
    domains.indexOf(job.domain),
    job.row.trajectoryNumber,
    job.row.turnIdx,
    job.row.position,
  ];
  return taken
    .map((jobs) => ({ jobs, place: place(present(jobs[0])) }))
    .sort((a, b) => firstDifference(a.place, b.place))
    .flatMap(({ jobs }) => jobs);
}

function firstDifference(a: readonly number[], b: readonly number[]): number {
  return a.map((number, index) => number - present(b[index])).find((difference) => difference !== 0) ?? 0;
}

/** What the planned rows are too few for, a sentence each. */
export function remarksOn(jobs: readonly CalibrationJob[]): string[] {
  const domains = [...groupBy(jobs, ({ domain }) => domain)].map(([domain, own]) => ({
    domain,
    trajectories: new Set(own.map(({ group }) => group)).size,
  }));
  const untold = domains.filter(({ trajectories }) => trajectories < LEAST_CLUSTERS);
  const few = domains.filter((one) => one.trajectories < LEAST_TRAJECTORIES && !untold.includes(one));
  const named = (some: typeof domains) =>
    some.map(({ domain, trajectories }) => `${domain} ${trajectories}`).join(', ');
  return [
    ...(untold.length === 0
      ? []
      : [
          `fewer than ${LEAST_CLUSTERS} trajectories (${named(untold)}): no interval can be given for these domains, so nothing in them can be told seen or blind; all domains together still can`,
        ]),
    ...(few.length === 0
      ? []
      : [
          `fewer than ${LEAST_TRAJECTORIES} trajectories (${named(few)}): the intervals of these domains are wide, and small losses stay undecided`,
        ]),
  ];
}

/** What is judged, in one sentence. */
export function planText(jobs: readonly CalibrationJob[]): string {
  const rows = new Set(jobs.map(({ row }) => row)).size;
  const trajectories = new Set(jobs.map(({ group }) => group)).size;
  const variants = new Set(jobs.map(({ variant }) => variant)).size;
  return `${counted(rows, 'row')} of ${counted(trajectories, 'trajectory', 'trajectories')}, ${counted(variants, 'variant')} of them`;
}

const LIST: Readonly<Record<string, Variant>> = VARIANTS;

/** The variant of a name that `chosenVariants` gave. */
function variantOf(name: string): Variant {
  return present(LIST[name]);
}

/** A row's variant: what a world model would have replied, and the row that it would have replied to. */
interface Made {
  readonly sample: Sample;
  readonly gen: string;
}

export interface MadePredictions {
  /** Undefined where the row has nothing that the variant could be made of. */
  make(row: RowRef, variant: string): Promise<Made | undefined>;
}

/**
 * Variants of a row follow one another, but judges answer about many rows at once. Rows of so many bytes are held, so that each is read,
 * and what determines it is found, once and not with every judgement.
 */
const BYTES_HELD = 8_000_000;

/** The same seed gives the same predictions of the same rows, whatever else is chosen. */
export function openMadePredictions(dataset: Dataset, seed: number): MadePredictions {
  const donors = donorsOf(dataset.rows);
  const held = new Map<RowRef, Promise<Samples>>();
  const bytesOf = (row: RowRef) => row.length + (donors(row) ?? row).length;
  let bytes = 0;
  const samplesOf = (row: RowRef) => {
    const found = held.get(row);
    const samples = found ?? readSamples(dataset, row, donors(row));
    if (found === undefined) bytes += bytesOf(row);
    // The row used last stands last.
    held.delete(row);
    held.set(row, samples);
    for (const oldest of held.keys()) {
      if (bytes <= BYTES_HELD || oldest === row) break;
      held.delete(oldest);
      bytes -= bytesOf(oldest);
    }
    return samples;
  };
  return {
    async make(row, variant) {
      const { sample, donor } = await samplesOf(row);
      const gen = variantOf(variant).make({
        sample,
        donor,
        random: randomOf(streamOf(seed, sample.key, variant)),
        rowRandom: randomOf(streamOf(seed, sample.key, '')),
      });
      return gen === undefined ? undefined : { sample, gen };
    },
  };
}

interface Samples {
  readonly sample: Sample;
  readonly donor: Sample | undefined;
}

async function readSamples(dataset: Dataset, row: RowRef, donor: RowRef | undefined): Promise<Samples> {
  const [sample, other] = await Promise.all([row, donor].map((one) => one !== undefined && dataset.readSample(one)));
  return { sample: present(sample || undefined), donor: other || undefined };
}

function streamOf(seed: number, key: string, variant: string): number {
  return createHash('sha256').update(`${seed} ${key} ${variant}`).digest().readInt32LE();
}
