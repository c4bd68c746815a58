// A mode at work, held to what it declares, so that no record of its making breaks the run or the scoring of it.

import type { JudgementRecord } from '../judgement.js';
import { measureFault, measuresOf } from '../measures.js';
import type { ModelReply } from '../types.js';
import type { Method, Mode, Subject } from './mode.js';

/** The most parts that a mode may ask about a prediction; seeds are counted for as many. */
export const MOST_PARTS = 16;

/** What asking takes of a mode. */
export type CheckedMethod = Pick<Method, 'parts' | 'alone' | 'join' | 'fail'>;

/**
 * The mode's method. In place of a record with a measure that cannot be (not finite, or outside of its range) stands the failed
 * record of that prediction, of class `unreadable`, which names the measure: it is missing, and is asked for again.
 * @param name what the user calls the mode
 */
export function checkedMethod(
  name: string,
  { measures: declared }: Pick<Mode, 'measures'>,
  method: Method,
): CheckedMethod {
  const measureOf = measuresOf(declared);
  const faultIn = ({ measures = {} }: JudgementRecord) =>
    Object.entries(measures).flatMap(([measure, value]) => {
      const fault = measureFault(measureOf(measure), value);
      return fault === undefined ? [] : [`the mode ${name} measured ${measure} as ${value}, ${fault}`];
    })[0];
  const checked = (record: JudgementRecord, subject: Subject, reply: ModelReply | undefined) => {
    const reason = faultIn(record);
    if (reason === undefined) return record;
    const { measures: _none, ...failed } = method.fail({ class: 'unreadable', reason }, subject, reply);
    return failed;
  };
  return {
    parts(subject) {
      const parts = method.parts(subject);
      if (parts.length >= 1 && parts.length <= MOST_PARTS) return parts;
      throw new RangeError(
        `the mode ${name} asks ${parts.length} parts about a prediction; it may ask 1 to ${MOST_PARTS}`,
      );
    },
    alone(subject) {
      const record = method.alone?.(subject);
      return record && checked(record, subject, undefined);
    },
    join: (answers, subject) => checked(method.join(answers, subject), subject, answers.at(-1)?.reply),
    fail: (failure, subject, reply) => checked(method.fail(failure, subject, reply), subject, reply),
  };
}
