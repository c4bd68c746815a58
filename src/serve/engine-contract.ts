// What the HTTP server asks of an engine; engine.ts answers with node-llama-cpp, tests with a script.

/** What scores depend on; `/v1/models` reports it and manifests record it. */
export interface ModelFacts {
  /** The name under which the model is served. */
  readonly name: string;
  readonly file: string;
  /** SHA-256 of the file in hex. */
  readonly sha256: string;
  readonly bytes: number;
  readonly architecture: string;
  /** Such as Q4_K_M; `general.file_type` where the file names none. */
  readonly quantization: string;
  /** Such as v0.5.0. */
  readonly llamaCpp: string;
  readonly kvCache: 'f16' | 'q8_0';
  readonly flashAttention: boolean;
  /** Tokens per slot. */
  readonly contextSize: number;
  readonly slots: number;
  readonly gpu: string;
  readonly gpuLayers: number;
  readonly threads: number;
  readonly batchSize: number;
}

/** Every value is explicit: the library's own defaults differ. */
export interface GenerateOptions {
  /** 0 generates nothing. */
  readonly maxTokens: number | undefined;
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  readonly minP: number;
  readonly seed: number;
  readonly presencePenalty: number;
  readonly frequencyPenalty: number;
  /** 1 is none. */
  readonly repetitionPenalty: number;
  readonly stop: readonly string[];
  readonly responseFormat:
    | { readonly type: 'text' }
    | { readonly type: 'json_object' }
    | { readonly type: 'json_schema'; readonly schema: Readonly<Record<string, unknown>> };
  /** Most tokens of thinking; infinite unless asked otherwise. */
  readonly thinkingBudget: number;
  /** Probabilities to tell; none where absent. */
  readonly scores?: ScoreOptions | undefined;
  /** `chat_template_kwargs` of the request, such as enable_thinking. */
  readonly templateArguments: Readonly<Record<string, unknown>>;
}

/** Whose tokens are scored under the model's own distribution, before any penalty, cut or temperature. */
export interface ScoreOptions {
  /** The prompt's tokens from this position on, at least 1, since nothing precedes the first; none where absent. */
  readonly promptFrom?: number;
  readonly reply: boolean;
  /** How many of the most likely tokens are told at each position. */
  readonly top: number;
}

/** What a reply is asked for: messages, which the model's chat template renders, or what stands in their place. */
export type EnginePrompt =
  | { readonly messages: readonly EngineMessage[]; readonly tools?: readonly Tool[] }
  | { readonly text: string }
  | { readonly tokens: readonly number[] };

/** A function that the model may call, as OpenAI's API describes it and chat templates render it. */
export interface Tool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters?: Readonly<Record<string, unknown>>;
  };
}

/** Under the names that chat templates know; the template decides what is rendered. */
export interface EngineMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  /** The thinking of an assistant's turn. */
  readonly reasoning_content?: string;
  /** Functions that an assistant's turn called; arguments as an object. */
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: 'function';
    readonly function: { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> };
  }[];
  /** Which call a tool's turn answers. */
  readonly tool_call_id?: string;
}

/** A token and how likely the model held it to be where it stands. */
export interface ScoredToken {
  readonly token: number;
  /** With U+FFFD for bytes that are no whole character. */
  readonly text: string;
  readonly bytes: readonly number[];
  /** Natural logarithm of its probability. */
  readonly logprob: number;
}

export interface TokenScore extends ScoredToken {
  /** The most likely tokens there, in descending order. */
  readonly top: readonly ScoredToken[];
}

/** Tokens; the cached ones are among those of the prompt, the reasoning ones among those of the completion. */
export interface Usage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
}

export type GenerateEvent =
  /** Tokens of the prompt, in order, before any text. */
  | { readonly type: 'prompt'; readonly scores: readonly TokenScore[] }
  /** With `scores`, where asked for, of the tokens that the text came of; those up to the end of thinking belong to it. */
  | {
      readonly type: 'text';
      readonly channel: 'reasoning' | 'content';
      readonly text: string;
      readonly scores?: readonly TokenScore[];
    }
  | { readonly type: 'end'; readonly finishReason: 'stop' | 'length'; readonly usage: Usage };

export interface Engine {
  readonly facts: ModelFacts;
  /**
   * Takes a free slot, or waits for one; the caller bounds how many wait. Ends early, its slot free at once, when `signal` aborts. Throws
   * ApiError before the first event where the request cannot be served.
   */
  generate(prompt: EnginePrompt, options: GenerateOptions, signal: AbortSignal): AsyncIterable<GenerateEvent>;
  /** The prompt's tokens, as `generate` would evaluate them. Throws ApiError where they are more than the context holds. */
  tokenize(prompt: EnginePrompt, options: PromptOptions): Promise<readonly number[]>;
  /** The text of tokens, special ones included. Throws ApiError for a number that is no token of the model. */
  detokenize(tokens: readonly number[]): string;
  /** Slots that work now. */
  readonly busy: number;
  close(): Promise<void>;
}

/** How a chat template renders messages. */
export interface PromptOptions {
  /** `chat_template_kwargs` of the request, such as enable_thinking. */
  readonly templateArguments: Readonly<Record<string, unknown>>;
  /** Whether the prompt ends where the reply begins; otherwise with the last message. */
  readonly addGenerationPrompt: boolean;
}
