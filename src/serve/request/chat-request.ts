// The body of a chat completion request, read strictly: what cannot be served as asked is refused by name.

import * as z from 'zod';
import type { JsonObject } from '../../core/json.js';
import type { GenerateOptions, ScoreOptions } from '../engine-contract.js';
import { invalid } from '../http/api-error.js';
import { levelsOf } from '../http/body.js';
import { CLOSE_CALL } from '../http/tool-calls.js';
import { messages, tools } from './messages.js';
import {
  boolean,
  either,
  integer,
  logprobCount,
  must,
  OF_ANY_REPLY,
  object,
  only,
  readBody,
  type ServerDefaults,
  samplingOf,
  served,
  shown,
  streamingOf,
} from './parameters.js';

const MOST_SCHEMA_VALUES = 2_000;
const DEEPEST_SCHEMA = 64;
/** Making a grammar takes time that grows with the square of the schema's size, and nothing else is served meanwhile. */
function isSmall(schema: unknown): boolean {
  let count = 0;
  for (const { depth, values } of levelsOf(schema)) {
    count += values.length;
    if (count > MOST_SCHEMA_VALUES || depth > DEEPEST_SCHEMA) return false;
  }
  return true;
}

/** What a request wants its reply held to: nothing, any JSON object, or a schema. */
const responseFormat = z
  .strictObject(
    {
      type: z.enum(['text', 'json_object', 'json_schema'], {
        error: ({ input }) => `must be text, json_object or json_schema, not ${shown(input)}`,
      }),
      json_schema: z
        .strictObject(
          {
            schema: object.refine(isSmall, {
              error: `is too large: at most ${MOST_SCHEMA_VALUES} values, ${DEEPEST_SCHEMA} deep, are supported`,
              params: { code: 'schema_too_large' },
            }),
            // `strict` asks for what happens anyway; false permits more than the schema, which nobody has to use.
            ...{ name: z.unknown().optional(), description: z.unknown().optional(), strict: z.unknown().optional() },
          },
          must("be an object with a 'schema'"),
        )
        .optional(),
    },
    must('be an object'),
  )
  .transform(({ type, json_schema: given }, context): GenerateOptions['responseFormat'] => {
    if (type === 'json_schema' && given !== undefined) return { type, schema: given.schema };
    if (type !== 'json_schema' && given === undefined) return { type };
    const message = given === undefined ? "must be an object with a 'schema'" : 'needs the type json_schema';
    context.addIssue({ code: 'custom', path: ['json_schema'], message });
    return z.NEVER;
  })
  .default({ type: 'text' });

/** Variables of a chat template that are the server's to set. */
const TEMPLATE_VARIABLES = ['messages', 'tools', 'documents', 'add_generation_prompt', 'continue_final_message'];
const isThinkingSet = (given: JsonObject) => typeof (given.enable_thinking ?? true) === 'boolean';

/** What a request tells the chat template. */
export const templateArguments = object
  .superRefine((given, context) => {
    const taken = Object.keys(given).find((name) => TEMPLATE_VARIABLES.includes(name));
    const refuse = (name: string, message: string, code?: string) =>
      context.addIssue({ code: 'custom', path: [name], message, ...(code && { params: { code } }) });
    if (taken !== undefined) refuse(taken, 'is not supported', 'unsupported_parameter');
    if (!isThinkingSet(given)) refuse('enable_thinking', 'must be true or false');
  })
  .default({});

/** Most tokens of thinking by effort; none at all is asked of the chat template. OpenAI gives no numbers: these are this server's. */
const EFFORTS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 256,
  low: 1_024,
  medium: 8_192,
  high: Number.POSITIVE_INFINITY,
  xhigh: Number.POSITIVE_INFINITY,
};

const BODY = z.strictObject({
  ...OF_ANY_REPLY,
  tools,
  tool_choice: served<'auto' | 'none'>(
    (value) => value === 'auto' || value === 'none',
    ': a model may call (auto) or not (none), but not be made to',
  ).default('auto'),
  parallel_tool_calls: boolean.default(true),
  max_completion_tokens: integer(1, Number.MAX_SAFE_INTEGER).optional(),
  max_tokens: integer(1, Number.MAX_SAFE_INTEGER).optional(),
  response_format: responseFormat,
  logprobs: boolean.default(false),
  top_logprobs: logprobCount,
  messages,
  prompt_logprobs: logprobCount,
  add_generation_prompt: boolean.default(true),
  thinking_budget: integer(0, Number.MAX_SAFE_INTEGER).optional(),
  thinking_token_budget: integer(0, Number.MAX_SAFE_INTEGER).optional(),
  reasoning_effort: z
    .custom<string>((value) => typeof value === 'string' && Object.hasOwn(EFFORTS, value), {
      error: ({ input }) => `must be one of ${Object.keys(EFFORTS).join(', ')}, not ${shown(input)}`,
    })
    .optional(),
  chat_template_kwargs: templateArguments,
  modalities: served((value) => Array.isArray(value) && value.length === 1 && value[0] === 'text').optional(),
  // Defaults of other servers.
  echo: only(false),
  continue_final_message: only(false),
  include_reasoning: only(true),
  separate_reasoning: only(true),
});
type Body = z.output<typeof BODY>;

export type ChatRequest = ReturnType<typeof readChatRequest>;

/** Reads a request's body as parsed from JSON. Throws an ApiError (400, or 404 for a model not served). */
export function readChatRequest(body: unknown, server: ServerDefaults) {
  const given = readBody(BODY, body, server.models);
  const callable = given.tool_choice === 'none' ? [] : given.tools;
  if (callable.length > 0 && given.response_format.type !== 'text') {
    throw invalid("'tools' and a 'response_format' that holds the reply cannot be combined", 'response_format');
  }
  const sampling = samplingOf(given, server);
  const scores = scoresOf(given);
  const streaming = streamingOf(given);
  const options: GenerateOptions = {
    ...sampling,
    maxTokens: either(given, 'max_completion_tokens', 'max_tokens'),
    stop: callable.length > 0 && !given.parallel_tool_calls ? [...sampling.stop, CLOSE_CALL] : sampling.stop,
    responseFormat: given.response_format,
    ...thinkingOf(given, server.thinkingBudget),
    scores,
  };
  return {
    messages: given.messages,
    /** Those that the model may call: none where it must not. */
    tools: callable,
    /** Choices. */
    n: given.n,
    ...streaming,
    /** How many of the likeliest tokens are told beside each of the last message, which is then given and not to be answered. */
    promptLogprobs: promptLogprobsOf(given, given.n === 1 && !streaming.stream && scores === undefined),
    options,
  };
}

/** The smallest of the server's, the request's and the effort's budgets holds. */
function thinkingOf(given: Body, serverBudget: number): Pick<GenerateOptions, 'thinkingBudget' | 'templateArguments'> {
  const { reasoning_effort: effort = 'high' } = given;
  const budget = either(given, 'thinking_budget', 'thinking_token_budget') ?? serverBudget;
  if (effort === 'none' && given.chat_template_kwargs.enable_thinking === true) {
    throw invalid("'reasoning_effort' none and 'enable_thinking' contradict each other", 'reasoning_effort');
  }
  return {
    thinkingBudget: Math.min(serverBudget, budget, EFFORTS[effort] ?? budget),
    templateArguments: { ...given.chat_template_kwargs, ...(effort === 'none' && { enable_thinking: false }) },
  };
}

function scoresOf({ logprobs, top_logprobs: top }: Body): ScoreOptions | undefined {
  if (logprobs) return { reply: true, top: top ?? 0 };
  if (top !== undefined && top > 0) throw invalid("'top_logprobs' needs 'logprobs': true", 'top_logprobs');
  return undefined;
}

/** As vLLM has them, but of the last message alone: each token takes an evaluation of its own. */
function promptLogprobsOf(given: Body, isPlain: boolean): number | undefined {
  const { prompt_logprobs: top, add_generation_prompt: isOpen } = given;
  if (top === undefined) {
    if (isOpen) return undefined;
    throw invalid("'add_generation_prompt' false needs 'prompt_logprobs'", 'add_generation_prompt');
  }
  if (isOpen || given.messages.length < 2 || given.messages.at(-1)?.role !== 'assistant') {
    const message =
      "'prompt_logprobs' scores a given reply: it needs 'add_generation_prompt': false, and a message of the assistant behind others";
    throw invalid(message, 'prompt_logprobs');
  }
  if (isPlain) return top;
  throw invalid("'prompt_logprobs' goes with neither 'stream', 'n' nor 'logprobs'", 'prompt_logprobs');
}
