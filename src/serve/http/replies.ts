// Replies: turns a request into calls of the engine, and writes the choices, complete or as events, as chat or text completions. Function
// calls are extracted from the text between <tool_call> and </tool_call>.

import { createHash, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { isObject, type JsonObject, parseJson } from '../../core/json.js';
import { longestStart } from '../reply-reader.js';
import {
  CLOSE_CALL,
  type Engine,
  type EnginePrompt,
  type GenerateEvent,
  type GenerateOptions,
  MOST_SEED,
  readChatRequest,
  readCompletionRequest,
  type ServerDefaults,
  type TokenScore,
  type Tool,
} from '../request.js';
import { commonPrefix } from '../scheduler.js';
import { answer, toldOf, type Usage } from './wire.js';

type Piece = Exclude<ReplyEvent, ReplyEnd>;

/** How one kind of reply is written: as chunks, which a complete reply joins. */
interface ReplyFormat {
  readonly idPrefix: string;
  readonly object: string;
  readonly chunkObject: string;
  /** Writes a choice of a streamed reply as entries of `choices`: for each event, and at the end. */
  writer(index: number): {
    take(piece: Piece): readonly JsonObject[];
    end(end: ReplyEnd): readonly JsonObject[];
  };
  /** A choice of a complete reply, made from its joined entries. */
  whole(said: JsonObject): JsonObject;
  /** Further keys of a complete reply with one choice. */
  beside?(pieces: readonly Piece[]): JsonObject;
}

type Text = Extract<Piece, { type: 'text' }>;
/** Thinking has its own key, in addition to OpenAI's. */
const KEYS = { reasoning: 'reasoning_content', content: 'content' } as const satisfies Record<Text['channel'], string>;

export const CHAT_REPLY: ReplyFormat = {
  idPrefix: 'chatcmpl-',
  object: 'chat.completion',
  chunkObject: 'chat.completion.chunk',
  writer(index) {
    let isOpen = false;
    const entry = (delta: object, finishReason: string | null = null) => {
      const own = { index, delta, logprobs: null, finish_reason: finishReason };
      if (isOpen) return [own];
      isOpen = true;
      // The role comes first.
      return [{ ...own, delta: { role: 'assistant', content: '' }, finish_reason: null }, own];
    };
    return {
      take(piece) {
        if (piece.type === 'prompt') return [];
        if (piece.type === 'text') return entry({ [KEYS[piece.channel]]: piece.text });
        const { index: at, id, name, arguments: given } = piece;
        return entry({ tool_calls: [{ index: at, id, type: 'function', function: { name, arguments: given } }] });
      },
      end: ({ finishReason }) => entry({}, finishReason),
    };
  },
  whole({ delta, ...choice }) {
    const { content, tool_calls: calls, ...message } = Object(delta);
    const called = calls?.map(({ index: _, ...call }: { index: number }) => call);
    const text = content === '' && called !== undefined ? null : content;
    return { ...choice, message: { ...message, content: text, refusal: null, tool_calls: called } };
  },
};

/** A reply that scores the last message, with `prompt_logprobs` as in vLLM: null up to where the scores begin. */
function scoredChatReply(promptFrom: number): ReplyFormat {
  return {
    ...CHAT_REPLY,
    beside: (pieces) => {
      const scores = pieces.flatMap((piece) => (piece.type === 'prompt' ? piece.scores : []));
      // The token itself, and the likeliest at its position; vLLM also has a rank, which llama.cpp does not report.
      const positions = scores.map(({ top, ...own }) =>
        Object.fromEntries(
          [own, ...top].map(({ token, text, logprob }) => [token, { logprob, rank: null, decoded_token: text }]),
        ),
      );
      return { prompt_logprobs: [...Array<null>(promptFrom).fill(null), ...positions] };
    },
  };
}

/**
 * OpenAI's older format.
 * @param scored whether logprobs are reported
 * @param unscored texts of the prompt's leading tokens, which are not scored; the scored ones follow
 * @param echo the prompt, if it is echoed
 */
function completionReply(scored: boolean, unscored: readonly string[], echo?: string): ReplyFormat {
  return {
    idPrefix: 'cmpl-',
    object: 'text_completion',
    chunkObject: 'text_completion',
    writer(index) {
      const offsetOf = textOffsets();
      let isEchoed = echo === undefined;
      const entry = (text: string, logprobs: unknown, finishReason: string | null = null) => ({
        index,
        text,
        logprobs,
        finish_reason: finishReason,
      });
      /** The prompt comes first, with its scores if there are any. */
      const echoed = (scores: readonly TokenScore[] = []) => {
        if (isEchoed || echo === undefined) return [];
        isEchoed = true;
        return [entry(echo, scored ? textLogprobs(unscored, scores, offsetOf) : null)];
      };
      return {
        take(piece) {
          if (piece.type === 'prompt') return echoed(piece.scores);
          if (piece.type !== 'text') return [];
          const { scores } = piece;
          return [...echoed(), entry(piece.text, scores === undefined ? null : textLogprobs([], scores, offsetOf))];
        },
        end: ({ finishReason }) => [...echoed(), entry('', null, finishReason)],
      };
    },
    whole: (said) => said,
  };
}

/** Joins two entries: texts and lists are concatenated; if one is null, the other is taken. */
function joined(first: unknown, second: unknown): unknown {
  if (first === null || first === undefined) return second;
  if (typeof first === 'string' && typeof second === 'string') return first + second;
  // Both lists belong to this reply only, so the first may grow in place; copying each time would take minutes for a long reply.
  if (Array.isArray(first) && Array.isArray(second)) {
    first.push(...second);
    return first;
  }
  if (isObject(first) && isObject(second)) return joinedObjects(first, second);
  return second ?? first;
}

function joinedObjects(first: JsonObject, second: JsonObject): JsonObject {
  const members = Object.entries(second).map(([key, value]) => [key, joined(first[key], value)]);
  return { ...first, ...Object.fromEntries(members) };
}

function textLogprobs(unscored: readonly string[], scores: readonly TokenScore[], offsetOf: OffsetOf) {
  const tokens = [...unscored, ...scores.map(({ text }) => text)];
  const none = unscored.map(() => null);
  const top = scores.map(({ text, logprob, top }) => ({
    ...Object.fromEntries(top.map((likely) => [likely.text, likely.logprob])),
    [text]: logprob,
  }));
  return {
    tokens,
    token_logprobs: [...none, ...scores.map(({ logprob }) => logprob)],
    top_logprobs: [...none, ...top],
    /** In characters (code points), from the start of the choice's text. */
    text_offset: tokens.map(offsetOf),
  };
}

/** A token's start offset; call once per token, in order. Part of a character counts as one. */
type OffsetOf = (token: string) => number;

function textOffsets(): OffsetOf {
  let offset = 0;
  return (token) => {
    const start = offset;
    offset += Array.from(token).length;
    return start;
  };
}

/** The engine calls for one reply, and how to write it. */
type Asked = Awaited<ReturnType<typeof chatAsked>>;

/** The choices of a prompt, with consecutive seeds. */
function choicesOf(prompt: EnginePrompt, options: GenerateOptions, n: number) {
  return Array.from({ length: n }, (_, choice) => ({
    prompt,
    options: { ...options, seed: (options.seed + choice) % (MOST_SEED + 1) },
  }));
}

/** Throws as `readChatRequest`. */
export async function chatAsked(engine: Engine, body: unknown, defaults: ServerDefaults) {
  const asked = readChatRequest(body, defaults);
  const { messages, options, promptLogprobs: top, stream, includeUsage } = asked;
  const reply = { stream, includeUsage, tools: asked.tools, format: CHAT_REPLY };
  if (top === undefined) return { ...reply, calls: choicesOf({ messages, tools: asked.tools }, options, asked.n) };
  // Scores the last message: from where its prompt departs from the prompt of the messages before it.
  const rendered = (shown: typeof messages) =>
    engine.tokenize({ messages: shown, tools: asked.tools }, { ...options, addGenerationPrompt: false });
  const tokens = await rendered(messages);
  // Nothing precedes the first token.
  const promptFrom = Math.max(1, commonPrefix(tokens, await rendered(messages.slice(0, -1))));
  const calls = choicesOf({ tokens }, { ...options, scores: { promptFrom, reply: false, top } }, 1);
  return { ...reply, tools: [], format: scoredChatReply(promptFrom), calls };
}

/** Throws as `readCompletionRequest`. */
export async function completionAsked(engine: Engine, body: unknown, defaults: ServerDefaults): Promise<Asked> {
  const asked = readCompletionRequest(body, defaults);
  const { stream, includeUsage, prompt, options, n, echo } = asked;
  const { scores } = options;
  const tokens = echo ? await engine.tokenize(prompt, { templateArguments: {}, addGenerationPrompt: true }) : [];
  // Nothing precedes the first token.
  const promptFrom = scores === undefined ? 0 : 1;
  const text = 'text' in prompt ? prompt.text : engine.detokenize(tokens);
  const unscored = tokens.slice(0, promptFrom).map((token) => engine.detokenize([token]));
  const format = completionReply(scores !== undefined, unscored, echo ? text : undefined);
  const calls = echo
    ? choicesOf({ tokens }, { ...options, scores: scores && { ...scores, promptFrom } }, n)
    : choicesOf(prompt, options, n);
  return { stream, includeUsage, tools: [], format, calls };
}

const PING_MS = 15_000;

/**
 * Generates a reply and writes it to the client; returns the usage of each choice. Rejects only if nothing was written yet.
 * @param signal aborts when the client is gone, or when the server will not wait for the reply any longer
 */
export async function reply(
  engine: Engine,
  asked: Asked,
  response: ServerResponse,
  signal: AbortSignal,
  { pingIntervalMs = PING_MS, onError }: { pingIntervalMs?: number; onError?: (error: unknown) => void },
): Promise<Usage[]> {
  const { calls, tools, format } = asked;
  const { name, file: _, ...facts } = engine.facts;
  const head = {
    id: `${format.idPrefix}${randomUUID()}`,
    created: Math.floor(Date.now() / 1_000),
    model: name,
    // Changes whenever anything that replies depend on changes.
    system_fingerprint: `fp_${createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 12)}`,
  };
  // The given or drawn seed, to make the reply reproducible; further choices count up from it.
  if (calls[0] !== undefined) response.setHeader('x-seed', calls[0].options.seed);
  // If one choice fails, the others end.
  const failing = new AbortController();
  const either = AbortSignal.any([signal, failing.signal]);
  const choices = calls.map(({ prompt, options }) => {
    const events = engine.generate(prompt, options, either);
    return tools.length === 0 ? events : readToolCalls(events, tools);
  });
  try {
    if (asked.stream) {
      const errorOf = (error: unknown) => toldOf(error, signal, onError);
      const settings = { includeUsage: asked.includeUsage, pingIntervalMs, errorOf };
      return await replyInEvents(response, { format, head, choices }, settings);
    }
    const read = choices.map(async (events, index) => {
      const pieces: Piece[] = [];
      const end = await readEvents(events, (piece) => pieces.push(piece));
      const writer = format.writer(index);
      const entries = [...pieces.flatMap((piece) => writer.take(piece)), ...writer.end(end)];
      return { choice: format.whole(entries.reduce(joinedObjects)), beside: format.beside?.(pieces), usage: end.usage };
    });
    const written = await Promise.all(read);
    const usages = written.map(({ usage }) => usage);
    const body = { ...head, object: format.object, choices: written.map(({ choice }) => choice) };
    answer(response, 200, { ...body, ...written[0]?.beside, usage: usageBody(usages) });
    return usages;
  } finally {
    failing.abort();
  }
}

/** Adds usages key by key. */
export function sumOf(usages: readonly Usage[]): Usage {
  const sum = (key: keyof Usage) => usages.reduce((total, usage) => total + usage[key], 0);
  return {
    promptTokens: sum('promptTokens'),
    cachedTokens: sum('cachedTokens'),
    completionTokens: sum('completionTokens'),
    reasoningTokens: sum('reasoningTokens'),
  };
}

/** The usage of all choices: the prompt counts once, as with OpenAI, with the first choice's cached tokens. */
function usageBody(usages: readonly Usage[]): unknown {
  const { promptTokens = 0, cachedTokens = 0 } = usages[0] ?? {};
  const all = sumOf(usages);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: all.completionTokens,
    total_tokens: promptTokens + all.completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: all.reasoningTokens },
  };
}

/**
 * Writes the reply as events, with the choices interleaved. A failure after the first event becomes an error event, worded by `errorOf`.
 * @param made its `head` has the keys that a reply and each of its chunks share
 */
export async function replyInEvents(
  response: ServerResponse,
  made: Readonly<{ format: ReplyFormat; head: object; choices: readonly AsyncIterable<ReplyEvent>[] }>,
  settings: Readonly<{ includeUsage: boolean; pingIntervalMs: number; errorOf(error: unknown): { body: unknown } }>,
): Promise<Usage[]> {
  const { format, head, choices } = made;
  const sendText = (data: string) => writeEvent(response, `data: ${data}\n\n`);
  // The common start of all chunks is serialised once.
  const opening = JSON.stringify({ ...head, object: format.chunkObject }).slice(0, -1);
  const send = (written: readonly unknown[], usage: unknown = null): void => {
    const last = settings.includeUsage ? `,"usage":${JSON.stringify(usage)}` : '';
    sendText(`${opening},"choices":${JSON.stringify(written)}${last}}`);
  };
  const sendEach = (written: readonly unknown[]) => {
    for (const choice of written) send([choice]);
  };
  // Pings also run before the first token: a prompt can wait or be evaluated for minutes, longer than many clients' timeouts.
  const pings = setInterval(() => writeEvent(response, ': ping\n\n'), settings.pingIntervalMs);
  const write = async (events: AsyncIterable<ReplyEvent>, index: number): Promise<Usage> => {
    const writer = format.writer(index);
    const end = await readEvents(events, (piece) => sendEach(writer.take(piece)));
    sendEach(writer.end(end));
    return end.usage;
  };
  try {
    const usages = await Promise.all(choices.map(write));
    if (settings.includeUsage) send([], usageBody(usages));
    sendText('[DONE]');
    response.end();
    return usages;
  } catch (error) {
    if (!response.headersSent) throw error;
    // Sends an error event, and nothing that looks like a regular end.
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

/** With more unread text than this, the client counts as gone. Waiting for it would hold up the whole batch. */
const MOST_UNREAD_BYTES = 16 * 2 ** 20;

/** Writes to an event stream; the first event also sends the response's head. */
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

// Function calls in a reply: extracted and parsed from the text between <tool_call> and </tool_call>.

type EngineEnd = Extract<GenerateEvent, { type: 'end' }>;

interface ToolCall {
  readonly type: 'tool-call';
  /** Position among the calls of its reply. */
  readonly index: number;
  readonly id: string;
  readonly name: string;
  /** A JSON object as text, as in OpenAI's API. */
  readonly arguments: string;
}

type ReplyEnd = Omit<EngineEnd, 'finishReason'> & { readonly finishReason: 'stop' | 'length' | 'tool_calls' };
/** An engine's events, with the calls parsed out of the text. */
export type ReplyEvent = Exclude<GenerateEvent, EngineEnd> | ToolCall | ReplyEnd;

const OPEN = '<tool_call>';

/** Text that does not parse as a call stays text, so nothing the model wrote is lost. */
async function* readToolCalls(
  events: AsyncIterable<GenerateEvent>,
  tools: readonly Tool[],
): AsyncGenerator<ReplyEvent, void, void> {
  let held = '';
  let calls = 0;
  /** Emits the first `length` characters of the held text. White space around calls is dropped, since templates put it there. */
  function* say(length: number): Generator<ReplyEvent, void, void> {
    const said = held.slice(0, length);
    held = held.slice(length);
    if (said !== '' && (calls === 0 || said.trim() !== '')) yield { type: 'text', channel: 'content', text: said };
  }
  /** Emits what is settled of the held text; at the end of the reply, all of it. */
  function* settle(isEnd: boolean): Generator<ReplyEvent, void, void> {
    for (let open = held.indexOf(OPEN); open >= 0; open = held.indexOf(OPEN)) {
      const found = held.indexOf(CLOSE_CALL, open);
      if (found < 0 && !isEnd) return yield* say(open);
      const [close, end] = found < 0 ? [held.length, held.length] : [found, found + CLOSE_CALL.length];
      const call = readCall(held.slice(open + OPEN.length, close), tools);
      if (call === undefined) yield* say(end);
      else {
        const after = held.slice(end);
        yield* say(open);
        yield { type: 'tool-call', index: calls, id: `call_${randomUUID().replaceAll('-', '')}`, ...call };
        calls += 1;
        held = after;
      }
    }
    yield* say(isEnd ? held.length : held.length - longestStart(held, [OPEN]));
  }
  for await (const event of events) {
    if (event.type === 'end') {
      yield* settle(true);
      yield calls > 0 && event.finishReason === 'stop' ? { ...event, finishReason: 'tool_calls' } : event;
    } else if (event.type === 'text' && event.channel === 'content') {
      held += event.text;
      yield* settle(false);
    } else yield event;
  }
}

/** Parses a call in either notation of Qwen's models: JSON, or a function and its parameters in tags. */
function readCall(body: string, tools: readonly Tool[]): Pick<ToolCall, 'name' | 'arguments'> | undefined {
  const call = parseJson(body);
  if (isObject(call) && typeof call.name === 'string') {
    const given = call.arguments ?? {};
    const value = typeof given === 'string' ? parseJson(given) : given;
    return isObject(value) ? { name: call.name, arguments: JSON.stringify(value) } : undefined;
  }
  const [, name, inner = ''] = /^\s*<function=([^>\n]+)>([\s\S]*)$/.exec(body) ?? [];
  if (name === undefined) return undefined;
  const { parameters } = tools.find((tool) => tool.function.name === name)?.function ?? {};
  const properties = isObject(parameters?.properties) ? parameters.properties : {};
  const tags = inner.matchAll(/<parameter=([^>\n]+)>\n?([\s\S]*?)\n?<\/parameter>/g);
  const values = Array.from(tags, ([, parameter = '', text = '']) => {
    const schema = Object.hasOwn(properties, parameter) ? properties[parameter] : undefined;
    // Parameters are written verbatim; only the function's schema tells the text "5" from the number.
    const types = isObject(schema) ? [schema.type ?? 'string'].flat() : ['string'];
    return [parameter, types.includes('string') ? text : (parseJson(text) ?? text)];
  });
  return { name, arguments: JSON.stringify(Object.fromEntries(values)) };
}
