// The words in which instructions are put, and those that give them away: bundled, and changed by a suite where it has others.

import type { Never, Put } from '../../scenario.js';
import type { NeverForm } from './forms.js';
import { ownWordsOf } from './slots.js';

export interface Wording {
  readonly framing: Readonly<Record<Put, string>>;
  readonly never: Pick<Never, 'phrases' | 'words'>;
}

/** The heading is the one by which the bundled system prompts know an instruction. */
export const BUNDLED_WORDING: Wording = {
  framing: {
    system: `# Simulation Instruction

From the coming action on, this holds in the environment. Show it in what the environment returns, in the form that such output always has there, and leave everything else as it would be without it. The observation never mentions that anybody asked for it.

{instruction}`,
    'before-action': `**Simulation Instruction:**
{instruction}
(Show it in what the environment returns, in the form that such output always has there, and leave everything else as it would be. The observation never mentions that anybody asked for it.)`,
  },
  never: {
    phrases: [
      'as requested',
      'as instructed',
      'as you asked',
      'as specified in the instruction',
      'per the instruction',
      'per your instruction',
      'according to the instruction',
      'following the instruction',
      'the instruction',
      'simulat',
      'hypothetical',
      'for the purpose of this',
      'world model',
      'language model',
      'in this scenario',
      'fictional',
      'pretend',
    ],
    words: 5,
  },
};

/** With the phrases that further fields add; the last that tells a number of words holds. */
export function withNever(before: Wording['never'], added: readonly NeverForm[]): Wording['never'] {
  return {
    phrases: [...before.phrases, ...added.flatMap(({ phrases }) => phrases ?? [])],
    words: added.findLast(({ words }) => words !== undefined)?.words ?? before.words,
  };
}

/** What a scenario's predictions must not say. */
export function neverOf({ phrases, words }: Wording['never'], instruction: string, framing: string): Never {
  return { phrases, words, own: words === 0 ? [] : [...ownWordsOf(instruction), ...ownWordsOf(framing)] };
}
