// Single damages: each takes away one thing that a judge should see, and leaves the rest as it is.

import { drawn } from '../random.js';
import { PREDICTION_TAG } from '../reply.js';
import { isJson } from './content.js';
import { contraryPath } from './contrary-path.js';
import { foreignTool } from './foreign-tool.js';
import { renamedKeys } from './renamed-keys.js';
import { successOf } from './success.js';
import { changed } from './truth.js';
import type { Subject, Variant } from './variant.js';

export const SINGLES = {
  'error-to-success': single('an error turned into success', ({ sample }, text) => successOf(sample, text)),
  'lost-fence': single('a fence, a frame or a closing bracket lost', (_subject, text) => withoutFence(text)),
  'renamed-keys': single('keys or labels renamed, their values kept', ({ sample }, text) => renamedKeys(sample, text)),
  'contrary-path': single('a path changed so that it contradicts the history', contraryPath),
  'foreign-tool': single('the same said as another tool would', foreignTool),
  truncated: {
    family: 'single',
    help: 'cut off after three fifths, in the midst of a line',
    make: ({ sample }) => changed(sample, cut)?.replace(new RegExp(`\\n</${PREDICTION_TAG}>$`), ''),
  },
  'extra-prose': single('explanations around the observation', explained),
} satisfies Record<string, Variant>;

function single(help: string, damage: (subject: Subject, text: string) => string | undefined) {
  return {
    family: 'single',
    help,
    make: (subject: Subject) => changed(subject.sample, (text) => damage(subject, text)),
  } as const;
}

const FENCE = /^[ \t]*(?:```|~~~).*$/;
const BORDER = /^[ \t]*(?:[-=_~─━═]{4,}|\+(?:[-=]+\+)+|[┌└╔╚├╠][─═┬┴┼┤┐┘╦╩╬╣╗╝]+)[ \t]*$/;
const CLOSING_TAG = /<\/[\w-]+>[ \t]*$/;

/** The last of what frames a text and is more than a part of a line: a code fence, the end of JSON, a drawn border, an element's end. */
function withoutFence(text: string): string | undefined {
  const lines = text.split('\n');
  const without = (last: number) => lines.filter((_, place) => place !== last).join('\n');
  const fence = lines.findLastIndex((line) => FENCE.test(line));
  if (fence !== -1) return without(fence);
  if (isJson(text)) return text.trimEnd().slice(0, -1).trimEnd();
  const border = lines.findLastIndex((line) => BORDER.test(line));
  if (border !== -1) return without(border);
  const tagged = lines.filter((line) => CLOSING_TAG.test(line));
  const last = lines.lastIndexOf(tagged.at(-1) ?? '');
  if (tagged.length < 2) return undefined;
  return lines.map((line, place) => (place === last ? line.replace(CLOSING_TAG, '') : line)).join('\n');
}

const SHORTEST_CUT = 20;

/** Where a word stands at three fifths, the cut goes through it. */
function cut(text: string): string | undefined {
  if (text.trim().length < SHORTEST_CUT) return undefined;
  const middle = Math.round(text.length * 0.6);
  const inWord = /(?<=[\p{L}\p{N}])(?=[\p{L}\p{N}])/gu;
  inWord.lastIndex = middle;
  const at = inWord.exec(text)?.index ?? middle;
  // Far behind the middle, little would be lost.
  const kept = text.slice(0, at > text.length * 0.75 ? middle : at);
  return kept.trimEnd() === text.trimEnd() ? undefined : kept;
}

const AROUND = [
  [
    'Based on the state so far, the environment will carry out this action as follows. This is what I expect it to show:',
    'As you can see, the action has been carried out, and everything else stays as it was before. The agent can go on from here.',
  ],
  [
    'Let me work out what happens. First the action is checked, then it is applied to the state of the earlier turns, which gives:',
    'Explanation: the output above follows from the earlier turns. Some details may differ in a real environment.',
  ],
  [
    "Here's the simulated output of the environment for this step:",
    'Note: this is a simulation. Values that were not given before are my best guess.',
  ],
] as const;

function explained({ random }: Subject, text: string): string {
  const [before, behind] = drawn(AROUND, random);
  return `${before}\n\n${text.trimEnd()}\n\n${behind}`;
}
