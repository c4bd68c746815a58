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
  #text: ChannelText;
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
    this.#letters = new WholeCharacters(model.textOf);
    this.#text = settings.thinking ? thinkingText() : new ChannelText({ stops: settings.stop });
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
    this.#say(this.#text.push(this.#letters.rest()) + this.#text.rest());
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
      this.#text = thinkingText();
      this.#reasoningTokens = 1;
      return {};
    }
    this.#unread.push(token);
    if (this.#settings.stop.length > 0) this.#readOn();
    return this.#text.isStopped ? { finish: 'stop' } : {};
  }

  #leaveThinking(): void {
    this.#read = [...this.rest()];
    this.#channel = 'content';
    this.#letters = new WholeCharacters(this.#model.textOf);
    this.#text = new ChannelText({ stops: this.#settings.stop, trimsStart: true });
  }

  /** All tokens that wait at once. */
  #readOn(): void {
    if (this.#unread.length === 0) return;
    this.#say(this.#text.push(this.#letters.push(this.#unread)));
    this.#unread = [];
  }

  #say(text: string): void {
    if (text !== '') this.#read.push({ channel: this.#channel, text });
  }
}

/** The text of a channel as it comes; what may turn out not to belong to it is held back. */
class ChannelText {
  readonly #stops: readonly string[];
  readonly #trimsEnd: boolean;
  /** Whether newlines are left out until other text comes. */
  #isTrimming: boolean;
  #held = '';
  #isStopped = false;

  /** It ends before the first stop string; newlines at its start and its end are left out where they are trimmed. */
  constructor({ stops, trimsStart = false, trimsEnd = false }: ChannelForm) {
    this.#stops = stops;
    this.#trimsEnd = trimsEnd;
    this.#isTrimming = trimsStart;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  push(text: string): string {
    if (this.#isStopped) return '';
    const kept = this.#isTrimming ? text.replace(/^\n+/, '') : text;
    this.#isTrimming &&= kept === '';
    const all = this.#held + kept;
    const found = this.#stops.map((stop) => all.indexOf(stop)).filter((at) => at >= 0);
    this.#isStopped = found.length > 0;
    const end = this.#isStopped ? Math.min(...found) : all.length - this.#heldBack(all);
    this.#held = this.#isStopped ? '' : all.slice(end);
    return all.slice(0, end);
  }

  /** What was held back, once nothing more comes. */
  rest(): string {
    const out = this.#trimsEnd ? '' : this.#held;
    this.#held = '';
    return out;
  }

  #heldBack(text: string): number {
    return this.#trimsEnd ? (/\n*$/.exec(text)?.[0].length ?? 0) : longestStart(text, this.#stops);
  }
}

interface ChannelForm {
  readonly stops: readonly string[];
  readonly trimsStart?: boolean;
  readonly trimsEnd?: boolean;
}

function thinkingText(): ChannelText {
  return new ChannelText({ stops: [], trimsStart: true, trimsEnd: true });
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

/** Bytes of a character that can be missing at the end of a text: each shows as one replacement character. */
const LONGEST_PARTIAL = 3;
const TOKENS_BEFORE = 4;

/** The text of tokens; `before` are some of those that precede them, for tokenisers whose spaces depend on it. */
type TextOf = (tokens: readonly number[], before: readonly number[]) => string;

/** A character whose bytes are spread over several tokens comes only when it is complete. */
class WholeCharacters {
  readonly #textOf: TextOf;
  #before: readonly number[] = [];
  #open: number[] = [];
  #given = 0;

  constructor(textOf: TextOf) {
    this.#textOf = textOf;
  }

  /** The text that is complete with these tokens. */
  push(tokens: readonly number[]): string {
    this.#open.push(...tokens);
    const text = this.#textOf(this.#open, this.#before);
    const partial = Math.min(LONGEST_PARTIAL, /\uFFFD*$/.exec(text)?.[0].length ?? 0);
    const end = Math.max(text.length - partial, this.#given);
    const out = text.slice(this.#given, end);
    this.#given = end;
    if (partial === 0) {
      this.#before = [...this.#before, ...this.#open].slice(-TOKENS_BEFORE);
      this.#open = [];
      this.#given = 0;
    }
    return out;
  }

  /** What is still incomplete; the last call. */
  rest(): string {
    return this.#open.length === 0 ? '' : this.#textOf(this.#open, this.#before).slice(this.#given);
  }
}
