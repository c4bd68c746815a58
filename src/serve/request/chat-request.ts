// The body of a chat completion request, read strictly: what cannot be served as asked is refused by name.

import type { JsonObject } from '../../json.js';
import type { EngineMessage, GenerateOptions, ScoreOptions, Tool } from '../engine-contract.js';
import { invalid } from '../http/api-error.js';
import { CLOSE_CALL } from '../http/tool-calls.js';
import { readMessages } from './messages.js';
import {
  is,
  MOST_LOGPROBS,
  MOST_N,
  readBoolean,
  readInteger,
  readParameters,
  requireModel,
  type ServerDefaults,
  WITHOUT_EFFECT,
} from './parameters.js';
import { readResponseFormat } from './response-format.js';
import { readSampling, readStreaming, SAMPLING_PARAMETERS } from './sampling-request.js';
import { readThinking } from './thinking-request.js';
import { readToolChoice, readTools } from './tool-requests.js';

interface ChatRequest {
  readonly messages: readonly EngineMessage[];
  /** Those that the model may call: none where it must not. */
  readonly tools: readonly Tool[];
  /** Choices. */
  readonly n: number;
  readonly options: GenerateOptions;
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

const SERVED = [
  ...SAMPLING_PARAMETERS,
  'messages',
  'max_completion_tokens',
  'response_format',
  'chat_template_kwargs',
  'n',
  'logprobs',
  'top_logprobs',
  'thinking_budget',
  'thinking_token_budget',
  'reasoning_effort',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
];

const CHAT_WITHOUT_EFFECT = {
  ...WITHOUT_EFFECT,
  modalities: (value: unknown) => Array.isArray(value) && value.length === 1 && value[0] === 'text',
  echo: is(false),
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
  const tools = readToolChoice(given.tool_choice) === 'none' ? [] : readTools(given.tools);
  const sampling = readSampling(given, server, { names: ['max_completion_tokens', 'max_tokens'], least: 1 });
  const responseFormat = readResponseFormat(given.response_format);
  if (tools.length > 0 && responseFormat.type !== 'text') {
    throw invalid("'tools' and a 'response_format' that holds the reply cannot be combined", 'response_format');
  }
  const scores = readScores(given);
  const isSingleCall = tools.length > 0 && readBoolean(given.parallel_tool_calls, 'parallel_tool_calls') === false;
  return {
    messages: readMessages(given.messages),
    tools,
    n: readInteger(given.n, 'n', 1, MOST_N) ?? 1,
    ...readStreaming(given),
    options: {
      ...sampling,
      stop: isSingleCall ? [...sampling.stop, CLOSE_CALL] : sampling.stop,
      responseFormat,
      ...readThinking(given, server.thinkingBudget),
      ...(scores !== undefined && { scores }),
    },
  };
}

function readScores(given: JsonObject): ScoreOptions | undefined {
  const isAsked = readBoolean(given.logprobs, 'logprobs') ?? false;
  const top = readInteger(given.top_logprobs, 'top_logprobs', 0, MOST_LOGPROBS);
  if (isAsked) return { reply: true, top: top ?? 0 };
  if (top !== undefined && top > 0) throw invalid("'top_logprobs' needs 'logprobs': true", 'top_logprobs');
  return undefined;
}
