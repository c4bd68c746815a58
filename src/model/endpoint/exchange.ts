// One exchange with a server: it sends a request's body, and reads the answer until its end or until one of three clocks ends it.

import type { Usage } from '../../types.js';
import { type Attempt, type AttemptFailure, type Hear, INTERRUPTED } from '../attempt.js';
import { classify } from '../failures/classify.js';
import type { CallContext } from '../failures/rule.js';
import { startClocks, type TimeLimits } from '../http/time-limits.js';
import { readStart, type Wire } from '../http/wire.js';
import { tidy } from '../http/wording.js';
import { Reading } from './reading.js';
import { type Body, bodyText, budgetOf, type Way } from './request.js';

/** Longest error body that is read, in characters. */
const MOST_ERROR_TEXT = 65_536;

/** Whom a body is sent to, and how. */
export interface Line {
  readonly wire: Wire;
  readonly clocks: TimeLimits;
  readonly stream: boolean;
  /** What failures are classified by, as far as it is the same for each call. */
  readonly context: Omit<CallContext, 'asked' | 'sent' | 'nowMs'>;
}

/** Never rejects. The exchange may take `leftMs` in all. */
export async function exchange(
  { wire, clocks: limits, stream, context: known }: Line,
  way: Way,
  body: Body,
  abort: AbortSignal,
  leftMs: number,
  hear?: Hear,
): Promise<Attempt> {
  if (abort.aborted) return INTERRUPTED;
  const clocks = startClocks(limits, stream, abort, leftMs);
  const reading = new Reading(clocks, way, budgetOf(body), hear);
  let isTaken = false;
  /** A failure after the server had begun to answer says so; a gateway's web page is no answer. */
  const withReceived = (attempt: Attempt): Attempt =>
    attempt.status === 'failed' && isTaken && !attempt.down ? { ...attempt, received: reading.received } : attempt;
  const context = () => ({ ...known, asked: way.words, sent: Object.keys(body), nowMs: Date.now() });
  try {
    const response = await wire.post(way.path, Buffer.from(bodyText(body)), clocks.signal);
    const { status, headers } = response;
    if (status < 200 || status > 299) {
      clocks.tail();
      const failure = classify({ status, headers, body: await readStart(response, MOST_ERROR_TEXT) }, context());
      return abort.aborted ? INTERRUPTED : failure;
    }
    const coding = headers.get('content-encoding')?.trim().toLowerCase();
    if (coding && coding !== 'identity') {
      clocks.tail();
      await readStart(response, 1);
      return compressed(tidy(coding, known.redact));
    }
    isTaken = true;
    await response.read((piece) => reading.feed(piece));
    return withReceived(reading.outcome(context));
  } catch (error) {
    if (abort.aborted) return INTERRUPTED;
    if (reading.finished) return reading.outcome(context);
    if (clocks.expired !== undefined) return withReceived(timedOut(clocks.expired, reading.usage));
    return withReceived({ ...classify({ error }, context()), usage: reading.usage });
  } finally {
    clocks.stop();
  }
}

/** A compressed reply was not asked for and is not unpacked: a few kilobytes could become gigabytes. */
function compressed(coding: string): AttemptFailure {
  const reason = `the reply is compressed (content-encoding ${coding}), which it was asked not to be`;
  return { status: 'failed', class: 'malformed', reason };
}

function timedOut(reason: string, usage: Usage): AttemptFailure {
  return { status: 'failed', class: 'timeout', reason, usage };
}
