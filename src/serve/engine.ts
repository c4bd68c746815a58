// node-llama-cpp behind the engine contract: opening a GGUF file, and taking requests for its slots.

import { on } from 'node:events';
import type { Engine, GenerateEvent, ModelFacts, ScoreOptions, TokenScore } from './engine-contract.js';
import { prepareRequests, type Request } from './engine-request.js';
import { innerCalls } from './inner-calls.js';
import { describe, type EngineSettings, type Loaded, load, unload } from './load.js';
import { hashFiles } from './model-file.js';
import { readTemplate, type Templating } from './prompt.js';
import { Scheduler } from './scheduler.js';
import { Slot } from './slot.js';

/**
 * Loads a model. Throws UserError where it cannot be served: the runtime or its GPU library is missing (69), the file is of an unknown
 * architecture (65), or memory does not suffice (69).
 *
 * Scores depend on how llama.cpp samples: logit biases of penalties first, then top-k, top-p, min-p, and temperature last (vLLM and SGLang
 * apply temperature first, so that at another temperature than 1 top-p keeps other tokens). Quantised weights and caches move scores too:
 * the facts say which were used. Equal requests give equal replies with one slot; with several, which of them share a batch changes
 * floating-point sums.
 */
export async function openEngine(settings: EngineSettings): Promise<Engine> {
  const stopHashing = new AbortController();
  const hashing = hashFiles(
    settings.file.parts.map(({ path }) => path),
    {
      directory: settings.cacheDirectory,
      signal: AbortSignal.any([stopHashing.signal, settings.signal]),
      onProgress: (read) => settings.onProgress?.('hashing', read),
    },
  );
  hashing.catch(() => undefined);
  let loaded: Loaded | undefined;
  try {
    loaded = await load(settings);
    const template = readTemplate(loaded, settings.file.path);
    const facts: ModelFacts = { ...describe(loaded, settings), sha256: await hashing };
    return createEngine(loaded, settings, template, facts);
  } catch (error) {
    stopHashing.abort();
    if (loaded !== undefined) await unload(loaded);
    throw error;
  }
}

/** Roughly: of a prompt, evaluated in the time of a reply's step, which reads all weights however few tokens it has. */
const TOKENS_PER_STEP = { cpu: 7, gpu: 32 };
/** Generates nothing and scores nothing. */
const NO_SCORES = { reply: false, top: 0 };

function createEngine(loaded: Loaded, settings: EngineSettings, template: Templating, facts: ModelFacts): Engine {
  const calls = innerCalls(loaded.llama, loaded.model, loaded.context);
  const bytes = Math.floor(settings.checkpointBytes / settings.slots);
  const scheduler = new Scheduler(
    Array.from({ length: settings.slots }, () => new Slot(loaded, calls, bytes)),
    { batchSize: facts.batchSize, tokensPerStep: facts.gpu === 'off' ? TOKENS_PER_STEP.cpu : TOKENS_PER_STEP.gpu },
  );
  const prepare = prepareRequests(loaded, template);
  const open = new Set<Request>();
  let closed = false;

  /** Takes a request through its slot. */
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
   * The same reply as without scores, since llama.cpp samples it alone: its probabilities after cuts and penalties are not the model's own.
   * So its text comes when it has ended.
   */
  async function* scoredReply(
    request: Request,
    scores: ScoreOptions,
    signal: AbortSignal,
  ): AsyncGenerator<GenerateEvent, void, void> {
    const { tokens } = request.prompt;
    const texts = { reasoning: '', content: '' };
    const found: TokenScore[] = [];
    /** Resolves with the end; undefined where the reader has left. */
    const read = async (part: Request) => {
      for await (const event of run(part, signal)) {
        if (event.type === 'text') texts[event.channel] += event.text;
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
    const ofReply = splitScores(found.slice(ofPrompt.length), request.reader.spokenThinking, texts.content);
    for (const channel of ['reasoning', 'content'] as const) {
      if (texts[channel] === '' && ofReply[channel].length === 0) continue;
      yield { type: 'text', channel, text: texts[channel], scores: ofReply[channel] };
    }
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
      const scores = options.scores ?? (options.maxTokens === 0 ? NO_SCORES : undefined);
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

/** Thinking has the newlines behind it too; what was said behind the content (a stop string, the end) has no score. */
function splitScores(scores: readonly TokenScore[], thinking: number, content: string) {
  const said = thinking === 0 ? 0 : scores.findIndex(({ text }, index) => index >= thinking && !/^\n+$/.test(text));
  const start = said < 0 ? scores.length : said;
  let left = Buffer.byteLength(content);
  const ofContent = scores.slice(start).filter(({ bytes }) => {
    const isInside = left > 0;
    left -= bytes.length;
    return isInside;
  });
  return { reasoning: scores.slice(0, start), content: ofContent };
}
