// Reads a reply as it grows: events or one JSON document -> the answer, or what is wrong with it. Nothing in it is trusted.

import { StringDecoder } from 'node:string_decoder';
import { isTokenCount } from '../../core/costs.js';
import { unavailable } from '../../core/errors.js';
import { asObject, isObject, type JsonObject, parseObject } from '../../core/json.js';
import type { TokenScore, Usage } from '../../core/types.js';
import type { AttemptFailure, AttemptReply, Hear } from '../attempt.js';
import { classify } from '../failures/classify.js';
import { type CallContext, isHtml, SCORES_A_REPLY } from '../failures/rules.js';
import type { RunningLimits } from '../http/time-limits.js';
import { CHAT, SCORED_CHAT, type Way } from './request.js';

/** Reasons of servers for ending a reply that the model had not finished (vLLM and SGLang, OpenRouter, DeepSeek). */
const ENDED_EARLY = new Set(['abort', 'error', 'insufficient_system_resource']);
/** More characters than any token has, so that only a server that ignores the budget reaches the limit. */
const CHARACTERS_PER_TOKEN = 64;
const LEAST_BOUND = 8 * 2 ** 20;
/** Well below the longest possible string; no budget raises the bound above it. */
const MOST_BOUND = 2 ** 28;
/** Room for the scores of a long prompt's tokens: a hundred characters for each of half a million. */
const SCORED_BOUND = 2 ** 26;
/** An object with none of these keys is not a chat message. */
const MESSAGE_KEYS = ['content', 'reasoning_content', 'reasoning', 'refusal', 'tool_calls', 'function_call'];

/** Rounding may leave a probability slightly above 1. */
const ROUNDING = 1e-3;

/** What a reply reports about its own progress. */
type Clocks = Pick<RunningLimits, 'progress' | 'tail' | 'firstTokenMs'>;

/**
 * Ends the reading of a body that makes no sense; its cause may say that a web page came instead of the model's reply, or which error
 * was reported.
 */
class Malformed extends Error {}

/** A reply as it grows. Only token counts may still follow its end. */
export class Reading {
  readonly usage: Usage = {};
  /** Whether the reply is complete. If something after that is late or broken, only the token counts are lost. */
  finished = false;
  readonly #mostCharacters: number;
  readonly #isChat: boolean;
  readonly #isScored: boolean;
  readonly #decoder = new StringDecoder('utf8');
  readonly #stream = new EventStream((data) => this.#event(data));
  #document = '';
  #content = '';
  #reasoning = '';
  #kind: 'unknown' | 'events' | 'document' = 'unknown';
  #events = 0;
  #broken: Malformed | undefined;
  #hasMessage = false;
  #refused = false;
  #finishReason: string | undefined;
  #servedModel: string | undefined;
  #promptScores: readonly TokenScore[] | undefined;

  /**
   * `maxTokens` is the requested output budget. A reply with more than 64 characters per token (and more than 8 Mi) is cut off. `hear`
   * receives each piece of text as it arrives.
   */
  constructor(
    private readonly clocks: Clocks,
    way: Way,
    maxTokens = 0,
    private readonly hear: Hear = () => {},
  ) {
    this.#isScored = way === SCORED_CHAT;
    this.#isChat = way === CHAT || this.#isScored;
    const least = this.#isScored ? SCORED_BOUND : LEAST_BOUND;
    this.#mostCharacters = Math.min(MOST_BOUND, Math.max(least, CHARACTERS_PER_TOKEN * maxTokens));
  }

  /** Characters of the reply received so far, including thinking. */
  get received(): number {
    return this.#content.length + this.#reasoning.length;
  }

  /** Takes the next piece of the body; false if nothing after it matters any more. */
  feed(piece: Buffer): boolean {
    this.#read(() => {
      this.#grow(this.#decoder.write(piece));
      if (this.#stream.held + this.#document.length + this.received <= this.#mostCharacters) return;
      throw new Malformed(`the reply is longer than its token budget allows (${this.#mostCharacters} characters)`);
    });
    return this.#broken === undefined;
  }

  /** The result of the body, once it has ended or is given up. */
  outcome(context: () => CallContext): AttemptReply | AttemptFailure {
    this.#read(() => {
      this.#grow(this.#decoder.end());
      if (this.#kind !== 'events') return this.#readDocument(this.#document);
      this.#stream.end();
      if (this.#events === 0) throw new Malformed('the reply is neither JSON nor a stream of events');
    });
    if (this.finished) return this.#completed(context);
    const { isPage, told } = asObject(this.#broken?.cause);
    if (told !== undefined) return { ...classify({ body: textOfError(told) }, context()), usage: this.usage };
    const reason = this.#broken?.message ?? 'the reply was cut off: its stream ended without finish_reason';
    return this.#failed('malformed', reason, isPage ? { down: true } : {});
  }

  /** Continues reading until the body is found to be broken. */
  #read(read: () => void): void {
    if (this.#broken !== undefined) return;
    try {
      read();
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      this.#broken = error;
    }
  }

  #failed(kind: AttemptFailure['class'], reason: string, more: Partial<AttemptFailure> = {}): AttemptFailure {
    return { status: 'failed', class: kind, reason, usage: this.usage, ...more };
  }

  #completed(context: () => CallContext): AttemptReply | AttemptFailure {
    const finishReason = this.#finishReason;
    if (this.#isScored && this.#promptScores === undefined) {
      // A server without support for scores answers as if they had not been requested, and will do so for every row.
      const reason = 'the reply has no prompt_logprobs';
      const stop = unavailable(`${context().host}: ${reason}; ${SCORES_A_REPLY}`);
      return this.#failed('fatal', reason, { stop });
    }
    if (finishReason === 'content_filter') {
      return this.#failed('refused', 'refused by the content filter (finish_reason content_filter)');
    }
    if (this.#refused && this.#content.length === 0) {
      return this.#failed('refused', 'the model refused to answer (message.refusal)');
    }
    if (finishReason !== undefined && ENDED_EARLY.has(finishReason)) {
      return this.#failed('transient', `the server ended the reply early (finish_reason ${finishReason})`);
    }
    if (!this.#hasMessage) {
      const what = this.#isChat ? 'message with content or reasoning' : 'text';
      return this.#failed('malformed', `the reply has no ${what}`);
    }
    const { firstTokenMs } = this.clocks;
    return {
      status: 'ok',
      content: this.#content,
      ...(this.#reasoning.length > 0 && { reasoning: this.#reasoning }),
      ...(finishReason !== undefined && { finishReason }),
      ...(this.#servedModel !== undefined && { servedModel: this.#servedModel }),
      ...(this.#promptScores !== undefined && { promptScores: this.#promptScores }),
      usage: this.usage,
      ...(firstTokenMs !== undefined && { firstTokenMs }),
    };
  }

  #grow(piece: string): void {
    let text = piece;
    if (this.#kind === 'unknown') {
      // White space before the body, including a byte order mark, is not part of a reply: some servers use it to keep a connection
      // alive.
      text = piece.trimStart();
      if (text === '') return;
      // The first character decides, whatever was requested.
      this.#kind = '{[<"'.includes(text.charAt(0)) ? 'document' : 'events';
    }
    if (this.#kind === 'document') this.#document += text;
    else this.#stream.feed(text);
  }

  #event(data: string): void {
    this.#events++;
    if (data.startsWith('[DONE]')) return;
    const chunk = parseObject(data);
    if (this.finished) {
      countInto(this.usage, chunk?.usage);
      return;
    }
    if (chunk === undefined) {
      // An event without data is legal, and says nothing.
      if (data.trim() === '') return;
      throw new Malformed('an event of the reply is not a JSON object');
    }
    this.#readCompletion(chunk, false);
  }

  #readDocument(text: string): void {
    const completion = parseObject(text);
    if (completion !== undefined) this.#readCompletion(completion, true);
    else if (isHtml(text)) {
      throw new Malformed('the reply is a web page, not JSON: is /v1 missing from the base URL?', {
        cause: { isPage: true },
      });
    } else throw new Malformed(text.trim() === '' ? 'the reply has no body' : 'the reply is not JSON');
  }

  /** Reads a complete completion, or a piece of one. */
  #readCompletion(completion: JsonObject, isWhole: boolean): void {
    const { model, usage, error, prompt_logprobs: told } = completion;
    if (typeof model === 'string' && model !== '') this.#servedModel = model;
    countInto(this.usage, usage);
    // Older vLLM has no `error` around its message.
    if (error || completion.object === 'error')
      throw new Malformed('an error', { cause: { told: error || completion } });
    const choice = firstChoice(completion.choices);
    if (choice === undefined) {
      if (isWhole) throw new Malformed('the reply has no choices');
      return;
    }
    const { message, delta, finish_reason: reason } = choice;
    const text = 'text' in choice ? { content: choice.text } : undefined;
    const hasGrown = this.#add(!this.#isChat ? text : isWhole ? message : (delta ?? message));
    if (hasGrown && !isWhole) this.clocks.progress();
    if (isWhole && this.#isScored && told !== undefined && told !== null) {
      this.#promptScores = promptScoresIn(told);
      if (this.#promptScores === undefined) throw new Malformed('prompt_logprobs of the reply are not probabilities');
    }
    if (choice.error) throw new Malformed('an error', { cause: { told: choice.error } });
    if (reason !== undefined && reason !== null && reason !== '') {
      if (typeof reason !== 'string') throw new Malformed('finish_reason of the reply is not text');
      this.#finishReason = reason;
    }
    // The closing brace shows that a document is complete: some servers leave finish_reason out.
    this.finished = isWhole || this.#finishReason !== undefined;
    if (this.finished && !isWhole) this.clocks.tail();
  }

  /** Adds a message, or a piece of it; true if it contained any text. */
  #add(message: unknown): boolean {
    if (message === undefined || message === null) return false;
    if (!isObject(message)) throw new Malformed('a message of the reply is not an object');
    this.#hasMessage ||= MESSAGE_KEYS.some((key) => key in message);
    const content = textIn(message, 'content');
    const reasoning = textIn(message, 'reasoning_content') || textIn(message, 'reasoning');
    if (reasoning !== '') {
      this.#reasoning += reasoning;
      this.hear(reasoning, 'reasoning');
    }
    if (content !== '') {
      this.#content += content;
      this.hear(content, 'content');
    }
    if (textIn(message, 'refusal') !== '') this.#refused = true;
    return content !== '' || reasoning !== '' || this.#refused;
  }
}

/**
 * Adopts token counts under OpenAI's names, and under DeepSeek's name for cached ones. Every prompt has tokens: a server that says 0
 * did not count them, nor its output if that is 0, too. More cached tokens than the prompt has are not a valid count.
 */
export function countInto(usage: Usage, raw: unknown): void {
  const { prompt_tokens: prompt, completion_tokens: output, ...more } = asObject(raw);
  const details = asObject(more.prompt_tokens_details);
  const cached = details.cached_tokens ?? more.prompt_cache_hit_tokens;
  const written = details.cache_write_tokens;
  const reasoning = asObject(more.completion_tokens_details).reasoning_tokens;
  const isCounted = prompt !== 0;
  if (isCounted && isTokenCount(prompt)) usage.promptTokens = prompt;
  if (isTokenCount(cached) && cached <= (usage.promptTokens ?? cached)) usage.cachedTokens = cached;
  if (isTokenCount(written)) usage.writtenTokens = written;
  if (isTokenCount(output) && (isCounted || output > 0)) usage.completionTokens = output;
  if (isTokenCount(reasoning)) usage.reasoningTokens = reasoning;
}

/** The error as JSON; empty if it is nested too deeply to be serialised again. */
function textOfError(error: unknown): string {
  try {
    return JSON.stringify({ error });
  } catch {
    return '';
  }
}

function firstChoice(choices: unknown): JsonObject | undefined {
  if (choices === undefined || choices === null) return undefined;
  if (!Array.isArray(choices) || !choices.every(isObject)) {
    throw new Malformed('choices of the reply are not a list of objects');
  }
  return choices.find(({ index }) => (index ?? 0) === 0);
}

/** A text in a message: a string, a list of parts, or absent. */
function textIn(message: JsonObject, name: string): string {
  const value = message[name];
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  const texts = Array.isArray(value) && value.every(isObject) ? value.map(({ text }) => text ?? '') : [value];
  if (texts.every((text) => typeof text === 'string')) return texts.join('');
  throw new Malformed(`${name} of the reply is not text`);
}

/** A stream of server-sent events (WHATWG HTML, 9.2.6) -> the data of each event. Only their data distinguishes events. */
export class EventStream {
  /** The current line. */
  #line = '';
  /** The data of the current event; undefined if it has none. */
  #data: string | undefined;
  /** The text so far ended in a carriage return: a line feed after it belongs to the same line end. */
  #afterReturn = false;

  /** `onData` receives the data of each event that has any; it may be empty. */
  constructor(private readonly onData: (data: string) => void) {}

  /** Characters of the incomplete line and event. */
  get held(): number {
    return this.#line.length + (this.#data?.length ?? 0);
  }

  /** Takes the next piece of the stream. Only new text is scanned. */
  feed(piece: string): void {
    const [rest = '', ...lines] = this.#withLineFeeds(piece).split('\n');
    this.#line += rest;
    for (const next of lines) {
      this.#take(this.#line);
      this.#line = next;
    }
  }

  /** The end of the stream ends an event that lacks its blank line. */
  end(): void {
    this.feed('\n\n');
  }

  /** Lines end in CR, LF or both; a stream of JSON contains no other carriage return. */
  #withLineFeeds(piece: string): string {
    if (piece === '') return piece;
    const text = this.#afterReturn && piece.startsWith('\n') ? piece.slice(1) : piece;
    this.#afterReturn = piece.endsWith('\r');
    return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  }

  #take(line: string): void {
    if (line === '') {
      if (this.#data !== undefined) this.onData(this.#data);
      this.#data = undefined;
    } else if (line.startsWith('data:') || line === 'data') {
      const value = line.slice(line[5] === ' ' ? 6 : 5);
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    }
  }
}

/**
 * How likely a model found the tokens of a prompt, as vLLM reports it: the scored ones, in order. `null` stands for a token without a
 * score, and an object with one member, named by the token's number, for one with a score. Undefined for anything else.
 */
export function promptScoresIn(told: unknown): readonly TokenScore[] | undefined {
  if (!Array.isArray(told)) return undefined;
  const scores: TokenScore[] = [];
  for (const position of told) {
    const score = position === null ? null : scoreIn(position);
    if (score === undefined) return undefined;
    // Only the tokens after the last gap form one scored run.
    if (score === null) scores.length = 0;
    else scores.push(score);
  }
  return scores;
}

function scoreIn(position: unknown): TokenScore | undefined {
  const [only, ...others] = isObject(position) ? Object.values(position) : [];
  if (!isObject(only) || others.length > 0) return undefined;
  const { logprob, decoded_token: text } = only;
  if (typeof logprob !== 'number' || !(logprob <= ROUNDING) || typeof (text ?? '') !== 'string') return undefined;
  return { text: typeof text === 'string' ? text : '', nats: Math.max(0, -logprob) };
}
