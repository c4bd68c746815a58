// What the flags of awb judge cannot say together.

import { UserError } from '../../errors.js';
import type { Mode } from '../../judge/mode.js';
import { requireBatchFlags, requireNoBatch } from '../by-batch/options.js';
import type { JudgeSettings } from './options.js';

/** @throws UserError (2) where predictions shall be measured several times or by files, and nobody is asked: the numbers would be the same */
export function requireJudge({ asksJudge }: Mode, settings: JudgeSettings): void {
  const { mode, judgeRepeats } = settings;
  requireBatchFlags(settings);
  if (asksJudge) return;
  requireNoBatch(settings, `--mode ${mode}`, 'it asks nobody');
  if (judgeRepeats === 1) return;
  throw new UserError(
    `--judge-repeats has a judge asked ${judgeRepeats} times, and --mode ${mode} asks none; what it measures is the same each time`,
  );
}
