// The turns of a rollout: what is asked in which order, what stood before a turn, with a stamp that shows when that has changed, and
// rollout.jsonl, where every turn stands as the world model was asked and what it said.

import { createHash } from 'node:crypto';
import type { Dataset, RowRef } from '../../benchmark/dataset.js';
import { membersOf, withMembers } from '../../benchmark/row-text.js';
import { inInputOrder, ORDERS } from '../../benchmark/selection.js';
import { isObject } from '../../core/json.js';
import { isModelCaused } from '../../core/points.js';
import { recordedPrediction } from '../../core/prediction.js';
import { present } from '../../core/present.js';
import { rolloutStep, turnKey } from '../../core/rollout.js';
import { rowId } from '../../core/row-id.js';
import type { Sample } from '../../core/types.js';
import type { Journal } from '../../run/journal.js';
import type { JournalRecord } from '../../run/journal-record.js';
import type { RowState, RowSummary } from '../../run/run.js';
import type { StageJob } from '../../run/stage-contract.js';
import { jobsOf } from '../inferring.js';
import type { InferSettings } from '../options.js';
import type { PlannedChain, RolloutPlan } from './plan.js';
import { observationOf, simulatedPrompt } from './rollout-turn.js';

/** One turn of a chain in one of its repeats. */
export class TurnJob implements StageJob {
  readonly serial = true;

  /** @param turn 1-based */
  constructor(
    readonly chain: PlannedChain,
    readonly turn: number,
    readonly repeat: number,
  ) {}

  /** The benchmark's row that the turn is; undefined for a turn between rows. */
  get row(): RowRef | undefined {
    return this.chain.rows.get(this.turn);
  }

  /** A row's key, or a name in its place. */
  get key(): string {
    return this.row?.key ?? turnKey(this.chain.name, this.turn);
  }

  get id(): string {
    return rowId(this.key, this.repeat);
  }

  get domain(): string {
    return this.chain.domain;
  }

  get group(): string {
    return `${this.chain.name}#${this.repeat}`;
  }

  /** The same chain and repeat at another turn. */
  at(turn: number): TurnJob {
    return new TurnJob(this.chain, turn, this.repeat);
  }
}

/** The jobs of a rollout. */
export interface TurnJobs {
  /** Those that are rows of the output, in its order. */
  readonly rows: readonly TurnJob[];
  /** All that is asked, in the order of asking. */
  readonly order: readonly TurnJob[];
  /** All that is asked or may be recorded, chain after chain and repeat after repeat: the order of the file of all turns. */
  readonly turns: readonly TurnJob[];
  /** Those of the turns that are no rows. */
  readonly between: readonly TurnJob[];
}

/** @param recorded the ids of the run's records */
export function turnJobsOf(
  data: Pick<Dataset, 'rows' | 'find'>,
  plan: RolloutPlan,
  { order, sampleSeed, repeats }: Pick<InferSettings, 'order' | 'sampleSeed' | 'repeats'>,
  recorded: Iterable<string>,
): TurnJobs {
  const inRollout = jobsOf(data, plan.rows, repeats, recorded).flatMap(({ row, repeat }) => {
    const chain = plan.chainOf(row);
    return chain === undefined ? [] : [new TurnJob(chain, row.turnIdx, repeat)];
  });
  const most = inRollout.reduce((sum, { repeat }) => Math.max(sum, repeat + 1), repeats);
  const turns = turnsOf(plan.chains, most, ({ end }) => end);
  return {
    rows: inRollout,
    order: turnsOf(inChainOrder(plan, order, sampleSeed), repeats, ({ last }) => last),
    between: turns.filter(({ row }) => row === undefined),
    turns,
  };
}

/** Repeats come one after the other. */
function turnsOf(chains: readonly PlannedChain[], repeats: number, lastOf: (chain: PlannedChain) => number): TurnJob[] {
  return Array.from({ length: repeats }, (_, repeat) =>
    chains.flatMap((chain) =>
      Array.from(
        { length: lastOf(chain) - chain.from },
        (_, index) => new TurnJob(chain, chain.from + 1 + index, repeat),
      ),
    ),
  ).flat();
}

/** Under `prefix` the longest come first: a long chain that begins late would leave the other slots empty at the end. */
function inChainOrder({ chains }: RolloutPlan, order: InferSettings['order'], seed: number): readonly PlannedChain[] {
  if (order === 'prefix') return chains.toSorted((a, b) => b.last - b.from - (a.last - a.from));
  const byDriver = new Map(chains.map((chain) => [chain.driver, chain]));
  return ORDERS[order](inInputOrder(byDriver.keys()), seed).map((row) => present(byDriver.get(row)));
}

/** Eight hex digits: two of them make a stamp. */
const DIGITS = 8;
const NOTHING_BEFORE = '0'.repeat(DIGITS);

type Records = Pick<Journal<RowSummary>, 'read' | 'summaryOf'>;

/** The simulated part of a history. */
export interface History {
  readonly observations: readonly string[];
  /** Stands for it. */
  readonly hash: string;
}

/** A turn whose failure the model caused is done: the rollout has gone on behind it. */
export function isDoneTurn({ status, class: failure }: RowState): boolean {
  return status === 'ok' || isModelCaused(failure);
}

/** The history in front of a turn, read back. @throws Error where a turn before it has no record */
export function historyBefore(records: Records, job: TurnJob): History {
  let history: History = { observations: [], hash: NOTHING_BEFORE };
  for (let turn = job.chain.from + 1; turn < job.turn; turn++) {
    history = followedBy(history, observedIn(records, job.at(turn)));
  }
  return history;
}

/** What the world model showed in a turn; empty where it failed. @throws Error where the turn has no record */
export function observedIn(records: Records, { id }: TurnJob): string {
  const { row } = records.read(id);
  return observationOf(recordedPrediction(row).status === 'ok' && typeof row.gen === 'string' ? row.gen : '');
}

/** The history behind one more turn. */
export function followedBy({ observations, hash }: History, observation: string): History {
  const next = createHash('sha256').update(`${hash}\n${observation}`).digest('hex').slice(0, DIGITS);
  return { observations: [...observations, observation], hash: next };
}

/**
 * The stamp that a record should have, given the one that it has: it begins with what stands before the turn now, and what it says of
 * the turn itself is taken as it is. Undefined where a turn before is not done, or was itself asked behind another history.
 * @param mark what else records depend on
 */
export function stampOfTurn(records: Records, job: TurnJob, mark: string, recorded: string): string | undefined {
  let hash = NOTHING_BEFORE;
  for (let turn = job.chain.from + 1; turn < job.turn; turn++) {
    const summary = records.summaryOf(job.at(turn).id);
    if (summary === undefined || !isDoneTurn(summary)) return undefined;
    const after = afterOf(summary.stamp);
    if (summary.stamp !== stampText(hash + after, mark)) return undefined;
    hash = after;
  }
  return stampText(hash + afterOf(recorded), mark);
}

/** A record's stamp: of the history, and what else it depends on. */
export function stampText(hashes: string, mark: string): string {
  return mark === '' ? hashes : `${hashes} ${mark}`;
}

function afterOf(stamp: string): string {
  return stamp.slice(DIGITS, 2 * DIGITS);
}

export const ROLLOUT_FILE = 'rollout.jsonl';

/** What a line has of its trajectory's row, as it stands there. */
const ROWS_OWN: ReadonlySet<string> = new Set(['task', 'id']);

/** The row that drives a chain, as its turns' lines need it. */
interface Driver {
  readonly row: RowRef;
  readonly text: string;
  readonly leftOut: ReadonlySet<string>;
  readonly sample: Sample;
}

/**
 * A line for each turn that has a record.
 * @param observedIn what the world model showed in a turn
 * @param recordOf the record that stands of a turn
 */
export async function* turnLines(
  dataset: Dataset,
  turns: readonly TurnJob[],
  observedIn: (job: TurnJob) => string,
  recordOf: (job: TurnJob) => JournalRecord | undefined,
): AsyncGenerator<string> {
  let driver: Driver | undefined;
  for (const job of turns) {
    const record = recordOf(job);
    if (record === undefined) continue;
    if (job.chain.driver !== driver?.row) driver = await openDriver(dataset, job.chain.driver);
    const { turn, chain } = job;
    const before = turn - 1 > chain.from ? observedIn(job.at(turn - 1)) : undefined;
    const members = membersOfTurn(job, driver.sample, before, record);
    yield withMembers(driver.text, driver.leftOut, members);
  }
}

async function openDriver(dataset: Dataset, row: RowRef): Promise<Driver> {
  const text = await dataset.readText(row);
  const leftOut = new Set(membersOf(text).flatMap(({ key }) => (ROWS_OWN.has(key) ? [] : [key])));
  return { row, text, leftOut, sample: await dataset.readSample(row) };
}

function membersOfTurn(
  { chain, turn, repeat, row, key }: TurnJob,
  driver: Sample,
  before: string | undefined,
  { row: { gen, awb } }: JournalRecord,
): Record<string, unknown> {
  const prediction = recordedPrediction({ awb });
  const isOk = prediction.status === 'ok';
  const { offScript = [] } = rolloutStep(isObject(awb) ? awb.rollout : undefined) ?? {};
  return {
    turn_idx: turn,
    trajectory: chain.trajectory,
    chain: chain.name,
    step: turn,
    distance: turn - chain.from,
    repeat,
    row: row === undefined ? null : key,
    prompt: simulatedPrompt(driver, turn, chain.from, before),
    observation: observationOf(isOk && typeof gen === 'string' ? gen : ''),
    status: prediction.status,
    ...(isOk ? {} : { class: prediction.class }),
    ...(offScript.length === 0 ? {} : { off_script: offScript }),
    gen,
  };
}
