// The modes `turing` and `reference`, which show two texts, A and B, and ask one question. `turing`: which is real, the prediction or the
// truth (and for known pairs, the truth or another row's truth). `reference`: which is nearer to the truth, the prediction or that of
// another file.

import { createHash } from 'node:crypto';
import { type JudgePrompt, loadJudgePrompt } from '../benchmark/prompts.js';
import { present } from '../core/errors.js';
import { type JudgementRecord, measured, unmeasured, withoutPrediction } from '../core/judgement.js';
import { isModelCaused } from '../core/points.js';
import { shownPrediction, withoutMarker } from '../core/reply.js';
import { actionOf, earlierTurns, groundTruthOf, textsOf } from '../core/turn.js';
import type { ModelReply, Sample } from '../core/types.js';
import { answerMark, askingForMark, framed, framedHistory, markedBlocks, unusedMark } from './answer-mark.js';
import { type Mode, type Part, type Reading, type Subject, type Unreadable, unreadable } from './mode.js';

/** The two pairs of a row: the one under test, and the one that tests the judge. */
const [OWN, KNOWN] = ['own', 'known'];

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
  words: { one: 'measure', many: 'measures', of: 'of prediction against truth' },
  async open() {
    const told = await loadJudgePrompt('turing');
    /** Whether the truth is shown first: a coin toss with the same result for the same row in every run. */
    const isTruthFirst = ({ sample }: Subject, pair: string) =>
      present(createHash('sha256').update(`${pair} ${sample.key}`).digest()[0]) % 2 === 1;
    return {
      name: 'turing',
      identity: { prompt: told.fingerprint.slice(0, 12), frame: CHOICE },
      parts(subject) {
        const { sample, beside } = subject;
        const truth = withoutMarker(groundTruthOf(sample));
        const own = shownPrediction(subject.gen);
        const part = (pair: string, other: string) => {
          const [first, second] = isTruthFirst(subject, pair) ? [truth, other] : [other, truth];
          return choicePart(told, { sample, first, second });
        };
        return beside === undefined || beside.failure ? [part(OWN, own)] : [part(OWN, own), part(KNOWN, beside.text)];
      },
      join([own, known], subject) {
        const tookTruth = (choice: Choice['choice'], pair: string) => (choice === 'A') === isTruthFirst(subject, pair);
        const taken = tookTruth(own.reading.choice, OWN) ? 0 : 100;
        const accuracy = known && { turing_accuracy: tookTruth(known.reading.choice, KNOWN) ? 100 : 0 };
        const replies = [own, known].flatMap((answer) => answer?.reply ?? []);
        return measured({ taken_for_real: taken, ...accuracy }, { reply: own.reply, replies });
      },
      // A missing prediction is never taken for real, except if infer's transport failed.
      fail: (failure, _subject, reply) =>
        isModelCaused(failure.class) ? measured({ taken_for_real: 0 }) : unmeasured(failure, { reply }),
    };
  },
};

export const reference: Mode<readonly [Choice, Choice]> = {
  help: 'an LLM says which is nearer to the truth, the prediction or the one in --reference',
  noun: 'comparisons',
  asksJudge: true,
  rates: false,
  beside: 'prediction',
  measures: { win_rate: { range: [0, 100], better: 'larger' } },
  lead: 'win_rate',
  words: { one: 'measure', many: 'measures', of: 'of prediction against reference' },
  async open({ reference: known }) {
    const told = await loadJudgePrompt('reference');
    return {
      name: 'reference',
      identity: { reference: present(known), prompt: told.fingerprint.slice(0, 12), frame: CHOICE },
      parts(subject) {
        const [own, other] = bothOf(subject);
        const { sample } = subject;
        const truth = withoutMarker(groundTruthOf(sample));
        const part = (first: string, second: string) => choicePart(told, { sample, first, second, truth });
        return [part(own, other), part(other, own)];
      },
      alone: withoutAsking,
      join(answers) {
        const [ownFirst, ownSecond] = answers;
        const wins = Number(ownFirst.reading.choice === 'A') + Number(ownSecond.reading.choice === 'B');
        return measured(
          { win_rate: wins * 50 },
          { reply: ownSecond.reply, replies: answers.map(({ reply }) => reply) },
        );
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

/** Both predictions as shown to a judge. */
function bothOf({ gen, beside }: Subject): readonly [own: string, other: string] {
  return [shownPrediction(gen), shownPrediction(beside?.text ?? '')];
}

/** The result without asking, if the other prediction is missing or equal. */
function withoutAsking(subject: Subject): JudgementRecord | undefined {
  const failure = subject.beside?.failure;
  if (failure === undefined) {
    const [own, other] = bothOf(subject);
    return own === other ? measured({ win_rate: 50 }) : undefined;
  }
  const missing = withoutPrediction(failure);
  return isModelCaused(missing.class) ? measured({ win_rate: 100 }) : unmeasured(missing);
}

/** Changes with the frame around the material, and with what is read as a choice. */
const CHOICE = 2;

interface Choice extends Reading {
  readonly choice: 'A' | 'B';
}

/** The texts of one case; the truth is absent if the judge does not see it. */
type Shown = Readonly<{ sample: Sample; first: string; second: string; truth?: string }>;

/** The question about the two texts, and the reading of the replies. */
function choicePart(prompt: JudgePrompt, shown: Shown): Part<Choice> {
  const markOf = (attempt: number) => answerMark(shown.sample, [shown.first, shown.second], attempt);
  return {
    request(attempt) {
      const user = { role: 'user', content: questionOf(prompt, shown) } as const;
      const messages = [{ role: 'system', content: prompt.system } as const, user];
      return { messages: askingForMark(messages, 'choice', markOf(attempt), attempt) };
    },
    read: (reply, attempt) => readChoice(reply, markOf(attempt)),
  };
}

/**
 * The history has its own mark that depends only on the trajectory, so that prefix caches hit across its turns and across all questions
 * about one turn. No text can contain the mark of its own frame.
 */
function questionOf(prompt: JudgePrompt, { sample, first, second, truth }: Shown): string {
  const earlier = earlierTurns(sample);
  const historyMark = unusedMark(sample.trajectory, textsOf(earlier));
  const input = actionOf(sample);
  const texts = [input, first, second, ...(truth === undefined ? [] : [truth])];
  const mark = unusedMark([historyMark, sample.key, ...texts].join('\n'), texts);
  const history = earlier.map((turn) => ({ ...turn, response: withoutMarker(turn.response) }));
  const slots: Readonly<Record<string, string>> = {
    history: framedHistory(historyMark, history),
    input: framed('input', mark, sample.turnIdx, input),
    truth: truth === undefined ? '' : framed('truth', mark, sample.turnIdx, truth),
    first: framed('candidate-a', mark, sample.turnIdx, first),
    second: framed('candidate-b', mark, sample.turnIdx, second),
  };
  // In one pass, since the material may contain a slot's name.
  return prompt.user.replace(/\{(\w+)\}/g, (whole, name: string) => slots[name] ?? whole);
}

/** The choice in the reply's marked tags outside of thinking. A reply that was cut off might have made another choice later. */
function readChoice({ content, finishReason }: ModelReply, mark: string): Choice | Unreadable {
  const choices = markedBlocks(content, mark).map((block) => /^[^\p{L}\p{N}]*([AB])[^\p{L}\p{N}]*$/u.exec(block)?.[1]);
  const [first] = choices;
  if (first === undefined) return unreadable('the reply contains no A or B in the tag with the mark of its case');
  if (choices.some((choice) => choice !== first)) return unreadable('the reply contains different choices');
  if (finishReason === 'length') return unreadable('more may have followed the choice');
  return { status: 'ok', choice: first === 'A' ? 'A' : 'B' };
}
