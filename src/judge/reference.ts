// The mode `reference`: which of two predictions, the run's own or another file's, is nearer to the truth. Both orders are asked.

import { type JudgementRecord, measured, unmeasured, withoutPrediction } from '../core/judgement.js';
import { isModelCaused } from '../core/points.js';
import { present } from '../core/present.js';
import { shownPrediction, withoutMarker } from '../core/reply.js';
import { groundTruthOf } from '../core/turn.js';
import type { Choice } from './choice.js';
import type { Mode, Subject } from './mode.js';

export const reference: Mode<readonly [Choice, Choice]> = {
  help: 'an LLM says which is nearer to the truth, the prediction or that of --reference',
  noun: 'comparisons',
  asksJudge: true,
  rates: false,
  beside: 'prediction',
  measures: { win_rate: { range: [0, 100], better: 'larger' } },
  lead: 'win_rate',
  words: { one: 'measure', many: 'measures', of: 'of prediction against reference' },
  async open({ prompt, reference: known }) {
    // Whoever only asks what the mode declares does not load it.
    const { CHOICE, choicePart } = await import('./choice.js');
    const told = await present(prompt)('reference');
    return {
      name: 'reference',
      identity: { reference: await present(known)(), prompt: told.fingerprint.slice(0, 12), frame: CHOICE },
      refusal: () => undefined,
      parts(subject) {
        const [own, other] = textsOf(subject);
        const { sample } = subject;
        const truth = withoutMarker(groundTruthOf(sample));
        const part = (first: string, second: string) => choicePart(told, { sample, first, second, truth });
        return [part(own, other), part(other, own)];
      },
      alone: withoutAsking,
      join(answers) {
        const [ownFirst, ownSecond] = answers;
        const wins = Number(ownFirst.reading.choice === 'A') + Number(ownSecond.reading.choice === 'B');
        const replies = [ownFirst.reply, ownSecond.reply];
        return measured({ win_rate: wins * 50 }, { reply: ownSecond.reply, replies });
      },
      fail(failure, { beside }, reply) {
        if (!isModelCaused(failure.class)) return unmeasured(failure, { reply });
        if (beside?.failure === undefined) return measured({ win_rate: 0 });
        const missing = withoutPrediction(beside.failure);
        return isModelCaused(missing.class) ? measured({ win_rate: 50 }) : unmeasured(missing);
      },
    };
  },
};

/** Both predictions as a judge would be shown them. */
function textsOf({ gen, beside }: Subject): readonly [own: string, other: string] {
  return [shownPrediction(gen), shownPrediction(beside?.text ?? '')];
}

/** Of a prediction with none beside it, or an equal one. */
function withoutAsking(subject: Subject): JudgementRecord | undefined {
  const failure = subject.beside?.failure;
  if (failure === undefined) {
    const [own, other] = textsOf(subject);
    return own === other ? measured({ win_rate: 50 }) : undefined;
  }
  const missing = withoutPrediction(failure);
  return isModelCaused(missing.class) ? measured({ win_rate: 100 }) : unmeasured(missing);
}
