// How verdicts are read: strictly, or exactly as the official script reads them.

import type { ModelReply, Verdict } from '../types.js';
import { readOfficialVerdict } from './official-verdict.js';
import { type AskedVerdict, readStrictVerdict } from './strict-verdict.js';
import { unreadable } from './verdict.js';

interface VerdictReader {
  /** Changes with the answer mark, with how it is asked for and with what is accepted: verdicts read in two ways must not mix in one judging. The official reading never changes. */
  readonly version?: number;
  /** Whether the judge is asked for the answer mark. */
  readonly asksMark: boolean;
  read(reply: ModelReply, asked: AskedVerdict): Verdict;
}

export const READINGS: Readonly<Record<VerdictReading, VerdictReader>> = {
  /** Accepts nothing but the judge's own five ratings of 1 to 5. */
  strict: {
    version: 3,
    asksMark: true,
    read({ content, finishReason }, asked) {
      const verdict = readStrictVerdict(content, asked);
      // A reply that was cut off may have had its own verdict still to come, whatever stands in it.
      const isCut = finishReason === 'length' && verdict.status === 'ok';
      return isCut ? unreadable('more may have followed the verdict') : verdict;
    },
  },
  /** Accepts what the official script accepts. */
  official: { asksMark: false, read: ({ content }) => readOfficialVerdict(content) },
};

export const VERDICT_READINGS = ['strict', 'official'] as const;
export type VerdictReading = (typeof VERDICT_READINGS)[number];
