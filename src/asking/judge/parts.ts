// The parts of a judgement, asked one after the other: what was read of each is kept until the last one joins them to a record.

import type { Answer, CheckedMethod, Part, Reading, Subject } from '../../judge/mode.js';
import type { JudgementRecord } from '../../judgement.js';
import { present } from '../../present.js';
import type { CallCost, ModelFailure, ModelReply, ModelRequest } from '../../types.js';
import { callsCounted, costOfBoth } from '../../usage.js';

/** A judgement that has been asked for and is not made yet. */
interface Underway {
  /** What was read of its parts so far. */
  answers: Answer<Reading>[];
  /** The mark of what those parts were asked with. */
  mark: string;
  /** Tries for the part that is asked now. */
  tries: number;
  /** Over all parts; `tries` are the calls that were counted. */
  cost: CallCost & { readonly attempts: number; readonly ms: number; readonly tries: number };
}

/** A judgement, and what it cost. */
interface Made {
  readonly record: JudgementRecord;
  readonly log: object;
}

interface Parts<J extends AskedJob> {
  /** The request of the part whose turn it is. */
  request(job: J, subject: Subject): ModelRequest;
  /**
   * What the part's outcome makes of the judgement; `again` where more has to be asked: the same part once more, or the next one.
   * Parts asked under different marks do not mix: where the mark has changed, the judgement begins anew.
   */
  settle(job: J, subject: Subject, outcome: ModelReply | ModelFailure, mark: string): Made | 'again';
  /** Whether the last reply to the part whose turn it is could not be read. */
  isUnread(job: J): boolean;
  /** Lets go of a judgement that is not made in this session. */
  forget(job: J): void;
}

/** One judgement that is asked for. */
interface AskedJob {
  readonly id: string;
}

/** Which seed a try is asked under, by the 0-based numbers of part and try; `tried` is less than `maxRetries`. */
type SeedOf<J> = (job: J, part: number, tried: number, maxRetries: number) => number;

/** `maxRetries` is the number of tries for each part in all. */
export function openParts<J extends AskedJob>(
  method: CheckedMethod,
  maxRetries: number,
  seedOffsetOf: SeedOf<J>,
): Parts<J> {
  const underway = new Map<string, Underway>();
  return {
    request(job, subject) {
      const { answers, tries } = underway.get(job.id) ?? begun('');
      const part = partOf(method, subject, answers.length);
      return { ...part.request(tries), seedOffset: seedOffsetOf(job, answers.length, tries, maxRetries) };
    },
    settle(job, subject, outcome, mark) {
      const state = underway.get(job.id) ?? begun(mark);
      underway.set(job.id, state);
      addCost(state, outcome);
      if (state.answers.length > 0 && state.mark !== mark) {
        underway.set(job.id, { ...begun(mark), cost: state.cost });
        return 'again';
      }
      state.mark = mark;
      const record = recordOf(method, state, subject, outcome, maxRetries);
      if (record === 'again') return record;
      underway.delete(job.id);
      // Characters that were sent belong to one call.
      const { chars, ...log } = outcome.log;
      const sent = chars === undefined || state.cost.attempts > 1 ? {} : { chars };
      return { record, log: { ...log, ...sent, ...state.cost } };
    },
    isUnread: ({ id }) => (underway.get(id)?.tries ?? 0) > 0,
    forget: ({ id }) => void underway.delete(id),
  };
}

function begun(mark: string): Underway {
  return { answers: [], mark, tries: 0, cost: { attempts: 0, ms: 0, usage: {}, tries: 0 } };
}

function partOf(method: CheckedMethod, subject: Subject, place: number): Part<Reading> {
  return present(method.parts(subject)[place]);
}

function addCost(state: Underway, { log }: ModelReply | ModelFailure): void {
  const { cost } = state;
  state.cost = {
    ...costOfBoth(cost, log),
    attempts: cost.attempts + log.attempts,
    ms: cost.ms + log.ms,
    tries: cost.tries + callsCounted(log),
  };
}

/** The judgement that this outcome ends; `again` where it does not. */
function recordOf(
  method: CheckedMethod,
  state: Underway,
  subject: Subject,
  outcome: ModelReply | ModelFailure,
  maxRetries: number,
): JudgementRecord | 'again' {
  if (outcome.status === 'failed') {
    return method.fail({ class: `judge-${outcome.class}`, reason: outcome.reason }, subject);
  }
  const parts = method.parts(subject);
  const part = present(parts[state.answers.length]);
  let reading = part.read(outcome, state.tries);
  if (reading.status === 'unreadable') {
    state.tries++;
    if (state.tries < maxRetries) return 'again';
    const reason = outcome.finishReason === 'length' ? `${reading.reason} (cut off at max_tokens)` : reading.reason;
    if (part.unread === undefined) return method.fail({ class: 'unreadable', reason }, subject, outcome);
    reading = part.unread;
  }
  state.answers.push({ reading, reply: outcome });
  state.tries = 0;
  return state.answers.length < parts.length ? 'again' : method.join(state.answers, subject);
}
