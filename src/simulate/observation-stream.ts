// The observation in a reply that is still coming: the text inside the tag as soon as it is certain, without thinking and marker.

import { OBSERVATION_MARKER, PREDICTION_TAG, pythonStrip } from '../reply.js';

const OPEN = `<${PREDICTION_TAG}>`;
const CLOSE = `</${PREDICTION_TAG}>`;
const THINK = '<think>';
const THOUGHT = '</think>';

/** What is shown while a reply comes. How the reply is read in the end may differ: where it has several tags, or an unpaired one. */
export interface ObservationStream {
  /** Takes the next piece of the reply's content. @returns what is shown of the observation from now on; often nothing */
  add(piece: string): string;
  /** All that was shown. */
  readonly shown: string;
}

export function openObservationStream(): ObservationStream {
  let state: 'before' | 'thinking' | 'lead' | 'inside' | 'behind' = 'before';
  let pending = '';
  let shown = '';
  /** Looks for the first of the tags; drops what is in front of it, or all but the start of one. */
  const skipTo = (...tags: readonly string[]): string | undefined => {
    const found = firstTag(pending, tags);
    if (found === undefined) {
      pending = pending.slice(pending.length - openEnd(pending, tags));
      return undefined;
    }
    pending = pending.slice(found.at + found.tag.length);
    return found.tag;
  };
  /** One move; false where nothing more can be done with what has come. */
  const move = (out: string[]): boolean => {
    if (state === 'before') {
      const tag = skipTo(OPEN, THINK);
      if (tag !== undefined) state = tag === OPEN ? 'lead' : 'thinking';
      return tag !== undefined;
    }
    if (state === 'thinking') {
      if (skipTo(THOUGHT) === undefined) return false;
      state = 'before';
      return true;
    }
    if (state === 'lead') {
      const text = withoutSpaceInFront(pending);
      pending = text;
      if (text === '' || (OBSERVATION_MARKER.startsWith(text) && text !== OBSERVATION_MARKER)) return false;
      if (text.startsWith(OBSERVATION_MARKER)) {
        pending = withoutSpaceInFront(text.slice(OBSERVATION_MARKER.length));
        if (pending === '') {
          pending = text;
          return false;
        }
      }
      state = 'inside';
      return true;
    }
    if (state === 'inside') {
      const close = firstTag(pending, [CLOSE]);
      const sure = close === undefined ? pending.length - openEnd(pending, [CLOSE]) : close.at;
      const text = withoutSpaceBehind(pending.slice(0, sure));
      out.push(text);
      pending = pending.slice(text.length);
      if (close !== undefined) state = 'behind';
    }
    return false;
  };
  return {
    add(piece) {
      if (state === 'behind') return '';
      pending += piece;
      const out: string[] = [];
      while (move(out)) {}
      const text = out.join('');
      shown += text;
      return text;
    },
    get shown() {
      return shown;
    },
  };
}

function firstTag(text: string, tags: readonly string[]): { readonly tag: string; readonly at: number } | undefined {
  const lower = text.toLowerCase();
  return tags
    .map((tag) => ({ tag, at: lower.indexOf(tag) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)[0];
}

/** How many characters at the end of a text could be the start of one of the tags. */
function openEnd(text: string, tags: readonly string[]): number {
  const longest = Math.min(text.length, Math.max(...tags.map(({ length }) => length)) - 1);
  for (let length = longest; length > 0; length--) {
    const end = text.slice(-length).toLowerCase();
    if (tags.some((tag) => tag.startsWith(end))) return length;
  }
  return 0;
}

function withoutSpaceInFront(text: string): string {
  return pythonStrip(`${text}.`).slice(0, -1);
}

function withoutSpaceBehind(text: string): string {
  return pythonStrip(`.${text}`).slice(1);
}
