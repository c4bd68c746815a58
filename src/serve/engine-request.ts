// A request inside the engine: made of what is asked, taking the tokens of its slot, and its events on their way to the one who reads them.

import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  EngineError,
  type EnginePrompt,
  type GenerateEvent,
  type GenerateOptions,
  type PromptOptions,
} from './engine-contract.js';
import { grammarOf } from './grammar.js';
import type { Loaded } from './load.js';
import type { Templating } from './prompt.js';
import { planPrompt } from './prompt-plan.js';
import { ReplyReader, type ReplyTokens } from './reply-reader.js';
import { asToken, asTokens, type LlamaCpp } from './runtime.js';
import type { Scheduled } from './scheduler.js';

/** A request from its arrival to the end of its events. */
export interface Request extends Scheduled {
  readonly options: GenerateOptions;
  readonly reader: ReplyReader;
  readonly grammar: LlamaCpp.LlamaGrammarEvaluationState | undefined;
  readonly events: EventQueue;
  /** Tokens behind the prompt that are scored, at least one; nothing is generated then. */
  readonly scoring: { readonly tokens: readonly number[]; readonly top: number } | undefined;
  /** Set when the reply is over. */
  finished: 'stop' | 'length' | undefined;
  /** Prompt tokens that needed no evaluation; known once it has a slot. */
  cachedTokens: number;
}

/** Events from the steps to the one who reads them. */
interface EventQueue {
  push(event: GenerateEvent): void;
  fail(error: unknown): void;
  /** What was pushed before is still read. */
  close(): void;
  read(): AsyncGenerator<GenerateEvent, void, void>;
}

function eventQueue(): EventQueue {
  const events: GenerateEvent[] = [];
  let failure: { readonly error: unknown } | undefined;
  let ended = false;
  let notify: () => void = () => undefined;
  const end = (): void => {
    ended = true;
    notify();
  };
  return {
    push(event) {
      events.push(event);
      notify();
    },
    fail(error) {
      failure = { error };
      end();
    },
    close: end,
    async *read() {
      for (;;) {
        yield* events.splice(0);
        if (failure !== undefined) throw failure.error;
        if (ended && events.length === 0) return;
        if (events.length === 0) {
          await new Promise<void>((resolve) => {
            notify = resolve;
          });
        }
      }
    },
  };
}

const THINK = '<think>';
const END_OF_THINK = '</think>';
/** The grammar maker ends a schema's text with these; they are cut off like a stop string. */
const SCHEMA_END = '\n\n\n\n';
/** The model's own distribution: every token, as likely as it is. */
const UNCHANGED = {
  ...{ temperature: 1, topK: 0, topP: 1, minP: 0 },
  ...{ presencePenalty: 0, frequencyPenalty: 0, repetitionPenalty: 1 },
};

/** Characters a token above which a text is first counted in pieces: few texts have so many and fit. */
const USUAL_CHARACTERS = 4;
/** Characters that are tokenised in some tens of milliseconds. */
const PIECE = 2 ** 16;
/** Tokens that a cut in the middle of a word can add, at most. */
const CUT_TOKENS = 16;

/** Makes requests for one loaded model: prompts are rendered, tokenised and checked. Methods throw EngineError for what cannot be served. */
export class Preparation {
  readonly #loaded: Loaded;
  readonly #template: Templating;
  readonly #reading: ReplyTokens;
  readonly #vocabularySize: number;

  constructor(loaded: Loaded, template: Templating) {
    this.#loaded = loaded;
    this.#template = template;
    this.#reading = replyTokens(loaded.model);
    this.#vocabularySize = loaded.model.fileInfo.metadata.tokenizer?.ggml?.tokens?.length ?? 0;
  }

  async request(prompt: EnginePrompt, options: GenerateOptions): Promise<Request> {
    const { contextSize } = this.#loaded.context;
    const { text, tokens } = await this.prompt(prompt, { ...options, addGenerationPrompt: true });
    // One position stays free, since the library shifts the context when the last is taken; and a reply needs room for a token.
    if (tokens.length > contextSize - 1) {
      throw new EngineError({ reason: 'context-overflow', promptTokens: tokens.length, contextSize });
    }
    const grammar = await grammarOf(this.#loaded, options);
    const events = eventQueue();
    return {
      prompt: planPrompt(text, tokens, this.#template.marks, (part) => this.#tokenize(part)),
      options,
      reader: this.#reader('messages' in prompt, text, options, grammar !== undefined),
      grammar,
      events,
      fail: (error) => events.fail(error),
      scoring: undefined,
      finished: undefined,
      cachedTokens: 0,
    };
  }

  #reader(isChat: boolean, text: string, options: GenerateOptions, isHeld: boolean): ReplyReader {
    const reading = isChat ? this.#reading : { ...this.#reading, openThinking: undefined, closeThinking: undefined };
    return new ReplyReader(reading, {
      thinking: reading.closeThinking !== undefined && text.trimEnd().endsWith(THINK),
      thinkingBudget: options.thinkingBudget,
      maxTokens: options.maxTokens ?? Number.POSITIVE_INFINITY,
      stop: options.responseFormat.type === 'json_schema' ? [...options.stop, SCHEMA_END] : options.stop,
      blankLineAfterThinking: isHeld,
    });
  }

  /** The request that scores tokens, those from position `from` on. What a slot holds of the given request is reused. */
  scoring(tokens: readonly number[], from: number, { prompt, options, ...request }: Request): Request {
    const events = eventQueue();
    const isBefore = (at: number) => at < from;
    const { pauses, checkpoints } = prompt;
    return {
      ...request,
      prompt: {
        tokens: tokens.slice(0, from),
        pauses: pauses.filter(isBefore),
        checkpoints: checkpoints.filter(isBefore),
      },
      options: { ...options, ...UNCHANGED },
      grammar: undefined,
      events,
      fail: (error) => events.fail(error),
      scoring: { tokens: tokens.slice(from), top: options.scores?.top ?? 0 },
      finished: undefined,
    };
  }

  /** The text that is evaluated, and its tokens. */
  async prompt(prompt: EnginePrompt, options: PromptOptions): Promise<{ text: string; tokens: readonly number[] }> {
    if ('tokens' in prompt) return { text: this.textOf(prompt.tokens), tokens: prompt.tokens };
    const text =
      'text' in prompt
        ? this.#withBos(prompt.text)
        : this.#template.render(prompt.messages, prompt.tools ?? [], options);
    return { text, tokens: await this.#tokenizeWithin(text) };
  }

  #tokenize(text: string): readonly number[] {
    return this.#loaded.model.tokenize(text, true);
  }

  textOf(tokens: readonly number[]): string {
    const odd = tokens.find((token) => token >= this.#vocabularySize);
    if (odd === undefined) return this.#loaded.model.detokenize(asTokens(tokens), true);
    const message = `${odd} is no token of this model, which has ${this.#vocabularySize}`;
    throw new EngineError({ reason: 'invalid-request', message, param: 'prompt' });
  }

  /** The tokenizer blocks everything else, so that a text that cannot fit is refused after its first pieces. */
  async #tokenizeWithin(text: string): Promise<readonly number[]> {
    const { contextSize } = this.#loaded.context;
    let counted = 0;
    for (let at = 0; text.length > USUAL_CHARACTERS * contextSize && at < text.length; at += PIECE) {
      counted += Math.max(0, this.#tokenize(text.slice(at, at + PIECE)).length - CUT_TOKENS);
      if (counted > contextSize) {
        throw new EngineError({ reason: 'context-overflow', promptTokens: counted, contextSize, more: true });
      }
      await nextTurn();
    }
    return this.#tokenize(text);
  }

  /** For plain text: a chat template writes the mark itself. */
  #withBos(text: string): string {
    const { bosString, shouldPrependBosToken } = this.#loaded.model.tokens;
    return shouldPrependBosToken && bosString != null && !text.startsWith(bosString) ? bosString + text : text;
  }
}

function replyTokens(model: LlamaCpp.LlamaModel): ReplyTokens {
  const single = (text: string): number | undefined => {
    const found = model.tokenize(text, true);
    return found.length === 1 ? found[0] : undefined;
  };
  return {
    isEnd: (token) => model.isEogToken(asToken(token)),
    textOf: (tokens, before) => model.detokenize(asTokens(tokens), false, asTokens(before)),
    openThinking: single(THINK),
    closeThinking: single(END_OF_THINK),
    blankLine: model.tokenize('\n\n', true),
  };
}

/** What the next step evaluates; none where the reply is over. The text is told apart from it, since nothing waits for that. */
export function takeToken(request: Request, token: number, free: number): readonly number[] {
  const { insteadOf, finish } = request.reader.take(token);
  const next = insteadOf ?? [token];
  request.finished = finish ?? (free < next.length ? 'length' : undefined);
  return request.finished === undefined ? next : [];
}

/** Hands on the text of the tokens taken since the last time, and the end where it has come. Does not throw. */
export function tell(request: Request): void {
  const { reader, events, finished } = request;
  try {
    for (const text of finished === undefined ? reader.texts() : reader.rest()) events.push({ type: 'text', ...text });
    if (finished !== undefined) tellEnd(request, finished);
  } catch (error) {
    request.fail(error);
  }
}

export function tellEnd({ reader, events, prompt, cachedTokens }: Request, finishReason: 'stop' | 'length'): void {
  events.push({
    type: 'end',
    finishReason,
    usage: {
      promptTokens: prompt.tokens.length,
      cachedTokens,
      completionTokens: reader.spoken.length,
      reasoningTokens: reader.reasoningTokens,
    },
  });
  events.close();
}
