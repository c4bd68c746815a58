// What the commands that ask have in common: a run is opened, its stage is billed or asked, and what came of it is told.

import { resolve } from 'node:path';
import type { ExitCode } from '../core/errors.js';
import type { Io } from '../core/types.js';
import { printBill } from './bill.js';
import { budgetListener, spendingOf, spendingText } from './budget.js';
import { eventsListener } from './events.js';
import type { AskingSettings, BudgetSettings } from './options.js';
import { openProgress, type Progress } from './progress.js';
import { openRun, type Pricing, type RowSummary, type Run } from './run.js';
import { runStage, type StageResult } from './stage.js';
import type { Stage, StageJob, StageListener } from './stage-contract.js';
import { openPricing, openTarget, type Target } from './target.js';

/** A stage, and who is to hear it beside progress, events and the budget. */
export type HeardStage<J extends StageJob> = Stage<J> & { readonly listeners?: readonly StageListener[] };

/** Opens whom the flags name and what that costs, and closes it behind what `use` makes of it. @throws UserError as `openTarget` */
export async function withTarget<T>(
  addresses: Parameters<typeof openTarget>[0],
  settings: AskingSettings,
  io: Io,
  use: (asked: { readonly target: Target; readonly pricing: Pricing }) => Promise<T>,
): Promise<T> {
  const target = await openTarget(addresses, settings, io);
  try {
    return await use({ target, pricing: await openPricing(target, settings, io) });
  } finally {
    await target.close();
  }
}

/** Opens the run, and closes it behind what `use` makes of it. @throws UserError as `openRun` */
export async function withRun<T>(options: Parameters<typeof openRun>[0], use: (run: Run) => Promise<T>): Promise<T> {
  const run = await openRun(options);
  try {
    return await use(run);
  } finally {
    await run.close();
  }
}

/** Prints the bill of a stage under --dry-run, which then is all; else asks the stage, and tells what came of it. */
export async function billOrAsk<J extends StageJob>(
  stage: HeardStage<J>,
  tell: (result: StageResult) => Promise<ExitCode> | ExitCode,
): Promise<ExitCode> {
  return stage.settings.dryRun ? printBill(stage) : tell(await askStage(stage));
}

/** Asks a stage, heard by all who listen. */
export function askStage<J extends StageJob>({ listeners = [], ...stage }: HeardStage<J>): Promise<StageResult> {
  const { io, run, settings } = stage;
  const { budgetUsd, budgetTokens, events, batchDir, finishOnline } = settings;
  // Results of a batch are paid for, so they are read whatever they cost; what is written is held to the budget elsewhere.
  const asksLive = batchDir === undefined || finishOnline === true;
  const hasBudget = asksLive && (budgetUsd !== undefined || budgetTokens !== undefined);
  return runStage(stage, [
    progressListener(io, settings),
    ...(hasBudget ? [budgetListener(settings)] : []),
    ...(events === undefined ? [] : [eventsListener(events, settings, io, run.files)]),
    ...listeners,
  ]);
}

/** The settings by which a run is opened. */
export function runOptions(settings: { outputDir: string; fresh: boolean; dryRun: boolean }, { cwd }: { cwd: string }) {
  return { dir: resolve(cwd, settings.outputDir), fresh: settings.fresh, dryRun: settings.dryRun };
}

interface ProgressSettings extends BudgetSettings {
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly color: boolean;
}

/** Shows the asking on stderr, from its beginning to its end. */
function progressListener(io: Pick<Io, 'stderr' | 'env'>, settings: ProgressSettings): StageListener {
  const { quiet, verbose, color } = settings;
  let progress: Progress | undefined;
  const settled = new Set<string>();
  return {
    begins({ kind: title, totals, already, status, ledger }) {
      const spending = () => spendingText(spendingOf(ledger, settings));
      progress = openProgress(io, { title, totals, already, status, spending, quiet, verbose, color });
    },
    settled(job, summary) {
      progress?.settled(job.domain, {
        status: summary.status,
        isAgain: settled.has(job.id),
        tokens: summary.usage.completionTokens ?? 0,
        ...(summary.status === 'ok' ? {} : { reason: failureLine(job, summary) }),
      });
      settled.add(job.id);
    },
    notice(text) {
      progress?.notice(text);
    },
    ends() {
      progress?.finish();
    },
  };
}

function failureLine(job: StageJob, { class: failure = 'unknown', reason }: RowSummary): string {
  return [job.domain, job.id, failure, ...(reason === undefined ? [] : [reason])].join(' ');
}
