// From what is asked to a request that a slot can evaluate: rendering, tokens, the reply's reader and grammar.

import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  EngineError,
  type EnginePrompt,
  type GenerateOptions,
  type ModelFacts,
  type PromptOptions,
} from './engine-contract.js';
import type { Loaded } from './load.js';
import { type ReplyTokens, readReply } from './reply-reader.js';
import { eventQueue, type Request } from './request.js';
import type { Token } from './runtime.js';
import { grammarOf } from './sampling.js';
import { type Prompt, planPrompt } from './slots.js';
import type { Templating } from './template.js';

export interface Preparing {
  /** Throws EngineError where the request cannot be served. */
  request(prompt: EnginePrompt, options: GenerateOptions): Promise<Request>;
  /** The request that scores tokens, those from position `from` on. */
  scoring(tokens: readonly number[], from: number, request: Request): Request;
  tokenize(prompt: EnginePrompt, options: PromptOptions): Promise<readonly number[]>;
  detokenize(tokens: readonly number[]): string;
}

const THINK = '<think>';
const END_OF_THINK = '</think>';
/** The grammar maker ends a schema's text with these; they are cut off like a stop string. */
const SCHEMA_END = '\n\n\n\n';

/** Characters a token above which a text is first counted in pieces: few texts have so many and fit. */
const USUAL_CHARACTERS = 4;
/** Characters that are tokenised in some tens of milliseconds. */
const PIECE = 2 ** 16;
/** Tokens that a cut in the middle of a word can add, at most. */
const CUT_TOKENS = 16;

export function preparing(loaded: Loaded, template: Templating, { contextSize }: ModelFacts): Preparing {
  const { model } = loaded;
  const reading = replyTokens(model);
  const { tokens: vocabulary = [] } = model.fileInfo.metadata.tokenizer?.ggml ?? {};
  const tokenize = (part: string): readonly number[] => model.tokenize(part, true);

  /** The tokenizer holds up everything else: what cannot fit is found out piece by piece. */
  async function tokenizeWithin(text: string): Promise<readonly number[]> {
    let counted = 0;
    for (let at = 0; text.length > USUAL_CHARACTERS * contextSize && at < text.length; at += PIECE) {
      counted += Math.max(0, tokenize(text.slice(at, at + PIECE)).length - CUT_TOKENS);
      if (counted > contextSize) {
        throw new EngineError({ reason: 'context-overflow', promptTokens: counted, contextSize, more: true });
      }
      await nextTurn();
    }
    return tokenize(text);
  }

  async function tokensOf(
    prompt: EnginePrompt,
    options: PromptOptions,
  ): Promise<{ text: string; tokens: readonly number[] }> {
    if ('tokens' in prompt) {
      requireTokens(prompt.tokens);
      return { text: detokenize(prompt.tokens), tokens: prompt.tokens };
    }
    const text =
      'text' in prompt ? withBos(prompt.text) : template.render(prompt.messages, prompt.tools ?? [], options);
    return { text, tokens: await tokenizeWithin(text) };
  }

  /** A chat template writes it itself. */
  function withBos(text: string): string {
    const { bosString, shouldPrependBosToken } = model.tokens;
    return shouldPrependBosToken && bosString != null && !text.startsWith(bosString) ? bosString + text : text;
  }

  function requireTokens(tokens: readonly number[]): void {
    const odd = tokens.find((token) => token >= vocabulary.length);
    if (odd === undefined) return;
    const message = `${odd} is no token of this model, which has ${vocabulary.length}`;
    throw new EngineError({ reason: 'invalid-request', message, param: 'prompt' });
  }

  function detokenize(tokens: readonly number[]): string {
    requireTokens(tokens);
    return model.detokenize(tokens as Token[], true);
  }

  return {
    detokenize,
    async tokenize(prompt, options) {
      return (await tokensOf(prompt, options)).tokens;
    },
    async request(prompt, options) {
      const { text, tokens } = await tokensOf(prompt, { ...options, addGenerationPrompt: true });
      // One position stays free, since the library shifts the context when the last is taken; and a reply needs room for a token.
      if (tokens.length > contextSize - 1) {
        throw new EngineError({ reason: 'context-overflow', promptTokens: tokens.length, contextSize });
      }
      const isChat = 'messages' in prompt;
      const grammar = await grammarOf(loaded, options);
      const events = eventQueue();
      return {
        prompt: planPrompt(text, tokens, template.marks, tokenize),
        options,
        reader: readReply(isChat ? reading : { ...reading, openThinking: undefined, closeThinking: undefined }, {
          thinking: isChat && reading.closeThinking !== undefined && text.trimEnd().endsWith(THINK),
          thinkingBudget: options.thinkingBudget,
          maxTokens: options.maxTokens ?? Number.POSITIVE_INFINITY,
          stop: options.responseFormat.type === 'json_schema' ? [...options.stop, SCHEMA_END] : options.stop,
          blankLineAfterThinking: grammar !== undefined,
        }),
        grammar,
        events,
        fail: (error) => events.fail(error),
        scoring: undefined,
        spoken: [],
        spokenThinking: 0,
        cachedTokens: 0,
      };
    },
    scoring(tokens, from, request) {
      const events = eventQueue();
      return {
        ...request,
        prompt: cutPrompt(request.prompt, tokens, from),
        grammar: undefined,
        events,
        fail: (error) => events.fail(error),
        scoring: { tokens: tokens.slice(from), top: request.options.scores?.top ?? 0 },
        spoken: [],
      };
    },
  };
}

/** The first tokens as a prompt of their own, with the pauses that lie among them, so that what a slot holds of it is reused. */
function cutPrompt({ pauses, checkpoints }: Prompt, tokens: readonly number[], length: number): Prompt {
  return {
    tokens: tokens.slice(0, length),
    pauses: pauses.filter((at) => at < length),
    checkpoints: checkpoints.filter((at) => at < length),
  };
}

function replyTokens(model: Loaded['model']): ReplyTokens {
  const single = (text: string): number | undefined => {
    const found = model.tokenize(text, true);
    return found.length === 1 ? found[0] : undefined;
  };
  return {
    isEnd: (token) => model.isEogToken(token as Token),
    textOf: (tokens, before) => model.detokenize(tokens as Token[], false, before as Token[]),
    openThinking: single(THINK),
    closeThinking: single(END_OF_THINK),
    blankLine: model.tokenize('\n\n', true),
  };
}
