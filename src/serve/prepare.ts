// From what is asked to a request that a slot can evaluate: its prompt, the reply's reader and grammar.

import { EngineError, type EnginePrompt, type GenerateOptions, type ModelFacts } from './engine-contract.js';
import { eventQueue, type Request } from './engine-request.js';
import type { Loaded } from './load.js';
import { planPrompt } from './prompt-plan.js';
import type { PromptTokens } from './prompt-tokens.js';
import { ReplyReader, type ReplyTokens } from './reply-reader.js';
import { asToken, asTokens, type LlamaCpp } from './runtime.js';
import { grammarOf } from './sampling.js';
import type { Prompt } from './slots.js';
import type { Templating } from './template.js';

const THINK = '<think>';
const END_OF_THINK = '</think>';
/** The grammar maker ends a schema's text with these; they are cut off like a stop string. */
const SCHEMA_END = '\n\n\n\n';

/** Makes requests for one loaded model. */
export class Preparation {
  readonly #loaded: Loaded;
  readonly #prompts: PromptTokens;
  readonly #marks: Templating['marks'];
  readonly #contextSize: number;
  readonly #reading: ReplyTokens;

  constructor(loaded: Loaded, prompts: PromptTokens, { marks }: Templating, { contextSize }: ModelFacts) {
    this.#loaded = loaded;
    this.#prompts = prompts;
    this.#marks = marks;
    this.#contextSize = contextSize;
    this.#reading = replyTokens(loaded.model);
  }

  /** Throws EngineError where the request cannot be served. */
  async request(prompt: EnginePrompt, options: GenerateOptions): Promise<Request> {
    const contextSize = this.#contextSize;
    const { text, tokens } = await this.#prompts.of(prompt, { ...options, addGenerationPrompt: true });
    // One position stays free, since the library shifts the context when the last is taken; and a reply needs room for a token.
    if (tokens.length > contextSize - 1) {
      throw new EngineError({ reason: 'context-overflow', promptTokens: tokens.length, contextSize });
    }
    const grammar = await grammarOf(this.#loaded, options);
    const events = eventQueue();
    return {
      prompt: planPrompt(text, tokens, this.#marks, (part) => this.#prompts.tokenize(part)),
      options,
      reader: this.#reader('messages' in prompt, text, options, grammar !== undefined),
      grammar,
      events,
      fail: (error) => events.fail(error),
      scoring: undefined,
      spoken: [],
      spokenThinking: 0,
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

  /** The request that scores tokens, those from position `from` on. */
  scoring(tokens: readonly number[], from: number, request: Request): Request {
    const events = eventQueue();
    return {
      ...request,
      prompt: cutPrompt(request.prompt, tokens, from),
      grammar: undefined,
      events,
      fail: (error) => events.fail(error),
      scoring: { tokens: tokens.slice(from), top: request.options.scores?.top ?? 0 },
      spoken: [],
      finished: undefined,
    };
  }
}

/** The first tokens as a prompt of their own, with the pauses that lie among them, so that what a slot holds of it is reused. */
function cutPrompt({ pauses, checkpoints }: Prompt, tokens: readonly number[], length: number): Prompt {
  return {
    tokens: tokens.slice(0, length),
    pauses: pauses.filter((at) => at < length),
    checkpoints: checkpoints.filter((at) => at < length),
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
