// The texts of a judged file, each row's read when its turn comes: what was asked, predicted, true, and said by the judge.

import { parseObject } from '../core/json.js';
import { type Remarks, remarksIn } from '../core/judged-row.js';
import { shownPrediction, withoutMarker } from '../core/reply.js';
import { actionOf, earlierTurns, groundTruthOf } from '../core/turn.js';
import type { Dataset } from './dataset.js';
import { openRows, type PredictedRow, type PredictionRef } from './predictions.js';

/** A turn before the one that was predicted. */
interface EarlierTurn {
  readonly action: string;
  readonly observation: string;
}

/** What a reader of a report wants to see of one judged row. */
export interface RowTexts extends Remarks {
  /** Both as the judge was shown them; the prediction is empty where there is none. */
  readonly prediction: string;
  readonly truth: string;
  /** The turn that was put to the world model, without the request to predict where the row has it apart. */
  readonly action: string;
  readonly history: readonly EarlierTurn[];
  readonly systemPrompt: string;
}

interface JudgedTexts {
  /** Key, repeat and judgement index of every row, in file order. */
  readonly refs: readonly PredictionRef[];
  /** @throws UserError (65) where another text lies in the row's place by now. */
  read(ref: PredictionRef): Promise<RowTexts>;
  close(): Promise<void>;
}

/**
 * Goes once through a judged file, ours or the official script's. Lean rows are looked up in `data` by their key.
 * @throws UserError 66 where the file cannot be read; 65 for a line that is not a judged row, or a lean row without its data.
 */
export async function openJudgedTexts(
  path: string,
  data: Dataset | undefined,
  stop?: AbortSignal,
): Promise<JudgedTexts> {
  const file = await openRows(path, data, stop);
  return { refs: file.refs, read: async (ref) => textsOf(await file.read(ref)), close: file.close };
}

function textsOf({ text, gen, sample }: PredictedRow): RowTexts {
  return {
    prediction: shownPrediction(gen),
    truth: withoutMarker(groundTruthOf(sample)),
    action: actionOf(sample),
    history: earlierTurns(sample).map(({ prompt, response }) => ({
      action: prompt,
      observation: withoutMarker(response),
    })),
    systemPrompt: sample.systemPrompt,
    ...remarksIn(parseObject(text) ?? {}),
  };
}
