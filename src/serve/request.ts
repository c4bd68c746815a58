// Request bodies, read strictly: each parameter is served, known to change nothing, or refused by name. Also the engine interface, which
// engine.ts implements with node-llama-cpp, and tests with a script.

import * as z from 'zod';
import { nearest } from '../core/edits.js';
import { isObject, type JsonObject, parseJson } from '../core/json.js';
import { type ApiError, invalid, type Usage, unknownModel } from './http/wire.js';
import type { ModelFacts } from './load.js';

/** llama.cpp reads 2^32 - 1 as "any seed". */
export const MOST_SEED = 2 ** 32 - 2;
/** As in OpenAI's API. */
const MOST_LOGPROBS = 20;
const MOST_N = 128;
const MOST_STOPS = 16;
/** Defaults: the sampling that the model card of Qwen-AgentWorld-35B-A3B recommends. */
const MODEL_CARD = { temperature: 0.6, topP: 0.95, topK: 20, minP: 0 };

/** Ends a function call; as a stop string it limits a reply to one call. */
export const CLOSE_CALL = '</tool_call>';

/** Server settings that apply to every request. */
export interface ServerDefaults {
  /** Names of the served model, its own first. */
  readonly models: readonly string[];
  readonly thinkingBudget: number;
  /** Used if the request has none. */
  readonly seed: number;
}

/**
 * Reads a body by its schema: `null` counts as absent, as in OpenAI's API. Only one model is served, so its name may be left out.
 * Throws an ApiError (400, or 404 for a model not served).
 */
function readBody<S extends z.ZodRawShape>(
  schema: z.ZodObject<S>,
  body: unknown,
  models: readonly string[],
): z.output<z.ZodObject<S>> {
  if (!isObject(body)) throw invalid('the body must be a JSON object', null);
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  const read = schema.safeParse(given);
  if (!read.success) throw refusalOf(read.error.issues, Object.keys(schema.shape));
  if (typeof given.model === 'string' && !models.includes(given.model)) throw unknownModel(given.model, models);
  return read.data;
}

function refusalOf(issues: readonly z.core.$ZodIssue[], known: readonly string[]): ApiError {
  const [first] = issues;
  if (first === undefined) throw new Error('a body is refused without a reason');
  const issue = issues.find(({ code, path }) => code === 'unrecognized_keys' && path.length === 0) ?? first;
  // `messages[0].content`
  const steps = issue.path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`));
  const place = steps.join('').slice(1);
  if (issue.code === 'custom') return invalid(`'${place}' ${issue.message}`, place, issue.params?.code);
  if (issue.code !== 'unrecognized_keys') return invalid(`'${place}': ${issue.message}`, place);
  const [name = ''] = issue.keys;
  const full = place === '' ? name : `${place}.${name}`;
  const near = place === '' ? nearest(name, known) : undefined;
  const hint = near === undefined ? '' : `; did you mean '${near}'?`;
  return invalid(`'${full}' is not supported${hint}`, full, 'unsupported_parameter');
}

/** A known value that is refused unless `is` accepts it. */
function served<T>(is: (value: unknown) => boolean, hint = ''): z.ZodType<T> {
  return z.custom<T>(is, {
    error: ({ input }) => `is not supported with the value ${(JSON.stringify(input) ?? 'null').slice(0, 60)}${hint}`,
    params: { code: 'unsupported_value' },
  });
}

/** Drops nulls and empty lists, which messages copied from a reply contain. */
function said(value: unknown): unknown {
  if (!isObject(value)) return value;
  const isSaid = ([, member]: [string, unknown]) => member !== null && !(Array.isArray(member) && member.length === 0);
  return Object.fromEntries(Object.entries(value).filter(isSaid));
}

const object = z.record(z.string(), z.unknown());
const logprobCount = z.int().min(0).max(MOST_LOGPROBS).optional();
const label = z.string().optional();
const penalty = z.number().min(-2).max(2).default(0);
const stop = z.string().min(1);

/** Parameters common to all requests for a reply. */
const OF_ANY_REPLY = {
  model: label,
  temperature: z.number().min(0).max(2).default(MODEL_CARD.temperature),
  top_p: z.number().gt(0).max(1).default(MODEL_CARD.topP),
  // -1 (vLLM, SGLang) and 0 (llama.cpp) keep every token.
  top_k: z.int32().min(-1).default(MODEL_CARD.topK),
  min_p: z.number().min(0).max(1).default(MODEL_CARD.minP),
  // -1 asks for any seed, as in vLLM and llama.cpp.
  seed: z.int().min(-1).max(MOST_SEED).default(-1),
  stop: z.union([stop.transform((text) => [text]), z.array(stop).max(MOST_STOPS)]).default([]),
  presence_penalty: penalty,
  frequency_penalty: penalty,
  /** 1 means no penalty. */
  repetition_penalty: z.number().gt(0).max(2).default(1),
  n: z.int().min(1).max(MOST_N).default(1),
  stream: z.boolean().default(false),
  stream_options: z
    .strictObject({
      include_usage: z.boolean().nullable().default(false),
    })
    .optional(),
  // Labels for the provider's own records.
  user: label,
  metadata: object.optional(),
} as const;

/** Reads how replies are sampled and streamed. Throws an ApiError (400). */
function readAnyReply(given: z.output<z.ZodObject<typeof OF_ANY_REPLY>>, server: ServerDefaults) {
  const { stream, stream_options: streaming } = given;
  if (streaming !== undefined && !stream)
    throw invalid("'stream_options' is only allowed together with 'stream': true", 'stream_options');
  const sampling = {
    temperature: given.temperature,
    topP: given.top_p,
    topK: Math.max(0, given.top_k),
    minP: given.min_p,
    seed: given.seed === -1 ? server.seed : given.seed,
    presencePenalty: given.presence_penalty,
    frequencyPenalty: given.frequency_penalty,
    repetitionPenalty: given.repetition_penalty,
    stop: given.stop,
  };
  return { sampling, n: given.n, stream, includeUsage: streaming?.include_usage ?? false };
}

// Request bodies: chat completions, text completions and tokens. What cannot be served as asked is refused by name.

const part = z.preprocess(
  said,
  z.strictObject({ type: served((value) => value === 'text', ': only text is'), text: z.string() }),
);
/** Parts are joined without a separator, as the templates of Qwen's models do. */
const content = z
  .preprocess((value) => (typeof value === 'string' ? [{ type: 'text', text: value }] : value), z.array(part))
  .transform((parts) => parts.map(({ text }) => text).join(''));

/** A call as in a reply, with its arguments as text; templates render them as an object. */
const call = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({
    name: z.string(),
    arguments: z.preprocess((value) => (typeof value === 'string' ? parseJson(value) : value), object),
  }),
});

const assistant = z
  .strictObject({
    role: z.literal('assistant'),
    content: content.default(''),
    reasoning_content: z.string().optional(),
    reasoning: z.string().optional(),
    tool_calls: z.array(call).optional(),
  })
  .transform(({ reasoning, ...message }) =>
    reasoning === undefined ? message : { reasoning_content: reasoning, ...message },
  );

const message = z.preprocess(
  said,
  z.discriminatedUnion('role', [
    // `developer` is OpenAI's newer name for `system`.
    z.strictObject({ role: z.enum(['system', 'developer']).transform(() => 'system' as const), content }),
    z.strictObject({ role: z.literal('user'), content }),
    assistant,
    z.strictObject({ role: z.literal('tool'), content, tool_call_id: z.string().optional() }),
  ]),
);
const messages = z.array(message).min(1);

/** A function that a model may call. What the server cannot guarantee is refused. */
const tool = z.strictObject({
  type: z.literal('function'),
  function: z
    .strictObject({
      name: z.string().regex(/^[\w.-]{1,128}$/),
      description: z.string().optional(),
      parameters: object.optional(),
      strict: served((value) => value === false, ': no grammar enforces the arguments').optional(),
    })
    .transform(({ strict: _, ...called }) => called),
});
const tools = z.array(tool).default([]);

/** The time to make a grammar grows with the square of the schema's size, and nothing else is served meanwhile. */
const LONGEST_SCHEMA = 32_000;
const held = z
  .custom<JsonObject>(isObject, 'must be an object')
  .refine((schema) => JSON.stringify(schema).length <= LONGEST_SCHEMA, {
    error: `is too large: at most ${LONGEST_SCHEMA} characters are supported`,
    params: { code: 'schema_too_large' },
  });
// `strict` true asks for what happens anyway; false only permits more than the schema.
const [name, description, strict] = [z.unknown().optional(), z.unknown().optional(), z.unknown().optional()];

/** The form that a reply must have: any text, any JSON object, or a schema. */
const responseFormat = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('text') }),
    z.strictObject({ type: z.literal('json_object') }),
    z
      .strictObject({
        type: z.literal('json_schema'),
        json_schema: z.strictObject({ schema: held, name, description, strict }),
      })
      .transform(({ type, json_schema: { schema } }) => ({ type, schema })),
  ])
  .default({ type: 'text' });

/** Variables for the chat template, except those that the server sets. */
const templateArguments = z
  .looseObject({
    enable_thinking: z.boolean().optional(),
    messages: z.undefined().optional(),
    tools: z.undefined().optional(),
    add_generation_prompt: z.undefined().optional(),
  })
  .default({});

/** Most thinking tokens by effort; `none` also goes to the chat template. OpenAI publishes no numbers: these are this server's. */
const EFFORTS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 256,
  low: 1_024,
  medium: 8_192,
  high: Number.POSITIVE_INFINITY,
  xhigh: Number.POSITIVE_INFINITY,
};
const maxTokens = z.int().min(1).optional();

const BODY = z.strictObject({
  ...OF_ANY_REPLY,
  tools,
  tool_choice: served<'auto' | 'none'>(
    (value) => value === 'auto' || value === 'none',
    ': a model may call (auto) or not (none), but not be made to',
  ).default('auto'),
  parallel_tool_calls: z.boolean().default(true),
  max_completion_tokens: maxTokens,
  max_tokens: maxTokens,
  response_format: responseFormat,
  messages,
  prompt_logprobs: logprobCount,
  add_generation_prompt: z.boolean().default(true),
  thinking_budget: z.int().min(0).optional(),
  reasoning_effort: z.enum(Object.keys(EFFORTS)).default('high'),
  chat_template_kwargs: templateArguments,
});

/** Reads a request's body as parsed from JSON. Throws an ApiError (400, or 404 for a model not served). */
export function readChatRequest(body: unknown, server: ServerDefaults) {
  const given = readBody(BODY, body, server.models);
  const callable = given.tool_choice === 'none' ? [] : given.tools;
  if (callable.length > 0 && given.response_format.type !== 'text') {
    throw invalid("'tools' cannot be combined with a 'response_format' that constrains the reply", 'response_format');
  }
  const { sampling, ...reply } = readAnyReply(given, server);
  const { reasoning_effort: effort, chat_template_kwargs: template, prompt_logprobs: promptLogprobs } = given;
  const isOpen = given.add_generation_prompt;
  const isReply = !isOpen && given.messages.length > 1 && given.messages.at(-1)?.role === 'assistant';
  const isScored = promptLogprobs !== undefined && isReply && given.n === 1 && !given.stream;
  if (!isScored && !(promptLogprobs === undefined && isOpen)) {
    const message =
      "'prompt_logprobs' scores a given reply: it needs 'add_generation_prompt': false, an assistant message after others, and neither 'stream' nor 'n'";
    throw invalid(message, 'prompt_logprobs');
  }
  const { thinking_budget: asked = server.thinkingBudget } = given;
  const options: GenerateOptions = {
    ...sampling,
    maxTokens: given.max_completion_tokens ?? given.max_tokens,
    stop: callable.length > 0 && !given.parallel_tool_calls ? [...sampling.stop, CLOSE_CALL] : sampling.stop,
    responseFormat: given.response_format,
    // The smallest of the server's, the request's and the effort's budgets applies.
    thinkingBudget: Math.min(server.thinkingBudget, asked, EFFORTS[effort] ?? asked),
    templateArguments: effort === 'none' ? { ...template, enable_thinking: false } : template,
  };
  return {
    ...reply,
    messages: given.messages,
    /** Tools that the model may call; empty if it must not call any. */
    tools: callable,
    /** How many of the likeliest tokens to report with each token of the last message, which is then scored, not answered, as in vLLM. */
    promptLogprobs,
    options,
  };
}

/** As in OpenAI's API. */
const USUAL_MAX_TOKENS = 16;

const tokens = z.array(z.int().min(0)).min(1);
const text = z.string().min(1);
const prompt = z.union([text.transform((said) => ({ text: said })), tokens.transform((list) => ({ tokens: list }))], {
  error: 'must be a text or the tokens of one, and not empty',
});

const COMPLETION = z.strictObject({
  ...OF_ANY_REPLY,
  echo: z.boolean().default(false),
  logprobs: logprobCount,
  max_tokens: z.int().min(0).default(USUAL_MAX_TOKENS),
  prompt,
});

/** Throws an ApiError (400, or 404 for a model not served). */
export function readCompletionRequest(body: unknown, server: ServerDefaults) {
  const given = readBody(COMPLETION, body, server.models);
  const { echo, logprobs: top, max_tokens: maxTokens } = given;
  if (maxTokens === 0 && !echo) throw invalid("'max_tokens' 0 needs 'echo': true", 'max_tokens');
  const { sampling, ...reply } = readAnyReply(given, server);
  const options: GenerateOptions = {
    ...sampling,
    maxTokens,
    responseFormat: { type: 'text' },
    thinkingBudget: Number.POSITIVE_INFINITY,
    templateArguments: {},
    scores: top === undefined ? undefined : { reply: true, top },
  };
  return {
    ...reply,
    prompt: given.prompt,
    echo,
    /** Its scores cover the reply only. */
    options,
  };
}

const TOKENIZE = z.strictObject({
  model: OF_ANY_REPLY.model,
  prompt: z.string().optional(),
  messages: messages.optional(),
  tools,
  add_generation_prompt: z.boolean().default(true),
  chat_template_kwargs: templateArguments,
});

/** In vLLM's shape: either a `prompt` or `messages`. Throws an ApiError (400, or 404 for a model not served). */
export function readTokenizeRequest(body: unknown, models: readonly string[]) {
  const given = readBody(TOKENIZE, body, models);
  const { prompt: text, messages: asked } = given;
  if ((text === undefined) === (asked === undefined)) {
    throw invalid("either 'prompt' or 'messages' must be given", 'prompt');
  }
  const prompt: EnginePrompt = asked === undefined ? { text: text ?? '' } : { messages: asked, tools: given.tools };
  const { add_generation_prompt: addGenerationPrompt, chat_template_kwargs: templateArguments } = given;
  return { prompt, options: { addGenerationPrompt, templateArguments } };
}

// The engine interface of the HTTP server; engine.ts implements it with node-llama-cpp, tests with a script.

/** Every value is explicit, since the library's own defaults differ. */
export type GenerateOptions = Readonly<ReturnType<typeof readAnyReply>['sampling']> & {
  /** 0 generates nothing. */
  readonly maxTokens: number | undefined;
  readonly responseFormat: z.output<typeof responseFormat>;
  /** Most thinking tokens; infinite by default. */
  readonly thinkingBudget: number;
  /** Probabilities to report; none if absent. */
  readonly scores?: ScoreOptions | undefined;
  /** `chat_template_kwargs` of the request, such as enable_thinking. */
  readonly templateArguments: Readonly<Record<string, unknown>>;
};

/** Which tokens are scored under the model's own distribution, before any penalty, cut or temperature. */
export interface ScoreOptions {
  /** The prompt's tokens from this position on; at least 1, since nothing precedes the first. None if absent. */
  readonly promptFrom?: number;
  readonly reply: boolean;
  /** How many of the likeliest tokens to report at each position. */
  readonly top: number;
}

/** The prompt of a reply: messages, which the model's chat template renders, or the text or tokens themselves. */
export type EnginePrompt =
  | { readonly messages: readonly EngineMessage[]; readonly tools?: readonly Tool[] }
  | { readonly text: string }
  | { readonly tokens: readonly number[] };

/** A function that the model may call, as OpenAI's API describes it and chat templates render it. */
export type Tool = z.output<typeof tool>;
/** Keys are those that chat templates know; the template decides what is rendered. */
export type EngineMessage = z.output<typeof message>;

/** A token and its probability at its position. */
export interface ScoredToken {
  readonly token: number;
  /** With U+FFFD for bytes that are not a complete character. */
  readonly text: string;
  /** Natural logarithm of its probability. */
  readonly logprob: number;
}

export interface TokenScore extends ScoredToken {
  /** The likeliest tokens at its position, in descending order. */
  readonly top: readonly ScoredToken[];
}

export type GenerateEvent =
  /** Tokens of the prompt, in order, before any text. */
  | { readonly type: 'prompt'; readonly scores: readonly TokenScore[] }
  /** `scores`, if asked for, are of the tokens that make up the text. */
  | {
      readonly type: 'text';
      readonly channel: 'reasoning' | 'content';
      readonly text: string;
      readonly scores?: readonly TokenScore[];
    }
  | { readonly type: 'end'; readonly finishReason: 'stop' | 'length'; readonly usage: Usage };

export interface Engine {
  readonly facts: ModelFacts;
  /**
   * Takes a free slot or waits for one; the caller limits how many wait. When `signal` aborts, it ends early and frees its slot at once.
   * Throws ApiError before the first event if the request cannot be served.
   */
  generate(prompt: EnginePrompt, options: GenerateOptions, signal: AbortSignal): AsyncIterable<GenerateEvent>;
  /** The prompt's tokens, as `generate` would evaluate them. Throws ApiError if they do not fit in the context. */
  tokenize(prompt: EnginePrompt, options: PromptOptions): Promise<readonly number[]>;
  /** The text of tokens, including special ones. Throws ApiError for a number that is not a token of the model. */
  detokenize(tokens: readonly number[]): string;
  /** Number of slots in use. */
  readonly busy: number;
  close(): Promise<void>;
}

/** How a chat template renders messages. */
export interface PromptOptions {
  /** `chat_template_kwargs` of the request, such as enable_thinking. */
  readonly templateArguments: Readonly<Record<string, unknown>>;
  /** Whether the prompt ends where the reply begins; if false, with the last message. */
  readonly addGenerationPrompt: boolean;
}
