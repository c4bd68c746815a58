// Reads a reply as it grows: events or one JSON document -> the answer, or what is wrong with it. Nothing of it is trusted.

import { StringDecoder } from 'node:string_decoder';
import { EXIT, UserError } from '../../core/errors.js';
import { asObject, isObject, type JsonObject, parseObject } from '../../core/json.js';
import type { TokenScore, Usage } from '../../core/types.js';
import { isTokenCount } from '../../core/usage.js';
import type { AttemptFailure, AttemptReply, Hear } from '../attempt.js';
import { classify } from '../failures/classify.js';
import { isHtml } from '../failures/error-body.js';
import { type CallContext, SCORES_A_REPLY } from '../failures/rules.js';
import type { RunningLimits } from '../http/time-limits.js';
import { CHAT, SCORED_CHAT, type Way } from './request.js';

/** Why a server ended a reply that the model had not finished (vLLM and SGLang, OpenRouter, DeepSeek). */
const ENDED_EARLY = new Set(['abort', 'error', 'insufficient_system_resource']);
/** More than any token's text has, so that only a server that ignores the budget reaches the bound. */
const CHARACTERS_PER_TOKEN = 64;
const LEAST_BOUND = 8 * 2 ** 20;
/** A string can hold this with room to spare; no budget raises the bound above it. */
const MOST_BOUND = 2 ** 28;
/** What the scores of a long prompt's tokens may take: a hundred characters for each of half a million. */
const SCORED_BOUND = 2 ** 26;
/** An object with none of these keys is no message of a chat. */
const MESSAGE_KEYS = ['content', 'reasoning_content', 'reasoning', 'refusal', 'tool_calls', 'function_call'];

/** Rounding may leave a probability a trifle above 1. */
const ROUNDING = 1e-3;

/** What a reply tells of its own progress. */
type Clocks = Pick<RunningLimits, 'progress' | 'tail' | 'firstTokenMs'>;

/** A reply as it grows. Nothing behind its end belongs to it, except its token counts. */
export class Reading {
  readonly usage: Usage = {};
  /** Whether the reply has come to its end. If something is late or broken behind it, only the token counts are lost. */
  finished = false;
  readonly #clocks: Clocks;
  readonly #way: Way;
  readonly #hear: Hear;
  readonly #mostCharacters: number;
  readonly #decoder = new StringDecoder('utf8');
  readonly #stream = new EventStream((data) => this.#event(data));
  readonly #document = new GrowingText();
  readonly #content = new GrowingText();
  readonly #reasoning = new GrowingText();
  #kind: 'unknown' | 'events' | 'document' | 'parsed' = 'unknown';
  #events = 0;
  /** Set when the body made no sense. */
  #broken: string | undefined;
  /** A web page came in the model's place. */
  #isPage = false;
  #error: unknown;
  #hasMessage = false;
  #refused = false;
  #finishReason: string | undefined;
  #servedModel: string | undefined;
  #promptScores: readonly TokenScore[] | undefined;

  /**
   * `maxTokens` is the output budget that was asked for. A reply with more than 64 characters a token (and more than 8 Mi) is
   * cut off. `hear` is told each piece of text as it comes.
   */
  constructor(clocks: Clocks, way: Way, maxTokens: number | undefined, hear: Hear = () => {}) {
    this.#clocks = clocks;
    this.#hear = hear;
    this.#way = way;
    const least = way === SCORED_CHAT ? SCORED_BOUND : LEAST_BOUND;
    this.#mostCharacters = Math.min(MOST_BOUND, Math.max(least, CHARACTERS_PER_TOKEN * (maxTokens ?? 0)));
  }

  get #isChat(): boolean {
    return this.#way === CHAT || this.#way === SCORED_CHAT;
  }

  /** Characters of the reply that have come so far, thinking included. */
  get received(): number {
    return this.#content.length + this.#reasoning.length;
  }

  /** Takes the next piece of the body; false when nothing behind it matters any more. */
  feed(piece: Buffer): boolean {
    this.#grow(this.#decoder.write(piece));
    const held = this.#stream.held + this.#document.length + this.#content.length + this.#reasoning.length;
    if (held > this.#mostCharacters) {
      this.#breakOff(`the reply is longer than its token budget allows (${this.#mostCharacters} characters)`);
    }
    return this.#broken === undefined && this.#error === undefined;
  }

  /** Takes a whole completion that was parsed elsewhere, in place of a body. */
  take(completion: JsonObject): void {
    this.#kind = 'parsed';
    this.#readCompletion(completion);
  }

  /** What the body came to, once it has ended or is given up. */
  outcome(context: () => CallContext): AttemptReply | AttemptFailure {
    this.#grow(this.#decoder.end());
    if (this.#kind === 'events') {
      this.#stream.end();
      if (this.#events === 0) this.#breakOff('the reply is neither JSON nor a stream of events');
    } else if (this.#kind !== 'parsed' && this.#broken === undefined) {
      this.#readDocument(this.#document.toString());
    }
    if (this.finished) return this.#completed(context);
    if (this.#error !== undefined) {
      const failure = classify({ body: textOfError(this.#error) }, context());
      return { ...failure, usage: this.usage };
    }
    const reason = this.#broken ?? 'the reply was cut off: its stream ended without finish_reason';
    return this.#failed({ class: 'malformed', reason, ...(this.#isPage && { down: true }) });
  }

  #failed(rest: Pick<AttemptFailure, 'class' | 'reason' | 'down'>): AttemptFailure {
    return { status: 'failed', ...rest, usage: this.usage };
  }

  #completed(context: () => CallContext): AttemptReply | AttemptFailure {
    if (this.#way === SCORED_CHAT && this.#promptScores === undefined) return this.#unscored(context().host);
    const reason = this.#finishReason;
    if (reason === 'content_filter') {
      return this.#failed({ class: 'refused', reason: 'refused by the content filter (finish_reason content_filter)' });
    }
    if (this.#refused && this.#content.length === 0) {
      return this.#failed({ class: 'refused', reason: 'the model refused to answer (message.refusal)' });
    }
    if (reason !== undefined && ENDED_EARLY.has(reason)) {
      return this.#failed({
        class: 'transient',
        reason: `the server ended the reply early (finish_reason ${reason})`,
      });
    }
    if (!this.#hasMessage) {
      const reason = `the reply holds no ${this.#isChat ? 'message: neither content nor reasoning' : 'text'}`;
      return this.#failed({ class: 'malformed', reason });
    }
    return {
      status: 'ok',
      content: this.#content.toString(),
      ...(this.#reasoning.length > 0 && { reasoning: this.#reasoning.toString() }),
      ...(reason !== undefined && { finishReason: reason }),
      ...(this.#servedModel !== undefined && { servedModel: this.#servedModel }),
      ...(this.#promptScores !== undefined && { promptScores: this.#promptScores }),
      usage: this.usage,
      ...(this.#clocks.firstTokenMs !== undefined && { firstTokenMs: this.#clocks.firstTokenMs }),
    };
  }

  /** A server that knows nothing of scores answers as if they had not been asked for, and will do so for every row. */
  #unscored(host: string): AttemptFailure {
    const reason = 'the reply holds no prompt_logprobs';
    const stop = new UserError(`${host}: ${reason}; ${SCORES_A_REPLY}`, EXIT.unavailable);
    return { ...this.#failed({ class: 'fatal', reason }), stop };
  }

  #grow(piece: string): void {
    let text = piece;
    if (this.#kind === 'unknown') {
      // White space in front of the body, a byte order mark included, belongs to no reply: some servers keep a connection alive
      // with it.
      text = piece.trimStart();
      if (text === '') return;
      // The first character shows it, whatever was asked for.
      this.#kind = '{[<"'.includes(text.charAt(0)) ? 'document' : 'events';
    }
    if (this.#kind === 'document') this.#document.add(text);
    else this.#stream.feed(text);
  }

  #event(data: string): void {
    this.#events++;
    if (data.startsWith('[DONE]')) return;
    if (this.#broken !== undefined || this.#error !== undefined) return;
    const chunk = parseObject(data);
    if (this.finished) {
      if (chunk !== undefined) this.#count(chunk.usage);
      return;
    }
    if (chunk === undefined) {
      // An event without data is legal, and says nothing.
      if (data.trim() !== '') this.#breakOff('an event of the reply is not a JSON object');
      return;
    }
    this.#describe(chunk);
    const choice = this.#firstChoice(chunk.choices);
    if (choice === undefined) return;
    if (this.#add(this.#messageOf(choice))) this.#clocks.progress();
    this.#end(choice);
    if (this.finished) this.#clocks.tail();
  }

  #readDocument(text: string): void {
    const completion = parseObject(text);
    if (completion === undefined) {
      this.#isPage = isHtml(text);
      const what = text.trim() === '' ? 'the reply has no body' : 'the reply is not JSON';
      this.#breakOff(this.#isPage ? 'the reply is a web page, not JSON: does the base URL lack /v1?' : what);
      return;
    }
    this.#readCompletion(completion);
  }

  #readCompletion(completion: JsonObject): void {
    this.#describe(completion);
    const choice = this.#firstChoice(completion.choices);
    if (choice === undefined) {
      this.#breakOff('the reply has no choices');
      return;
    }
    this.#add(this.#messageOf(choice));
    this.#end(choice);
    if (this.#way === SCORED_CHAT) this.#readScores(completion.prompt_logprobs);
    // The closing brace shows that a document is whole: some servers leave finish_reason out.
    this.finished = this.#broken === undefined && this.#error === undefined;
  }

  #readScores(told: unknown): void {
    if (told === undefined || told === null) return;
    this.#promptScores = promptScoresIn(told);
    if (this.#promptScores === undefined) this.#breakOff('prompt_logprobs of the reply are no list of probabilities');
  }

  #breakOff(reason: string): void {
    this.#broken ??= reason;
  }

  /** What a completion, or a piece of one, says beside its choices. */
  #describe(completion: JsonObject): void {
    const { model, usage, error } = completion;
    if (typeof model === 'string' && model !== '') this.#servedModel = model;
    this.#count(usage);
    // Older vLLM has no `error` around what it says.
    if (error || completion.object === 'error') this.#error ??= error || completion;
  }

  /**
   * Token counts as OpenAI names them, and DeepSeek's name for cached ones. Every prompt has tokens: a server that says 0 did not
   * count them, nor its output where that is 0 as well. More cached tokens than the prompt has are no count.
   */
  #count(raw: unknown): void {
    if (!isObject(raw)) return;
    const isCounted = raw.prompt_tokens !== 0;
    const prompt = asObject(raw.prompt_tokens_details);
    const cached = prompt.cached_tokens ?? raw.prompt_cache_hit_tokens;
    const written = prompt.cache_write_tokens;
    const reasoning = asObject(raw.completion_tokens_details).reasoning_tokens;
    if (isCounted && isTokenCount(raw.prompt_tokens)) this.usage.promptTokens = raw.prompt_tokens;
    if (isTokenCount(cached) && cached <= (this.usage.promptTokens ?? cached)) this.usage.cachedTokens = cached;
    if (isTokenCount(written)) this.usage.writtenTokens = written;
    const output = raw.completion_tokens;
    if (isTokenCount(output) && (isCounted || output > 0)) this.usage.completionTokens = output;
    if (isTokenCount(reasoning)) this.usage.reasoningTokens = reasoning;
  }

  #firstChoice(choices: unknown): JsonObject | undefined {
    if (choices === undefined || choices === null) return undefined;
    if (!Array.isArray(choices)) {
      this.#breakOff('choices of the reply is no list');
      return undefined;
    }
    let first: JsonObject | undefined;
    for (const choice of choices) {
      if (!isObject(choice)) {
        this.#breakOff('a choice of the reply is no object');
        return undefined;
      }
      if ((choice.index ?? 0) === 0) first ??= choice;
    }
    return first;
  }

  /** A choice's message, or the piece of it that came; a completion's text is its content. */
  #messageOf(choice: JsonObject): unknown {
    if (this.#isChat) return this.#kind === 'events' ? (choice.delta ?? choice.message) : choice.message;
    return 'text' in choice ? { content: choice.text } : undefined;
  }

  /** Adds a message, or a piece of it; true where it held any text. */
  #add(message: unknown): boolean {
    if (message === undefined || message === null) return false;
    if (!isObject(message)) {
      this.#breakOff('a message of the reply is no object');
      return false;
    }
    this.#hasMessage ||= MESSAGE_KEYS.some((key) => key in message);
    const content = this.#text('content', message.content);
    const reasoning =
      this.#text('reasoning_content', message.reasoning_content) || this.#text('reasoning', message.reasoning);
    if (reasoning !== '') {
      this.#reasoning.add(reasoning);
      this.#hear(reasoning, 'reasoning');
    }
    if (content !== '') {
      this.#content.add(content);
      this.#hear(content, 'content');
    }
    if (this.#text('refusal', message.refusal) !== '') this.#refused = true;
    return content !== '' || reasoning !== '' || this.#refused;
  }

  #text(name: string, value: unknown): string {
    if (typeof value === 'string') return value;
    const text = textOf(value);
    if (text === undefined) this.#breakOff(`${name} of the reply is no text`);
    return text ?? '';
  }

  #end({ finish_reason, error }: JsonObject): void {
    if (error) this.#error ??= error;
    if (finish_reason === undefined || finish_reason === null || finish_reason === '') return;
    if (typeof finish_reason !== 'string') {
      this.#breakOff('finish_reason of the reply is no text');
      return;
    }
    this.#finishReason = finish_reason;
    this.finished = this.#broken === undefined && this.#error === undefined;
  }
}

/** Pieces that are joined at once. */
const PIECES_AT_ONCE = 1024;

/** Text that grows by pieces, in linear time and in little more memory than its characters, however small the pieces are. */
class GrowingText {
  #text = '';
  #pieces: string[] = [];
  /** In UTF-16 units. */
  length = 0;

  add(piece: string): void {
    this.length += piece.length;
    if (this.#pieces.push(piece) >= PIECES_AT_ONCE) this.#join();
  }

  toString(): string {
    this.#join();
    return this.#text;
  }

  #join(): void {
    this.#text += this.#pieces.join('');
    this.#pieces = [];
  }
}

/** A stream of server-sent events (WHATWG HTML, 9.2.6) -> the data of each event. Events are told apart by their data alone. */
export class EventStream {
  /** The line under way. */
  #line = '';
  /** The data of the event under way; undefined where it has none. */
  #data: string | undefined;
  /** The text so far ended in a carriage return: a line feed behind it belongs to the same line end. */
  #afterReturn = false;

  /** `onData` is told the data of each event that has any; it may be empty. */
  constructor(private readonly onData: (data: string) => void) {}

  /** Characters held of what is not whole yet. */
  get held(): number {
    return this.#line.length + (this.#data?.length ?? 0);
  }

  /** Takes the next piece of the stream. Only what is new is looked through. */
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

  /** Lines end in CR, LF or both; no other carriage return stands in a stream of JSON. */
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

/** The error as JSON; empty if it is nested too deeply to be written again. */
function textOfError(error: unknown): string {
  try {
    return JSON.stringify({ error });
  } catch {
    return '';
  }
}

/** The text of a list of parts, or of nothing; undefined where it is neither. */
function textOf(content: unknown): string | undefined {
  if (content === undefined || content === null) return '';
  if (!Array.isArray(content) || !content.every(isObject)) return undefined;
  const texts = content.map(({ text }) => text ?? '');
  return texts.every((text) => typeof text === 'string') ? texts.join('') : undefined;
}

/**
 * How likely a model held the tokens of a prompt to be, as vLLM tells it: those that are scored, in their order. `null` stands for one
 * that is not, and an object of one member, under the token's number, for one that is. Undefined where it is anything else.
 */
export function promptScoresIn(told: unknown): readonly TokenScore[] | undefined {
  if (!Array.isArray(told)) return undefined;
  const scores: TokenScore[] = [];
  for (const position of told) {
    const score = position === null ? null : scoreIn(position);
    if (score === undefined) return undefined;
    // What is behind a gap alone goes together.
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
