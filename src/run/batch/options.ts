// The options for asking through batch files, and the options that cannot be combined with them.

import { UserError } from '../../core/errors.js';
import { keysOf } from '../../core/groups.js';
import { shellLine } from '../../core/printable.js';
import { type OptionTable, option, type Settings, under } from '../../settings/command.js';
import type { BudgetSettings } from '../options.js';

export const BATCH_OPTIONS = {
  ...under('Batch', {
    'batch-dir': option.text(
      'DIR',
      'write the requests to files in this folder instead of sending them, and read the results placed there (exit 75 while some are awaited)',
    ),
    'assume-params': option.flag(
      '--batch-dir: skip the live call that shows which parameters the server takes; needs no address',
      { belongsTo: 'batch-dir' },
    ),
    'finish-online': option.flag(
      'ask live for what the batch of this run has not answered; its later results for those rows are ignored',
    ),
  }),
} as const satisfies OptionTable;

/** Empty for commands without these options. */
export type BatchSettings = Partial<Pick<Settings<typeof BATCH_OPTIONS>, 'batchDir' | 'assumeParams' | 'finishOnline'>>;

/** Whether nothing is asked live, so that no address is needed. */
export function asksByFilesAlone({ batchDir, assumeParams, finishOnline }: BatchSettings): boolean {
  return batchDir !== undefined && assumeParams === true && finishOnline !== true;
}

/** Settings that cannot be combined with batch files, and why. */
const APART = {
  rollout: 'each turn needs the reply to the one before',
  scenarios: 'its steps are asked one after another',
  baseline: 'it asks no model',
  recheck: 'it measures the judge as it is today',
};

/** @throws UserError (2) for flags that would have no effect, and for a batch combined with something that cannot be asked through files */
export function requireBatchFlags(
  settings: BatchSettings &
    BudgetSettings &
    Partial<Record<keyof typeof APART, unknown>> & { readonly local?: string | undefined },
): void {
  const { batchDir, assumeParams, finishOnline, local, budgetUsd, budgetTokens } = settings;
  for (const name of keysOf(APART)) if (settings[name]) requireNoBatch(settings, `--${name}`, APART[name]);
  if (assumeParams && finishOnline) {
    throw new UserError('--assume-params skips the live call, and --finish-online asks live; give only one of them');
  }
  const hasBudget = budgetUsd !== undefined || budgetTokens !== undefined;
  if (batchDir !== undefined && !finishOnline && hasBudget) {
    throw new UserError('a budget cannot stop a batch half-way, so --batch-dir allows none; --dry-run shows the cost');
  }
  if (local === undefined || batchDir === undefined) return;
  throw new UserError(
    `--batch-dir writes files for another program, and --local serves the model for this command; write them with --assume-params and the model's name in place of --local, then answer them here with ${shellLine(['awb', 'batch', 'run', batchDir, '--local', local])}`,
  );
}

/** @throws UserError (2) for a batch combined with something that cannot be asked through files */
export function requireNoBatch({ batchDir, finishOnline }: BatchSettings, beside: string, why: string): void {
  if (batchDir !== undefined) throw new UserError(`--batch-dir cannot be combined with ${beside}: ${why}`);
  if (finishOnline) throw new UserError(`--finish-online ends a batch, but there is none with ${beside}: ${why}`);
}
