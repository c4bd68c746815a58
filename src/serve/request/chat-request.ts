// The body of a chat completion request, read strictly: what cannot be served as asked is refused by name.

import * as z from 'zod';
import { isObject, parseJson } from '../../core/json.js';
import type { EngineMessage, GenerateOptions, ScoreOptions, Tool } from '../engine-contract.js';
import { invalid } from '../http/api-error.js';
import { levelsOf } from '../http/body.js';
import { CLOSE_CALL } from '../http/tool-calls.js';
import {
  either,
  logprobCount,
  OF_ANY_REPLY,
  object,
  only,
  readAnyReply,
  readBody,
  type ServerDefaults,
  served,
  unmarked,
} from './parameters.js';

const part = z.preprocess(
  unmarked('type', 'text'),
  z.strictObject({ type: served((value) => value === 'text', ': only text is'), text: z.string() }),
);
/** Parts are joined without a separator, as the templates of Qwen's models do. */
const content = z
  .preprocess((value) => (typeof value === 'string' ? [{ type: 'text', text: value }] : value), z.array(part))
  .transform((parts) => parts.map(({ text }) => text).join(''));

/** A call as a reply has it, its arguments as text; templates render them as an object. */
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
  .transform(({ reasoning, reasoning_content: thinking = reasoning, tool_calls: calls, ...message }) => ({
    ...message,
    ...(thinking !== undefined && { reasoning_content: thinking }),
    ...(calls !== undefined && { tool_calls: calls }),
  }));

const message = z.preprocess(
  unmarked('role', 'content'),
  z.discriminatedUnion('role', [
    // OpenAI's newer name for the same place in the conversation.
    z.strictObject({ role: z.enum(['system', 'developer']).transform(() => 'system' as const), content }),
    z.strictObject({ role: z.literal('user'), content }),
    assistant,
    z
      .strictObject({ role: z.literal('tool'), content, tool_call_id: z.string().optional() })
      .transform(({ tool_call_id: id, ...answer }) => ({ ...answer, ...(id !== undefined && { tool_call_id: id }) })),
  ]),
);
export const messages: z.ZodType<readonly EngineMessage[]> = z.array(message).min(1);

/** A function that a model may call. What the server could not keep to is refused. */
const tool = z.preprocess(
  unmarked(),
  z.strictObject({
    type: z.literal('function'),
    function: z.preprocess(
      unmarked('name'),
      z
        .strictObject({
          name: z.string().regex(/^[\w.-]{1,128}$/),
          description: z.string().optional(),
          parameters: object.optional(),
          strict: served((value) => value === false, ': no grammar holds the arguments').optional(),
        })
        .transform(({ name, description, parameters }): Tool['function'] => ({
          name,
          ...(description !== undefined && { description }),
          ...(parameters !== undefined && { parameters }),
        })),
    ),
  }),
);
export const tools = z.array(tool).default([]);

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

const held = z.custom<Readonly<Record<string, unknown>>>(isObject, 'must be an object').refine(isSmall, {
  error: `is too large: at most ${MOST_SCHEMA_VALUES} values, ${DEEPEST_SCHEMA} deep, are supported`,
  params: { code: 'schema_too_large' },
});
// `strict` asks for what happens anyway; false permits more than the schema, which nobody has to use.
const [name, description, strict] = [z.unknown().optional(), z.unknown().optional(), z.unknown().optional()];

/** What a request wants its reply held to: nothing, any JSON object, or a schema. */
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

/** What a request tells the chat template, variables excepted that are the server's to set. */
export const templateArguments = z
  .looseObject({
    enable_thinking: z.boolean().optional(),
    messages: only(undefined),
    tools: only(undefined),
    documents: only(undefined),
    add_generation_prompt: only(undefined),
    continue_final_message: only(undefined),
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
const budget = z.int().min(0).optional();
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
  logprobs: z.boolean().default(false),
  top_logprobs: logprobCount,
  messages,
  prompt_logprobs: logprobCount,
  add_generation_prompt: z.boolean().default(true),
  thinking_budget: budget,
  thinking_token_budget: budget,
  reasoning_effort: z.enum(Object.keys(EFFORTS)).default('high'),
  chat_template_kwargs: templateArguments,
  modalities: served((value) => JSON.stringify(value) === '["text"]').optional(),
  // Defaults of other servers.
  echo: only(false),
  continue_final_message: only(false),
  include_reasoning: only(true),
  separate_reasoning: only(true),
});
type Body = z.output<typeof BODY>;

/** Reads a request's body as parsed from JSON. Throws an ApiError (400, or 404 for a model not served). */
export function readChatRequest(body: unknown, server: ServerDefaults) {
  const given = readBody(BODY, body, server.models);
  const callable = given.tool_choice === 'none' ? [] : given.tools;
  if (callable.length > 0 && given.response_format.type !== 'text') {
    throw invalid("'tools' and a 'response_format' that holds the reply cannot be combined", 'response_format');
  }
  const { sampling, ...reply } = readAnyReply(given, server);
  const { logprobs, top_logprobs: top = 0 } = given;
  if (top > 0 && !logprobs) throw invalid("'top_logprobs' needs 'logprobs': true", 'top_logprobs');
  const scores: ScoreOptions | undefined = logprobs ? { reply: true, top } : undefined;
  const options: GenerateOptions = {
    ...sampling,
    maxTokens: either(given, 'max_completion_tokens', 'max_tokens'),
    stop: callable.length > 0 && !given.parallel_tool_calls ? [...sampling.stop, CLOSE_CALL] : sampling.stop,
    responseFormat: given.response_format,
    ...thinkingOf(given, server.thinkingBudget),
    scores,
  };
  return {
    ...reply,
    messages: given.messages,
    /** Those that the model may call: none where it must not. */
    tools: callable,
    /** How many of the likeliest tokens are told beside each of the last message, which is then given and not to be answered. */
    promptLogprobs: promptLogprobsOf(given),
    options,
  };
}

/** The smallest of the server's, the request's and the effort's budgets holds. */
function thinkingOf(given: Body, serverBudget: number): Pick<GenerateOptions, 'thinkingBudget' | 'templateArguments'> {
  const { reasoning_effort: effort, chat_template_kwargs: template } = given;
  const asked = either(given, 'thinking_budget', 'thinking_token_budget') ?? serverBudget;
  if (effort === 'none' && template.enable_thinking === true) {
    throw invalid("'reasoning_effort' none and 'enable_thinking' contradict each other", 'reasoning_effort');
  }
  return {
    thinkingBudget: Math.min(serverBudget, asked, EFFORTS[effort] ?? asked),
    templateArguments: effort === 'none' ? { ...template, enable_thinking: false } : template,
  };
}

/** As vLLM has them, but of the last message alone: each token takes an evaluation of its own. */
function promptLogprobsOf({ prompt_logprobs: top, add_generation_prompt: isOpen, ...given }: Body): number | undefined {
  if (top === undefined && isOpen) return undefined;
  const isReply = !isOpen && given.messages.length > 1 && given.messages.at(-1)?.role === 'assistant';
  if (top !== undefined && isReply && given.n === 1 && !given.stream && !given.logprobs) return top;
  const message =
    "'prompt_logprobs' scores a given reply: it needs 'add_generation_prompt': false, a message of the assistant behind others, and neither 'stream', 'n' nor 'logprobs'";
  throw invalid(message, 'prompt_logprobs');
}
