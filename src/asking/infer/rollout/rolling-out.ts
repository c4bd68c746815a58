// The work of a rollout: every turn of the planned chains through a world model or a baseline, each behind what was predicted before.

import { join } from 'node:path';
import { BASELINES, donorsOf } from '../../../baselines.js';
import { withMembers } from '../../../bench/row-text.js';
import { buildMessages } from '../../../infer/messages.js';
import type { PredictionId } from '../../../prediction.js';
import { present } from '../../../present.js';
import { charactersOf } from '../../../question.js';
import type { RolloutStep } from '../../../rollout.js';
import { offScript as offScriptOf } from '../../../simulate/off-script.js';
import { observationOf, simulatedTurn, trueTurn } from '../../../simulate/rollout-turn.js';
import type { Flag, ModelFailure, ModelReply, Question, Sample } from '../../../types.js';
import { requirePriced } from '../../budget.js';
import { manifestOfData, placeOfRow } from '../../data-rows.js';
import { type AskedStage, openInstrument } from '../../instrument.js';
import type { Run } from '../../run.js';
import { type Stage, summaryOf } from '../../stage-contract.js';
import { type Inference, NO_KEYS, TRAJECTORY_KEYS } from '../inferring.js';
import { recordOf, recordOfText } from '../records.js';
import { invalidByDomain } from '../rows.js';
import { Histories, isDoneTurn, stampText } from './histories.js';
import type { RolloutPlan } from './plan.js';
import { type TurnJob, turnJobsOf } from './turn-jobs.js';
import { ROLLOUT_FILE, turnLines } from './turns-file.js';

/** The planned chains as a stage. @throws UserError (2) for a budget in dollars without a price */
export function rolloutStage(work: Inference, run: Run, plan: RolloutPlan): Stage<TurnJob> {
  const { settings, dataset, prompts, target } = work;
  const { baseline } = settings;
  if (baseline === undefined) requirePriced(settings, run.ledger.usd !== undefined, target);
  const jobs = turnJobsOf(dataset.rows, plan, settings, run.journal.ids());
  const rollout = new Rollout(work, new Histories(run.journal));
  const stage: AskedStage<TurnJob> = {
    io: work.io,
    run,
    settings,
    ...jobs,
    remarks: prompts.remarks,
    stampOf: (job, _failure, mark, recorded) => rollout.histories.stampOf(job, mark, recorded) ?? '',
    isDone: (_job, summary) => isDoneTurn(summary),
    asks: () => baseline === undefined,
    settleAlone: (job, mark) => rollout.settleAlone(job, mark),
    request: async (job) => ({ ...rollout.question(await rollout.turn(job)), seedOffset: job.repeat }),
    questions: async (job) => [rollout.question(await rollout.likelyTurn(job))],
    settle: (job, outcome, mark) => rollout.settle(job, outcome, mark),
    placeOf: ({ row, repeat }) => (row === undefined || repeat > 0 ? undefined : placeOfRow(dataset, row)),
    async compose({ row }, record) {
      const text = await dataset.readText(present(row));
      return withMembers(text, settings.lean ? TRAJECTORY_KEYS : NO_KEYS, record.row);
    },
    outputForm: { lean: settings.lean, turns: jobs.turns.length },
    manifest: manifestOfData(work, run, settings),
    absent: settings.skipInvalid ? invalidByDomain(dataset.bad, settings) : {},
  };
  const guarded = openInstrument(run, target, settings).guard(stage);
  const standing = (job: TurnJob) => (summaryOf(guarded, job) === undefined ? undefined : run.journal.read(job.id));
  const lines = () => turnLines(dataset, jobs.turns, rollout.histories, standing);
  return { ...guarded, beside: { path: join(run.dir, ROLLOUT_FILE), lines } };
}

/** What is asked in each turn, and what becomes of the reply. */
class Rollout {
  readonly #work: Inference;
  readonly #donors: (row: number) => number | undefined;

  constructor(
    work: Inference,
    readonly histories: Histories,
  ) {
    this.#work = work;
    this.#donors = work.settings.baseline === 'shuffled' ? donorsOf(work.dataset.rows) : () => undefined;
  }

  /** The turn behind what was predicted before it. */
  async turn(job: TurnJob): Promise<Sample> {
    const { observations } = this.histories.before(job);
    return simulatedTurn(await this.#driver(job), { from: job.chain.from, observations });
  }

  /** The same behind the truth: about as long, for a bill before anything has been predicted. It is never sent. */
  async likelyTurn({ chain, turn }: TurnJob): Promise<Sample> {
    return trueTurn(await this.#work.dataset.readSample(chain.driver), turn);
  }

  question(sample: Sample): Question {
    const { settings, prompts } = this.#work;
    return { messages: buildMessages(sample, settings.protocol, prompts.of(sample)) };
  }

  async settle(job: TurnJob, outcome: ModelReply | ModelFailure, mark: string) {
    const sample = await this.turn(job);
    const settled = outcome.status === 'failed' ? await this.#failure(job, sample, outcome) : outcome;
    const { hash } = this.histories.before(job);
    const isMissing = settled.status === 'failed' && !isDoneTurn({ ...settled, flags: [] });
    const observation = observationOf(settled.status === 'ok' ? settled.content : '');
    const stamp = stampText(isMissing ? hash : this.histories.settle(job, observation), mark);
    const { id, flags } = await this.#step(job, sample);
    return recordOf(job.id, id, { ...settled, stamp }, async () => sample, flags);
  }

  async settleAlone(job: TurnJob, mark: string) {
    const sample = await this.turn(job);
    const truth = present((await this.#driver(job)).responses[job.turn - 1]);
    const gen = BASELINES[present(this.#work.settings.baseline)](
      { ...sample, responses: [...sample.responses, truth] },
      await this.#donor(job),
    );
    const stamp = stampText(this.histories.settle(job, observationOf(gen)), mark);
    const { id, flags } = await this.#step(job, sample);
    return recordOfText(job.id, id, gen, async () => sample, { stamp, more: flags });
  }

  /** A prompt that no longer fits is the model's doing where what it said itself has made it longer than the recorded one. */
  async #failure(job: TurnJob, sample: Sample, failure: ModelFailure) {
    if (failure.class !== 'context-overflow') return failure;
    const recorded = charactersOf(this.question(await this.likelyTurn(job)));
    return charactersOf(this.question(sample)) > recorded ? ({ ...failure, class: 'too-long' } as const) : failure;
  }

  /** Where the turn stands in its rollout, and whether its action refers to what that never showed. */
  async #step(job: TurnJob, sample: Sample): Promise<{ readonly id: PredictionId; readonly flags: readonly Flag[] }> {
    const { key, chain, turn, repeat } = job;
    const { name, from, trajectory } = chain;
    const hidden = (await this.#driver(job)).responses.slice(from, turn - 1);
    const offScript = offScriptOf(sample, hidden);
    const rollout: RolloutStep = { chain: name, from, step: turn, distance: turn - from, offScript };
    return { id: { key, trajectory, repeat, rollout }, flags: offScript.length > 0 ? ['off-script'] : [] };
  }

  #driver({ chain }: TurnJob): Promise<Sample> {
    return this.#work.dataset.readSample(chain.driver);
  }

  async #donor({ row, chain }: TurnJob): Promise<Sample | undefined> {
    const donor = this.#donors(row ?? chain.driver);
    return donor === undefined ? undefined : this.#work.dataset.readSample(donor);
  }
}
