// The engine on node-llama-cpp: opens a GGUF file, prepares requests and runs them in its slots.

import { on } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { grammarOf } from './grammar.js';
import { contextOverflow, invalid } from './http/wire.js';
import { asTokens, innerCalls } from './inner-calls.js';
import { describe, type EngineSettings, type Loaded, load, type ModelFacts, unload } from './load.js';
import { hashFiles } from './memory.js';
import { planPrompt, readTemplate, type Templating } from './prompt.js';
import { ReplyReader, replyTokens, THINK } from './reply-reader.js';
import type {
  Engine,
  EnginePrompt,
  GenerateEvent,
  GenerateOptions,
  PromptOptions,
  ScoreOptions,
  TokenScore,
} from './request.js';
import { Scheduler } from './scheduler.js';
import { newRequest, openSlot, type Request } from './slot.js';

/**
 * Loads a model. Throws UserError if it cannot be served: the runtime or its GPU library is missing (69), the file has an unknown
 * architecture (65), or memory is too small (69).
 *
 * Scores depend on how llama.cpp samples: logit biases of penalties first, then top-k, top-p, min-p, and temperature last (vLLM and SGLang
 * apply temperature first, so top-p keeps other tokens unless the temperature is 1). Quantised weights and caches also shift scores; the
 * facts record which were used. With one slot, equal requests get equal replies; with several, the slots that share a batch change
 * floating-point sums.
 */
export async function openEngine(settings: EngineSettings): Promise<Engine> {
  const stopHashing = new AbortController();
  const paths = settings.file.parts.map(({ path }) => path);
  const reading = AbortSignal.any([stopHashing.signal, settings.signal]);
  const hashing = hashFiles(paths, reading, settings.cacheDirectory, (read) => settings.onProgress?.('hashing', read));
  hashing.catch(() => undefined);
  let loaded: Loaded | undefined;
  try {
    loaded = await load(settings);
    const template = readTemplate(loaded, settings.file.path);
    return createEngine(loaded, settings, template, describe(loaded, settings, await hashing));
  } catch (error) {
    stopHashing.abort();
    if (loaded !== undefined) await unload(loaded);
    throw error;
  }
}

/** Roughly how many prompt tokens are evaluated in the time of one reply step, which reads all weights however few tokens it has. */
const TOKENS_PER_STEP = { cpu: 7, gpu: 32 };
function createEngine(loaded: Loaded, settings: EngineSettings, template: Templating, facts: ModelFacts): Engine {
  const calls = innerCalls(loaded.llama, loaded.model, loaded.context);
  const bytes = Math.floor(settings.checkpointBytes / settings.slots);
  const slots = Array.from({ length: settings.slots }, () => openSlot(loaded, calls, bytes));
  const scheduler = new Scheduler(slots, facts.batchSize, TOKENS_PER_STEP[facts.gpu === 'off' ? 'cpu' : 'gpu']);
  const prepare = prepareRequests(loaded, template);
  const open = new Set<Request>();
  let closed = false;

  /** Runs a request in a slot. */
  async function* run(request: Request, signal: AbortSignal): AsyncGenerator<GenerateEvent, void, void> {
    if (closed || signal.aborted) return;
    const events: AsyncIterable<GenerateEvent[]> = on(request.events, 'event', { close: ['end'] });
    const leave = (): void => {
      open.delete(request);
      request.events.emit('end');
      scheduler.withdraw(request);
    };
    signal.addEventListener('abort', leave, { once: true });
    open.add(request);
    try {
      scheduler.submit(request);
      for await (const told of events) yield* told;
    } finally {
      signal.removeEventListener('abort', leave);
      leave();
    }
  }

  /**
   * Gives the same reply as without scores: llama.cpp samples it first, and a second pass scores it, since the sampler's probabilities
   * after cuts and penalties are not the model's own. So the text arrives only when the reply has ended.
   */
  async function* scoredReply(
    request: Request,
    scores: ScoreOptions,
    signal: AbortSignal,
  ): AsyncGenerator<GenerateEvent, void, void> {
    const { tokens } = request.prompt;
    let text = '';
    const found: TokenScore[] = [];
    /** Resolves with the end; undefined if the reader has left. */
    const read = async (part: Request) => {
      for await (const event of run(part, signal)) {
        if (event.type === 'text') text += event.text;
        else if (event.type === 'prompt') found.push(...event.scores);
        else return event;
      }
      return undefined;
    };
    const isSilent = request.options.maxTokens === 0;
    const said = isSilent ? undefined : await read(request);
    if (!isSilent && said === undefined) return;
    const all = scores.reply ? [...tokens, ...request.reader.spoken] : tokens;
    const from = scores.promptFrom ?? tokens.length;
    const scored = from < all.length ? await read(prepare.scoring(all, from, request)) : undefined;
    if (found.length < all.length - from) return;
    const ofPrompt = found.slice(0, tokens.length - from);
    if (ofPrompt.length > 0) yield { type: 'prompt', scores: ofPrompt };
    const ofReply = found.slice(ofPrompt.length);
    if (text !== '' || ofReply.length > 0) yield { type: 'text', channel: 'content', text, scores: ofReply };
    const cachedTokens = scored?.usage.cachedTokens ?? 0;
    const usage = { promptTokens: tokens.length, cachedTokens, completionTokens: 0, reasoningTokens: 0 };
    yield said ?? { type: 'end', finishReason: 'length', usage };
  }

  return {
    facts,
    tokenize: async (prompt, options) => (await prepare.promptOf(prompt, options)).tokens,
    detokenize: prepare.textOf,
    async *generate(prompt, options, signal) {
      if (closed || signal.aborted) return;
      const request = await prepare.request(prompt, options);
      // With no tokens to generate, there may be nothing to score either.
      const scores = options.scores ?? (options.maxTokens === 0 ? { reply: false, top: 0 } : undefined);
      yield* scores === undefined ? run(request, signal) : scoredReply(request, scores, signal);
    },
    get busy() {
      return scheduler.busy;
    },
    async close() {
      closed = true;
      for (const { events } of open) events.emit('end');
      await scheduler.close();
      await unload(loaded);
    },
  };
}

/** The grammar generator ends a JSON text with these; they are cut off like a stop string. */
const SCHEMA_END = '\n\n\n\n';
/** Sampling that leaves the model's own distribution unchanged. */
const UNCHANGED = {
  ...{ temperature: 1, topK: 0, topP: 1, minP: 0 },
  ...{ presencePenalty: 0, frequencyPenalty: 0, repetitionPenalty: 1 },
};

/** Above this many characters per context token, a text is first counted in pieces: few texts that long still fit. */
const USUAL_CHARACTERS = 4;
/** Characters that take some tens of milliseconds to tokenise. */
const PIECE = 2 ** 16;
/** Most tokens that a cut in the middle of a word can add. */
const CUT_TOKENS = 16;

/** Makes requests for one loaded model: renders, tokenises and checks prompts. The returned functions throw ApiError for what cannot be served. */
function prepareRequests({ model, context, ...loaded }: Loaded, template: Templating) {
  const { contextSize } = context;
  const reading = replyTokens(model);
  const vocabularySize = model.fileInfo.metadata.tokenizer?.ggml?.tokens?.length ?? 0;
  const tokenize = (text: string): readonly number[] => model.tokenize(text, true);

  function textOf(tokens: readonly number[]): string {
    const odd = tokens.find((token) => token >= vocabularySize);
    if (odd === undefined) return model.detokenize(asTokens(tokens), true);
    throw invalid(`${odd} is not a token of this model, which has ${vocabularySize}`, 'prompt');
  }

  /** The tokenizer blocks everything else, so a text that cannot fit is refused after its first pieces. */
  async function tokenizeWithin(text: string): Promise<readonly number[]> {
    let counted = 0;
    for (let at = 0; text.length > USUAL_CHARACTERS * contextSize && at < text.length; at += PIECE) {
      counted += Math.max(0, tokenize(text.slice(at, at + PIECE)).length - CUT_TOKENS);
      if (counted > contextSize) throw contextOverflow(`more than ${counted}`, contextSize);
      await nextTurn();
    }
    return tokenize(text);
  }

  /** For plain text only: a chat template writes the mark itself. */
  function withBos(text: string): string {
    const { bosString, shouldPrependBosToken } = model.tokens;
    return shouldPrependBosToken && bosString != null && !text.startsWith(bosString) ? bosString + text : text;
  }

  /** The text to evaluate, and its tokens. */
  async function promptOf(prompt: EnginePrompt, options: PromptOptions) {
    if ('tokens' in prompt) return { text: textOf(prompt.tokens), tokens: prompt.tokens };
    const text =
      'text' in prompt ? withBos(prompt.text) : template.render(prompt.messages, prompt.tools ?? [], options);
    return { text, tokens: await tokenizeWithin(text) };
  }

  return {
    textOf,
    promptOf,

    async request(prompt: EnginePrompt, options: GenerateOptions): Promise<Request> {
      const { text, tokens } = await promptOf(prompt, { ...options, addGenerationPrompt: true });
      // One position stays free: the library shifts the context when the last one is taken, and a reply needs room for a token.
      if (tokens.length > contextSize - 1) throw contextOverflow(tokens.length, contextSize);
      const grammar = await grammarOf({ ...loaded, model }, options);
      const isChat = 'messages' in prompt;
      const known = isChat ? reading : { ...reading, openThinking: undefined, closeThinking: undefined };
      const reader = new ReplyReader(known, {
        thinking: known.closeThinking !== undefined && text.trimEnd().endsWith(THINK),
        thinkingBudget: options.thinkingBudget,
        maxTokens: options.maxTokens ?? Number.POSITIVE_INFINITY,
        stop: options.responseFormat.type === 'json_schema' ? [...options.stop, SCHEMA_END] : options.stop,
        blankLineAfterThinking: grammar !== undefined,
      });
      return newRequest({
        prompt: planPrompt(text, tokens, template.marks, tokenize),
        options,
        reader,
        grammar,
        scoring: undefined,
      });
    },

    /** A request that scores the tokens from position `from` on. It reuses what a slot still holds of the given request. */
    scoring(tokens: readonly number[], from: number, { prompt, options, reader }: Request): Request {
      const isBefore = (at: number) => at < from;
      return newRequest({
        prompt: {
          tokens: tokens.slice(0, from),
          pauses: prompt.pauses.filter(isBefore),
          checkpoints: prompt.checkpoints.filter(isBefore),
        },
        options: { ...options, ...UNCHANGED },
        reader,
        grammar: undefined,
        scoring: { tokens: tokens.slice(from), top: options.scores?.top ?? 0 },
      });
    },
  };
}
