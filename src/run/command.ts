// What the asking commands share: open a run, then bill or ask its stage, then report the result.

import { resolve } from 'node:path';
import { closing, EXIT, type ExitCode } from '../core/errors.js';
import type { Io } from '../core/types.js';
import { printBill } from './bill-text.js';
import { reachedIn, spendingOf, spendingText } from './budget.js';
import { eventsListener } from './events.js';
import type { AskingSettings, BudgetSettings } from './options.js';
import { openProgress, type Progress } from './progress.js';
import { openRun, type Pricing, type Run } from './run.js';
import { runStage, type StageResult } from './stage.js';
import type { Beginning, Stage, StageJob, StageListener } from './stage-contract.js';
import { openPricing, openTarget, type Target } from './target.js';

/** Opens the target that the flags name, and its prices; closes it after `use`. @throws UserError as `openTarget` */
export async function withTarget<T>(
  addresses: Parameters<typeof openTarget>[0],
  settings: AskingSettings,
  io: Io,
  use: (asked: { readonly target: Target; readonly pricing: Pricing }) => Promise<T>,
): Promise<T> {
  return closing(await openTarget(addresses, settings, io), async (target) =>
    use({ target, pricing: await openPricing(target, settings, io) }),
  );
}

/** Opens the run, and closes it after `use`. @throws UserError as `openRun` */
export async function withRun<T>(options: Parameters<typeof openRun>[0], use: (run: Run) => Promise<T>): Promise<T> {
  return closing(await openRun(options), use);
}

/** With --dry-run, only prints the bill of a stage; otherwise asks the stage and reports the result. */
export async function billOrAsk<J extends StageJob>(
  stage: Stage<J>,
  tell: (result: StageResult) => Promise<ExitCode> | ExitCode,
): Promise<ExitCode> {
  return stage.settings.dryRun ? printBill(stage) : tell(await askStage(stage));
}

/** Asks a stage, with all listeners attached. */
export function askStage<J extends StageJob>(stage: Stage<J>): Promise<StageResult> {
  const { io, run, settings, listeners = [] } = stage;
  const { budgetUsd, budgetTokens, events } = settings;
  const hasBudget = budgetUsd !== undefined || budgetTokens !== undefined;
  const own = [
    progressListener(io, settings),
    ...(hasBudget ? [budgetListener(settings)] : []),
    ...(events === undefined ? [] : [eventsListener(events, settings, io, run.files)]),
  ];
  return runStage({ ...stage, listeners: [...own, ...listeners] });
}

/** The settings for opening a run. */
export function runOptions(settings: { outputDir: string; fresh: boolean; dryRun: boolean }, { cwd }: { cwd: string }) {
  return { dir: resolve(cwd, settings.outputDir), fresh: settings.fresh, dryRun: settings.dryRun };
}

/** Shows progress on stderr while the stage is asked. */
function progressListener(io: Pick<Io, 'stderr' | 'env'>, settings: Stage<StageJob>['settings']): StageListener {
  const { quiet, verbose, color } = settings;
  let progress: Progress | undefined;
  const settledBefore = new Set<string>();
  return {
    begins({ kind: title, totals, already, status, ledger }) {
      const spending = () => spendingText(spendingOf(ledger, settings));
      progress = openProgress(io, { title, totals, already, status, spending, quiet, verbose, color });
    },
    settled({ domain, id }, { status, usage, class: failure = 'unknown', reason = '' }) {
      const tokens = usage.completionTokens ?? 0;
      const failed = status === 'failed' && { reason: `${domain} ${id} ${failure} ${reason}`.trimEnd() };
      progress?.settled(domain, { status, tokens, ...failed, isAgain: settledBefore.has(id) });
      settledBefore.add(id);
    },
    notice: (text) => progress?.notice(text),
    ends: () => progress?.finish(),
  };
}

/**
 * Stops the run once it has spent its budget: no further try of any call starts. If earlier sessions have already spent it, nothing is
 * asked.
 */
export function budgetListener(settings: BudgetSettings): StageListener {
  let asking: Beginning | undefined;
  const stopIfReached = () => {
    const reason = asking && reachedIn(asking.ledger, settings);
    if (reason !== undefined) asking?.stop(reason, EXIT.later);
  };
  return {
    begins(beginning) {
      asking = beginning;
      stopIfReached();
    },
    tried: stopIfReached,
  };
}
