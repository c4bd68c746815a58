// The work of a rollout: every turn of the planned chains through a world model or a baseline, each behind what was predicted before.

import { join } from 'node:path';
import type { Dataset } from '../../benchmark/dataset.js';
import { withMembers } from '../../benchmark/row-text.js';
import { present } from '../../core/present.js';
import { charactersOf } from '../../core/question.js';
import type { Flag, Question, Sample } from '../../core/types.js';
import type { JournalRecord } from '../../run/journal-record.js';
import { requirePriced } from '../../run/pricing.js';
import type { RowSummary, Run } from '../../run/run.js';
import { markOf, type Stage, type StageOutput, summaryOf } from '../../run/stage-contract.js';
import { invalidByDomain, manifestOfData, placeOfRow } from '../chosen-rows.js';
import { baselineOf, type Inference, NO_KEYS, type Outcome, recordOf, TRAJECTORY_KEYS } from '../inferring.js';
import { buildMessages } from '../messages.js';
import type { InferSettings } from '../options.js';
import { offScript as offScriptOf } from '../references.js';
import type { RolloutPlan } from './plan.js';
import { observationOf, simulatedTurn, trueTurn } from './rollout-turn.js';
import {
  followedBy,
  type History,
  historyBefore,
  isDoneTurn,
  observedIn,
  ROLLOUT_FILE,
  stampOfTurn,
  stampText,
  type TurnJob,
  type TurnJobs,
  turnJobsOf,
  turnLines,
} from './turns.js';

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
