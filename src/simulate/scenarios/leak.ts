// Whether a prediction gives away that it was instructed.

import { oneLine } from '../../printable.js';
import type { Never } from './scenario.js';

interface Leak {
  /** What gave it away, fit for a terminal. */
  readonly why: string;
}

const MOST_QUOTED_COLUMNS = 60;

/**
 * The first thing in the prediction that it must never say; undefined where there is none. What `known` says as well (what the model
 * saw without the instruction, the truth) gives nothing away.
 */
export function leakIn(never: Never, prediction: string, known: readonly string[]): Leak | undefined {
  const text = plain(prediction);
  let others: readonly string[] | undefined;
  const isNew = (words: string) => {
    if (!text.includes(words)) return false;
    others ??= known.map(plain);
    return !others.some((other) => other.includes(words));
  };
  const phrase = never.phrases.find((phrase) => isNew(plain(phrase).trimEnd()));
  if (phrase !== undefined) return { why: `it says ${quoted(phrase)}` };
  const run = never.own.flatMap((own) => runsOf(own, never.words)).find(isNew);
  return run === undefined ? undefined : { why: `it repeats the instruction: ${quoted(run.trim())}` };
}

/** Every run of so many words. */
function runsOf(text: string, length: number): string[] {
  const words = plain(text).trim().split(' ');
  return Array.from(
    { length: Math.max(0, words.length - length + 1) },
    (_, at) => ` ${words.slice(at, at + length).join(' ')} `,
  );
}

/** Words in lower case with one space around each: punctuation and layout are no difference. */
function plain(text: string): string {
  return ` ${(text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).join(' ')} `;
}

function quoted(text: string): string {
  return `"${oneLine(text, MOST_QUOTED_COLUMNS)}"`;
}
