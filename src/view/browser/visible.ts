// Texts of models with all that they hold to be seen: characters that cannot be seen, or that would reorder what stands beside
// them, are shown by name.

import { make } from './dom.js';

const UNSEEN =
  /\t| +$|[\ufe00-\ufe0f\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u061c\u115f\u1160\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufeff\uffa0\ufff9-\ufffb]/g;
/** In what changed, every space counts. */
const UNSEEN_CHANGED = new RegExp(UNSEEN.source.replace(' +$', ' +'), 'g');

/** A line of text in parts. */
export function visible(text: string, isChanged = false): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let at = 0;
  for (const { 0: match, index } of text.matchAll(isChanged ? UNSEEN_CHANGED : UNSEEN)) {
    if (index > at) parts.push(text.slice(at, index));
    parts.push(named(match));
    at = index + match.length;
  }
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}

function named(match: string): HTMLElement {
  const code = match.charCodeAt(0);
  if (match === '\t') return make('span', { class: 'tab' }, '\t');
  if (code === 32) return make('span', { class: 'sp' }, match);
  const point = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return make('span', { class: 'ctl', title: point }, code < 32 ? String.fromCharCode(0x2400 + code) : point);
}

/** A text of several lines as it is. */
export function block(text: string): HTMLElement {
  const lines = text.split('\n').flatMap((line, at) => (at === 0 ? visible(line) : ['\n', ...visible(line)]));
  return make('pre', { tabindex: '0' }, ...lines);
}
