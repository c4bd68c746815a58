// What has become of the batches that were made, and their end where the user wants one.

import { EXIT, UserError } from '../../core/errors.js';
import { saysFull } from '../../model/batch/api.js';
import type { ServedBatch } from '../../model/batch/served-batch.js';
import { isLive, type Sent, withServed } from '../../model/batch/submission.js';
import type { BatchClient } from './client.js';

/** What a server answers that has no such list. */
const NO_LIST = [404, 405, 501];
/** What a server answers for a batch that has ended meanwhile. */
const TOO_LATE = [400, 404, 409];

/**
 * Asks about every batch that may still change, and looks for those of which no answer came. Where the server cannot tell whether there
 * is such a one, `isNone` says that there is not: the user has looked.
 */
export async function refresh(client: BatchClient, isNone = false): Promise<void> {
  for (const sent of client.sent) {
    if (isLive(sent)) await refreshOne(client, sent);
    else if (sent.isOpen) {
      const found = await findMade(client, sent, isNone);
      await client.note(sent, found === undefined ? { ...sent, isOpen: undefined } : heard(client, sent, found));
    }
  }
}

async function refreshOne(client: BatchClient, sent: Sent): Promise<void> {
  const asked = await client.api.batch(sent.batchId ?? '');
  if (asked.status === 'ok') await client.note(sent, heard(client, sent, asked.value));
  else if (asked.http !== 404) throw asked.stop;
  else {
    const problems = [{ code: '', message: `the server does not know this batch any more (${asked.reason})` }];
    await client.note(sent, { ...sent, status: 'unknown', isEnded: true, problems });
  }
}

/** What is known of a batch now. One that was refused since too many tokens waited has done nothing, and its file is sent once more. */
export function heard({ sent: all }: BatchClient, sent: Sent, served: ServedBatch): Sent {
  const now = withServed(sent, served);
  const isFull =
    served.status === 'failed' && served.problems.some(({ code, message }) => saysFull(`${code} ${message}`));
  if (!isFull) return now;
  const waitsBehind = all.filter((other) => isLive(other) && other !== sent).length;
  return { ...now, batchId: undefined, status: undefined, isEnded: undefined, key: undefined, waitsBehind };
}

/**
 * The batch that was made of a part, although no answer came.
 * @throws UserError (69) where the server cannot tell whether it was made
 */
export async function findMade(
  { api, opened }: BatchClient,
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

/** Tells every batch that has not ended to end; what it has done by then can be fetched. @returns how many were told */
export async function cancelBatches(client: BatchClient): Promise<number> {
  await refresh(client);
  let cancelled = 0;
  for (const sent of client.sent) {
    if (!isLive(sent) || sent.status === 'cancelling') continue;
    const asked = await client.api.cancel(sent.batchId ?? '');
    if (asked.status === 'ok') {
      await client.note(sent, heard(client, sent, asked.value));
      cancelled++;
    } else if (!TOO_LATE.includes(asked.http)) throw asked.stop;
  }
  // What ended in between is told as it is now.
  await refresh(client);
  return cancelled;
}
