// How verdicts are read: strictly, or exactly as the official script reads them.

import type { NoJudgement } from '../judgement.js';
import type { ModelReply, Verdict } from '../types.js';
import { readOfficialVerdict } from './official-verdict.js';
import { isPlanted, type Material } from './quotation.js';
import { readStrictVerdict } from './strict-verdict.js';
import { unreadable } from './verdict.js';

export interface VerdictReader {
  /** Changes with what is accepted: verdicts read in two ways must not mix in one judging. The official reading never changes. */
  readonly version?: number;
  read(reply: ModelReply, material: Material): Verdict;
  /** What it means that no try could be read. */
  giveUp(reason: string, material: Material): NoJudgement;
}

export const READINGS = {
  /** Accepts nothing but the judge's own five ratings of 1 to 5. */
  strict: {
    version: 2,
    read({ content, finishReason }, material) {
      const verdict = readStrictVerdict(content, material);
      // A reply that was cut off may have had its own verdict still to come, whatever stands in it.
      const isCut = finishReason === 'length' && verdict.status === 'ok';
      return isCut ? unreadable('more may have followed the verdict') : verdict;
    },
    giveUp(reason, material) {
      if (!isPlanted(material)) return { class: 'unreadable', reason };
      // Otherwise a poor prediction could make itself missing by confusing its judge.
      const planted = `the prediction holds a verdict of its own, and the judge could not be read: ${reason}`;
      return { class: 'planted', reason: planted };
    },
  },
  /** Accepts what the official script accepts. */
  official: {
    read: ({ content }) => readOfficialVerdict(content),
    giveUp: (reason) => ({ class: 'unreadable', reason }),
  },
} satisfies Record<string, VerdictReader>;
export type VerdictReading = keyof typeof READINGS;
