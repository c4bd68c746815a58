// A reply as its tokens come: thinking and answer apart, whole characters only, stop strings, budgets and counts.

/** What the reader must know of the model. */
export interface ReplyTokens {
  readonly isEnd: (token: number) => boolean;
  readonly textOf: TextOf;
  /** Undefined where the model has no such single token: its thinking then stays in the content. */
  readonly openThinking: number | undefined;
  readonly closeThinking: number | undefined;
  /** Tokens of the blank line that templates put behind thinking. */
  readonly blankLine: readonly number[];
}

export interface ReplySettings {
  /** Whether the prompt ends inside thinking. */
  readonly thinking: boolean;
  /** Most tokens of thinking; past it the end of thinking is put in. */
  readonly thinkingBudget: number;
  readonly maxTokens: number;
  /** Looked for in the content, never in the thinking. */
  readonly stop: readonly string[];
  /** Put a blank line behind thinking, where a grammar would not let the model write it. */
  readonly blankLineAfterThinking: boolean;
}

interface ReplyText {
  readonly channel: 'reasoning' | 'content';
  readonly text: string;
}

/** What came of a token: tokens to go on with instead of it, or the end of the reply. */
interface ReplyStep {
  readonly insteadOf?: readonly number[];
  readonly finish?: 'stop' | 'length';
}

/**
 * Thinking loses the newlines at both its ends and the content behind it those at its start, as the model card's own example does; content
 * without thinking is left as it is. The end token and tokens that were put in count as completion tokens, those up to the end of thinking
 * as reasoning tokens.
 */
export class ReplyReader {
  readonly #model: ReplyTokens;
  readonly #settings: ReplySettings;
  #channel: ReplyText['channel'];
  #letters: WholeCharacters;
  #filter: TextFilter;
  /** Taken, but not read yet: all of the same channel. */
  #unread: number[] = [];
  /** Read, but not handed on yet. */
  #read: ReplyText[] = [];
  readonly #spoken: number[] = [];
  #spokenThinking = 0;
  #reasoningTokens = 0;

  constructor(model: ReplyTokens, settings: ReplySettings) {
    this.#model = model;
    this.#settings = settings;
    this.#channel = settings.thinking ? 'reasoning' : 'content';
    this.#letters = wholeCharacters(model.textOf);
    this.#filter = settings.thinking ? withoutOuterNewlines() : untilStop(settings.stop);
  }

  get inThinking(): boolean {
    return this.#channel === 'reasoning';
  }

  /** The reply's tokens, those included that were put in and the one that ends it. */
  get spoken(): readonly number[] {
    return this.#spoken;
  }

  /** How many of them belong to the thinking, its end included. */
  get spokenThinking(): number {
    return this.#spokenThinking;
  }

  get reasoningTokens(): number {
    return this.#reasoningTokens;
  }

  /**
   * Takes the token that was sampled. After a `finish` no more is taken. Text is made of it when it is asked for, unless a stop string has
   * to be looked for.
   */
  take(token: number): ReplyStep {
    const { inThinking } = this;
    const step = this.#step(token);
    this.#spoken.push(...(step.insteadOf ?? [token]));
    if (inThinking || this.inThinking) this.#spokenThinking = this.#spoken.length;
    const isUsedUp = this.#spoken.length >= this.#settings.maxTokens;
    return step.finish === undefined && isUsedUp ? { ...step, finish: 'length' } : step;
  }

  /** The text that may be handed on since the last time. */
  texts(): readonly ReplyText[] {
    this.#readOn();
    const texts = this.#read;
    this.#read = [];
    return texts;
  }

  /** The last text of a reply that is over, what was held back included. */
  rest(): readonly ReplyText[] {
    this.#readOn();
    this.#say(this.#filter.push(this.#letters.rest()) + this.#filter.rest());
    return this.texts();
  }

  #step(token: number): ReplyStep {
    if (this.#model.isEnd(token)) return { finish: 'stop' };
    return this.inThinking ? this.#think(token) : this.#answer(token);
  }

  #think(token: number): ReplyStep {
    const { closeThinking } = this.#model;
    const isSpent = this.#reasoningTokens >= this.#settings.thinkingBudget;
    this.#reasoningTokens += 1;
    if (closeThinking === undefined || (token !== closeThinking && !isSpent)) {
      this.#unread.push(token);
      return {};
    }
    const end = [closeThinking, ...(this.#settings.blankLineAfterThinking ? this.#model.blankLine : [])];
    this.#leaveThinking();
    return end.length > 1 || token !== closeThinking ? { insteadOf: end } : {};
  }

  #answer(token: number): ReplyStep {
    const { openThinking, closeThinking } = this.#model;
    if (this.#spoken.length === 0 && token === openThinking && closeThinking !== undefined) {
      this.#channel = 'reasoning';
      this.#filter = withoutOuterNewlines();
      this.#reasoningTokens = 1;
      return {};
    }
    this.#unread.push(token);
    if (this.#settings.stop.length > 0) this.#readOn();
    return this.#filter.stopped() ? { finish: 'stop' } : {};
  }

  #leaveThinking(): void {
    this.#read = [...this.rest()];
    this.#channel = 'content';
    this.#letters = wholeCharacters(this.#model.textOf);
    this.#filter = withoutLeadingNewlines(untilStop(this.#settings.stop));
  }

  /** All tokens that wait at once. */
  #readOn(): void {
    if (this.#unread.length === 0) return;
    this.#say(this.#filter.push(this.#letters.push(this.#unread)));
    this.#unread = [];
  }

  #say(text: string): void {
    if (text !== '') this.#read.push({ channel: this.#channel, text });
  }
}

interface TextFilter {
  push(text: string): string;
  rest(): string;
  stopped(): boolean;
}

/** Passes text up to the first stop string. */
function untilStop(stops: readonly string[]): TextFilter {
  let held = '';
  let stopped = false;
  return {
    push(text) {
      if (stopped) return '';
      held += text;
      const found = stops.map((stop) => held.indexOf(stop)).filter((at) => at >= 0);
      stopped = found.length > 0;
      const end = stopped ? Math.min(...found) : held.length - longestStart(held, stops);
      const out = held.slice(0, end);
      held = stopped ? '' : held.slice(end);
      return out;
    },
    rest() {
      const out = held;
      held = '';
      return out;
    },
    stopped: () => stopped,
  };
}

/** Length of the longest end of `text` that begins one of the stop strings, but is none. */
export function longestStart(text: string, stops: readonly string[]): number {
  const lengths = stops.flatMap((stop) =>
    Array.from({ length: Math.min(stop.length - 1, text.length) }, (_, index) => index + 1).filter((length) =>
      text.endsWith(stop.slice(0, length)),
    ),
  );
  return Math.max(0, ...lengths);
}

function withoutLeadingNewlines(inner: TextFilter): TextFilter {
  let begun = false;
  return {
    ...inner,
    push(text) {
      const rest = begun ? text : text.replace(/^\n+/, '');
      begun ||= rest !== '';
      return inner.push(rest);
    },
  };
}

function withoutOuterNewlines(): TextFilter {
  let held = '';
  return withoutLeadingNewlines({
    push(text) {
      const all = held + text;
      held = /\n*$/.exec(all)?.[0] ?? '';
      return all.slice(0, all.length - held.length);
    },
    rest: () => '',
    stopped: () => false,
  });
}

/** Bytes of a character that can be missing at the end of a text: each shows as one replacement character. */
const LONGEST_PARTIAL = 3;
const TOKENS_BEFORE = 4;

/** The text of tokens; `before` are some of those that precede them, for tokenisers whose spaces depend on it. */
type TextOf = (tokens: readonly number[], before: readonly number[]) => string;

interface WholeCharacters {
  /** The text that is complete with these tokens. */
  push(tokens: readonly number[]): string;
  /** What is still incomplete. */
  rest(): string;
}

/** A character whose bytes are spread over several tokens comes only when it is complete. */
function wholeCharacters(textOf: TextOf): WholeCharacters {
  let before: readonly number[] = [];
  let open: number[] = [];
  let given = 0;
  const upTo = (text: string, end: number): string => {
    const out = text.slice(given, Math.max(end, given));
    given = Math.max(end, given);
    return out;
  };
  return {
    push(tokens) {
      open.push(...tokens);
      const text = textOf(open, before);
      const partial = Math.min(LONGEST_PARTIAL, /\uFFFD*$/.exec(text)?.[0].length ?? 0);
      const out = upTo(text, text.length - partial);
      if (partial === 0) {
        before = [...before, ...open].slice(-TOKENS_BEFORE);
        open = [];
        given = 0;
      }
      return out;
    },
    rest: () => (open.length === 0 ? '' : upTo(textOf(open, before), Number.POSITIVE_INFINITY)),
  };
}
