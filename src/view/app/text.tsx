// Shows texts. A model's text is shown in full: nothing in it can hide, or reorder its surroundings.

import type { ComponentChild } from 'preact';
import { plural } from '../figures.js';

const UNSEEN =
  /\t| +$|[\ufe00-\ufe0f\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u061c\u115f\u1160\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufeff\uffa0\ufff9-\ufffb]/g;
/** In changed text, every space counts. */
const UNSEEN_CHANGED = new RegExp(UNSEEN.source.replace(' +$', ' +'), 'g');

/** A line of text in parts: characters that are invisible or would reorder their surroundings are shown by name. */
export function visible(text: string, isChanged = false): ComponentChild[] {
  const parts: ComponentChild[] = [];
  let at = 0;
  for (const { 0: match, index } of text.matchAll(isChanged ? UNSEEN_CHANGED : UNSEEN)) {
    parts.push(text.slice(at, index), named(match));
    at = index + match.length;
  }
  return [...parts, text.slice(at)];
}

function named(match: string): ComponentChild {
  const code = match.charCodeAt(0);
  if (match === '\t') return <span class="tab">{'\t'}</span>;
  if (code === 32) return <span class="sp">{match}</span>;
  const point = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return (
    <span class="ctl" title={point}>
      {code < 32 ? String.fromCharCode(0x2400 + code) : point}
    </span>
  );
}

/** Most characters of a text drawn at once. */
const MOST_DRAWN = 100_000;

/** A text of several lines, verbatim; of a huge one, the start. */
export function Text({ text }: { readonly text: string }) {
  const shown = text.slice(0, MOST_DRAWN);
  const left = text.length - shown.length;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and is scrolled by keyboard
    <pre tabIndex={0}>
      {shown.split('\n').map((line, at) => [at > 0 && '\n', visible(line)])}
      {left > 0 && <span class="soft">{`\n… and ${plural(left, 'more character')}`}</span>}
    </pre>
  );
}
