// How many requests are taken: those that have a slot and those that wait for one.

import { counted } from '../../figures.js';
import { ApiError, invalid, shuttingDown } from './api-error.js';

export interface Admission {
  /**
   * Does the work of a request that needs `places` slots, one after the other or at the same time. Throws an ApiError: 503 when draining,
   * 429 with a time to come back when the queue is full, 400 where it never has room for so many.
   */
  admit(places: number, slots: number, work: () => Promise<void>): Promise<void>;
  /** Places taken and not yet given back. */
  readonly admitted: number;
  /** Takes nothing more. */
  drain(): void;
  readonly draining: boolean;
}

const MOST_RETRY_AFTER_S = 30;

/** `queueLimit` requests may wait beside those that have a slot. */
export function openAdmission(queueLimit: number): Admission {
  let draining = false;
  let admitted = 0;
  let usualMs = 0;
  return {
    async admit(places, slots, work) {
      if (draining) throw shuttingDown();
      if (places > slots + queueLimit) {
        const message = `${counted(places, 'choice')} are more than the ${counted(slots, 'slot')} and ${counted(queueLimit, 'waiting place')} of this server`;
        throw invalid(message, 'n');
      }
      if (admitted + places > slots + queueLimit) {
        // About when the next slot is free: a reply's usual time, shared by the slots.
        const retryAfterS = Math.min(MOST_RETRY_AFTER_S, Math.max(1, Math.ceil(usualMs / slots / 1_000)));
        const message = `${slots === 1 ? 'the slot is at work' : `all ${slots} slots work`} and ${counted(admitted - slots, 'request')} ${admitted - slots === 1 ? 'waits' : 'wait'} already; try again later`;
        throw new ApiError(429, message, 'queue_full', null, { 'retry-after': String(retryAfterS) });
      }
      admitted += places;
      const startMs = performance.now();
      try {
        await work();
      } finally {
        admitted -= places;
        usualMs += (performance.now() - startMs - usualMs) / 5;
      }
    },
    get admitted() {
      return admitted;
    },
    drain() {
      draining = true;
    },
    get draining() {
      return draining;
    },
  };
}
