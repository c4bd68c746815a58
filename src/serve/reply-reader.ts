// A reply as its tokens come: thinking and answer apart, whole characters only, stop strings, budgets and counts.

import { asToken, asTokens, type LlamaCpp } from './inner-calls.js';

export const THINK = '<think>';
const END_OF_THINK = '</think>';

/** What the reader must know of the model. */
export type ReplyTokens = ReturnType<typeof replyTokens>;

export function replyTokens(model: LlamaCpp.LlamaModel) {
  const single = (text: string): number | undefined => {
    const found = model.tokenize(text, true);
    return found.length === 1 ? found[0] : undefined;
  };
  return {
    isEnd: (token: number) => model.isEogToken(asToken(token)),
    /** The text of tokens; `before` are some of those that precede them, for tokenisers whose spaces depend on it. */
    textOf: (tokens: readonly number[], before: readonly number[]) =>
      model.detokenize(asTokens(tokens), false, asTokens(before)),
    /** Undefined where the model has no such single token: its thinking then stays in the content. */
    openThinking: single(THINK),
    closeThinking: single(END_OF_THINK),
    /** Tokens of the blank line that templates put behind thinking; numbers here, as everywhere. */
    blankLine: model.tokenize('\n\n', true) as readonly number[],
  };
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

/** Bytes of a character that can be missing at the end of a text: each shows as one replacement character. */
const LONGEST_PARTIAL = 3;
const TOKENS_BEFORE = 4;

/**
 * Thinking loses the newlines at both its ends and the content behind it those at its start, as the model card's own example does; content
 * without thinking is left as it is. The end token and tokens that were put in count as completion tokens, those up to the end of thinking
 * as reasoning tokens.
 */
export class ReplyReader {
  inThinking: boolean;
  /** The reply's tokens, those included that were put in and the one that ends it. */
  readonly spoken: number[] = [];
  reasoningTokens = 0;
  /** Tokens taken, the text of which is not complete or was not asked for yet: all of the same channel. */
  #open: number[] = [];
  #before: readonly number[] = [];
  /** Letters of the open tokens' text that were read. */
  #given = 0;
  /** Whether newlines are left out until other text comes. */
  #isTrimming: boolean;
  /** What may turn out not to belong to the channel. */
  #held = '';
  #isStopped = false;
  /** Read, but not handed on yet. */
  #read: ReplyText[] = [];

  constructor(
    private readonly model: ReplyTokens,
    private readonly settings: ReplySettings,
  ) {
    this.inThinking = settings.thinking;
    this.#isTrimming = settings.thinking;
  }

  /**
   * Takes the token that was sampled. After a `finish` no more is taken. Text is made of it when it is asked for, unless a stop string has
   * to be looked for.
   */
  take(token: number): ReplyStep {
    const step = this.#step(token);
    this.spoken.push(...(step.insteadOf ?? [token]));
    const isUsedUp = this.spoken.length >= this.settings.maxTokens;
    return step.finish === undefined && isUsedUp ? { ...step, finish: 'length' } : step;
  }

  /** The text that may be handed on since the last time. */
  texts(): readonly ReplyText[] {
    this.#readOn(LONGEST_PARTIAL);
    const texts = this.#read;
    this.#read = [];
    return texts;
  }

  /** The last text of a reply that is over, what was held back included. */
  rest(): readonly ReplyText[] {
    this.#readOn(0);
    // Of thinking it is the newlines at its end.
    if (!this.inThinking) this.#say(this.#held);
    return this.texts();
  }

  #step(token: number): ReplyStep {
    const { openThinking, closeThinking } = this.model;
    if (this.model.isEnd(token)) return { finish: 'stop' };
    if (this.inThinking) return this.#think(token);
    if (this.spoken.length === 0 && token === openThinking && closeThinking !== undefined) {
      this.inThinking = true;
      this.#isTrimming = true;
      this.reasoningTokens = 1;
      return {};
    }
    this.#open.push(token);
    if (this.settings.stop.length > 0) this.#readOn(LONGEST_PARTIAL);
    return this.#isStopped ? { finish: 'stop' } : {};
  }

  #think(token: number): ReplyStep {
    const { closeThinking } = this.model;
    const isSpent = this.reasoningTokens >= this.settings.thinkingBudget;
    this.reasoningTokens += 1;
    if (closeThinking === undefined || (token !== closeThinking && !isSpent)) {
      this.#open.push(token);
      return {};
    }
    this.#readOn(0);
    this.inThinking = false;
    this.#held = '';
    this.#isTrimming = true;
    this.#before = [];
    const end = [closeThinking, ...(this.settings.blankLineAfterThinking ? this.model.blankLine : [])];
    return end.length > 1 || token !== closeThinking ? { insteadOf: end } : {};
  }

  /** Reads the open tokens. A character whose bytes are spread over several of them comes only when it is complete, or nothing more comes. */
  #readOn(longestPartial: number): void {
    if (this.#open.length === 0) return;
    const text = this.model.textOf(this.#open, this.#before);
    const partial = Math.min(longestPartial, /\uFFFD*$/.exec(text)?.[0].length ?? 0);
    const end = Math.max(text.length - partial, this.#given);
    this.#push(text.slice(this.#given, end));
    this.#given = end;
    if (partial > 0) return;
    this.#before = [...this.#before, ...this.#open].slice(-TOKENS_BEFORE);
    this.#open = [];
    this.#given = 0;
  }

  /** The content ends before the first stop string; newlines at the start and the end of thinking, and behind it, are left out. */
  #push(text: string): void {
    if (this.#isStopped) return;
    const kept = this.#isTrimming ? text.replace(/^\n+/, '') : text;
    this.#isTrimming &&= kept === '';
    const all = this.#held + kept;
    const stops = this.inThinking ? [] : this.settings.stop;
    const found = stops.map((stop) => all.indexOf(stop)).filter((at) => at >= 0);
    this.#isStopped = found.length > 0;
    const mayEnd = this.inThinking ? (/\n*$/.exec(all)?.[0].length ?? 0) : longestStart(all, stops);
    const end = this.#isStopped ? Math.min(...found) : all.length - mayEnd;
    this.#held = this.#isStopped ? '' : all.slice(end);
    this.#say(all.slice(0, end));
  }

  #say(text: string): void {
    if (text !== '') this.#read.push({ channel: this.inThinking ? 'reasoning' : 'content', text });
  }
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
