// From a request's options to how llama.cpp samples its reply: every knob named, penalties and seeds.

import type { Request } from './engine-request.js';
import type { InnerCalls, InnerSampler, SamplerConfig } from './inner-calls.js';

/** The sampler of one reply. */
export class RequestSampler {
  readonly #request: Request;
  readonly #contextSize: number;
  readonly #sampler: InnerSampler;
  readonly #grammar: object | undefined;
  /** Whether a grammar holds the sampler; undefined before its first configuration. */
  #isHeld: boolean | undefined;

  constructor(request: Request, calls: InnerCalls, contextSize: number) {
    this.#request = request;
    this.#contextSize = contextSize;
    this.#sampler = calls.newSampler();
    this.#grammar = request.grammar && calls.grammarState(request.grammar);
  }

  /** The sampler for the next token: told what it samples with once, and again where that may have changed. */
  ready(): InnerSampler {
    const isHeld = this.#grammar !== undefined && !this.#request.reader.inThinking;
    const penalties = penaltyConfig(this.#request, this.#contextSize);
    if (isHeld !== this.#isHeld || penalties !== undefined) {
      this.#isHeld = isHeld;
      const grammar = isHeld && this.#grammar ? { grammarEvaluationState: this.#grammar } : {};
      this.#sampler.applyConfig({ ...knobs(this.#request), ...penalties, ...grammar });
    }
    return this.#sampler;
  }

  dispose(): void {
    this.#sampler.dispose();
  }
}

/** Every value is named: the library's defaults are not those of the wire format. */
function knobs({ options: { temperature, topK, topP, minP, seed } }: Request): SamplerConfig {
  // Seeds are 32 bits wide, and llama.cpp takes the largest as "any".
  return { temperature, topK, topP, minP, seed: (seed >>> 0) % 0xffff_ffff };
}

/**
 * Presence and frequency count the reply's tokens, repetition the prompt's too, as in vLLM. llama.cpp keeps one count for all three, so
 * that beside a repetition penalty the other two become biases, which it adds before it divides by that penalty: multiplied by it, they
 * come out as they are asked for wherever the logit stays above 0. Undefined where nothing is penalised.
 */
function penaltyConfig(
  { options, prompt, reader: { spoken } }: Request,
  contextSize: number,
): Partial<SamplerConfig> | undefined {
  const { repetitionPenalty, presencePenalty, frequencyPenalty } = options;
  const isCounted = presencePenalty !== 0 || frequencyPenalty !== 0;
  if (repetitionPenalty === 1) {
    if (!isCounted) return undefined;
    return {
      repeatPenalty: 1,
      repeatPenaltyMaxTokens: contextSize,
      repeatPenaltyTokens: Uint32Array.from(spoken),
      repeatPenaltyPresencePenalty: presencePenalty,
      repeatPenaltyFrequencyPenalty: frequencyPenalty,
    };
  }
  const counts = new Map<number, number>();
  if (isCounted) for (const token of spoken) counts.set(token, (counts.get(token) ?? 0) + 1);
  const logit = (count: number) => -repetitionPenalty * (presencePenalty + frequencyPenalty * count);
  return {
    repeatPenalty: repetitionPenalty,
    repeatPenaltyMaxTokens: contextSize,
    repeatPenaltyTokens: Uint32Array.from([...prompt.tokens, ...spoken]),
    repeatPenaltyPresencePenalty: 0,
    repeatPenaltyFrequencyPenalty: 0,
    ...(counts.size > 0 && {
      tokenBiasKeys: Uint32Array.from(counts.keys()),
      tokenBiasValues: Float32Array.from(counts.values(), logit),
    }),
  };
}
