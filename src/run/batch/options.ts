// The options by which a run is asked through batch files, and what they cannot be joined with.

import { UserError } from '../../core/errors.js';
import { keysOf } from '../../core/groups.js';
import { shellLine } from '../../core/printable.js';
import { type OptionTable, option, type Settings, under } from '../../settings/command.js';
import type { BudgetSettings } from '../options.js';

export const BATCH_OPTIONS = {
  ...under('Batch', {
    'batch-dir': option.text(
      'DIR',
      'write the requests into files there instead of asking, and read the results that are put beside them (exit 75 while some are awaited)',
    ),
    'assume-params': option.flag(
      '--batch-dir: no live call first, which would show what the server takes; needs no address',
      { belongsTo: 'batch-dir' },
    ),
    'finish-online': option.flag(
      'ask live what the batch of this run has not answered; its later results of those rows are ignored',
    ),
  }),
} as const satisfies OptionTable;

/** Commands that do not offer them have none. */
export type BatchSettings = Partial<Pick<Settings<typeof BATCH_OPTIONS>, 'batchDir' | 'assumeParams' | 'finishOnline'>>;

/** Whether nobody is asked live, so that no address is needed. */
export function asksByFilesAlone({ batchDir, assumeParams, finishOnline }: BatchSettings): boolean {
  return batchDir !== undefined && assumeParams === true && finishOnline !== true;
}

/** Settings that cannot be joined with batch files, and why. */
const APART = {
  rollout: 'each turn is asked behind the reply to the one before',
  scenarios: 'its steps are asked one behind the other',
  baseline: 'it asks nobody',
  recheck: 'it measures the judge of today',
};

/** @throws UserError (2) for flags that would say nothing, and where a batch is asked for beside what cannot be asked by files */
export function requireBatchFlags(
  settings: BatchSettings &
    BudgetSettings &
    Partial<Record<keyof typeof APART, unknown>> & { readonly local?: string | undefined },
): void {
  const { batchDir, assumeParams, finishOnline, local, budgetUsd, budgetTokens } = settings;
  for (const name of keysOf(APART)) if (settings[name]) requireNoBatch(settings, `--${name}`, APART[name]);
  if (assumeParams && finishOnline) {
    throw new UserError('--assume-params tries no parameter live, and --finish-online asks live; give one of them');
  }
  const hasBudget = budgetUsd !== undefined || budgetTokens !== undefined;
  if (batchDir !== undefined && !finishOnline && hasBudget) {
    throw new UserError('a budget cannot stop a batch half-way, so --batch-dir takes none; --dry-run shows the bill');
  }
  if (local === undefined || batchDir === undefined) return;
  throw new UserError(
    `--batch-dir writes files for another program, and --local serves the model for this command; write them with --assume-params and the model's name in place of --local, and have them answered here with ${shellLine(['awb', 'batch', 'run', batchDir, '--local', local])}`,
  );
}

/** @throws UserError (2) where a batch is asked for beside what cannot be asked by files */
export function requireNoBatch({ batchDir, finishOnline }: BatchSettings, beside: string, why: string): void {
  if (batchDir !== undefined) throw new UserError(`--batch-dir cannot be joined with ${beside}: ${why}`);
  if (finishOnline) throw new UserError(`--finish-online ends a batch, and there is none with ${beside}: ${why}`);
}
