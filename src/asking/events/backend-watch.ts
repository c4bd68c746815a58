// What changes at the endpoints, told once each: the limit of calls, pauses of a rate limit, outages.

import { printable } from '../../printable.js';
import type { BackendStatus } from '../../types.js';

/** A shorter pause is part of the ordinary back and forth of a rate limit. */
const NOTABLE_PAUSE_MS = 1_000;

/** `look` compares the state of now with that of before; `tell` is given what has changed. */
export function openBackendWatch(
  status: () => BackendStatus | undefined,
  date: () => number,
  tell: (type: 'limit' | 'paused' | 'resumed', members: object) => void,
): { look(): void } {
  let limit: number | undefined;
  let isPaused = false;
  /** Hosts that are out, and why. */
  const out = new Map<string, 'outage' | 'not-ready'>();
  const lookAtLimit = (now: BackendStatus) => {
    if (now.limit === limit) return;
    tell('limit', { limit: now.limit, ...(limit !== undefined && { before: limit }), in_flight: now.inFlight });
    limit = now.limit;
  };
  const lookAtPause = ({ pausedMs }: BackendStatus) => {
    if (!isPaused && pausedMs >= NOTABLE_PAUSE_MS) {
      isPaused = true;
      const until = new Date(date() + pausedMs).toISOString();
      tell('paused', { cause: 'rate-limit', seconds: Math.round(pausedMs / 1000), until });
    } else if (isPaused && pausedMs <= 0) {
      isPaused = false;
      tell('resumed', { cause: 'rate-limit' });
    }
  };
  const lookAtOutages = ({ outages }: BackendStatus) => {
    for (const { host, hasAnswered } of outages) {
      if (out.has(host)) continue;
      const cause = hasAnswered ? 'outage' : 'not-ready';
      out.set(host, cause);
      tell('paused', { cause, host: printable(host) });
    }
    for (const [host, cause] of out) {
      if (outages.some((outage) => outage.host === host)) continue;
      out.delete(host);
      tell('resumed', { cause, host: printable(host) });
    }
  };
  return {
    look() {
      const now = status();
      if (now === undefined) return;
      lookAtLimit(now);
      lookAtPause(now);
      lookAtOutages(now);
    },
  };
}
