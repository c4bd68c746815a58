// The sampler of one reply: told what it samples with once, and again only where that has changed.

import type { Request } from './engine-request.js';
import type { InnerCalls, InnerSampler, SamplerConfig } from './inner-calls.js';
import { knobs, penaltiesOf } from './sampling.js';

export class RequestSampler {
  readonly #request: Request;
  readonly #contextSize: number;
  readonly #sampler: InnerSampler;
  readonly #penalties: ReturnType<typeof penaltiesOf>;
  readonly #knobs: SamplerConfig;
  readonly #grammar: object | undefined;
  #isConfigured = false;
  #isHeld = false;
  /** Tokens of the reply that the sampler counts as spoken; it counts the sampled ones by itself. */
  #counted = 0;
  #sampled: number | undefined;

  constructor(request: Request, calls: InnerCalls, contextSize: number) {
    this.#request = request;
    this.#contextSize = contextSize;
    this.#sampler = calls.newSampler();
    this.#penalties = penaltiesOf(request);
    this.#knobs = knobs(request.options);
    this.#grammar = request.grammar && calls.grammarState(request.grammar);
  }

  /** The sampler for the next token. */
  ready(): InnerSampler {
    const isHeld = this.#grammar !== undefined && !this.#request.reader.inThinking;
    if (!this.#isConfigured || isHeld !== this.#isHeld || this.#countsOthers()) {
      this.#isConfigured = true;
      this.#isHeld = isHeld;
      this.#sampler.applyConfig({ ...this.#knobs, ...this.#penaltyConfig(), ...(isHeld && this.#grammarConfig()) });
    }
    this.#counted = this.#request.spoken.length;
    this.#sampled = undefined;
    return this.#sampler;
  }

  /** The token that was sampled. */
  took(token: number): void {
    this.#sampled = token;
  }

  dispose(): void {
    this.#sampler.dispose();
  }

  /** Biases are made anew for each token; counts only where other tokens were put in than the sampled one. */
  #countsOthers(): boolean {
    if (this.#penalties === undefined) return false;
    const { spoken } = this.#request;
    const isFollowed = spoken.length === this.#counted + 1 && spoken.at(-1) === this.#sampled;
    return this.#penalties.isBiased || !isFollowed;
  }

  #penaltyConfig(): Partial<SamplerConfig> {
    const penalties = this.#penalties;
    if (penalties === undefined) return {};
    const biases = penalties.biases();
    return {
      repeatPenalty: penalties.repetition,
      repeatPenaltyMaxTokens: this.#contextSize,
      repeatPenaltyTokens: Uint32Array.from(penalties.punished()),
      repeatPenaltyPresencePenalty: penalties.presence,
      repeatPenaltyFrequencyPenalty: penalties.frequency,
      ...(biases.size > 0 && {
        tokenBiasKeys: Uint32Array.from(biases.keys()),
        tokenBiasValues: Float32Array.from(biases.values()),
      }),
    };
  }

  #grammarConfig(): Partial<SamplerConfig> {
    return this.#grammar === undefined ? {} : { grammarEvaluationState: this.#grammar };
  }
}
