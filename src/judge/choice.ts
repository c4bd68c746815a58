// One question with two texts in it, A and B, and the reading of the judge's choice in a marked tag.

import { createHash } from 'node:crypto';
import type { JudgePrompt } from '../benchmark/prompts.js';
import { withoutMarker } from '../core/reply.js';
import { actionOf, earlierTurns, textsOf } from '../core/turn.js';
import type { ChatMessage, ModelReply, Sample } from '../core/types.js';
import { answerMark, askingForMark, framed, framedHistory, markedBlocks, unusedMark } from './answer-mark.js';
import type { Part, Reading, Unreadable } from './mode.js';

/** Changes with the frame around the material, and with what is read as a choice. */
export const CHOICE = 2;

export interface Choice extends Reading {
  readonly choice: 'A' | 'B';
}

/** What a judge is shown of one case. */
interface Shown {
  readonly sample: Sample;
  readonly first: string;
  readonly second: string;
  /** Absent where the judge is not told. */
  readonly truth?: string;
}

/** The question which of two texts it is, and the reading of the replies to it. */
export function choicePart(prompt: JudgePrompt, shown: Shown): Part<Choice> {
  const { sample, first, second } = shown;
  const markOf = (attempt: number) => answerMark(sample, [first, second], attempt);
  return {
    request: (attempt) => ({ messages: choiceMessages(prompt, shown, { mark: markOf(attempt), attempt }) }),
    read: (reply, attempt) => readChoice(reply, markOf(attempt)),
  };
}

/**
 * The messages of a choice. The history stands under a mark of its own that depends on the trajectory alone, so that cached prefixes
 * hold over its turns and over all questions about one of them. No text can hold the mark that it is framed by.
 */
function choiceMessages(
  prompt: JudgePrompt,
  { sample, first, second, truth }: Shown,
  asked: { readonly mark: string; readonly attempt: number },
): ChatMessage[] {
  const earlier = earlierTurns(sample);
  const historyMark = unusedMark(sample.trajectory, textsOf(earlier));
  const input = actionOf(sample);
  const texts = [input, first, second, ...(truth === undefined ? [] : [truth])];
  const mark = unusedMark([historyMark, sample.key, ...texts].join('\n'), texts);
  const history = earlier.map(({ prompt: asked, response }) => ({ prompt: asked, response: withoutMarker(response) }));
  const slots: Readonly<Record<string, string>> = {
    history: framedHistory(historyMark, history),
    input: framed('input', mark, sample.turnIdx, input),
    truth: truth === undefined ? '' : framed('truth', mark, sample.turnIdx, truth),
    first: framed('candidate-a', mark, sample.turnIdx, first),
    second: framed('candidate-b', mark, sample.turnIdx, second),
  };
  // In one pass: what is shown may hold a slot's name.
  const question = prompt.user.replace(/\{(\w+)\}/g, (whole, name: string) => slots[name] ?? whole);
  const messages: ChatMessage[] = [
    { role: 'system', content: prompt.system },
    { role: 'user', content: question },
  ];
  return askingForMark(messages, 'choice', asked.mark, asked.attempt);
}

/** The choice in the reply's marked tags outside of thinking. A reply that was cut off may have had another still to come. */
function readChoice({ content, finishReason }: ModelReply, mark: string): Choice | Unreadable {
  const choices = markedBlocks(content, mark).map((block) => /^[^\p{L}\p{N}]*([AB])[^\p{L}\p{N}]*$/u.exec(block)?.[1]);
  const [first] = choices;
  if (first === undefined)
    return { status: 'unreadable', reason: 'the reply holds no A or B in the tag with the mark of its case' };
  if (choices.some((choice) => choice !== first))
    return { status: 'unreadable', reason: 'the reply holds choices that differ' };
  if (finishReason === 'length') return { status: 'unreadable', reason: 'more may have followed the choice' };
  return { status: 'ok', choice: first === 'A' ? 'A' : 'B' };
}

/** A coin that falls the same way for the same text. */
export function coin(text: string): boolean {
  return (createHash('sha256').update(text).digest()[0] ?? 0) % 2 === 1;
}
