// What has become of the batches that were made: the server is asked about each that is not known to have ended.

import { EXIT, UserError } from '../../errors.js';
import { saysFull } from '../../model/batch/patience.js';
import type { ServedBatch } from '../../model/batch/served-batch.js';
import { isLive, type Sent, withServed } from '../../model/batch/submission.js';
import type { Desk } from './desk.js';

/** What a server answers that has no such list. */
const NO_LIST = [404, 405, 501];

/**
 * Asks about every batch that may still change, and looks for those of which no answer came. Where the server cannot tell whether there
 * is such a one, `isNone` says that there is not: the user has looked.
 */
export async function refresh(desk: Desk, isNone = false): Promise<void> {
  for (const sent of desk.sent) {
    if (isLive(sent)) await refreshOne(desk, sent);
    else if (sent.isOpen) await adopt(desk, sent, isNone);
  }
}

async function refreshOne(desk: Desk, sent: Sent): Promise<Sent> {
  const asked = await desk.api.batch(sent.batchId ?? '');
  if (asked.status === 'ok') return desk.change(sent, heard(desk, sent, asked.value));
  if (asked.http !== 404) throw asked.stop;
  const problems = [{ code: '', message: `the server does not know this batch any more (${asked.reason})` }];
  return desk.change(sent, { ...sent, status: 'unknown', isEnded: true, problems });
}

/** A batch that was refused since too many tokens waited has done nothing, and its file is sent as it is once more. */
export function heard({ sent: all }: Desk, sent: Sent, served: ServedBatch): Sent {
  const now = withServed(sent, served);
  const isFull =
    served.status === 'failed' && served.problems.some(({ code, message }) => saysFull(`${code} ${message}`));
  if (!isFull) return now;
  const { batchId: _, status: __, isEnded: ___, key: ____, ...rest } = now;
  return { ...rest, waitsBehind: all.filter((other) => isLive(other) && other !== sent).length };
}

/** Takes over a batch that was made although no answer came. @throws UserError (69) where the server cannot tell whether it was */
async function adopt(desk: Desk, sent: Sent, isNone: boolean): Promise<Sent> {
  const found = await findMade(desk, sent, isNone);
  if (found !== undefined) return desk.change(sent, heard(desk, sent, found));
  const { isOpen: _, ...rest } = sent;
  return desk.change(sent, rest);
}

/** The batch that was made of a part, although no answer came. */
export async function findMade(
  { api, opened }: Desk,
  { key, inputFileId, part }: Sent,
  isNone = false,
): Promise<ServedBatch | undefined> {
  const isIt = ({ metadata, status, ...batch }: ServedBatch) =>
    metadata.awb_key === key ||
    (metadata.awb_key === undefined && batch.inputFileId === inputFileId && status !== 'failed');
  const asked = await api.findBatch(isIt);
  if (asked.status === 'ok') return asked.value;
  if (!NO_LIST.includes(asked.http)) throw asked.stop;
  if (isNone) return undefined;
  throw new UserError(
    `${api.host} was asked to make a batch of ${opened.shown}/${part} and its answer was lost, and it does not list its batches; look there whether there is one: --again submits the part once more`,
    EXIT.unavailable,
  );
}
