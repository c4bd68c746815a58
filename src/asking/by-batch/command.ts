// The words of the command that writes a batch folder. It has the options of all of them, so it is loaded where a folder is begun.

import type { Batch } from '../../model/batch/folder.js';
import type { ShownSettings } from '../../settings/command.js';
import type { OptionTable } from '../../settings/options.js';
import { wordsOf } from '../../settings/words.js';
import { CALIBRATE_OPTIONS } from '../calibrate/options.js';
import { INFER_OPTIONS } from '../infer/options.js';
import { JUDGE_OPTIONS } from '../judge/options.js';
import { BATCH_OPTIONS } from './options.js';

const TABLES: Readonly<Record<string, OptionTable>> = {
  infer: { ...INFER_OPTIONS, ...BATCH_OPTIONS },
  judge: JUDGE_OPTIONS,
  calibrate: CALIBRATE_OPTIONS,
};

/** Without the keys of servers, which no file holds, and without `--fresh`, which would start over. */
export function commandOf(kind: string, shown: ShownSettings, cwd: string): Batch['command'] {
  const { fresh: _, ...table } = TABLES[kind] ?? {};
  return { cwd, words: [kind, ...wordsOf(table, shown)] };
}
