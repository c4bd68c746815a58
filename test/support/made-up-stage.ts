// A stage of made-up rows over a backend in this process, with every request recorded.

import type { Io, ModelFailure, ModelOutcome, ModelReply } from '../../src/core/types.js';
import type { JournalRecord } from '../../src/run/journal.js';
import type { Model } from '../../src/run/model.js';
import type { RowState } from '../../src/run/run.js';
import { openRun } from '../../src/run/run.js';
import { runStage, type StageResult } from '../../src/run/stage.js';
import { oneByOne, type Stage, type StageJob, type StageListener } from '../../src/run/stage-contract.js';
import { targetAt } from '../../src/run/target.js';

/** A reply that cost ten tokens. */
export function fine(): ModelOutcome {
  const log = { attempts: 1, usage: { completionTokens: 10 }, ms: 1, host: 'here' };
  return { status: 'ok', content: 'fine', log };
}

/** A backend with this many slots that gives each row what `answer` says, and follows the contract of `Backend`. */
export function backendOf(answer: (job: StageJob) => ModelOutcome | Promise<ModelOutcome>, slots = 1): Model {
  let inFlight = 0;
  return {
    async work(jobs, solve, { stop, abort }, hooks = {}) {
      const left = [...jobs];
      const errors: unknown[] = [];
      const isOver = () => stop.aborted || abort.aborted || errors.length > 0;
      const work = async () => {
        for (let job = left.shift(); job !== undefined && !isOver(); job = left.shift()) {
          const current = job;
          await solve(job, async (asking) => {
            if (isOver()) return { status: 'interrupted' };
            await asking.make();
            inFlight++;
            const outcome = await answer(rowOf(current));
            inFlight--;
            if (outcome.status !== 'interrupted') hooks.tried?.(current, outcome.log);
            return outcome;
          });
        }
      };
      const watched = () => work().catch((error: unknown) => void errors.push(error));
      await Promise.all(Array.from({ length: slots }, watched));
      if (errors.length > 0) throw errors[0];
    },
    status: () => ({ inFlight, limit: slots, pausedMs: 0, outages: [] }),
    dropped: () => [],
    async close() {},
  };
}

/** The row that a session's job asks about. */
function rowOf(job: object): StageJob {
  // A session's jobs are chains of rows, and those of a made-up stage have one row each.
  return (job as { readonly last: StageJob }).last;
}

export interface MadeUp {
  /** The run's folder. */
  readonly dir: string;
  readonly rows?: number;
  readonly slots?: number;
  readonly listeners?: readonly StageListener[];
  readonly answer?: (job: StageJob) => ModelOutcome | Promise<ModelOutcome>;
  /** The record for an outcome, or `again` to ask once more. */
  readonly settle?: (job: StageJob, outcome: ModelReply | ModelFailure) => Promise<JournalRecord | 'again'>;
  readonly stage?: Partial<Stage<StageJob>>;
  /** Replaces the backend of `slots` that gives each row its `answer`. */
  readonly openBackend?: () => Promise<Model>;
  readonly stop?: AbortSignal;
}

/** Runs the stage once, as a command would; `asked` contains the ids of the rows sent to the backend, in order. */
export async function runMadeUp(options: MadeUp): Promise<{ asked: string[]; result: Promise<StageResult> }> {
  const { dir, rows = 6, slots = 1, listeners = [], answer = fine, stop = new AbortController().signal } = options;
  const { openBackend = async () => backendOf(answer, slots) } = options;
  const { settle = async (job, outcome) => recordOf(job, outcome) } = options;
  const run = await openRun({ kind: 'infer', dir, name: 'predictions', fresh: false, identity: () => ({}), stateOf });
  const asked: string[] = [];
  const io = quietIo(dir, stop);
  // Settings for opening the model, which is made up here.
  const settings = { fresh: false } as Stage<StageJob>['settings'];
  const jobs = Array.from({ length: rows }, (_, row) => ({
    id: `row-${row}`,
    group: 'one',
    domain: row % 2 === 0 ? 'mcp' : 'terminal',
  }));
  const stage: Stage<StageJob> = {
    io,
    run,
    settings,
    target: targetAt({ prefix: 'model', baseUrls: [], model: undefined, apiKey: '' }, io),
    rows: jobs,
    order: jobs,
    stampOf: () => '',
    isDone: (_, { status }) => status === 'ok',
    asks: () => true,
    solve: oneByOne(async (job, ask) => {
      if (options.stage?.asks?.(job) === false) return { id: job.id, row: { status: 'ok' }, log: {} };
      for (;;) {
        const outcome = await ask(async () => {
          asked.push(job.id);
          return { messages: [], seedOffset: 0 };
        });
        const record = await settle(job, outcome);
        if (record !== 'again') return record;
      }
    }),
    questions: async () => [],
    placeOf: () => undefined,
    compose: async (_, record) => JSON.stringify(record.row),
    outputForm: {},
    manifest: { meta: {}, settings: {}, data: {}, endpoints: [], label: undefined, predictions: undefined },
    absent: {},
    ...options.stage,
  };
  const result = runStage({ listeners, ...stage }, openBackend).finally(() => run.close());
  await result.catch(() => undefined);
  return { asked, result };
}

export function recordOf(job: StageJob, outcome: Exclude<ModelOutcome, { status: 'interrupted' }>): JournalRecord {
  const { status, log } = outcome;
  const failure = status === 'failed' ? { class: outcome.class, reason: outcome.reason } : {};
  return { id: job.id, row: { id: job.id, status, ...failure }, log: { ...log } };
}

function stateOf({ row }: JournalRecord): RowState {
  // Only records of this stage.
  const { status, class: failure, reason } = row;
  const failed = failure === undefined ? {} : { class: failure, reason };
  return { status, ...failed, flags: [] } as RowState;
}

function quietIo(cwd: string, stop: AbortSignal): Io {
  const sink = { isTTY: false, columns: 80, write() {} };
  return {
    ...{ stdout: sink, stderr: sink, env: {}, cwd, stop },
    setLastWords() {},
    stdinClosed: () => new Promise(() => {}),
  };
}
