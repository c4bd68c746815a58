// One slot of llama.cpp's context: going back to what it holds, keeping states to go back to, how replies are sampled, and scores.

import type { ScoredToken, TokenScore } from './engine-contract.js';
import { type Request, takeToken, tell, tellEnd, tellEvent } from './engine-request.js';
import type { InnerCalls, InnerSampler, Sampled, SamplerConfig } from './inner-calls.js';
import type { Loaded } from './load.js';
import { asToken, asTokens, type LlamaCpp } from './runtime.js';
import type { Evaluator } from './scheduler.js';

/** More than any memory budget allows. */
const MOST_CHECKPOINTS = 4096;

export class Slot implements Evaluator<Request> {
  readonly #calls: InnerCalls;
  readonly #contextSize: number;
  /** It alone knows which tokens it holds. */
  readonly #sequence: LlamaCpp.LlamaContextSequence;
  readonly #texts: TokenTexts;
  /** Host memory in bytes for the states that are kept. */
  readonly #checkpointBytes: number;
  /** Bytes of one kept state, all of a sequence being alike; known once one was taken. */
  #checkpointSize: number | undefined;
  #sampler: ReturnType<typeof openSampler> | undefined;
  /** What the next step evaluates. */
  #next: readonly number[] = [];

  constructor({ model, context }: Loaded, calls: InnerCalls, checkpointBytes: number) {
    this.#calls = calls;
    this.#contextSize = context.contextSize;
    this.#texts = tokenTexts(model);
    this.#checkpointBytes = checkpointBytes;
    this.#sequence = context.getSequence({
      contextShift: { strategy: refuseShift },
      checkpoints: { max: MOST_CHECKPOINTS, interval: false, maxMemory: checkpointBytes },
    });
  }

  get needsCheckpoints(): boolean {
    return this.#sequence.needsCheckpoints;
  }

  get position(): number {
    return this.#sequence.nextTokenIndex;
  }

  async restore(request: Request, tokens: number): Promise<void> {
    if (tokens === 0) await this.#sequence.clearHistory();
    else await this.#sequence.adaptStateToTokens(asTokens(request.prompt.tokens.slice(0, tokens)), false);
    request.cachedTokens = this.position;
  }

  async feed({ prompt }: Request, end: number): Promise<void> {
    await this.#calls.evaluate(this.#sequence, prompt.tokens.slice(this.position, end));
  }

  /** The library drops the oldest when its memory is full. */
  async keep(): Promise<number> {
    if ((this.#checkpointSize ?? 1) > this.#checkpointBytes) return 0;
    const before = this.#sequence.checkpointsMemoryUsage;
    await this.#sequence.takeCheckpoint();
    const after = this.#sequence.checkpointsMemoryUsage;
    this.#checkpointSize ??= after - before;
    return this.#checkpointSize > this.#checkpointBytes ? 0 : Math.round(after / this.#checkpointSize);
  }

  begin(request: Request): Promise<number> {
    this.#next = request.prompt.tokens.slice(this.position);
    this.#sampler = openSampler(request, this.#calls, this.#contextSize);
    return this.step(request);
  }

  /** Whether the reply goes on is all that the next evaluation waits for; its text is made while that is under way. */
  async step(request: Request): Promise<number> {
    if (this.#sampler === undefined) throw new Error('the reply has not begun');
    const sampled = await this.#calls.evaluate(this.#sequence, this.#next, {
      sampler: this.#sampler.ready(),
      probabilities: request.scoring === undefined ? undefined : true,
    });
    if (request.scoring !== undefined) this.#next = this.#score(request, request.scoring, sampled);
    else {
      if (typeof sampled !== 'number' || sampled < 0) throw new Error('llama.cpp gave no token');
      this.#next = takeToken(request, sampled, this.#contextSize - 1 - this.position);
      setImmediate(tell, request);
    }
    return this.#next.length;
  }

  /** The token to evaluate next, behind which one is scored. One at a time, since probabilities of whole vocabularies take much memory. */
  #score(
    request: Request,
    { tokens, top }: NonNullable<Request['scoring']>,
    sampled: Sampled | undefined,
  ): readonly number[] {
    const listed = typeof sampled === 'object' ? (sampled[1] ?? []) : [];
    const probabilities = new Map<number, number>();
    for (let pair = 0; pair < listed.length; pair += 2) probabilities.set(listed[pair] ?? 0, listed[pair + 1] ?? 0);
    const at = this.position - request.prompt.tokens.length;
    const wanted = tokens[at];
    if (probabilities.size === 0 || wanted === undefined) throw new Error('llama.cpp gave no probabilities');
    tellEvent(request, { type: 'prompt', scores: [scoreToken(probabilities, wanted, top, this.#texts)] });
    if (at + 1 < tokens.length) return [wanted];
    tellEnd(request, 'length');
    return [];
  }

  async leave(): Promise<void> {
    this.#sampler?.dispose();
    this.#sampler = undefined;
  }
}

/** Nothing may ever be shifted out of a context; lengths are checked before, so that this is never called. */
function refuseShift(): never {
  throw new Error('the context is full');
}

/** The sampler of one reply. */
export function openSampler(request: Request, calls: InnerCalls, contextSize: number) {
  const sampler = calls.newSampler();
  const grammar = request.grammar && calls.grammarState(request.grammar);
  const { temperature, topK, topP, minP, seed } = request.options;
  // Every value is named: the library's defaults are not those of the wire format. Seeds are 32 bits wide, the largest means "any".
  const knobs = { temperature, topK, topP, minP, seed: (seed >>> 0) % 0xffff_ffff };
  /** Whether a grammar holds the sampler; undefined before its first configuration. */
  let wasHeld: boolean | undefined;
  return {
    /** The sampler for the next token: told what it samples with once, and again where that may have changed. */
    ready(): InnerSampler {
      const isHeld = grammar !== undefined && !request.reader.inThinking;
      const penalties = penaltyConfig(request, contextSize);
      if (isHeld !== wasHeld || penalties !== undefined) {
        wasHeld = isHeld;
        sampler.applyConfig({ ...knobs, ...penalties, ...(isHeld && { grammarEvaluationState: grammar }) });
      }
      return sampler;
    },
    dispose: () => sampler.dispose(),
  };
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
  const isRepetition = repetitionPenalty !== 1;
  if (!isCounted && !isRepetition) return undefined;
  const counts = new Map<number, number>();
  if (isCounted && isRepetition) for (const token of spoken) counts.set(token, (counts.get(token) ?? 0) + 1);
  const logit = (count: number) => -repetitionPenalty * (presencePenalty + frequencyPenalty * count);
  return {
    repeatPenalty: repetitionPenalty,
    repeatPenaltyMaxTokens: contextSize,
    repeatPenaltyTokens: Uint32Array.from(isRepetition ? [...prompt.tokens, ...spoken] : spoken),
    repeatPenaltyPresencePenalty: isRepetition ? 0 : presencePenalty,
    repeatPenaltyFrequencyPenalty: isRepetition ? 0 : frequencyPenalty,
    ...(counts.size > 0 && {
      tokenBiasKeys: Uint32Array.from(counts.keys()),
      tokenBiasValues: Float32Array.from(counts.values(), logit),
    }),
  };
}

/** What a score shows of tokens beside their probabilities. */
type TokenTexts = ReturnType<typeof tokenTexts>;

function tokenTexts(model: LlamaCpp.LlamaModel) {
  const textOf = (token: number): string => model.detokenize([asToken(token)], true);
  const { model: kind, tokens } = model.fileInfo.metadata.tokenizer?.ggml ?? {};
  // Other vocabularies do not spell out the bytes of a token that is no whole text.
  const spelling = kind === 'gpt2' ? tokens : undefined;
  return {
    /** Special tokens included. */
    textOf,
    bytesOf: (token: number) => spelledBytes(spelling?.[token] ?? textOf(token)),
  };
}

/** Probabilities come as 32-bit floats, in which nothing smaller than this is told from 0. */
const SMALLEST = 2 ** -149;

/**
 * The score of `token` under probabilities in descending order, as llama.cpp gives them. They are summed anew, in double precision: its
 * own sum loses what many unlikely tokens add.
 */
function scoreToken(
  probabilities: ReadonlyMap<number, number>,
  token: number,
  top: number,
  texts: TokenTexts,
): TokenScore {
  let sum = 0;
  for (const probability of probabilities.values()) sum += probability;
  const scored = (id: number, probability: number): ScoredToken => ({
    token: id,
    text: texts.textOf(id),
    bytes: texts.bytesOf(id),
    logprob: Math.log(Math.max(probability, SMALLEST) / sum),
  });
  const likely: ScoredToken[] = [];
  for (const [id, probability] of probabilities) {
    if (likely.length >= top) break;
    likely.push(scored(id, probability));
  }
  return { ...scored(token, probabilities.get(token) ?? 0), top: likely };
}

/** Bytes by character in the spelling of GPT-2's vocabularies: printable ones stand for themselves, the others for what follows U+00FF. */
const BYTES: ReadonlyMap<string, number> = (() => {
  const isPrintable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte < 173) || byte > 173;
  let next = 256;
  return new Map(
    Array.from({ length: 256 }, (_, byte) => [String.fromCharCode(isPrintable(byte) ? byte : next++), byte]),
  );
})();

/** The bytes of a token in that spelling; of a special one, which is spelled as it is, those of its text. */
function spelledBytes(token: string): readonly number[] {
  const bytes = Array.from(token, (character) => BYTES.get(character));
  return bytes.every((byte) => byte !== undefined) ? bytes : [...new TextEncoder().encode(token)];
}
