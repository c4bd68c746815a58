// The words of the schedule about endpoints: notices, and the reasons that a run ends with.

import { HOPELESS, type Patience } from './health.js';

/** Why an endpoint is given up, and what to do about it. */
export interface End {
  readonly why: string;
  readonly remedy: string;
}

export function asksToWait(host: string, ms: number): string {
  return `${host} is rate limited and asks to wait ${waitOf(ms)}; no new calls go there until then`;
}

export function asksToWaitTooLong(host: string, ms: number): string {
  return `${host} is rate limited and asks to wait ${waitOf(ms)}, longer than --retry-minutes: it counts as unavailable`;
}

export function isNotThere(host: string, reason: string): string {
  return `${host} cannot be reached: ${reason}; trying again`;
}

export function isNotReady(host: string, reason: string): string {
  return `${host} is not ready: ${reason}; trying again (--wait-ready 15m waits)`;
}

export function isWaitedFor(host: string, reason: string, { waitReadyMs }: Patience): string {
  return `${host} is not ready (${reason}): waiting for it, up to ${waitOf(waitReadyMs)} (--wait-ready)`;
}

export function isReady(host: string): string {
  return `${host} is ready`;
}

export function isSilent(host: string, reason: string, { retryMs }: Patience): string {
  return `${host} gives no reply (${reason}): one call at a time tries it, up to ${waitOf(retryMs)} (--retry-minutes)`;
}

export function isOutOfService(host: string, reason: string): string {
  return `${host} is out of service (${reason}); its rows go to the other endpoints`;
}

export function answersAgain(host: string): string {
  return `${host} answers again`;
}

export function neverReached(reason: string): End {
  return {
    why: `cannot be reached: ${reason}`,
    remedy:
      'check the base URL and that the server is running (--wait-ready 15m waits for one that is still loading its model)',
  };
}

export function neverReady(reason: string): End {
  return { ...neverReached(reason), why: `is not ready: ${reason}` };
}

export function nothingSucceeds(failure: string, reason: string): End {
  return {
    why: `the first ${HOPELESS} rows failed alike and none succeeded (${failure}, the latest: ${reason})`,
    remedy: 'mend what the reason names (--keep-going asks the others all the same)',
  };
}

export function silentForTooLong(reason: string, { retryMs }: Patience): End {
  return {
    why: `no reply for ${waitOf(retryMs)}: ${reason}`,
    remedy: 'see to the server (--retry-minutes says how long an outage may last)',
  };
}

export function notReadyForTooLong(reason: string, { waitReadyMs }: Patience): End {
  return {
    why: `not ready after ${waitOf(waitReadyMs)}: ${reason}`,
    remedy: 'check the base URL and that the server is running, or give it longer with --wait-ready',
  };
}

/** A wait in words, in the unit that suits it. */
function waitOf(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return 'for ever';
  if (ms < 60_000) return `${Math.ceil(ms / 1_000)} s`;
  const minutes = Math.ceil(ms / 60_000);
  if (minutes < 120) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1440)} days`;
}
