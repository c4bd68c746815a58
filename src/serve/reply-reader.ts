// Reads a reply token by token: splits thinking from answer, emits complete characters only, and applies stop strings, budgets and counts.

import { asToken, asTokens, type LlamaCpp } from './inner-calls.js';

export const THINK = '<think>';
const END_OF_THINK = '</think>';

/** What the reader needs to know about the model. */
export type ReplyTokens = ReturnType<typeof replyTokens>;

export function replyTokens(model: LlamaCpp.LlamaModel) {
  const single = (text: string): number | undefined => {
    const found = model.tokenize(text, true);
    return found.length === 1 ? found[0] : undefined;
  };
  return {
    isEnd: (token: number) => model.isEogToken(asToken(token)),
    /** The text of tokens; `before` are some preceding tokens, for tokenisers whose spaces depend on them. */
    textOf: (tokens: readonly number[], before: readonly number[]) =>
      model.detokenize(asTokens(tokens), false, asTokens(before)),
    /** Undefined if the model has no such single token: its thinking then stays in the content. */
    openThinking: single(THINK),
    closeThinking: single(END_OF_THINK),
    /** Tokens of the blank line that templates put after thinking; numbers here, as everywhere. */
    blankLine: model.tokenize('\n\n', true) as readonly number[],
  };
}

export interface ReplySettings {
  /** Whether the prompt ends inside thinking. */
  readonly thinking: boolean;
  /** Most thinking tokens; then the end of thinking is inserted. */
  readonly thinkingBudget: number;
  readonly maxTokens: number;
  /** Searched in the content, never in the thinking. */
  readonly stop: readonly string[];
  /** Insert a blank line after thinking, because a grammar would not let the model write it. */
  readonly blankLineAfterThinking: boolean;
}

interface ReplyText {
  readonly channel: 'reasoning' | 'content';
  readonly text: string;
}

/** The result of a token: tokens to continue with instead of it, or the end of the reply. */
interface ReplyStep {
  readonly insteadOf?: readonly number[];
  readonly finish?: 'stop' | 'length';
}

/** Most bytes of an incomplete character at the end of a text; each shows as one replacement character. */
const LONGEST_PARTIAL = 3;
const TOKENS_BEFORE = 4;

/**
 * Newlines are stripped from both ends of thinking and from the start of the content after it, as in the model card's own example; content
 * without thinking is unchanged. The end token and inserted tokens count as completion tokens, those up to the end of thinking as
 * reasoning tokens.
 */
export class ReplyReader {
  inThinking: boolean;
  /** The reply's tokens, including inserted ones and the one that ends it. */
  readonly spoken: number[] = [];
  reasoningTokens = 0;
  /** Tokens whose text is incomplete or was not asked for yet; all of the same channel. */
  #open: number[] = [];
  #before: readonly number[] = [];
  /** Characters of the open tokens' text already read. */
  #given = 0;
  /** Whether newlines are skipped until other text arrives. */
  #isTrimming: boolean;
  /** Text that may turn out not to belong to the channel. */
  #held = '';
  #isStopped = false;
  /** Read, but not yet handed on. */
  #read: ReplyText[] = [];

  constructor(
    private readonly model: ReplyTokens,
    private readonly settings: ReplySettings,
  ) {
    this.inThinking = settings.thinking;
    this.#isTrimming = settings.thinking;
  }

  /**
   * Takes a sampled token; not to be called after a `finish`. Its text is made when asked for, unless stop strings must be searched.
   */
  take(token: number): ReplyStep {
    const step = this.#step(token);
    this.spoken.push(...(step.insteadOf ?? [token]));
    const isUsedUp = this.spoken.length >= this.settings.maxTokens;
    return step.finish === undefined && isUsedUp ? { ...step, finish: 'length' } : step;
  }

  /** New text since the last call that may be handed on. */
  texts(): readonly ReplyText[] {
    this.#readOn(LONGEST_PARTIAL);
    const texts = this.#read;
    this.#read = [];
    return texts;
  }

  /** The last text of a finished reply, including what was held back. */
  rest(): readonly ReplyText[] {
    this.#readOn(0);
    // In thinking, the held text is its trailing newlines.
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

  /** Reads the open tokens. A character spread over several tokens is emitted only when it is complete, or when no more tokens follow. */
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

  /** The content ends before the first stop string; newlines at the start and end of thinking, and after it, are dropped. */
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

/** Length of the longest end of `text` that is a proper prefix of a stop string. */
export function longestStart(text: string, stops: readonly string[]): number {
  const lengths = stops.flatMap((stop) =>
    Array.from({ length: Math.min(stop.length - 1, text.length) }, (_, index) => index + 1).filter((length) =>
      text.endsWith(stop.slice(0, length)),
    ),
  );
  return Math.max(0, ...lengths);
}
