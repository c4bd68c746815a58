// node-llama-cpp behind the engine contract: opening a GGUF file, and taking requests for its slots.

import type { Engine, GenerateEvent, ModelFacts, ScoreOptions, TokenScore } from './engine-contract.js';
import { Preparation, type Request } from './engine-request.js';
import { innerCalls } from './inner-calls.js';
import { describe, type EngineSettings, type Loaded, load, unload } from './load.js';
import { hashFiles } from './model-file.js';
import { readTemplate, type Templating } from './prompt.js';
import { importRuntime } from './runtime.js';
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
  const { runtime, jinja } = await importRuntime();
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
    loaded = await load(runtime, settings);
    const template = readTemplate(loaded, jinja, settings.file.path);
    const facts: ModelFacts = { ...describe(loaded, settings), sha256: await hashing };
    return createEngine(loaded, createSlots(loaded, settings), template, facts);
  } catch (error) {
    stopHashing.abort();
    if (loaded !== undefined) await unload(loaded);
    throw error;
  }
}

/** Generates nothing and scores nothing. */
const NO_SCORES = { reply: false, top: 0 };

/** Roughly: of a prompt, evaluated in the time of a reply's step, which reads all weights however few tokens it has. */
const TOKENS_PER_STEP = { cpu: 7, gpu: 32 };

function createSlots(loaded: Loaded, { slots, checkpointBytes }: EngineSettings): Slot[] {
  const calls = innerCalls(loaded.llama, loaded.model, loaded.context);
  const each = Math.floor(checkpointBytes / slots);
  return Array.from({ length: slots }, () => new Slot(loaded, calls, each));
}

function createEngine(loaded: Loaded, slots: readonly Slot[], template: Templating, facts: ModelFacts): Engine {
  const scheduler = new Scheduler(slots, {
    batchSize: facts.batchSize,
    tokensPerStep: facts.gpu === 'off' ? TOKENS_PER_STEP.cpu : TOKENS_PER_STEP.gpu,
  });
  const prepare = new Preparation(loaded, template);
  const open = new Set<Request>();
  let closed = false;

  async function* run(request: Request, signal: AbortSignal): AsyncGenerator<GenerateEvent, void, void> {
    if (closed || signal.aborted) return;
    const leave = (): void => {
      open.delete(request);
      request.events.close();
      scheduler.withdraw(request);
    };
    signal.addEventListener('abort', leave, { once: true });
    open.add(request);
    try {
      scheduler.submit(request);
      yield* request.events.read();
    } finally {
      signal.removeEventListener('abort', leave);
      leave();
    }
  }

  return {
    facts,
    tokenize: async (prompt, options) => (await prepare.prompt(prompt, options)).tokens,
    detokenize: (tokens) => prepare.textOf(tokens),
    async *generate(prompt, options, signal) {
      if (closed || signal.aborted) return;
      const request = await prepare.request(prompt, options);
      const scores = options.scores ?? (options.maxTokens === 0 ? NO_SCORES : undefined);
      if (scores === undefined) yield* run(request, signal);
      else {
        const scoring = (tokens: readonly number[], from: number) => prepare.scoring(tokens, from, request);
        yield* scoredReply(request, scores, (part) => run(part, signal), scoring);
      }
    },
    get busy() {
      return scheduler.busy;
    },
    async close() {
      closed = true;
      for (const { events } of open) events.close();
      await scheduler.close();
      await unload(loaded);
    },
  };
}

type End = Extract<GenerateEvent, { type: 'end' }>;

/**
 * The same reply as without scores, since llama.cpp samples it alone: its probabilities after cuts and penalties are not the model's own.
 * So its text comes when it has ended. `run` puts a request through the engine; `scoring` makes the one that scores tokens from a position.
 */
async function* scoredReply(
  request: Request,
  scores: ScoreOptions,
  run: (request: Request) => AsyncIterable<GenerateEvent>,
  scoring: (tokens: readonly number[], from: number) => Request,
): AsyncGenerator<GenerateEvent, void, void> {
  const { tokens } = request.prompt;
  const texts = { reasoning: '', content: '' };
  let end: End | undefined;
  if (request.options.maxTokens !== 0) {
    for await (const event of run(request)) {
      if (event.type === 'text') texts[event.channel] += event.text;
      if (event.type === 'end') end = event;
    }
    // The reader has left.
    if (end === undefined) return;
  }
  const scored = scores.reply ? [...tokens, ...request.reader.spoken] : tokens;
  const from = scores.promptFrom ?? tokens.length;
  const found: TokenScore[] = [];
  let cachedTokens = 0;
  if (from < scored.length) {
    for await (const event of run(scoring(scored, from))) {
      if (event.type === 'prompt') found.push(...event.scores);
      if (event.type === 'end') cachedTokens = event.usage.cachedTokens;
    }
    if (found.length < scored.length - from) return;
  }
  const ofPrompt = found.slice(0, tokens.length - from);
  if (ofPrompt.length > 0) yield { type: 'prompt', scores: ofPrompt };
  const ofReply = splitScores(found.slice(ofPrompt.length), request.reader.spokenThinking, texts.content);
  for (const channel of ['reasoning', 'content'] as const) {
    if (texts[channel] === '' && ofReply[channel].length === 0) continue;
    yield { type: 'text', channel, text: texts[channel], scores: ofReply[channel] };
  }
  const silent = { promptTokens: tokens.length, cachedTokens, completionTokens: 0, reasoningTokens: 0 };
  yield end ?? { type: 'end', finishReason: 'length', usage: silent };
}

/** Thinking has the newlines behind it too; what was said behind the content (a stop string, the end) has no score. */
function splitScores(
  scores: readonly TokenScore[],
  thinking: number,
  content: string,
): { reasoning: readonly TokenScore[]; content: readonly TokenScore[] } {
  const said = thinking === 0 ? 0 : scores.findIndex(({ text }, index) => index >= thinking && !/^\n+$/.test(text));
  const start = said < 0 ? scores.length : said;
  let left = Buffer.byteLength(content);
  const ofContent: TokenScore[] = [];
  for (const score of scores.slice(start)) {
    if (left <= 0) break;
    ofContent.push(score);
    left -= score.bytes.length;
  }
  return { reasoning: scores.slice(0, start), content: ofContent };
}
