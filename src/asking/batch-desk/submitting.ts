// Submitting: parts are uploaded and made into batches, each once whatever happens in between, and wait where the server has no room.

import { UserError } from '../../errors.js';
import { counted } from '../../figures.js';
import { interrupted } from '../../model/batch/patience.js';
import { isLive, resultsToFetch, type Sent } from '../../model/batch/submission.js';
import { systemClock } from '../../model/schedule/clock.js';
import { present } from '../../present.js';
import type { Io } from '../../types.js';
import type { Desk } from './desk.js';
import { idsWithResult, leftOf } from './left.js';
import { refresh } from './refreshing.js';
import { Sending, uploadName, voidIn } from './sending.js';

interface Submitting {
  /** Parts whose batches have ended without results for all requests are sent once more, as far as these have none. */
  readonly again: boolean;
  /** Looks again and again until all batches have ended. */
  readonly wait: boolean;
  /** Longest time between two looks. */
  readonly pollMs: number;
  readonly io: Pick<Io, 'stop'>;
  /** A line for good. */
  readonly say: (text: string) => void;
  /** How far a part is. */
  readonly step: (text: string) => void;
}

const FIRST_POLL_MS = 1_000;

/**
 * Submits what is not submitted. With `wait` it resolves when all batches have ended.
 * @throws UserError where the server refuses, or was not reached in time; the same call goes on
 */
export async function submit(desk: Desk, options: Submitting): Promise<void> {
  const { io, wait, pollMs, again, say } = options;
  const rounds = new Rounds(desk, options);
  await rounds.look(again);
  if (again) await sendAgain(desk, say);
  await rounds.send();
  let pauseMs = Math.min(FIRST_POLL_MS, pollMs);
  while (wait && !rounds.isOver) {
    await systemClock.sleep(pauseMs, io.stop);
    if (io.stop.aborted) throw interrupted(io.stop);
    const hasEnded = await rounds.look();
    await rounds.send();
    pauseMs = hasEnded ? Math.min(FIRST_POLL_MS, pollMs) : Math.min(pauseMs * 2, pollMs);
  }
}

/** Rounds of sending what is to be sent, as far as the server has room. */
class Rounds {
  readonly #sending: Sending;
  /** Parts of which every request has its result, or is void. */
  readonly #answered = new Set<string>();
  #saidFull = false;

  constructor(
    private readonly desk: Desk,
    private readonly options: Submitting,
  ) {
    this.#sending = new Sending(desk, options.step);
  }

  /** Whether nothing is waited for. */
  get isOver(): boolean {
    return this.desk.parts.every((part) => this.#answered.has(part.file) || this.desk.latest(part)?.isEnded === true);
  }

  /** @returns whether a batch has ended since the last look */
  async look(isNone = false): Promise<boolean> {
    const { desk, options } = this;
    const before = new Map(desk.sent.map((sent) => [sent.fileName, sent.status]));
    const live = this.#live;
    await refresh(desk, isNone);
    for (const { fileName, part, status } of desk.sent) {
      if (status !== undefined && status !== before.get(fileName)) options.say(`${part}: ${status}`);
    }
    return this.#live < live;
  }

  /** Sends one part after the other until the server has no more room. */
  async send(): Promise<void> {
    const { desk } = this;
    for (let place = 0; place < desk.parts.length; place++) {
      const { file } = present(desk.parts[place]);
      const before = desk.latest({ file });
      if (before?.batchId !== undefined || this.#answered.has(file)) continue;
      if (before?.waitsBehind !== undefined && !this.#hasRoom(before.waitsBehind)) return this.#sayFull(before);
      await desk.readAgain();
      const part = present(desk.parts[place]);
      const wasFull = desk.sent.some(({ waitsBehind }) => waitsBehind !== undefined);
      const sent = await this.#sending.send(part, before);
      if (sent === undefined) this.#answered.add(file);
      else if (sent.waitsBehind !== undefined) return this.#sayFull(sent);
      // Where there was no room once, the next part goes out when it is known whether this one was let in.
      else if (wasFull) return;
    }
  }

  get #live(): number {
    return this.desk.sent.filter(isLive).length;
  }

  /** There may be room when a batch has ended since there was none. */
  #hasRoom(waitsBehind: number): boolean {
    return this.#live === 0 || this.#live < waitsBehind;
  }

  #sayFull({ part, host }: Sent): void {
    if (this.#saidFull) return;
    this.#saidFull = true;
    const until =
      this.#live > 0
        ? 'until another batch has ended'
        : 'for room; a part that is larger than the limit by itself never gets any';
    this.options.say(`${host} takes no more tokens for now: ${part} and those behind it wait ${until}`);
  }
}

/** Notes what is to be sent once more: what has ended without a result for every request. */
async function sendAgain(desk: Desk, say: (text: string) => void): Promise<void> {
  const { dir, shown } = desk.opened;
  if (desk.sent.some((sent) => resultsToFetch(sent).length > 0)) {
    throw new UserError(
      `there are results that are not fetched yet, and their requests would be paid for twice; first: awb batch fetch ${shown}`,
    );
  }
  const answered = await idsWithResult(dir);
  for (const part of desk.parts) {
    if (desk.latest(part)?.isEnded !== true) continue;
    const left = await leftOf(dir, part, answered, uploadName(part));
    if (left === undefined) continue;
    say(`${part.file}: ${counted(left.requests, 'request')} without a result, submitted once more`);
    const { name: fileName, requests, bytes } = left;
    await desk.add({ part: part.file, host: desk.api.host, requests, bytes, ...voidIn(part), fileName });
  }
}
