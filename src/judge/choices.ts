// The modes `turing` and `reference`, which put one question with two texts in it, A and B: which is real, the prediction or the truth (and
// of known pairs, the truth or another row's truth); and which is nearer to the truth, the prediction or another file's.

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

/** The two pairs of a row: what is tested, and what the judge is tested by. */
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
  words: { one: 'measure', many: 'measures', of: 'of prediction beside truth' },
  async open() {
    const told = await loadJudgePrompt('turing');
    /** Whether the truth is shown first: a coin that falls the same way for the same row in every run. */
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
      // Whatever left no prediction is taken for real by nobody, except where infer's transport failed.
      fail: (failure, _subject, reply) =>
        isModelCaused(failure.class) ? measured({ taken_for_real: 0 }) : unmeasured(failure, { reply }),
    };
  },
};

export const reference: Mode<readonly [Choice, Choice]> = {
  help: 'an LLM says which is nearer to the truth, the prediction or that of --reference',
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

/** Both predictions as a judge would be shown them. */
function bothOf({ gen, beside }: Subject): readonly [own: string, other: string] {
  return [shownPrediction(gen), shownPrediction(beside?.text ?? '')];
}

/** Of a prediction with none beside it, or an equal one. */
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

/** The texts of one case; the truth is absent where the judge is not told. */
type Shown = Readonly<{ sample: Sample; first: string; second: string; truth?: string }>;

/** The question which of two texts it is, and the reading of the replies to it. */
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
 * The history stands under a mark of its own that depends on the trajectory alone, so that cached prefixes hold over its turns and over
 * all questions about one of them. No text can hold the mark that it is framed by.
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
  // In one pass: what is shown may hold a slot's name.
  return prompt.user.replace(/\{(\w+)\}/g, (whole, name: string) => slots[name] ?? whole);
}

/** The choice in the reply's marked tags outside of thinking. A reply that was cut off may have had another still to come. */
function readChoice({ content, finishReason }: ModelReply, mark: string): Choice | Unreadable {
  const choices = markedBlocks(content, mark).map((block) => /^[^\p{L}\p{N}]*([AB])[^\p{L}\p{N}]*$/u.exec(block)?.[1]);
  const [first] = choices;
  if (first === undefined) return unreadable('the reply holds no A or B in the tag with the mark of its case');
  if (choices.some((choice) => choice !== first)) return unreadable('the reply holds choices that differ');
  if (finishReason === 'length') return unreadable('more may have followed the choice');
  return { status: 'ok', choice: first === 'A' ? 'A' : 'B' };
}
