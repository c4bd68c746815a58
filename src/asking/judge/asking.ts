// One judgement: the parts of a mode asked one after the other, each until its reply can be read.

import type { Answer, CheckedMethod, Reading, Subject } from '../../judge/mode.js';
import type { JudgementRecord } from '../../judgement.js';
import { present } from '../../present.js';
import type { AskModel } from '../stage-contract.js';

interface Judging {
  readonly method: CheckedMethod;
  /** Reads the prediction. No text is held while a call waits. */
  read(): Promise<Subject>;
  /** Tries for each part in all. */
  readonly maxRetries: number;
  /** Under which seed a try is asked, by the 0-based numbers of part and try. */
  seedOf(part: number, tried: number): number;
  /** Told a reply that could not be read and is asked for again. */
  onUnread(reply: string): unknown;
}

/** Asks, and makes the record of what was read. A part that no try could be read of may stand for something, or fails the judgement. */
export async function judgementOf(judging: Judging, ask: AskModel): Promise<JudgementRecord> {
  const { method, read, maxRetries, seedOf, onUnread } = judging;
  const answers: Answer<Reading>[] = [];
  for (let tried = 0; ; ) {
    const place = answers.length;
    const seedOffset = seedOf(place, tried);
    const outcome = await ask(async () => ({ ...partAt(method, await read(), place).request(tried), seedOffset }));
    const subject = await read();
    if (outcome.status === 'failed') {
      return method.fail({ class: `judge-${outcome.class}`, reason: outcome.reason }, subject);
    }
    const part = partAt(method, subject, place);
    let reading = part.read(outcome, tried);
    if (reading.status === 'unreadable') {
      if (++tried < maxRetries) {
        onUnread(outcome.content);
        continue;
      }
      const reason = outcome.finishReason === 'length' ? `${reading.reason} (cut off at max_tokens)` : reading.reason;
      if (part.unread === undefined) return method.fail({ class: 'unreadable', reason }, subject, outcome);
      reading = part.unread;
    }
    tried = 0;
    answers.push({ reading, reply: outcome });
    if (answers.length === method.parts(subject).length) return method.join(answers, subject);
  }
}

function partAt(method: CheckedMethod, subject: Subject, place: number) {
  return present(method.parts(subject)[place]);
}
