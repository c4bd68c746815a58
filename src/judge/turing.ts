// The mode `turing`: which of two answers is real, the prediction or the truth? And of known pairs, the truth or another row's truth?

import { measured, unmeasured } from '../core/judgement.js';
import { isModelCaused } from '../core/points.js';
import { present } from '../core/present.js';
import { shownPrediction, withoutMarker } from '../core/reply.js';
import { groundTruthOf } from '../core/turn.js';
import type { Choice } from './choice.js';
import type { Mode, Subject } from './mode.js';

export const turing: Mode<readonly [Choice, ...Choice[]]> = {
  help: 'an LLM says which is real, the prediction or the truth',
  noun: 'tests',
  asksJudge: true,
  rates: false,
  beside: 'truth',
  measures: {
    taken_for_real: { range: [0, 100], better: { target: 50 } },
    turing_accuracy: { range: [0, 100], better: 'neither' },
  },
  lead: 'taken_for_real',
  words: { one: 'measure', many: 'measures', of: 'of prediction beside truth' },
  async open({ prompt }) {
    // Whoever only asks what the mode declares does not load it.
    const { CHOICE, choicePart, coin } = await import('./choice.js');
    const told = await present(prompt)('turing');
    /** Whether the truth is shown first; the same for the same row in every run. */
    const isTruthFirst = ({ sample }: Subject, pair: string) => coin(`${pair} ${sample.key}`);
    return {
      name: 'turing',
      identity: { prompt: told.fingerprint.slice(0, 12), frame: CHOICE },
      refusal: () => undefined,
      parts(subject) {
        const { sample, beside } = subject;
        const truth = withoutMarker(groundTruthOf(sample));
        const own = shownPrediction(subject.gen);
        const part = (pair: string, other: string) => {
          const [first, second] = isTruthFirst(subject, pair) ? [truth, other] : [other, truth];
          return choicePart(told, { sample, first, second });
        };
        const known = beside === undefined || beside.failure !== undefined ? [] : [part(KNOWN, beside.text)];
        return [part(OWN, own), ...known];
      },
      join([own, known], subject) {
        const tookTruth = (choice: Choice['choice'], pair: string) => (choice === 'A') === isTruthFirst(subject, pair);
        const taken = tookTruth(own.reading.choice, OWN) ? 0 : 100;
        const accuracy =
          known === undefined ? {} : { turing_accuracy: tookTruth(known.reading.choice, KNOWN) ? 100 : 0 };
        const replies = [own.reply, ...(known === undefined ? [] : [known.reply])];
        return measured({ taken_for_real: taken, ...accuracy }, { reply: own.reply, replies });
      },
      // Whatever left no prediction is taken for real by nobody, except where infer's transport failed.
      fail: (failure, _subject, reply) =>
        isModelCaused(failure.class) ? measured({ taken_for_real: 0 }) : unmeasured(failure, { reply }),
    };
  },
};

/** The two pairs of a row: what is tested, and what the judge is tested by. */
const [OWN, KNOWN] = ['own', 'known'];
