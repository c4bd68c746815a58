// The work of a rollout: every turn of the planned chains through a world model or a baseline, each behind what was predicted before.

import { join } from 'node:path';
import { BASELINES, donorsOf } from '../../../baselines.js';
import type { Dataset, RowRef } from '../../../bench/dataset.js';
import { withMembers } from '../../../bench/row-text.js';
import { buildMessages } from '../../../infer/messages.js';
import type { PredictionFailure, PredictionId } from '../../../prediction.js';
import { present } from '../../../present.js';
import { charactersOf } from '../../../question.js';
import type { RolloutStep } from '../../../rollout.js';
import type { JournalRecord } from '../../../run/journal-record.js';
import { offScript as offScriptOf } from '../../../simulate/references.js';
import { observationOf, simulatedTurn, trueTurn } from '../../../simulate/rollout-turn.js';
import type { Flag, ModelFailure, Question, Sample } from '../../../types.js';
import { requirePriced } from '../../budget.js';
import { manifestOfData, placeOfRow } from '../../data-rows.js';
import { type AskedStage, openInstrument } from '../../instrument.js';
import type { RowSummary } from '../../row-summary.js';
import type { Run } from '../../run.js';
import { type AskModel, type Stage, summaryOf } from '../../stage-contract.js';
import { type Inference, NO_KEYS, TRAJECTORY_KEYS } from '../inferring.js';
import type { InferSettings } from '../options.js';
import { recordOf, recordOfText } from '../records.js';
import { invalidByDomain } from '../rows.js';
import {
  followedBy,
  type History,
  historyBefore,
  isDoneTurn,
  observedIn,
  stampOfTurn,
  stampText,
} from './histories.js';
import type { RolloutPlan } from './plan.js';
import { type TurnJob, type TurnJobs, turnJobsOf } from './turn-jobs.js';
import { ROLLOUT_FILE, turnLines } from './turns-file.js';

/** The planned chains as a stage. @throws UserError (2) for a budget in dollars without a price */
export function rolloutStage(work: Inference, run: Run, plan: RolloutPlan): Stage<TurnJob> {
  const { settings, dataset, prompts, target } = work;
  const { baseline } = settings;
  if (baseline === undefined) requirePriced(settings, run.ledger.usd !== undefined, target);
  const jobs = turnJobsOf(dataset, plan, settings, run.journal.ids());
  const rollout = new Rollout(work);
  const { journal } = run;
  const stage: AskedStage<TurnJob> = {
    io: work.io,
    run,
    settings,
    ...jobs,
    remarks: prompts.remarks,
    stampOf: (job, _failure, mark, recorded) => stampOfTurn(journal, job, mark, recorded) ?? '',
    ...rolloutOutput(work, jobs),
    asks: () => baseline === undefined,
    async *solve(turns, ask, mark) {
      let history: History | undefined;
      for (const job of turns) {
        history ??= historyBefore(journal, job);
        const { record, next } = await (baseline === undefined
          ? rollout.predicted(job, history, ask, mark)
          : rollout.saidByBaseline(job, history, baseline, mark));
        yield { job, record };
        history = next;
      }
    },
    questions: async (job) => [await rollout.likeliest(job)],
    truth: async ({ chain, turn }) => present((await dataset.readSample(chain.driver)).responses[turn - 1]),
    placeOf: ({ row, repeat }) => (row === undefined || repeat > 0 ? undefined : placeOfRow(dataset, row)),
    manifest: manifestOfData(work, run, settings),
  };
  const guarded = openInstrument(run, target, settings).guard(stage);
  return { ...guarded, beside: turnsBeside(dataset, jobs, guarded) };
}

/** The line of each row of the output. */
export function rolloutOutput(
  {
    settings,
    dataset,
  }: { readonly settings: Pick<InferSettings, 'lean' | 'skipInvalid' | 'domains'>; readonly dataset: Dataset },
  { turns }: Pick<TurnJobs, 'turns'>,
) {
  return {
    isDone: (_job: TurnJob, summary: RowSummary) => isDoneTurn(summary),
    async compose({ row }: TurnJob, record: JournalRecord) {
      const text = await dataset.readText(present(row));
      return withMembers(text, settings.lean ? TRAJECTORY_KEYS : NO_KEYS, record.row);
    },
    outputForm: { lean: settings.lean, turns: turns.length },
    absent: settings.skipInvalid ? invalidByDomain(dataset.bad, settings) : {},
  };
}

/** The file of all turns, beside the output. */
export function turnsBeside(
  dataset: Dataset,
  { turns }: Pick<TurnJobs, 'turns'>,
  stage: Pick<Stage<TurnJob>, 'run' | 'isStale'>,
): NonNullable<Stage<TurnJob>['beside']> {
  const { run } = stage;
  const standing = (job: TurnJob) => (summaryOf(stage, job) === undefined ? undefined : run.journal.read(job.id));
  const lines = () => turnLines(dataset, turns, (job) => observedIn(run.journal, job), standing);
  return { path: join(run.dir, ROLLOUT_FILE), lines };
}

/** A turn as it is put to the model, made of the row that drives its chain. */
interface OpenTurn {
  readonly driver: Sample;
  readonly sample: Sample;
}

/** A turn's record, and the history behind it. */
interface Told {
  readonly record: JournalRecord;
  readonly next: History;
}

/** What is asked in each turn, and what becomes of the reply. */
class Rollout {
  readonly #work: Inference;
  readonly #donors: (row: RowRef) => RowRef | undefined;

  constructor(work: Inference) {
    this.#work = work;
    this.#donors = work.settings.baseline === 'shuffled' ? donorsOf(work.dataset.rows) : () => undefined;
  }

  /** A question behind the truth: about as long, for a bill before anything has been predicted. It is never sent. */
  async likeliest({ chain, turn }: TurnJob): Promise<Question> {
    return this.#question(trueTurn(await this.#work.dataset.readSample(chain.driver), turn));
  }

  /** The model is asked behind what it predicted before. A turn that is missing leaves no history: none is asked behind it. */
  async predicted(job: TurnJob, history: History, ask: AskModel, mark: () => string): Promise<Told> {
    const outcome = await ask(async () => {
      const { sample } = await this.#turn(job, history);
      return { ...this.#question(sample), seedOffset: job.repeat };
    });
    const turn = await this.#turn(job, history);
    const settled = outcome.status === 'failed' ? this.#failure(job, turn, outcome) : outcome;
    const isMissing = settled.status === 'failed' && !isDoneTurn({ ...settled, flags: [] });
    const next = followedBy(history, observationOf(settled.status === 'ok' ? settled.content : ''));
    const stamp = stampText(isMissing ? history.hash : history.hash + next.hash, mark());
    const { id, flags } = stepOf(job, turn);
    return { record: await recordOf(job.id, id, { ...settled, stamp }, async () => turn.sample, flags), next };
  }

  async saidByBaseline(
    job: TurnJob,
    history: History,
    name: keyof typeof BASELINES,
    mark: () => string,
  ): Promise<Told> {
    const turn = await this.#turn(job, history);
    const { sample, driver } = turn;
    const truth = present(driver.responses[job.turn - 1]);
    const gen = BASELINES[name]({ ...sample, responses: [...sample.responses, truth] }, await this.#donor(job));
    const next = followedBy(history, observationOf(gen));
    const stamp = stampText(history.hash + next.hash, mark());
    const { id, flags } = stepOf(job, turn);
    return { record: await recordOfText(job.id, id, gen, async () => sample, { stamp, more: flags }), next };
  }

  async #turn(job: TurnJob, { observations }: History): Promise<OpenTurn> {
    const driver = await this.#work.dataset.readSample(job.chain.driver);
    return { driver, sample: simulatedTurn(driver, { from: job.chain.from, observations }) };
  }

  #question(sample: Sample): Question {
    const { settings, prompts } = this.#work;
    return { messages: buildMessages(sample, settings.protocol, prompts.of(sample)) };
  }

  /** A prompt that no longer fits is the model's doing where what it said itself has made it longer than the recorded one. */
  #failure(job: TurnJob, { driver, sample }: OpenTurn, failure: ModelFailure): ModelFailure | PredictionFailure {
    if (failure.class !== 'context-overflow') return failure;
    const recorded = charactersOf(this.#question(trueTurn(driver, job.turn)));
    return charactersOf(this.#question(sample)) > recorded ? { ...failure, class: 'too-long' } : failure;
  }

  async #donor({ row, chain }: TurnJob): Promise<Sample | undefined> {
    const donor = this.#donors(row ?? chain.driver);
    return donor === undefined ? undefined : this.#work.dataset.readSample(donor);
  }
}

/** Where the turn stands in its rollout, and whether its action refers to what that never showed. */
function stepOf(
  { key, chain, turn, repeat }: TurnJob,
  { driver, sample }: OpenTurn,
): { readonly id: PredictionId; readonly flags: readonly Flag[] } {
  const { name, from, trajectory } = chain;
  const offScript = offScriptOf(sample, driver.responses.slice(from, turn - 1));
  const rollout: RolloutStep = { chain: name, from, step: turn, distance: turn - from, offScript };
  return { id: { key, trajectory, repeat, rollout }, flags: offScript.length > 0 ? ['off-script'] : [] };
}
