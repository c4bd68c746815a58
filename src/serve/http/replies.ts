// Replies: what is asked of the engine for one, and how its choices are written, whole or as events, whatever their format.

import { createHash, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Engine, EnginePrompt, GenerateOptions, ModelFacts, Tool, Usage } from '../engine-contract.js';
import { readChatRequest } from '../request/chat-request.js';
import { readCompletionRequest } from '../request/completion-request.js';
import { MOST_SEED, type ServerDefaults } from '../request/parameters.js';
import { commonPrefix } from '../scheduler.js';
import { toldOf } from './api-error.js';
import { answer } from './body.js';
import { CHAT_REPLY, completionReply, type Echo, type Piece, type ReplyFormat, scoredChatReply } from './formats.js';
import { type ReplyEnd, type ReplyEvent, readToolCalls } from './tool-calls.js';

/** What is asked of the engine for one reply. */
export interface Asked {
  /** One for each choice, those of a prompt in a row. */
  readonly calls: readonly { readonly prompt: EnginePrompt; readonly options: GenerateOptions }[];
  /** How many prompts there are. */
  readonly prompts: number;
  readonly tools: readonly Tool[];
  readonly format: ReplyFormat;
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

/** The choices of a prompt: their seeds count up. */
function choicesOf(prompt: EnginePrompt, options: GenerateOptions, n: number): Asked['calls'] {
  return Array.from({ length: n }, (_, choice) => ({
    prompt,
    options: { ...options, seed: (options.seed + choice) % (MOST_SEED + 1) },
  }));
}

/** Throws as `readChatRequest`. */
export async function chatAsked(engine: Engine, body: unknown, defaults: ServerDefaults): Promise<Asked> {
  const asked = readChatRequest(body, defaults);
  const { messages, tools, options, promptLogprobs: top } = asked;
  if (top === undefined) {
    return { ...asked, format: CHAT_REPLY, calls: choicesOf({ messages, tools }, options, asked.n), prompts: 1 };
  }
  // Scores the last message, from where its prompt leaves that of the messages before it.
  const rendered = (shown: typeof messages) =>
    engine.tokenize({ messages: shown, tools }, { ...options, addGenerationPrompt: false });
  const tokens = await rendered(messages);
  // Nothing precedes the first token.
  const promptFrom = Math.max(1, commonPrefix(tokens, await rendered(messages.slice(0, -1))));
  const scored = { ...options, scores: { promptFrom, reply: false, top } };
  return {
    ...asked,
    tools: [],
    format: scoredChatReply(promptFrom),
    calls: choicesOf({ tokens }, scored, 1),
    prompts: 1,
  };
}

/** Throws as `readCompletionRequest`. */
export async function completionAsked(engine: Engine, body: unknown, defaults: ServerDefaults): Promise<Asked> {
  const asked = readCompletionRequest(body, defaults);
  const { scores } = asked.options;
  const echoes: Echo[] = [];
  const calls: Asked['calls'][number][] = [];
  for (const given of asked.prompts) {
    let [prompt, options, echo]: [EnginePrompt, GenerateOptions, Echo] = [given, asked.options, { unscored: [] }];
    if (asked.echo) {
      const tokens = await engine.tokenize(given, { templateArguments: {}, addGenerationPrompt: true });
      const promptFrom = scores === undefined ? 0 : Math.min(asked.scoreFrom, tokens.length);
      prompt = { tokens };
      echo = {
        text: 'text' in given ? given.text : engine.detokenize(tokens),
        unscored: tokens.slice(0, promptFrom).map((token) => engine.detokenize([token])),
      };
      if (scores !== undefined) options = { ...options, scores: { ...scores, promptFrom } };
    }
    const choices = choicesOf(prompt, options, asked.n);
    calls.push(...choices);
    echoes.push(...choices.map(() => echo));
  }
  const format = completionReply(echoes, scores !== undefined);
  return { ...asked, tools: [], format, calls, prompts: asked.prompts.length };
}

/** Carries the seed of a reply, given or drawn, so that it can be asked for again; further choices count up from it. */
const SEED_HEADER = 'x-seed';
const PING_MS = 15_000;

interface Client {
  /** Silence after which a comment is sent. */
  readonly pingIntervalMs?: number;
  /** Aborts when the client is gone, or when the server will not wait for the reply any longer. */
  readonly signal: AbortSignal;
  /** Told what clients are not: why the engine failed. */
  readonly onError?: (error: unknown) => void;
}

/** Takes a reply through the engine to the client, and gives back the usage of each choice. Rejects where nothing was written yet. */
export async function reply(
  engine: Engine,
  asked: Asked,
  response: ServerResponse,
  { pingIntervalMs = PING_MS, signal, onError }: Client,
): Promise<Usage[]> {
  const { calls, prompts, tools, format } = asked;
  const head = {
    id: `${format.idPrefix}${randomUUID()}`,
    created: Math.floor(Date.now() / 1_000),
    model: engine.facts.name,
    system_fingerprint: fingerprintOf(engine.facts),
  };
  if (calls[0] !== undefined) response.setHeader(SEED_HEADER, calls[0].options.seed);
  // Where one choice fails, the others end too.
  const failing = new AbortController();
  const either = AbortSignal.any([signal, failing.signal]);
  const choices = calls.map(({ prompt, options }) => {
    const events = engine.generate(prompt, options, either);
    return tools.length === 0 ? events : readToolCalls(events, tools);
  });
  const replying = { format, head, choices, prompts };
  try {
    return asked.stream
      ? await replyInEvents(response, replying, {
          includeUsage: asked.includeUsage,
          pingIntervalMs,
          errorOf: (error) => toldOf(error, signal, onError),
        })
      : await replyWhole(response, replying);
  } finally {
    failing.abort();
  }
}

/** Changes whenever something changes that replies depend on. */
function fingerprintOf({ name: _, file: __, ...facts }: ModelFacts): string {
  return `fp_${createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 12)}`;
}

/** Key by key. */
export function sumOf(usages: readonly Usage[]): Usage {
  const sum = (key: keyof Usage) => usages.reduce((total, usage) => total + usage[key], 0);
  return {
    promptTokens: sum('promptTokens'),
    cachedTokens: sum('cachedTokens'),
    completionTokens: sum('completionTokens'),
    reasoningTokens: sum('reasoningTokens'),
  };
}

/** The usage of all choices: a prompt counts once, as OpenAI has it, with what the first choice found in the cache. */
function usageBody(usages: readonly Usage[], prompts: number): unknown {
  const prompt = sumOf(usages.filter((_, index) => index % (usages.length / prompts) === 0));
  const all = sumOf(usages);
  return {
    prompt_tokens: prompt.promptTokens,
    completion_tokens: all.completionTokens,
    total_tokens: prompt.promptTokens + all.completionTokens,
    prompt_tokens_details: { cached_tokens: prompt.cachedTokens },
    completion_tokens_details: { reasoning_tokens: all.reasoningTokens },
  };
}

/** The choices of a reply, `choices.length / prompts` for each prompt. */
interface Replying {
  readonly format: ReplyFormat;
  /** What stands in a reply and in each of its chunks. */
  readonly head: Readonly<Record<string, unknown>>;
  readonly choices: readonly AsyncIterable<ReplyEvent>[];
  readonly prompts: number;
}

/** Writes the reply in one piece. Rejects as soon as one of the choices fails. */
async function replyWhole(response: ServerResponse, { format, head, choices, prompts }: Replying): Promise<Usage[]> {
  const read = choices.map(async (events, index) => {
    const pieces: Piece[] = [];
    const end = await readEvents(events, (piece) => pieces.push(piece));
    return { choice: format.choice(index, pieces, end), beside: format.beside?.(pieces), usage: end.usage };
  });
  const written = await Promise.all(read);
  const usages = written.map(({ usage }) => usage);
  const body = { ...head, object: format.object, choices: written.map(({ choice }) => choice) };
  answer(response, 200, { ...body, ...written[0]?.beside, usage: usageBody(usages, prompts) });
  return usages;
}

/** Writes the reply as events, choices side by side. A failure behind the first event becomes an error event, worded by `errorOf`. */
export async function replyInEvents(
  response: ServerResponse,
  { format, head, choices, prompts }: Replying,
  settings: {
    readonly includeUsage: boolean;
    readonly pingIntervalMs: number;
    readonly errorOf: (error: unknown) => { readonly body: unknown };
  },
): Promise<Usage[]> {
  const sendText = (data: string) => writeEvent(response, `data: ${data}\n\n`);
  // What every chunk begins with is made once.
  const opening = JSON.stringify({ ...head, object: format.chunkObject }).slice(0, -1);
  const send = (written: readonly unknown[], usage: unknown = null): void => {
    const last = settings.includeUsage ? `,"usage":${JSON.stringify(usage)}` : '';
    sendText(`${opening},"choices":${JSON.stringify(written)}${last}}`);
  };
  const sendEach = (written: readonly unknown[]) => {
    for (const choice of written) send([choice]);
  };
  // Also before the first token: a prompt that waits or is read for minutes outlasts the patience of many clients.
  const pings = setInterval(() => writeEvent(response, ': ping\n\n'), settings.pingIntervalMs);
  const write = async (events: AsyncIterable<ReplyEvent>, index: number): Promise<Usage> => {
    const writer = format.writer(index);
    const end = await readEvents(events, (piece) => sendEach(writer.take(piece)));
    sendEach(writer.end(end));
    return end.usage;
  };
  try {
    const usages = await Promise.all(choices.map(write));
    if (settings.includeUsage) send([], usageBody(usages, prompts));
    sendText('[DONE]');
    response.end();
    return usages;
  } catch (error) {
    if (!response.headersSent) throw error;
    // An error event, and nothing that would look like an end.
    sendText(JSON.stringify(settings.errorOf(error).body));
    response.end();
    return [];
  } finally {
    clearInterval(pings);
  }
}

async function readEvents(events: AsyncIterable<ReplyEvent>, take: (piece: Piece) => void): Promise<ReplyEnd> {
  let end: ReplyEnd | undefined;
  for await (const event of events) {
    if (event.type === 'end') end = event;
    else take(event);
  }
  if (end === undefined) throw new Error('the engine ended a reply without saying why');
  return end;
}

/** Unread text above which the client is taken for gone. Waiting for it would hold up the whole batch. */
const MOST_UNREAD_BYTES = 16 * 2 ** 20;

/** Writes to a stream of events; the head of the response goes with the first of them. */
function writeEvent(response: ServerResponse, text: string): void {
  if (response.destroyed) return;
  if (!response.headersSent) {
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
  }
  response.write(text);
  if (response.writableLength > MOST_UNREAD_BYTES) response.destroy();
}
