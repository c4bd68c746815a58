// Replies of one or several choices, whole or as events, whatever their format.

import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { ModelFacts, Usage } from '../engine-contract.js';
import type { ApiError } from './api-error.js';
import { answer } from './body.js';
import type { ReplyEnd, ReplyEvent } from './tool-calls.js';

export type Piece = Exclude<ReplyEvent, ReplyEnd>;

/** How one kind of reply is written. */
export interface ReplyFormat {
  readonly idPrefix: string;
  readonly object: string;
  readonly chunkObject: string;
  /** A choice of a whole reply. */
  choice(index: number, pieces: readonly Piece[], end: ReplyEnd): unknown;
  /** What a whole reply of one choice holds beside it. */
  beside?(pieces: readonly Piece[]): Readonly<Record<string, unknown>>;
  /** A choice of a streamed reply, as entries of `choices`: before the first event, for each event, and at the end. */
  writer(index: number): {
    open(): readonly unknown[];
    take(piece: Piece): readonly unknown[];
    end(end: ReplyEnd): readonly unknown[];
  };
}

/** Changes whenever something changes that replies depend on. */
export function fingerprintOf({ name: _, file: __, ...facts }: ModelFacts): string {
  return `fp_${createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 12)}`;
}

/** The usage of all choices: a prompt counts once, as OpenAI has it, with what the first choice found in the cache. */
function usageBody(usages: readonly Usage[], prompts: number): Readonly<Record<string, unknown>> {
  const choicesPerPrompt = usages.length / prompts;
  const firsts = usages.filter((_, index) => index % choicesPerPrompt === 0);
  const prompt = sumOf(firsts);
  const all = sumOf(usages);
  return {
    prompt_tokens: prompt.promptTokens,
    completion_tokens: all.completionTokens,
    total_tokens: prompt.promptTokens + all.completionTokens,
    prompt_tokens_details: { cached_tokens: prompt.cachedTokens },
    completion_tokens_details: { reasoning_tokens: all.reasoningTokens },
  };
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

/** The choices of a reply, `choices.length / prompts` for each prompt. */
interface Replying {
  readonly format: ReplyFormat;
  /** What stands in a reply and in each of its chunks. */
  readonly head: {
    readonly id: string;
    readonly created: number;
    readonly model: string;
    readonly system_fingerprint: string;
  };
  readonly choices: readonly AsyncIterable<ReplyEvent>[];
  readonly prompts: number;
}

/** Writes the reply in one piece, and gives back the usage of each choice. Rejects as soon as one of them fails. */
export async function replyWhole(response: ServerResponse, replying: Replying): Promise<Usage[]> {
  const { format, head, choices, prompts } = replying;
  const read = await Promise.all(
    choices.map(async (events, index) => {
      const pieces: Piece[] = [];
      const end = await readEvents(events, (piece) => pieces.push(piece));
      return { choice: format.choice(index, pieces, end), beside: format.beside?.(pieces), usage: end.usage };
    }),
  );
  const usages = read.map(({ usage }) => usage);
  const body = { ...head, object: format.object, choices: read.map(({ choice }) => choice) };
  answer(response, 200, { ...body, ...read[0]?.beside, usage: usageBody(usages, prompts) });
  return usages;
}

/**
 * Writes the reply as events, choices side by side, and gives back the usage of each. Rejects where nothing was written yet; later a
 * failure becomes an error event, worded by `errorOf`.
 */
export async function replyInEvents(
  response: ServerResponse,
  replying: Replying,
  settings: {
    readonly includeUsage: boolean;
    /** Silence after which a comment is sent. */
    readonly pingIntervalMs: number;
    readonly errorOf: (error: unknown) => ApiError;
  },
): Promise<Usage[]> {
  const { format, head, choices, prompts } = replying;
  const sendText = (data: string) => writeEvent(response, `data: ${data}\n\n`);
  // What every chunk begins with is made once.
  const opening = JSON.stringify({ ...head, object: format.chunkObject }).slice(0, -1);
  const send = (written: readonly unknown[], usage: unknown = null): void => {
    const last = settings.includeUsage ? `,"usage":${JSON.stringify(usage)}` : '';
    sendText(`${opening},"choices":${JSON.stringify(written)}${last}}`);
  };
  // Also before the first token: a prompt that waits or is read for minutes outlasts the patience of many clients.
  const pings = setInterval(() => writeEvent(response, ': ping\n\n'), settings.pingIntervalMs);
  const write = async (events: AsyncIterable<ReplyEvent>, index: number): Promise<Usage> => {
    const writer = format.writer(index);
    let isOpen = false;
    const open = (): void => {
      if (!isOpen) for (const choice of writer.open()) send([choice]);
      isOpen = true;
    };
    const end = await readEvents(events, (piece) => {
      open();
      for (const choice of writer.take(piece)) send([choice]);
    });
    open();
    for (const choice of writer.end(end)) send([choice]);
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
