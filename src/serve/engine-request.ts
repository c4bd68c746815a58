// A request inside the engine: made of what is asked, taking the tokens of its slot, and its events on their way to the one who reads them.

import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EnginePrompt, GenerateEvent, GenerateOptions, PromptOptions } from './engine-contract.js';
import { grammarOf } from './grammar.js';
import { contextOverflow, invalid } from './http/api-error.js';
import type { Loaded } from './load.js';
import { planPrompt, type Templating } from './prompt.js';
import { ReplyReader, type ReplyTokens } from './reply-reader.js';
import { asToken, asTokens, type LlamaCpp } from './runtime.js';
import type { Scheduled } from './scheduler.js';

/** A request from its arrival to the end of its events. */
export interface Request extends Scheduled {
  readonly options: GenerateOptions;
  readonly reader: ReplyReader;
  readonly grammar: LlamaCpp.LlamaGrammarEvaluationState | undefined;
  /** `event`, from the steps to the one who reads them, until `end` or an `error`. */
  readonly events: EventEmitter;
  /** Tokens behind the prompt that are scored, at least one; nothing is generated then. */
  readonly scoring: { readonly tokens: readonly number[]; readonly top: number } | undefined;
  /** Set when the reply is over. */
  finished: 'stop' | 'length' | undefined;
  /** Prompt tokens that needed no evaluation; known once it has a slot. */
  cachedTokens: number;
}

function newRequest(parts: Pick<Request, 'prompt' | 'options' | 'reader' | 'grammar' | 'scoring'>): Request {
  const events = new EventEmitter();
  // Where nobody reads any more.
  events.on('error', () => {});
  const fail = (error: unknown) => events.emit('error', error);
  return { ...parts, events, fail, finished: undefined, cachedTokens: 0 };
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

/** Makes requests for one loaded model: prompts are rendered, tokenised and checked. What it returns throws ApiError for what cannot be served. */
export function prepareRequests({ model, context, ...loaded }: Loaded, template: Templating) {
  const { contextSize } = context;
  const reading = replyTokens(model);
  const vocabularySize = model.fileInfo.metadata.tokenizer?.ggml?.tokens?.length ?? 0;
  const tokenize = (text: string): readonly number[] => model.tokenize(text, true);

  function textOf(tokens: readonly number[]): string {
    const odd = tokens.find((token) => token >= vocabularySize);
    if (odd === undefined) return model.detokenize(asTokens(tokens), true);
    throw invalid(`${odd} is not a token of this model, which has ${vocabularySize}`, 'prompt');
  }

  /** The tokenizer blocks everything else, so that a text that cannot fit is refused after its first pieces. */
  async function tokenizeWithin(text: string): Promise<readonly number[]> {
    let counted = 0;
    for (let at = 0; text.length > USUAL_CHARACTERS * contextSize && at < text.length; at += PIECE) {
      counted += Math.max(0, tokenize(text.slice(at, at + PIECE)).length - CUT_TOKENS);
      if (counted > contextSize) throw contextOverflow(`more than ${counted}`, contextSize);
      await nextTurn();
    }
    return tokenize(text);
  }

  /** For plain text: a chat template writes the mark itself. */
  function withBos(text: string): string {
    const { bosString, shouldPrependBosToken } = model.tokens;
    return shouldPrependBosToken && bosString != null && !text.startsWith(bosString) ? bosString + text : text;
  }

  /** The text that is evaluated, and its tokens. */
  async function promptOf(prompt: EnginePrompt, options: PromptOptions) {
    if ('tokens' in prompt) return { text: textOf(prompt.tokens), tokens: prompt.tokens };
    const text =
      'text' in prompt ? withBos(prompt.text) : template.render(prompt.messages, prompt.tools ?? [], options);
    return { text, tokens: await tokenizeWithin(text) };
  }

  return {
    textOf,
    promptOf,

    async request(prompt: EnginePrompt, options: GenerateOptions): Promise<Request> {
      const { text, tokens } = await promptOf(prompt, { ...options, addGenerationPrompt: true });
      // One position stays free, since the library shifts the context when the last is taken; and a reply needs room for a token.
      if (tokens.length > contextSize - 1) throw contextOverflow(tokens.length, contextSize);
      const grammar = await grammarOf({ ...loaded, model }, options);
      const isChat = 'messages' in prompt;
      const known = isChat ? reading : { ...reading, openThinking: undefined, closeThinking: undefined };
      const reader = new ReplyReader(known, {
        thinking: known.closeThinking !== undefined && text.trimEnd().endsWith(THINK),
        thinkingBudget: options.thinkingBudget,
        maxTokens: options.maxTokens ?? Number.POSITIVE_INFINITY,
        stop: options.responseFormat.type === 'json_schema' ? [...options.stop, SCHEMA_END] : options.stop,
        blankLineAfterThinking: grammar !== undefined,
      });
      return newRequest({
        prompt: planPrompt(text, tokens, template.marks, tokenize),
        options,
        reader,
        grammar,
        scoring: undefined,
      });
    },

    /** The request that scores tokens, those from position `from` on. What a slot holds of the given request is reused. */
    scoring(tokens: readonly number[], from: number, { prompt, options, reader }: Request): Request {
      const isBefore = (at: number) => at < from;
      return newRequest({
        prompt: {
          tokens: tokens.slice(0, from),
          pauses: prompt.pauses.filter(isBefore),
          checkpoints: prompt.checkpoints.filter(isBefore),
        },
        options: { ...options, ...UNCHANGED },
        reader,
        grammar: undefined,
        scoring: { tokens: tokens.slice(from), top: options.scores?.top ?? 0 },
      });
    },
  };
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
  const { reader, finished } = request;
  try {
    for (const text of finished === undefined ? reader.texts() : reader.rest())
      tellEvent(request, { type: 'text', ...text });
    if (finished !== undefined) tellEnd(request, finished);
  } catch (error) {
    request.fail(error);
  }
}

export function tellEvent({ events }: Request, event: GenerateEvent): void {
  events.emit('event', event);
}

export function tellEnd(request: Request, finishReason: 'stop' | 'length'): void {
  const { reader, events, prompt, cachedTokens } = request;
  const usage = {
    promptTokens: prompt.tokens.length,
    cachedTokens,
    completionTokens: reader.spoken.length,
    reasoningTokens: reader.reasoningTokens,
  };
  tellEvent(request, { type: 'end', finishReason, usage });
  events.emit('end');
}
