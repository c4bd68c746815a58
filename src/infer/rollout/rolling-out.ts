// The work of a rollout: every turn of the planned chains through a world model or a baseline, each behind what was predicted before.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Dataset, RowRef } from '../../benchmark/dataset.js';
import { membersOf, withMembers } from '../../benchmark/row-text.js';
import { inInputOrder, ORDERS } from '../../benchmark/selection.js';
import { isObject } from '../../core/json.js';
import { isModelCaused } from '../../core/points.js';
import { recordedPrediction } from '../../core/prediction.js';
import { present } from '../../core/present.js';
import { charactersOf } from '../../core/question.js';
import { rolloutStep, turnKey } from '../../core/rollout.js';
import { rowId } from '../../core/row-id.js';
import type { Flag, Question, Sample } from '../../core/types.js';
import type { Journal, JournalRecord } from '../../run/journal.js';
import type { RowState, RowSummary, Run } from '../../run/run.js';
import { markOf, type Stage, type StageJob, type StageOutput, summaryOf } from '../../run/stage-contract.js';
import { requirePriced } from '../../run/target.js';
import { invalidByDomain, manifestOfData, placeOfRow } from '../chosen-rows.js';
import { baselineOf, type Inference, jobsOf, NO_KEYS, type Outcome, recordOf, TRAJECTORY_KEYS } from '../inferring.js';
import { buildMessages } from '../messages.js';
import type { InferSettings } from '../options.js';
import type { PlannedChain, RolloutPlan } from './plan.js';
import { observationOf, offScript as offScriptOf, simulatedPrompt, simulatedTurn, trueTurn } from './rollout-turn.js';

/** The planned chains as a stage. @throws UserError (2) for a budget in dollars without a price */
export function rolloutStage(work: Inference, run: Run, plan: RolloutPlan): Stage<TurnJob> {
  const { settings, dataset, prompts, target } = work;
  const { baseline } = settings;
  if (baseline === undefined) requirePriced(settings, run.ledger.usd !== undefined, target);
  const jobs = turnJobsOf(dataset, plan, settings, run.journal.ids());
  const questionOf = (sample: Sample): Question => ({
    messages: buildMessages(sample, settings.protocol, prompts.of(sample)),
  });
  const says = baseline && baselineOf(baseline, dataset);
  return {
    io: work.io,
    run,
    settings,
    target,
    ...rolloutOutput(work, jobs, run),
    order: jobs.order,
    remarks: prompts.remarks,
    asks: () => baseline === undefined,
    async *solve(turns, ask) {
      let history: History | undefined;
      for (const job of turns) {
        const before: History = history ?? historyBefore(run.journal, job);
        const open = () => openTurn(dataset, job, before);
        const outcome = says
          ? await says(withTruth(await open(), job), job.row ?? job.chain.driver)
          : await ask(async () => ({ ...questionOf((await open()).sample), seedOffset: job.repeat }));
        // Made again: no text is held while a call waits.
        const turn = await open();
        const isTooLong =
          outcome.status === 'failed' && outcome.class === 'context-overflow' && hasGrown(job, turn, questionOf);
        const settled = isTooLong ? { ...outcome, class: 'too-long' as const } : outcome;
        history = followedBy(before, observationOf(settled.status === 'ok' ? settled.content : ''));
        // A turn that is missing leaves no history: none is asked behind it.
        const isMissing = settled.status === 'failed' && !isDoneTurn({ ...settled, flags: [] });
        const stamp = stampText(isMissing ? before.hash : before.hash + history.hash, markOf(run));
        yield recordOfTurn(job, turn, { ...settled, stamp });
      }
    },
    // Behind the truth: about as long, for a bill before anything has been predicted. It is never sent.
    questions: async ({ chain, turn }) => [questionOf(trueTurn(await dataset.readSample(chain.driver), turn))],
    truth: async ({ chain, turn }) => present((await dataset.readSample(chain.driver)).responses[turn - 1]),
    placeOf: ({ row, repeat }) => (row === undefined || repeat > 0 ? undefined : placeOfRow(dataset, row)),
    manifest: manifestOfData(work, run, settings),
  };
}

/** The rows of the output with the line of each, and the file of all turns beside it. */
export function rolloutOutput(
  {
    settings,
    dataset,
  }: { readonly settings: Pick<InferSettings, 'lean' | 'skipInvalid' | 'domains'>; readonly dataset: Dataset },
  { rows, turns, between }: Pick<TurnJobs, 'rows' | 'turns' | 'between'>,
  run: Run,
) {
  const { journal } = run;
  const stampOf: StageOutput<TurnJob>['stampOf'] = (job, _failure, mark, recorded) =>
    stampOfTurn(journal, job, mark, recorded);
  const standing = (job: TurnJob) =>
    summaryOf({ run, stampOf }, job) === undefined ? undefined : journal.read(job.id);
  return {
    rows,
    between,
    stampOf,
    isDone: (_job: TurnJob, summary: RowSummary) => isDoneTurn(summary),
    async compose({ row }: TurnJob, record: JournalRecord) {
      const text = await dataset.readText(present(row));
      return withMembers(text, settings.lean ? TRAJECTORY_KEYS : NO_KEYS, record.row);
    },
    beside: {
      path: join(run.dir, ROLLOUT_FILE),
      lines: () => turnLines(dataset, turns, (job) => observedIn(journal, job), standing),
    },
    outputForm: { lean: settings.lean, turns: turns.length },
    absent: settings.skipInvalid ? invalidByDomain(dataset.bad, settings) : {},
  };
}

/** A turn as it is put to the model, made of the row that drives its chain. */
interface OpenTurn {
  readonly driver: Sample;
  readonly sample: Sample;
}

async function openTurn(dataset: Dataset, { chain }: TurnJob, { observations }: History): Promise<OpenTurn> {
  const driver = await dataset.readSample(chain.driver);
  return { driver, sample: simulatedTurn(driver, { from: chain.from, observations }) };
}

/** The row of a turn with what really was observed. */
function withTruth({ sample, driver }: OpenTurn, { turn }: TurnJob): Sample {
  return { ...sample, responses: [...sample.responses, present(driver.responses[turn - 1])] };
}

/** Whether what the model said itself has made a prompt longer than the recorded one: that it no longer fits is then its doing. */
function hasGrown({ turn }: TurnJob, { driver, sample }: OpenTurn, questionOf: (sample: Sample) => Question): boolean {
  return charactersOf(questionOf(sample)) > charactersOf(questionOf(trueTurn(driver, turn)));
}

/** The record of a turn, with where it stands in its rollout, and whether its action refers to what that never showed. */
function recordOfTurn(job: TurnJob, { driver, sample }: OpenTurn, outcome: Outcome): Promise<JournalRecord> {
  const { key, chain, turn, repeat } = job;
  const { name, from, trajectory } = chain;
  const offScript = offScriptOf(sample, driver.responses.slice(from, turn - 1));
  const rollout = { chain: name, from, step: turn, distance: turn - from, offScript };
  const flags: Flag[] = offScript.length > 0 ? ['off-script'] : [];
  return recordOf(job.id, { key, trajectory, repeat, rollout }, outcome, async () => sample, flags);
}

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
interface TurnJobs {
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
interface History {
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
function observedIn(records: Records, { id }: TurnJob): string {
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
function stampText(hashes: string, mark: string): string {
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
async function* turnLines(
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
