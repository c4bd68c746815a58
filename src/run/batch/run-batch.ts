// The batch folder of a run: whose it is, and what may be done in it.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { EXIT, UserError } from '../../core/errors.js';
import { grouped } from '../../core/figures.js';
import { differencesOf, type Identity } from '../../core/identity.js';
import { isObject } from '../../core/json.js';
import { dollars } from '../../core/money.js';
import { shellLine } from '../../core/shell.js';
import type { Io } from '../../core/types.js';
import { sizeOf } from '../../disk/file-reading.js';
import { type Batch, readBatch, resultFiles } from '../../model/batch/folder.js';
import { chargedBill } from '../bill.js';
import { type Run, setAside } from '../run.js';
import type { Stage, StageJob } from '../stage-contract.js';
import { type BatchSettings, batchDirOf } from './options.js';

/**
 * Settles, before anything is asked or written, through which folder the run is asked: `run.batch` is that folder, or nothing.
 * @returns whether requests are written into it for the first time
 * @throws UserError: 75 where results are awaited that these settings would not read; 78 for the folder of another run; 2, 65, 66 and 73
 * for a folder that cannot be used
 */
export async function chooseBatch(
  run: Run,
  settings: BatchSettings & { readonly fresh: boolean },
  io: Pick<Io, 'cwd'>,
): Promise<boolean> {
  const before = run.stored?.batch?.dir;
  const dir = batchDirOf(settings, io) ?? (settings.finishOnline ? before : undefined);
  if (before !== undefined && dir !== before) await requireNothingAwaited(run, before, dir);
  run.batch = dir === undefined ? undefined : { dir };
  const batch = dir === undefined ? undefined : await readBatch(dir);
  if (settings.finishOnline && (before ?? batch) === undefined) requireBegun(run);
  if (dir === undefined) return false;
  if (dir === run.dir) {
    throw new UserError(
      `--batch-dir is the folder of the run's own files, which would be taken for results; give another one, such as ${join(dir, 'batch')}`,
    );
  }
  if (batch === undefined) await requireUsable(run, dir, settings);
  else await requireOwn(batch, run, dir);
  if (batch !== undefined && settings.fresh) {
    const names = (await readdir(dir)).filter((name) => /\.jsonl?$/.test(name));
    await setAside(
      dir,
      names.map((name) => join(dir, name)),
    );
  }
  const hasNone = batch === undefined || batch.parts.length === 0 || settings.fresh;
  return hasNone && !settings.finishOnline;
}

/** A run whose batch was ended may be repeated as it was given. @throws UserError (2) where nothing has begun that could be ended */
function requireBegun({ stored, dir, notices }: Run): void {
  if (stored === undefined) {
    throw new UserError(
      `--finish-online ends a batch, and no run has begun in ${dir}; leave it out, or give the flags of that run`,
    );
  }
  notices.push('--finish-online found no batch to end: what was left was asked live');
}

/** @param given the folder that is named now @throws UserError (75, 66, 65) */
async function requireNothingAwaited(run: Run, dir: string, given: string | undefined): Promise<void> {
  const batch = await readBatch(dir);
  if (batch === undefined && run.stored?.state !== 'awaiting') return;
  if (batch !== undefined && batch.parts.length === 0) return;
  // Whoever moves a run moves its folder with it; that it is this run's is looked at next.
  const isMoved = batch === undefined && given !== undefined && (await readBatch(given)) !== undefined;
  if (isMoved) return;
  const wayOn =
    batch === undefined
      ? 'the folder is not there any more: name the place that it was moved to with --batch-dir, or'
      : `${shellLine(['--batch-dir', dir])} reads what has come,`;
  throw new UserError(
    `results are awaited in ${dir}, and asking in another way would pay for them twice: ${wayOn} --finish-online asks the rest live, --fresh starts over`,
    EXIT.later,
  );
}

/** @throws UserError: 66 where batch.json was lost, 73 where a folder without it cannot be begun */
async function requireUsable(run: Run, dir: string, settings: BatchSettings): Promise<void> {
  const isLost = run.stored?.state === 'awaiting' && run.stored.batch?.dir === dir;
  if (isLost && !settings.finishOnline) {
    throw new UserError(
      `results are awaited in ${dir}, and its batch.json is not there any more: put the folder back, or ask what is left live with --finish-online, or start over with --fresh`,
      EXIT.inputMissing,
    );
  }
  const [first] = await resultFiles(dir);
  if (first === undefined) return;
  throw new UserError(
    `${dir} holds ${first} and no batch.json, so that the file would be taken for results of this run; give an empty folder`,
    EXIT.cannotCreate,
  );
}

/** @throws UserError (78) for the folder of another run, with what differs */
export async function requireOwn(
  { run: owner }: Batch,
  run: Pick<Run, 'kind' | 'dir' | 'identity'>,
  dir: string,
): Promise<void> {
  const differences =
    owner.kind === run.kind
      ? differencesOf(begunUnder(owner.identity), begunUnder(run.identity))
      : [`command: awb ${owner.kind} before, awb ${run.kind} now`];
  // A run that was moved is still the same.
  const isElsewhere = owner.dir !== run.dir && (await sizeOf(owner.dir)) !== undefined;
  if (isElsewhere) differences.unshift(`output-dir: ${owner.dir} before, ${run.dir} now`);
  if (differences.length === 0) return;
  throw new UserError(
    [
      `the batch in ${dir} is that of another run, and results of both must not mix:`,
      ...differences.map((difference) => `  ${difference}`),
      'Give another --batch-dir, or the settings of before.',
    ].join('\n'),
    EXIT.identityDiffers,
  );
}

/** Without what only asking finds out. */
function begunUnder({ snapshot: _, sampling, ...identity }: Identity): Identity {
  if (!isObject(sampling)) return { ...identity, sampling };
  const { dropped: _dropped, ...given } = sampling;
  return { ...identity, sampling: given };
}

/**
 * A batch cannot be stopped half-way, so what it will probably cost is held against the budget before it is written.
 * @throws UserError (75) where the bill is larger than what is left of the budget
 */
export async function requireAffordable<J extends StageJob>(stage: Stage<J>): Promise<void> {
  const { settings } = stage;
  if (settings.budgetUsd === undefined && settings.budgetTokens === undefined) return;
  const { total, measured_cache: cache, budget } = (await chargedBill(stage)).document;
  const needs = { usd: cache?.usd ?? total.usd?.expected, tokens: total.prompt_tokens + total.output_tokens.expected };
  for (const unit of ['usd', 'tokens'] as const) {
    const { [unit]: need = 0 } = needs;
    const share = budget?.[unit] ?? undefined;
    if (share === undefined || share.covers === 1) continue;
    const show = unit === 'usd' ? dollars : (count: number) => `${grouped(Math.ceil(count))} tokens`;
    const left = Math.max(0, share.budget - share.spent);
    throw new UserError(
      `nothing was written: a batch cannot be stopped half-way, and it is estimated to take about ${show(need)}, where ${show(left)} of the budget (--budget-${unit}) are left; give a larger one, or choose fewer rows (--dry-run shows the bill)`,
      EXIT.later,
    );
  }
}
