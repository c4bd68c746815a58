// How long a request lets the model think, and what it tells the chat template.

import { isObject, type JsonObject } from '../../json.js';
import type { GenerateOptions } from '../engine-contract.js';
import { invalid, unsupported } from '../http/api-error.js';
import { isString, readEither, readInteger, shown } from './parameters.js';

/** Variables of a chat template that are the server's to set. */
const TEMPLATE_VARIABLES = ['messages', 'tools', 'documents', 'add_generation_prompt', 'continue_final_message'];

/** Most tokens of thinking by effort; none at all is asked of the chat template. OpenAI gives no numbers: these are this server's. */
const EFFORTS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 256,
  low: 1_024,
  medium: 8_192,
  high: Number.POSITIVE_INFINITY,
  xhigh: Number.POSITIVE_INFINITY,
};

/** The smallest of the server's, the request's and the effort's budgets holds. */
export function readThinking(
  given: JsonObject,
  serverBudget: number,
): Pick<GenerateOptions, 'thinkingBudget' | 'templateArguments'> {
  const budget = readEither(given, 'thinking_budget', 'thinking_token_budget', (name) =>
    readInteger(given[name], name, 0, Number.MAX_SAFE_INTEGER),
  );
  const templateArguments = readTemplateArguments(given.chat_template_kwargs);
  const { reasoning_effort: effort } = given;
  if (effort === undefined) {
    return { thinkingBudget: Math.min(serverBudget, budget ?? serverBudget), templateArguments };
  }
  const ofEffort = isString(effort) && Object.hasOwn(EFFORTS, effort) ? EFFORTS[effort] : undefined;
  if (ofEffort === undefined) {
    const known = Object.keys(EFFORTS).join(', ');
    throw invalid(`'reasoning_effort' must be one of ${known}, not ${shown(effort)}`, 'reasoning_effort');
  }
  if (effort === 'none' && templateArguments.enable_thinking === true) {
    throw invalid("'reasoning_effort' none and 'enable_thinking' contradict each other", 'reasoning_effort');
  }
  return {
    thinkingBudget: Math.min(serverBudget, budget ?? serverBudget, ofEffort),
    templateArguments: effort === 'none' ? { ...templateArguments, enable_thinking: false } : templateArguments,
  };
}

/** Throws an ApiError for variables that are the server's to set. */
export function readTemplateArguments(value: unknown): JsonObject {
  if (value === undefined) return {};
  const at = 'chat_template_kwargs';
  if (!isObject(value)) throw invalid(`'${at}' must be an object`, at);
  const taken = Object.keys(value).find((name) => TEMPLATE_VARIABLES.includes(name));
  if (taken !== undefined) throw unsupported(`${at}.${taken}`);
  if (typeof (value.enable_thinking ?? true) !== 'boolean') {
    throw invalid(`'${at}.enable_thinking' must be true or false`, `${at}.enable_thinking`);
  }
  return value;
}
