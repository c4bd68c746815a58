// Parts of a judging put together: the merged predictions, each with the judgement that a part made of it.

import type { Dataset } from '../../bench/dataset.js';
import { openPredictions } from '../../bench/predictions.js';
import { isUnasked } from '../../judgement.js';
import { rowId } from '../../row-id.js';
import { madeWith } from '../../run/made-with.js';
import type { Manifest } from '../../run/manifest.js';
import { absentFrom, type JudgeJob, judgeOutput } from '../judge/judging.js';
import { isDone, judgementState } from '../judge/records.js';
import { asSeen } from '../judge/shown.js';
import { STAMP_KEY } from '../run.js';
import { mostOf, type PartSettings } from './choice.js';
import type { MergedKind } from './joining.js';

/** What was judged. */
interface JudgedFile {
  readonly path: string;
  /** The manifest beside it; undefined for a file of the official script. */
  readonly manifest: Manifest | undefined;
  /** Where its rows lie, if it is lean. */
  readonly dataset: Dataset | undefined;
}

/** @param manifest of the merged run @param parts the settings of its parts @throws UserError as `openPredictions` */
export async function mergedJudging(
  manifest: Manifest,
  parts: readonly PartSettings[],
  { path, manifest: inferred, dataset }: JudgedFile,
  stop: AbortSignal,
): Promise<MergedKind<JudgeJob> & { close(): Promise<void> }> {
  const mark = madeWith(manifest).dropped.join(' ');
  const { judgeRepeats, judgeSees } = mostOf(parts);
  const predictions = await asSeen(await openPredictions(path, dataset, stop), path, { judgeSees }, stop);
  const refs = new Map(predictions.refs.map((ref) => [rowId(ref.key, ref.repeat), ref]));
  const refOf = (id: string) => {
    const [key = '', repeat = ''] = id.split('#');
    return refs.get(rowId(key, Number(repeat)));
  };
  return {
    stateOf: judgementState,
    isDone({ id, row, log }) {
      const state = judgementState({ id, row, log });
      const { [STAMP_KEY.judge]: stamp } = log;
      return isDone(state) && typeof stamp === 'string' && holds(stamp, refOf(id)?.stamp, state.class, mark);
    },
    stageOf(run) {
      const stampOf = (job: JudgeJob, failure: string | undefined, _mark: string, recorded: string) =>
        holds(recorded, job.stamp, failure, mark) ? recorded : undefined;
      const output = judgeOutput(predictions, predictions.refs, judgeRepeats, run.journal.ids(), (job) => {
        const summary = run.journal.summaryOf(job.id);
        return summary !== undefined && isDone(summary) && holds(summary.stamp, job.stamp, summary.class, mark);
      });
      return { ...output, stampOf, absent: absentFrom(inferred, predictions.refs) };
    },
    astray(ids) {
      let count = 0;
      for (const id of ids) if (refOf(id) === undefined) count++;
      return count;
    },
    data: { predictions: path, rows: predictions.refs.length },
    predictions: inferred,
    close: () => predictions.close(),
  };
}

/**
 * Whether a judgement is of the prediction as it stands, by a judge who was asked as the run's identity says. What may stand beside the
 * prediction (a reference, a simulated history) is behind a plus, and the judge command itself looks at it.
 */
function holds(recorded: string, stamp: string | undefined, failure: string | undefined, mark: string): boolean {
  const [made = '', ...asked] = recorded.split(' ');
  const isOfThis = made.split('+')[0] === stamp?.split('+')[0];
  return isOfThis && (isUnasked(failure) || asked.join(' ') === mark);
}
