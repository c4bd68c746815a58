// The journal's record of a prediction: of a world model's reply, of a call that failed, or of a text that needed no model.

import { flagsOf } from '../../infer/observation.js';
import { type PredictionFailure, type PredictionId, predicted, unpredicted } from '../../prediction.js';
import { readPrediction } from '../../reply.js';
import type { JournalRecord } from '../../run/journal-record.js';
import { isSuspicious, tricksIn } from '../../suspicion.js';
import type { Flag, ModelReply, Sample } from '../../types.js';
import { STAMP_KEY } from '../run.js';

type Read = (() => Promise<Sample>) | undefined;

/** What came of a call, with the stamp of the record. */
type Settled = (ModelReply | PredictionFailure) & { readonly stamp: string };

/**
 * @param read the turn as it was put to the model: it is looked at for the few replies alone that try something. Undefined where nobody
 * judges the prediction, so that what would deceive a judge is not looked for
 */
export async function recordOf(
  id: string,
  prediction: PredictionId,
  outcome: Settled,
  read: Read,
  more: readonly Flag[] = [],
): Promise<JournalRecord> {
  const log = { ...outcome.log, [STAMP_KEY.infer]: outcome.stamp };
  return outcome.status === 'failed'
    ? { id, row: unpredicted(prediction, outcome), log: logOf(log) }
    : {
        id,
        row: predicted(prediction, outcome, [...(await flagsOfReply(outcome, read)), ...more]),
        log: logOf({ ...log, model: outcome.servedModel }),
      };
}

/** The record of what a baseline says. */
export async function recordOfText(
  id: string,
  prediction: PredictionId,
  content: string,
  read: Read,
  { stamp, more = [] }: { readonly stamp?: string; readonly more?: readonly Flag[] } = {},
): Promise<JournalRecord> {
  const flags = [...(await flagsOfText({ content }, read)), ...more];
  return {
    id,
    row: predicted(prediction, { content }, flags),
    log: logOf(stamp === undefined ? {} : { [STAMP_KEY.infer]: stamp }),
  };
}

function logOf(log: object): Record<string, unknown> {
  return { ...log, at: new Date().toISOString() };
}

async function flagsOfReply(reply: ModelReply, read: Read): Promise<Flag[]> {
  const flags = await flagsOfText(reply, read);
  if (reply.fittedMaxTokens !== undefined) flags.push('fitted-max-tokens');
  if (reply.redacted !== undefined) flags.push('redacted');
  return flags;
}

async function flagsOfText(reply: Parameters<typeof flagsOf>[0], read: Read): Promise<Flag[]> {
  const flags = flagsOf(reply);
  if (read === undefined) return flags;
  const tricks = tricksIn(readPrediction(reply.content));
  if (tricks.length > 0 && isSuspicious(tricks, await read())) flags.push('suspicious');
  return flags;
}
