// Cancelling: every batch that has not ended is told to end; what it has done by then can be fetched.

import { isLive, type Sent } from '../../model/batch/submission.js';
import type { Desk } from './desk.js';
import { heard, refresh } from './refreshing.js';

/** What a server answers for a batch that has ended meanwhile. */
const TOO_LATE = [400, 404, 409];

/** @returns how many batches were told to end */
export async function cancelBatches(desk: Desk): Promise<number> {
  await refresh(desk);
  let cancelled = 0;
  for (const sent of desk.sent) {
    if (!isLive(sent) || sent.status === 'cancelling') continue;
    if (await cancelOne(desk, sent)) cancelled++;
  }
  // What ended in between is told as it is now.
  await refresh(desk);
  return cancelled;
}

async function cancelOne(desk: Desk, sent: Sent): Promise<boolean> {
  const asked = await desk.api.cancel(sent.batchId ?? '');
  if (asked.status === 'ok') {
    await desk.change(sent, heard(desk, sent, asked.value));
    return true;
  }
  if (!TOO_LATE.includes(asked.http)) throw asked.stop;
  return false;
}
