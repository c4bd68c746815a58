// The body of a chat completion request, read strictly: every parameter is served, known to change nothing, or refused by name.

import { invalid } from './api-error.js';
import type { EngineMessage, GenerateOptions } from './engine-contract.js';
import {
  is,
  isEmptyList,
  isObject,
  isString,
  type Json,
  readParameters,
  readSampling,
  readStreaming,
  requireModel,
  SAMPLING_PARAMETERS,
  type ServerDefaults,
  shown,
  WITHOUT_EFFECT,
} from './parameters.js';

export interface ChatRequest {
  readonly messages: readonly EngineMessage[];
  readonly options: GenerateOptions;
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

/** Variables of a chat template that are the server's to set. */
const TEMPLATE_VARIABLES = ['messages', 'tools', 'documents', 'add_generation_prompt', 'continue_final_message'];

const MOST_SCHEMA_VALUES = 2_000;
const DEEPEST_SCHEMA = 64;

const SERVED = [...SAMPLING_PARAMETERS, 'messages', 'max_completion_tokens', 'response_format', 'chat_template_kwargs'];

const CHAT_WITHOUT_EFFECT = {
  ...WITHOUT_EFFECT,
  // One whole text, without tools.
  n: is(1),
  modalities: (value: unknown) => Array.isArray(value) && value.length === 1 && value[0] === 'text',
  tools: isEmptyList,
  tool_choice: is('none', 'auto'),
  parallel_tool_calls: is(true, false),
  echo: is(false),
  logprobs: is(false),
  top_logprobs: is(0),
  prompt_logprobs: is(0),
  // Defaults of other servers.
  add_generation_prompt: is(true),
  continue_final_message: is(false),
  include_reasoning: is(true),
  separate_reasoning: is(true),
};

/** Reads a request's body as parsed from JSON. Throws an ApiError (400, or 404 for a model not served). */
export function readChatRequest(body: unknown, server: ServerDefaults): ChatRequest {
  const given = readParameters(body, SERVED, CHAT_WITHOUT_EFFECT);
  requireModel(given.model, server.models);
  return {
    messages: readMessages(given.messages),
    ...readStreaming(given),
    options: {
      ...readSampling(given, server, ['max_completion_tokens', 'max_tokens']),
      responseFormat: readResponseFormat(given.response_format),
      thinkingBudget: server.thinkingBudget,
      templateArguments: readTemplateArguments(given.chat_template_kwargs),
    },
  };
}

// --- messages ---

const ROLES: Readonly<Record<string, EngineMessage['role']>> = {
  system: 'system',
  // OpenAI's newer name for the same place in the conversation.
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
};

/** What messages and their parts may carry that no chat template of these models renders. */
const MARKS = ['name', 'cache_control'];

function readMessages(value: unknown): EngineMessage[] {
  if (!Array.isArray(value) || value.length === 0)
    throw invalid("'messages' must be a list of at least one", 'messages');
  return value.map((message, index) => readMessage(message, `messages[${index}]`));
}

function readMessage(value: unknown, at: string): EngineMessage {
  if (!isObject(value)) throw invalid(`'${at}' must be an object`, at);
  const { role: wanted, content, reasoning_content, reasoning, ...others } = value;
  const role = isString(wanted) && Object.hasOwn(ROLES, wanted) ? ROLES[wanted] : undefined;
  if (role === undefined) {
    const known = Object.keys(ROLES).join(', ');
    throw invalid(
      `'${at}.role' is not supported with the value ${shown(wanted ?? null)}; it has ${known}`,
      `${at}.role`,
    );
  }
  for (const [name, other] of Object.entries(others)) {
    // What a reply's own message holds beside its text may be sent back as it came.
    if (other === null || isEmptyList(other) || MARKS.includes(name)) continue;
    throw invalid(`'${at}.${name}' is not supported`, `${at}.${name}`, 'unsupported_parameter');
  }
  const thinking = reasoning_content ?? reasoning ?? undefined;
  if (thinking !== undefined && (role !== 'assistant' || !isString(thinking))) {
    throw invalid(`'${at}.reasoning_content' must be a string, on an assistant's message`, `${at}.reasoning_content`);
  }
  const text = role === 'assistant' && (content ?? null) === null ? '' : readContent(content, `${at}.content`);
  return { role, content: text, ...(thinking !== undefined && { reasoning_content: thinking }) };
}

function readContent(value: unknown, at: string): string {
  if (isString(value)) return value;
  if (!Array.isArray(value)) throw invalid(`'${at}' must be a string or a list of text parts`, at);
  // Joined without a separator, as the templates of Qwen's models do.
  return value.map((part, index) => readPart(part, `${at}[${index}]`)).join('');
}

function readPart(value: unknown, at: string): string {
  if (!isObject(value)) throw invalid(`'${at}' must be an object`, at);
  const { type, text, ...others } = value;
  if (type !== 'text') {
    const message = `'${at}' of type ${shown(type ?? null)} is not supported: only text is`;
    throw invalid(message, `${at}.type`, 'unsupported_value');
  }
  if (!isString(text)) throw invalid(`'${at}.text' must be a string`, `${at}.text`);
  const other = Object.keys(others).find((name) => !MARKS.includes(name));
  if (other !== undefined)
    throw invalid(`'${at}.${other}' is not supported`, `${at}.${other}`, 'unsupported_parameter');
  return text;
}

function readResponseFormat(value: unknown): GenerateOptions['responseFormat'] {
  if (value === undefined) return { type: 'text' };
  const at = 'response_format';
  if (!isObject(value)) throw invalid(`'${at}' must be an object`, at);
  const { type, json_schema, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw invalid(`'${at}.${other}' is not supported`, `${at}.${other}`, 'unsupported_parameter');
  if (type === 'json_schema') return { type, schema: readSchema(json_schema, `${at}.json_schema`) };
  if (type !== 'text' && type !== 'json_object') {
    throw invalid(`'${at}.type' must be text, json_object or json_schema, not ${shown(type ?? null)}`, `${at}.type`);
  }
  if (json_schema !== undefined) throw invalid(`'${at}.json_schema' needs the type json_schema`, `${at}.json_schema`);
  return { type };
}

function readSchema(value: unknown, at: string): Json {
  if (!isObject(value)) throw invalid(`'${at}' must be an object with a 'schema'`, at);
  // `strict` asks for what happens anyway; false would allow more than the schema, and need not.
  const { schema, name: _, description: __, strict: ___, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw invalid(`'${at}.${other}' is not supported`, `${at}.${other}`, 'unsupported_parameter');
  if (!isObject(schema)) throw invalid(`'${at}.schema' must be an object`, `${at}.schema`);
  requireSmall(schema, `${at}.schema`);
  return schema;
}

/** Making a grammar takes time that grows with the square of the schema's size, and nothing else is served meanwhile. */
function requireSmall(schema: Json, at: string): void {
  let values: readonly unknown[] = [schema];
  let count = 0;
  for (let depth = 0; values.length > 0; depth++) {
    count += values.length;
    if (count > MOST_SCHEMA_VALUES || depth > DEEPEST_SCHEMA) {
      const message = `'${at}' is too large: at most ${MOST_SCHEMA_VALUES} values, ${DEEPEST_SCHEMA} deep, are supported`;
      throw invalid(message, at, 'schema_too_large');
    }
    values = values.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
  }
}

function readTemplateArguments(value: unknown): Json {
  if (value === undefined) return {};
  const at = 'chat_template_kwargs';
  if (!isObject(value)) throw invalid(`'${at}' must be an object`, at);
  const taken = Object.keys(value).find((name) => TEMPLATE_VARIABLES.includes(name));
  if (taken !== undefined)
    throw invalid(`'${at}.${taken}' is not supported`, `${at}.${taken}`, 'unsupported_parameter');
  if (typeof (value.enable_thinking ?? true) !== 'boolean') {
    throw invalid(`'${at}.enable_thinking' must be true or false`, `${at}.enable_thinking`);
  }
  return value;
}
