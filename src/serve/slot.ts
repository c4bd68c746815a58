// One slot of llama.cpp's context: going back to what it holds, keeping states to go back to, replies and scores.

import type { ScoredToken, TokenScore } from './engine-contract.js';
import { type Request, takeToken, tell, tellEnd } from './engine-request.js';
import type { InnerCalls, Sampled } from './inner-calls.js';
import type { Loaded } from './load.js';
import { asToken, asTokens, type LlamaCpp } from './runtime.js';
import { RequestSampler } from './sampling.js';
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
  #sampler: RequestSampler | undefined;
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
    this.#sampler = new RequestSampler(request, this.#calls, this.#contextSize);
    return this.step(request);
  }

  /** Whether the reply goes on is all that the next evaluation waits for; its text is made while that is under way. */
  async step(request: Request): Promise<number> {
    const sampled = await this.#evaluate(request.scoring !== undefined);
    if (request.scoring !== undefined) return this.#score(request, request.scoring.tokens, sampled);
    if (typeof sampled !== 'number' || sampled < 0) throw new Error('llama.cpp gave no token');
    this.#next = takeToken(request, sampled, this.#contextSize - 1 - this.position);
    setImmediate(tell, request);
    return this.#next.length;
  }

  #evaluate(probabilities: boolean): Promise<Sampled | undefined> {
    if (this.#sampler === undefined) throw new Error('the reply has not begun');
    return this.#calls.evaluate(this.#sequence, this.#next, { sampler: this.#sampler.ready(), probabilities });
  }

  /** One token at a time, since a long text's probabilities of whole vocabularies would not fit into memory. */
  #score(request: Request, tokens: readonly number[], sampled: Sampled | undefined): number {
    const listed = typeof sampled === 'object' ? (sampled[1] ?? []) : [];
    const probabilities = new Map<number, number>();
    for (let at = 0; at + 1 < listed.length; at += 2) probabilities.set(listed[at] ?? 0, listed[at + 1] ?? 0);
    if (probabilities.size === 0) throw new Error('llama.cpp gave no probabilities');
    const next = this.position - request.prompt.tokens.length;
    this.#next = tokens.slice(next, next + 1);
    return tellScore(request, next, probabilities, this.#texts) ? 1 : 0;
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

/** Tells the score of `scoring.tokens[next]`, and the end behind the last; true where more are to be scored. */
function tellScore(
  request: Request,
  next: number,
  probabilities: ReadonlyMap<number, number>,
  texts: TokenTexts,
): boolean {
  const { scoring, events } = request;
  const wanted = scoring?.tokens[next];
  if (scoring === undefined || wanted === undefined) throw new Error('there is no token to score');
  events.push({ type: 'prompt', scores: [scoreToken(probabilities, wanted, scoring.top, texts)] });
  if (next + 1 < scoring.tokens.length) return true;
  tellEnd(request, 'length');
  return false;
}

/** What a score shows of tokens beside their probabilities. */
interface TokenTexts {
  bytesOf(token: number): readonly number[];
  /** Special tokens included. */
  textOf(token: number): string;
}

function tokenTexts(model: LlamaCpp.LlamaModel): TokenTexts {
  const textOf = (token: number): string => model.detokenize([asToken(token)], true);
  const { model: kind, tokens } = model.fileInfo.metadata.tokenizer?.ggml ?? {};
  // Other vocabularies do not spell out the bytes of a token that is no whole text.
  const spelling = kind === 'gpt2' ? tokens : undefined;
  return {
    textOf,
    bytesOf: (token) => spelledBytes(spelling?.[token] ?? textOf(token)),
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
