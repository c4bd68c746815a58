// The tokens of a prompt: rendered, tokenised piece by piece, checked; and back to text.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { EngineError, type EnginePrompt, type PromptOptions } from './engine-contract.js';
import { asTokens, type LlamaCpp } from './runtime.js';
import type { Templating } from './template.js';

/** Characters a token above which a text is first counted in pieces: few texts have so many and fit. */
const USUAL_CHARACTERS = 4;
/** Characters that are tokenised in some tens of milliseconds. */
const PIECE = 2 ** 16;
/** Tokens that a cut in the middle of a word can add, at most. */
const CUT_TOKENS = 16;

/** What the engine does with prompts before they are evaluated. Each method throws EngineError for what cannot be served. */
export class PromptTokens {
  readonly #model: LlamaCpp.LlamaModel;
  readonly #template: Templating;
  readonly #contextSize: number;
  readonly #vocabularySize: number;

  constructor(model: LlamaCpp.LlamaModel, template: Templating, contextSize: number) {
    this.#model = model;
    this.#template = template;
    this.#contextSize = contextSize;
    this.#vocabularySize = model.fileInfo.metadata.tokenizer?.ggml?.tokens?.length ?? 0;
  }

  /** The text that is evaluated, and its tokens. */
  async of(prompt: EnginePrompt, options: PromptOptions): Promise<{ text: string; tokens: readonly number[] }> {
    if ('tokens' in prompt) return { text: this.textOf(prompt.tokens), tokens: prompt.tokens };
    const text =
      'text' in prompt
        ? this.#withBos(prompt.text)
        : this.#template.render(prompt.messages, prompt.tools ?? [], options);
    return { text, tokens: await this.#tokenizeWithin(text) };
  }

  tokenize(text: string): readonly number[] {
    return this.#model.tokenize(text, true);
  }

  textOf(tokens: readonly number[]): string {
    const odd = tokens.find((token) => token >= this.#vocabularySize);
    if (odd === undefined) return this.#model.detokenize(asTokens(tokens), true);
    const message = `${odd} is no token of this model, which has ${this.#vocabularySize}`;
    throw new EngineError({ reason: 'invalid-request', message, param: 'prompt' });
  }

  /** The tokenizer blocks everything else, so that a text that cannot fit is refused after its first pieces. */
  async #tokenizeWithin(text: string): Promise<readonly number[]> {
    const contextSize = this.#contextSize;
    let counted = 0;
    for (let at = 0; text.length > USUAL_CHARACTERS * contextSize && at < text.length; at += PIECE) {
      counted += Math.max(0, this.tokenize(text.slice(at, at + PIECE)).length - CUT_TOKENS);
      if (counted > contextSize) {
        throw new EngineError({ reason: 'context-overflow', promptTokens: counted, contextSize, more: true });
      }
      await nextTurn();
    }
    return this.tokenize(text);
  }

  /** For plain text: a chat template writes the mark itself. */
  #withBos(text: string): string {
    const { bosString, shouldPrependBosToken } = this.#model.tokens;
    return shouldPrependBosToken && bosString != null && !text.startsWith(bosString) ? bosString + text : text;
  }
}
