// What changes at the endpoints, told once each: the limit of calls, pauses of a rate limit, outages.

import { printable } from '../../core/printable.js';
import type { BackendStatus } from '../../core/types.js';

/** A shorter pause is part of the ordinary back and forth of a rate limit. */
const NOTABLE_PAUSE_MS = 1_000;

/** What keeps calls back; `host` is the endpoint that is out. */
interface Pause {
  readonly cause: 'rate-limit' | 'outage' | 'not-ready';
  readonly host?: string;
}

/** `look` compares the state of now with that of before; `tell` is given what has changed. */
export function openBackendWatch(
  status: () => BackendStatus | undefined,
  date: () => number,
  tell: (type: 'limit' | 'paused' | 'resumed', members: object) => void,
): { look(): void } {
  let limit: number | undefined;
  /** By the host that is out; the rate limit by an empty name. */
  const paused = new Map<string, Pause>();
  const pause = (name: string, what: Pause, more: object = {}) => {
    if (paused.has(name)) return;
    paused.set(name, what);
    tell('paused', { ...what, ...more });
  };
  const resume = (isOver: (name: string) => boolean) => {
    for (const [name, what] of paused) {
      if (!isOver(name)) continue;
      paused.delete(name);
      tell('resumed', what);
    }
  };
  return {
    look() {
      const now = status();
      if (now === undefined) return;
      const { inFlight, pausedMs, outages } = now;
      if (now.limit !== limit) tell('limit', { limit: now.limit, before: limit, in_flight: inFlight });
      limit = now.limit;
      if (pausedMs >= NOTABLE_PAUSE_MS) {
        const until = new Date(date() + pausedMs).toISOString();
        pause('', { cause: 'rate-limit' }, { seconds: Math.round(pausedMs / 1000), until });
      }
      resume((name) => name === '' && pausedMs <= 0);
      for (const { host, hasAnswered } of outages) {
        pause(host, { cause: hasAnswered ? 'outage' : 'not-ready', host: printable(host) });
      }
      resume((name) => name !== '' && !outages.some(({ host }) => host === name));
    },
  };
}
