// Runs a request in one slot of llama.cpp's context: restoring and keeping states, sampling, events, scores.

import { EventEmitter } from 'node:events';
import {
  asToken,
  asTokens,
  type InnerCalls,
  type InnerSampler,
  type LlamaCpp,
  type Sampled,
  type SamplerConfig,
} from './inner-calls.js';
import type { Loaded } from './load.js';
import type { ReplyReader } from './reply-reader.js';
import type { GenerateEvent, GenerateOptions, ScoredToken, TokenScore } from './request.js';
import type { Evaluator, Scheduled } from './scheduler.js';

/** A request from its arrival to the end of its events. */
export interface Request extends Scheduled {
  readonly options: GenerateOptions;
  readonly reader: ReplyReader;
  readonly grammar: LlamaCpp.LlamaGrammarEvaluationState | undefined;
  /** Emits `event` for its reader until `end` or an `error`. */
  readonly events: EventEmitter<{ event: [GenerateEvent]; end: []; error: [unknown] }>;
  /** Tokens after the prompt to score, at least one; nothing is generated then. */
  readonly scoring: { readonly tokens: readonly number[]; readonly top: number } | undefined;
  /** Set when the reply is over. */
  finished: 'stop' | 'length' | undefined;
  /** Prompt tokens that needed no evaluation; known once the request has a slot. */
  cachedTokens: number;
}

export function newRequest(parts: Pick<Request, 'prompt' | 'options' | 'reader' | 'grammar' | 'scoring'>): Request {
  const events: Request['events'] = new EventEmitter();
  // An error without a listener would throw.
  events.on('error', () => {});
  const fail = (error: unknown) => events.emit('error', error);
  return { ...parts, events, fail, finished: undefined, cachedTokens: 0 };
}

/** More than any memory budget allows. */
const MOST_CHECKPOINTS = 4096;

/** @param checkpointBytes host memory for kept states */
export function openSlot({ model, context }: Loaded, calls: InnerCalls, checkpointBytes: number): Evaluator<Request> {
  // Special tokens included.
  const shown: ShowToken = (token, logprob) => ({ token, text: model.detokenize([asToken(token)], true), logprob });
  /** The only record of which tokens the slot contains. */
  const sequence = context.getSequence({
    contextShift: { strategy: refuseShift },
    checkpoints: { max: MOST_CHECKPOINTS, interval: false, maxMemory: checkpointBytes },
  });
  /** Bytes of one kept state (all states of a sequence are the same size); known once one was taken. */
  let checkpointSize: number | undefined;
  let sampler: ReturnType<typeof openSampler> | undefined;
  /** What the next step evaluates. */
  let next: readonly number[] = [];

  /** Scores a token; returns the one to evaluate next. One at a time, since probabilities of a whole vocabulary take much memory. */
  function score(request: Request, scoring: NonNullable<Request['scoring']>, sampled: Sampled | undefined) {
    const listed = typeof sampled === 'object' ? (sampled[1] ?? []) : [];
    const probabilities = new Map<number, number>();
    for (let pair = 0; pair < listed.length; pair += 2) probabilities.set(listed[pair] ?? 0, listed[pair + 1] ?? 0);
    const at = sequence.nextTokenIndex - request.prompt.tokens.length;
    const wanted = scoring.tokens[at];
    if (probabilities.size === 0 || wanted === undefined) throw new Error('llama.cpp gave no probabilities');
    request.events.emit('event', { type: 'prompt', scores: [scoreToken(probabilities, wanted, scoring.top, shown)] });
    if (at + 1 < scoring.tokens.length) return [wanted];
    tellEnd(request, 'length');
    return [];
  }

  return {
    needsCheckpoints: sequence.needsCheckpoints,
    get position() {
      return sequence.nextTokenIndex;
    },
    async restore(request, tokens) {
      if (tokens === 0) await sequence.clearHistory();
      else await sequence.adaptStateToTokens(asTokens(request.prompt.tokens.slice(0, tokens)), false);
      request.cachedTokens = sequence.nextTokenIndex;
    },
    async feed({ prompt }, end) {
      await calls.evaluate(sequence, prompt.tokens.slice(sequence.nextTokenIndex, end));
    },
    /** The library drops the oldest when its memory is full. */
    async keep() {
      if (!sequence.needsCheckpoints) return Number.POSITIVE_INFINITY;
      if ((checkpointSize ?? 1) > checkpointBytes) return 0;
      const before = sequence.checkpointsMemoryUsage;
      await sequence.takeCheckpoint();
      const after = sequence.checkpointsMemoryUsage;
      checkpointSize ??= after - before;
      return checkpointSize > checkpointBytes ? 0 : Math.round(after / checkpointSize);
    },
    /** The next evaluation only needs to know whether the reply continues; the text is made while it runs. */
    async step(request) {
      if (sampler === undefined) {
        next = request.prompt.tokens.slice(sequence.nextTokenIndex);
        sampler = openSampler(request, calls, context.contextSize);
      }
      const probabilities = request.scoring === undefined ? undefined : true;
      const sampled = await calls.evaluate(sequence, next, { sampler: sampler.ready(), probabilities });
      if (request.scoring !== undefined) next = score(request, request.scoring, sampled);
      else {
        if (typeof sampled !== 'number' || sampled < 0) throw new Error('llama.cpp gave no token');
        next = takeToken(request, sampled, context.contextSize - 1 - sequence.nextTokenIndex);
        setImmediate(tell, request);
      }
      return next.length;
    },
    async leave() {
      sampler?.dispose();
      sampler = undefined;
    },
  };
}

/** The tokens that the next step evaluates; none if the reply is over. Text is emitted separately, since no step waits for it. */
function takeToken(request: Request, token: number, free: number): readonly number[] {
  const { insteadOf, finish } = request.reader.take(token);
  const next = insteadOf ?? [token];
  request.finished = finish ?? (free < next.length ? 'length' : undefined);
  return request.finished === undefined ? next : [];
}

/** Emits the text of the tokens since the last call, and the end if it was reached. Does not throw. */
function tell(request: Request): void {
  const { reader, finished } = request;
  try {
    for (const text of finished === undefined ? reader.texts() : reader.rest())
      request.events.emit('event', { type: 'text', ...text });
    if (finished !== undefined) tellEnd(request, finished);
  } catch (error) {
    request.fail(error);
  }
}

function tellEnd(request: Request, finishReason: 'stop' | 'length'): void {
  const { reader, events, prompt, cachedTokens } = request;
  const usage = {
    promptTokens: prompt.tokens.length,
    cachedTokens,
    completionTokens: reader.spoken.length,
    reasoningTokens: reader.reasoningTokens,
  };
  events.emit('event', { type: 'end', finishReason, usage });
  events.emit('end');
}

/** Nothing may be shifted out of a context; lengths are checked beforehand, so this is never called. */
function refuseShift(): never {
  throw new Error('the context is full');
}

/** The sampler of one reply. */
export function openSampler(request: Request, calls: InnerCalls, contextSize: number) {
  const sampler = calls.newSampler();
  const grammar = request.grammar && calls.grammarState(request.grammar);
  const { temperature, topK, topP, minP, seed } = request.options;
  // Every value is set: the library's defaults differ from the wire format's. Seeds have 32 bits, and the largest means "any".
  const knobs = { temperature, topK, topP, minP, seed: (seed >>> 0) % 0xffff_ffff };
  /** Whether the grammar constrains the sampler; undefined before its first configuration. */
  let wasHeld: boolean | undefined;
  return {
    /** The sampler for the next token; configured once, and again whenever its configuration may have changed. */
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
 * Presence and frequency count the reply's tokens, repetition also the prompt's, as in vLLM. llama.cpp keeps one count for all three, so
 * next to a repetition penalty the other two become biases. It adds those before it divides by that penalty, so they are multiplied by
 * it here and have their exact effect wherever the logit stays above 0. Undefined if nothing is penalised.
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

type ShowToken = (token: number, logprob: number) => ScoredToken;

/** Smallest positive 32-bit float, the format of the probabilities. */
const SMALLEST = 2 ** -149;

/**
 * The score of `token` under probabilities in descending order, as llama.cpp gives them. They are summed again in double precision, since
 * its own sum loses what many unlikely tokens add.
 */
function scoreToken(
  probabilities: ReadonlyMap<number, number>,
  token: number,
  top: number,
  shown: ShowToken,
): TokenScore {
  let sum = 0;
  for (const probability of probabilities.values()) sum += probability;
  const scored = (id: number, probability: number) => shown(id, Math.log(Math.max(probability, SMALLEST) / sum));
  const likely: ScoredToken[] = [];
  for (const [id, probability] of probabilities) {
    if (likely.length >= top) break;
    likely.push(scored(id, probability));
  }
  return { ...scored(token, probabilities.get(token) ?? 0), top: likely };
}
