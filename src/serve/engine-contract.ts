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
  /** `chat_template_kwargs` of the request, such as enable_thinking. */
  readonly templateArguments: Readonly<Record<string, unknown>>;
}

export interface EngineMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
  /** The thinking of an assistant's turn, under the name that chat templates know; the template decides whether it is rendered. */
  readonly reasoning_content?: string;
}

/** Tokens; the cached ones are among those of the prompt, the reasoning ones among those of the completion. */
export interface Usage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
}

export type GenerateEvent =
  | { readonly type: 'text'; readonly channel: 'reasoning' | 'content'; readonly text: string }
  | { readonly type: 'end'; readonly finishReason: 'stop' | 'length'; readonly usage: Usage };

/** Thrown by `generate` before any event. */
export type EngineRefusal =
  | { readonly reason: 'context-overflow'; readonly promptTokens: number; readonly contextSize: number }
  | { readonly reason: 'invalid-request'; readonly message: string; readonly param: string };

export class EngineError extends Error {
  constructor(readonly refusal: EngineRefusal) {
    super(refusal.reason);
  }
}

export interface Engine {
  readonly facts: ModelFacts;
  /**
   * Takes a free slot, or waits for one: who can go on from most of what a slot holds is served first, but no more than eight later
   * requests before an earlier one. The caller bounds how many wait. Ends early, its place free at once, when `signal` aborts. Throws EngineError before the first event where the request cannot be served.
   */
  generate(
    messages: readonly EngineMessage[],
    options: GenerateOptions,
    signal: AbortSignal,
  ): AsyncIterable<GenerateEvent>;
  /** Slots that work now. */
  readonly busy: number;
  close(): Promise<void>;
}
