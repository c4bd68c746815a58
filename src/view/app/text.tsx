// Texts as pages show them. Of a model's text all is seen that it holds: nothing in it hides, or reorders what stands next to it.

import type { ComponentChild } from 'preact';
import { plural } from '../figures.js';

const UNSEEN =
  /\t| +$|[\ufe00-\ufe0f\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u061c\u115f\u1160\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufeff\uffa0\ufff9-\ufffb]/g;
/** In what changed, every space counts. */
const UNSEEN_CHANGED = new RegExp(UNSEEN.source.replace(' +$', ' +'), 'g');

/** A line of text in parts: what cannot be seen, or would reorder what stands next to it, is shown by name. */
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

/** Characters of a text that are drawn at once. */
const MOST_DRAWN = 100_000;

/** A text of several lines as it is; of a huge one the start. */
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
