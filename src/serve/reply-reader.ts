// A reply as its tokens come: thinking and answer apart, whole characters only, stop strings, budgets and counts.

import { type TextFilter, untilStop, withoutLeadingNewlines, withoutOuterNewlines } from './text-filters.js';
import { type TextOf, type WholeCharacters, wholeCharacters } from './whole-characters.js';

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
  #completionTokens = 0;
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

  get completionTokens(): number {
    return this.#completionTokens;
  }

  get reasoningTokens(): number {
    return this.#reasoningTokens;
  }

  /**
   * Takes the token that was sampled. After a `finish` no more is taken. Text is made of it when it is asked for, unless a stop string has
   * to be looked for.
   */
  take(token: number): ReplyStep {
    if (this.#model.isEnd(token)) {
      this.#completionTokens += 1;
      return { finish: 'stop' };
    }
    return this.inThinking ? this.#think(token) : this.#answer(token);
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

  #think(token: number): ReplyStep {
    const { closeThinking } = this.#model;
    const isSpent = this.#reasoningTokens >= this.#settings.thinkingBudget;
    if (closeThinking === undefined || (token !== closeThinking && !isSpent)) {
      this.#reasoningTokens += 1;
      this.#completionTokens += 1;
      this.#unread.push(token);
      return this.#bounded({});
    }
    const end = [closeThinking, ...(this.#settings.blankLineAfterThinking ? this.#model.blankLine : [])];
    this.#reasoningTokens += 1;
    this.#completionTokens += end.length;
    const isReplaced = end.length > 1 || token !== closeThinking;
    this.#leaveThinking();
    return this.#bounded(isReplaced ? { insteadOf: end } : {});
  }

  #answer(token: number): ReplyStep {
    const { openThinking, closeThinking } = this.#model;
    this.#completionTokens += 1;
    if (this.#completionTokens === 1 && token === openThinking && closeThinking !== undefined) {
      this.#channel = 'reasoning';
      this.#filter = withoutOuterNewlines();
      this.#reasoningTokens = 1;
      return this.#bounded({});
    }
    this.#unread.push(token);
    if (this.#settings.stop.length > 0) this.#readOn();
    return this.#filter.stopped() ? { finish: 'stop' } : this.#bounded({});
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

  /** The step, or the reply's end where its tokens are used up. */
  #bounded(step: ReplyStep): ReplyStep {
    return step.finish === undefined && this.#completionTokens >= this.#settings.maxTokens
      ? { ...step, finish: 'length' }
      : step;
  }
}
