// What an endpoint is asked: where a request goes, its body as the servers accept it, and the seed of each try.

import { PARAMETERS, type Sampling } from '../../core/sampling.js';
import type { ModelRequest } from '../../core/types.js';

export type Body = Record<string, unknown>;

export interface Asked {
  readonly model: string;
  readonly sampling: Sampling;
  /** Replies are streamed. */
  readonly stream: boolean;
  /** The required form of replies, as the wire format's `response_format`. */
  readonly responseFormat?: unknown;
  readonly dialect: Dialect;
}

/** The kinds of requests: their paths after the base URL, and names for messages. */
export const CHAT = { path: '/chat/completions', words: 'chat completions' } as const;
const COMPLETION = { path: '/completions', words: 'completions' } as const;
/** A chat whose last message is scored. */
export const SCORED_CHAT = { path: CHAT.path, words: CHAT.words, isScored: true } as const;
export type Way = typeof CHAT | typeof COMPLETION | typeof SCORED_CHAT;

export function wayOf(request: ModelRequest): Way {
  if ('prompt' in request) return COMPLETION;
  return request.scored ? SCORED_CHAT : CHAT;
}

/**
 * Makes a server score the last message, in vLLM's terms: the prompt ends with that message, and each of its tokens is returned with
 * its own probability only.
 */
const SCORING = { add_generation_prompt: false, prompt_logprobs: 0 } as const;

/**
 * The body of a request as the servers accept it: only what is set. Parameters of a chat (reasoning effort, the form of the reply) are
 * left out of a completion's body.
 */
export function requestBody(
  { model, sampling, stream, responseFormat, dialect }: Asked,
  request: ModelRequest,
  attemptIndex: number,
  maxTokens = request.maxTokens ?? sampling.maxTokens,
): Body {
  const base = request.seed ?? sampling.seed;
  const seed = base === undefined ? undefined : seedOf(base, request.seedOffset, attemptIndex);
  const isChat = 'messages' in request;
  const values = { ...sampling, maxTokens, seed };
  const body: Body = isChat ? { model, messages: request.messages } : { model, prompt: request.prompt };
  for (const { name, wire, chatOnly } of PARAMETERS) {
    if (values[name] !== undefined && (isChat || !chatOnly)) body[wire] = values[name];
  }
  if (isChat && responseFormat !== undefined) body.response_format = responseFormat;
  if (isChat && request.scored) Object.assign(body, SCORING);
  if (stream) Object.assign(body, { stream: true, stream_options: { include_usage: true } });
  return dialect.translate(Object.assign(body, sampling.extraBody));
}

/**
 * A body as JSON. Half of a surrogate pair has no form in UTF-8, and every engine refuses a text with one, some as if the server had
 * failed: it is replaced by U+FFFD, as in any UTF-8 encoder.
 */
export function bodyText(body: Body): string {
  const text = JSON.stringify(body);
  if (!text.includes('\\ud')) return text;
  return text.replace(/(\\\\)|\\ud[89a-f][0-9a-f]{2}/g, (_half, backslashes?: string) => backslashes ?? '\ufffd');
}

/** The output budget of a body, in tokens; undefined if it has none. */
export function budgetOf(body: Body): number | undefined {
  const budget = body[MAX_TOKENS] ?? body[MAX_COMPLETION_TOKENS];
  return typeof budget === 'number' ? budget : undefined;
}

/**
 * The seed of one try: `(seed + 1,000,003 * seedOffset + 7,919 * attemptIndex) mod 2^31`. The first try of the first repeat uses the
 * seed unchanged; two primes keep repeats and tries apart.
 */
export function seedOf(seed: number, seedOffset: number, attemptIndex: number): number {
  const modulus = 2 ** 31;
  const sum = (seed % modulus) + ((1_000_003 * seedOffset) % modulus) + ((7_919 * attemptIndex) % modulus);
  return ((sum % modulus) + modulus) % modulus;
}

/** The parameters that bound the reply's length, the older name first. */
export const MAX_TOKENS = 'max_tokens';
export const MAX_COMPLETION_TOKENS = 'max_completion_tokens';

const STREAM_OPTIONS = 'stream_options';

export type Dialect = ReturnType<typeof openDialect>;

/**
 * Opens a dialect. `onNotice` receives each change once, however many calls run into it. `dropped` are parameters left out from the
 * start because an earlier session of the run found them rejected; `isRenamed` says the same about `max_tokens`.
 */
export function openDialect(options: {
  readonly allowParamDrop: boolean;
  onNotice(text: string): void;
  readonly dropped?: readonly string[];
  readonly isRenamed?: boolean;
}) {
  const rejects = new Set(options.dropped);
  if (options.isRenamed) rejects.add(MAX_TOKENS);
  // Leaving these out changes no answer, but streamed replies may lack their usage.
  const isDrop = (name: string) => name !== MAX_TOKENS && name !== STREAM_OPTIONS;
  return {
    /** The request body as the servers accept it: with parameters renamed and left out. */
    translate(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
      const translated: Record<string, unknown> = {};
      for (const [name, value] of Object.entries(body)) {
        if (!rejects.has(name)) translated[name] = value;
        else if (name === MAX_TOKENS) translated[MAX_COMPLETION_TOKENS] = value;
      }
      return translated;
    },
    /** Learns from a rejected parameter. True if a newly translated body is worth sending; false if the run must stop. */
    learn(rejected: string): boolean {
      if (isDrop(rejected) && (!options.allowParamDrop || rejected === MAX_COMPLETION_TOKENS)) return false;
      if (!rejects.has(rejected)) options.onNotice(`the server rejects ${rejected}: ${changeFor(rejected)}`);
      rejects.add(rejected);
      return true;
    },
    /** Parameters left out under `--allow-param-drop`, sorted: part of the run's identity. */
    dropped: (): readonly string[] => [...rejects].filter(isDrop).sort(),
    /** Whether `max_tokens` is sent under its newer name. */
    isRenamed: () => rejects.has(MAX_TOKENS),
  };
}

function changeFor(rejected: string): string {
  if (rejected === MAX_TOKENS) return `sent as ${MAX_COMPLETION_TOKENS} from now on`;
  if (rejected === STREAM_OPTIONS) return 'left out from now on, so token counts may be missing';
  return 'left out of every request of this run (--allow-param-drop)';
}
