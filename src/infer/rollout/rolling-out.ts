// The work of a rollout: every turn of the planned chains through a world model or a baseline, each after the earlier predictions, with
// a stamp that shows when those have changed; and rollout.jsonl, with every turn as the world model was asked and what it answered.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Dataset, RowRef } from '../../benchmark/dataset.js';
import { membersOf, withMembers } from '../../benchmark/row-text.js';
import { inInputOrder, ORDERS } from '../../benchmark/selection.js';
import { present } from '../../core/errors.js';
import { isObject } from '../../core/json.js';
import { isModelCaused } from '../../core/points.js';
import { recordedPrediction } from '../../core/prediction.js';
import { rowId } from '../../core/row-id.js';
import { charactersOf, type Question, rolloutStep, type Sample, turnKey } from '../../core/types.js';
import type { Journal, JournalRecord } from '../../run/journal.js';
import type { RowState, RowSummary, Run } from '../../run/run.js';
import { markOf, type Stage, type StageOutput, summaryOf } from '../../run/stage-contract.js';
import { invalidByDomain, placeOfRow, stageOver } from '../chosen-rows.js';
import { baselineOf, type Inference, jobsOf, leftOutBy, type RowOutput, recordOf } from '../inferring.js';
import { buildMessages } from '../messages.js';
import type { InferSettings } from '../options.js';
import type { PlannedChain, RolloutPlan } from './plan.js';
import { observationOf, offScript as offScriptOf, simulatedPrompt, simulatedTurn, trueTurn } from './rollout-turn.js';

/** One turn of a chain in one of its repeats. */
export type TurnJob = ReturnType<typeof turnJob>;

/** @param turn 1-based */
export function turnJob(chain: PlannedChain, turn: number, repeat: number) {
  /** The benchmark's row of the turn; undefined for a turn between rows, which has a name instead of a key. */
  const row = chain.rows.get(turn);
  const key = row?.key ?? turnKey(chain.name, turn);
  const group = `${chain.name}#${repeat}`;
  return { id: rowId(key, repeat), domain: chain.domain, group, serial: true as const, chain, turn, repeat, row, key };
}

/** Only the id: it is needed for all earlier turns of each turn, so nothing else is computed. */
function turnId({ rows, name }: PlannedChain, turn: number, repeat: number): string {
  return rowId(rows.get(turn)?.key ?? turnKey(name, turn), repeat);
}

/**
 * The jobs of a rollout: `rows` are those of the output, in its order; `order` is everything to ask, in the order of asking; `turns` is
 * everything that is asked or may be recorded, chain after chain and repeat after repeat; and `between` are those turns that are not
 * rows.
 * @param recorded the ids of the run's records
 */
export function turnJobsOf(
  data: Pick<Dataset, 'rows' | 'find'>,
  plan: RolloutPlan,
  { order, sampleSeed, repeats }: Pick<InferSettings, 'order' | 'sampleSeed' | 'repeats'>,
  recorded: Iterable<string>,
) {
  const chainOf = new Map(plan.chains.flatMap((chain) => Array.from(chain.rows.values(), (row) => [row, chain])));
  const rows = jobsOf(data, plan.rows, repeats, recorded).flatMap(({ row, repeat }) => {
    const chain = chainOf.get(row);
    return chain === undefined ? [] : [turnJob(chain, row.turnIdx, repeat)];
  });
  const most = rows.reduce((sum, { repeat }) => Math.max(sum, repeat + 1), repeats);
  const turns = turnsOf(plan.chains, most, 'end');
  const between = turns.filter(({ row }) => row === undefined);
  return { rows, order: turnsOf(inChainOrder(plan, order, sampleSeed), repeats, 'last'), between, turns };
}

/** One repeat after another. */
function turnsOf(chains: readonly PlannedChain[], repeats: number, until: 'last' | 'end'): TurnJob[] {
  return Array.from({ length: repeats }, (_, repeat) =>
    chains.flatMap((chain) =>
      Array.from({ length: chain[until] - chain.from }, (_, at) => turnJob(chain, chain.from + 1 + at, repeat)),
    ),
  ).flat();
}

/** With `prefix`, the longest come first: a long chain that begins late would leave the other slots empty at the end. */
function inChainOrder({ chains }: RolloutPlan, order: InferSettings['order'], seed: number): readonly PlannedChain[] {
  if (order === 'prefix') return chains.toSorted((a, b) => b.last - b.from - (a.last - a.from));
  const byDriver = new Map(chains.map((chain) => [chain.driver, chain]));
  return ORDERS[order](inInputOrder(byDriver.keys()), seed).map((row) => present(byDriver.get(row)));
}

/** The planned chains as a stage. @throws UserError (2) for a budget in dollars without a price */
export function rolloutStage(work: Inference, run: Run, plan: RolloutPlan): Stage<TurnJob> {
  const { settings, dataset, prompts } = work;
  const jobs = turnJobsOf(dataset, plan, settings, run.journal.ids());
  const questionOf = (sample: Sample): Question => ({
    messages: buildMessages(sample, settings.protocol, prompts.of(sample)),
  });
  const says = settings.baseline && baselineOf(settings.baseline, dataset);
  return {
    ...stageOver(work, run),
    ...rolloutOutput(work, jobs, run),
    order: jobs.order,
    async *solve(turns, ask) {
      let history: History | undefined;
      for (const job of turns) {
        const { chain, turn, repeat } = job;
        const before: History = history ?? historyBefore(run.journal, job);
        // Made again when needed: no text is kept while a call waits.
        const open = async () => {
          const driver = await dataset.readSample(chain.driver);
          return { driver, sample: simulatedTurn(driver, { from: chain.from, observations: before.observations }) };
        };
        const withTruth = async () => {
          const { driver, sample } = await open();
          return { ...sample, responses: [...sample.responses, present(driver.responses[turn - 1])] };
        };
        const outcome = says
          ? await says(await withTruth(), job.row ?? chain.driver)
          : await ask(async () => ({ ...questionOf((await open()).sample), seedOffset: repeat }));
        const { driver, sample } = await open();
        // An overlong prompt is the model's failure if its own words have made it longer than the recorded one.
        const isTooLong =
          outcome.status === 'failed' &&
          outcome.class === 'context-overflow' &&
          charactersOf(questionOf(sample)) > charactersOf(questionOf(trueTurn(driver, turn)));
        const settled = isTooLong ? { ...outcome, class: 'too-long' as const } : outcome;
        history = followedBy(before, observationOf(settled.status === 'ok' ? settled.content : ''));
        // Without this turn there is no history for later ones, so none of them is asked.
        const isMissing = settled.status === 'failed' && !isDoneTurn({ ...settled, flags: [] });
        const stamp = `${before.hash}${isMissing ? '' : history.hash} ${markOf(run)}`.trimEnd();
        yield recordOfTurn(job, driver, sample, { ...settled, stamp });
      }
    },
    // Uses the truth, which is about as long, to estimate the cost before anything is predicted. It is never sent.
    questions: async ({ chain, turn }) => [questionOf(trueTurn(await dataset.readSample(chain.driver), turn))],
    truth: async ({ chain, turn }) => present((await dataset.readSample(chain.driver)).responses[turn - 1]),
    placeOf: ({ row, repeat }) => (row === undefined || repeat > 0 ? undefined : placeOfRow(dataset, row)),
  };
}

/** The record of a turn, with its place in the rollout, and whether its action refers to what the rollout never showed. */
function recordOfTurn(job: TurnJob, driver: Sample, sample: Sample, outcome: Parameters<typeof recordOf>[2]) {
  const { key, chain, turn, repeat } = job;
  const { name, from, trajectory } = chain;
  const offScript = offScriptOf(sample, driver.responses.slice(from, turn - 1));
  const rollout = { chain: name, from, step: turn, distance: turn - from, offScript };
  const flags = offScript.length > 0 ? (['off-script'] as const) : [];
  return recordOf(job.id, { key, trajectory, repeat, rollout }, outcome, async () => sample, flags);
}

/** The rows of the output with the line of each, and the file of all turns next to it. */
export function rolloutOutput(
  { settings, dataset }: Omit<RowOutput<'lean' | 'skipInvalid' | 'domains'>, 'chosen'>,
  { rows, turns, between }: Pick<ReturnType<typeof turnJobsOf>, 'rows' | 'turns' | 'between'>,
  run: Run,
) {
  const { journal } = run;
  const stampOf: StageOutput<TurnJob>['stampOf'] = (job, _failure, mark, recorded) =>
    stampOfTurn(journal, job, mark, recorded);
  const isThere = (job: TurnJob) => summaryOf({ run, stampOf }, job) !== undefined;
  return {
    rows,
    between,
    stampOf,
    isDone: (_job: TurnJob, summary: RowSummary) => isDoneTurn(summary),
    async compose({ row }: TurnJob, record: JournalRecord) {
      return withMembers(await dataset.readText(present(row)), leftOutBy(settings), record.row);
    },
    beside: {
      path: join(run.dir, ROLLOUT_FILE),
      lines: () => turnLines(dataset, journal, turns.filter(isThere)),
    },
    outputForm: { lean: settings.lean, turns: turns.length },
    absent: invalidByDomain(dataset.bad, settings),
  };
}

/** Eight hex digits; two such hashes make a stamp. */
const DIGITS = 8;
const NOTHING_BEFORE = '0'.repeat(DIGITS);

type Records = Pick<Journal<RowSummary>, 'read' | 'summaryOf'>;

/** The simulated part of a history, and a hash of it. */
interface History {
  readonly observations: readonly string[];
  readonly hash: string;
}

/** A turn whose failure the model caused is done: the rollout has continued after it. */
export function isDoneTurn({ status, class: failure }: RowState): boolean {
  return status === 'ok' || isModelCaused(failure);
}

/** The history before a turn, read back. @throws Error if an earlier turn has no record */
export function historyBefore(records: Records, { chain, turn: end, repeat }: TurnJob): History {
  let history: History = { observations: [], hash: NOTHING_BEFORE };
  for (let turn = chain.from + 1; turn < end; turn++) {
    history = followedBy(history, observedIn(records.read(turnId(chain, turn, repeat))));
  }
  return history;
}

/** What the world model showed in a turn; empty if it failed. */
function observedIn({ row }: JournalRecord): string {
  return observationOf(recordedPrediction(row).status === 'ok' && typeof row.gen === 'string' ? row.gen : '');
}

/** The history after one more turn. */
export function followedBy({ observations, hash }: History, observation: string): History {
  const next = createHash('sha256').update(`${hash}\n${observation}`).digest('hex').slice(0, DIGITS);
  return { observations: [...observations, observation], hash: next };
}

/**
 * The stamp that a record should have, given its own: it begins with the current state before the turn, and the part about the turn
 * itself is kept. Undefined if an earlier turn is not done, or was itself asked after another history.
 * @param mark what else records depend on
 */
export function stampOfTurn(records: Records, job: TurnJob, mark: string, recorded: string): string | undefined {
  let hash = NOTHING_BEFORE;
  for (let turn = job.chain.from + 1; turn < job.turn; turn++) {
    const summary = records.summaryOf(turnId(job.chain, turn, job.repeat));
    if (summary === undefined || !isDoneTurn(summary)) return undefined;
    const after = summary.stamp.slice(DIGITS, 2 * DIGITS);
    if (summary.stamp !== `${hash}${after} ${mark}`.trimEnd()) return undefined;
    hash = after;
  }
  return `${hash}${recorded.slice(DIGITS, 2 * DIGITS)} ${mark}`.trimEnd();
}

export const ROLLOUT_FILE = 'rollout.jsonl';

/** A line for each of these turns: task and id as in its trajectory's row, and the turn's own members. */
async function* turnLines(dataset: Dataset, records: Records, turns: readonly TurnJob[]): AsyncGenerator<string> {
  let [driver, text, sample]: [RowRef?, string?, Sample?] = [];
  for (const { chain, turn, repeat, row, key, id } of turns) {
    if (chain.driver !== driver || text === undefined || sample === undefined) {
      driver = chain.driver;
      [text, sample] = [await dataset.readText(driver), await dataset.readSample(driver)];
    }
    const record = records.read(id);
    const { gen, awb } = record.row;
    const prediction = recordedPrediction(record.row);
    const { offScript = [] } = rolloutStep(isObject(awb) ? awb.rollout : undefined) ?? {};
    const isFirst = turn - 1 === chain.from;
    const before = isFirst ? undefined : observedIn(records.read(turnId(chain, turn - 1, repeat)));
    const keys = membersOf(text).map((member) => member.key);
    yield withMembers(text, new Set(keys.filter((name) => name !== 'task' && name !== 'id')), {
      turn_idx: turn,
      trajectory: chain.trajectory,
      chain: chain.name,
      step: turn,
      distance: turn - chain.from,
      repeat,
      row: row === undefined ? null : key,
      prompt: simulatedPrompt(sample, turn, chain.from, before),
      observation: observedIn(record),
      status: prediction.status,
      ...(prediction.status === 'failed' && { class: prediction.class }),
      ...(offScript.length > 0 && { off_script: offScript }),
      gen,
    });
  }
}
