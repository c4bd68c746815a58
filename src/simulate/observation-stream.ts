// The observation in a reply that is still coming: the text inside the tag as soon as it is certain, without thinking and marker.

import { OBSERVATION_MARKER, PREDICTION_TAG, pythonStrip } from '../reply.js';

const OPEN = `<${PREDICTION_TAG}>`;
const CLOSE = `</${PREDICTION_TAG}>`;
const THINK = '<think>';
const THOUGHT = '</think>';

type State = 'before' | 'thinking' | 'lead' | 'inside' | 'behind';

/** What is shown while a reply comes. How the reply is read in the end may differ: where it has several tags, or an unpaired one. */
export class ObservationStream {
  /** All that was shown. */
  shown = '';
  #state: State = 'before';
  #pending = '';

  /** Takes the next piece of the reply's content. @returns what is shown of the observation from now on; often nothing */
  add(piece: string): string {
    if (this.#state === 'behind') return '';
    this.#pending += piece;
    while (this.#moves()) {}
    const text = this.#state === 'inside' ? this.#inside() : '';
    this.shown += text;
    return text;
  }

  /** Goes on to the next state; false where more of the reply has to come first, or the observation has begun. */
  #moves(): boolean {
    const before = this.#state;
    if (before === 'before') this.#state = this.#skipTo([OPEN, THINK], { [OPEN]: 'lead', [THINK]: 'thinking' });
    else if (before === 'thinking') this.#state = this.#skipTo([THOUGHT], { [THOUGHT]: 'before' });
    else if (before === 'lead' && this.#leads()) this.#state = 'inside';
    return this.#state !== before;
  }

  /** Looks for the first of the tags, and drops what is in front of it: all but what could be the start of one. */
  #skipTo(tags: readonly string[], next: Readonly<Record<string, State>>): State {
    const found = firstTag(this.#pending, tags);
    const end = found === undefined ? -openEnd(this.#pending, tags) : found.at + found.tag.length;
    this.#pending = end === 0 ? '' : this.#pending.slice(end);
    return (found && next[found.tag]) ?? this.#state;
  }

  /** Drops white space and the marker in front of the observation; false where more has to come to know them. */
  #leads(): boolean {
    const text = withoutSpaceInFront(this.#pending);
    const rest = text.startsWith(OBSERVATION_MARKER)
      ? withoutSpaceInFront(text.slice(OBSERVATION_MARKER.length))
      : text;
    const isKnown = rest !== '' && !OBSERVATION_MARKER.startsWith(text);
    this.#pending = isKnown ? rest : text;
    return isKnown;
  }

  /** What is certain of the observation. White space may turn out to be its end. */
  #inside(): string {
    const close = firstTag(this.#pending, [CLOSE]);
    const sure = close === undefined ? this.#pending.length - openEnd(this.#pending, [CLOSE]) : close.at;
    const text = withoutSpaceBehind(this.#pending.slice(0, sure));
    this.#pending = this.#pending.slice(text.length);
    if (close !== undefined) this.#state = 'behind';
    return text;
  }
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
