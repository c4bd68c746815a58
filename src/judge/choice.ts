// One question with two texts in it, A and B, and the reading of the judge's choice: the last \boxed{A} or \boxed{B}.

import type { JudgePrompt } from '../judge-prompt.js';
import { withoutMarker, withoutThinking } from '../reply.js';
import { actionOf, earlierTurns, textsOf } from '../turn.js';
import type { ChatMessage, ModelReply, Sample } from '../types.js';
import { framed, unusedMark } from './frame.js';
import type { Reading, Unreadable } from './mode.js';

/** Changes with the frame around the material, and with what is read as a choice. */
export const CHOICE = 1;

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

/**
 * The messages of a choice. The history stands under a mark of its own that depends on the trajectory alone, so that cached prefixes
 * hold over its turns and over all questions about one of them. No text can hold the mark that it is framed by.
 */
export function choiceMessages(prompt: JudgePrompt, { sample, first, second, truth }: Shown): ChatMessage[] {
  const earlier = earlierTurns(sample);
  const historyMark = unusedMark(sample.trajectory, textsOf(earlier));
  const input = actionOf(sample);
  const texts = [input, first, second, ...(truth === undefined ? [] : [truth])];
  const mark = unusedMark([historyMark, sample.key, ...texts].join('\n'), texts);
  const turns = earlier.flatMap((turn, index) => [
    framed('input', historyMark, index + 1, turn.prompt),
    framed('observation', historyMark, index + 1, withoutMarker(turn.response)),
  ]);
  const slots: Readonly<Record<string, string>> = {
    history: [`<history-${historyMark}>`, ...turns, `</history-${historyMark}>`].join('\n'),
    input: framed('input', mark, sample.turnIdx, input),
    truth: truth === undefined ? '' : framed('truth', mark, sample.turnIdx, truth),
    first: framed('candidate-a', mark, sample.turnIdx, first),
    second: framed('candidate-b', mark, sample.turnIdx, second),
  };
  return [
    { role: 'system', content: prompt.system },
    // In one pass: what is shown may hold a slot's name.
    { role: 'user', content: prompt.user.replace(/\{(\w+)\}/g, (whole, name: string) => slots[name] ?? whole) },
  ];
}

const BOXED = /\\boxed\s*\{\s*(?:\\(?:text|textbf|mathrm|mathbf)\s*\{\s*)?([AB])\s*\}/g;

/** The last choice outside of thinking. A reply that was cut off may have had its own still to come. */
export function readChoice({ content, finishReason }: ModelReply): Choice | Unreadable {
  const last = [...withoutThinking(content).matchAll(BOXED)].at(-1)?.[1];
  if (last === undefined) return { status: 'unreadable', reason: 'no \\boxed{A} or \\boxed{B} in the reply' };
  if (finishReason === 'length') return { status: 'unreadable', reason: 'more may have followed the choice' };
  return { status: 'ok', choice: last === 'A' ? 'A' : 'B' };
}

/** Whether a text brings something that reads like a choice. */
export function holdsChoice(text: string): boolean {
  return /\\boxed/i.test(text);
}

/** A coin that falls the same way for the same text. */
export function coin(text: string): boolean {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) & 1) === 1;
}
