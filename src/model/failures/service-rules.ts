// Failures about the service: its address, the key, the model, its limits, or that it is down.

import { EXIT } from '../../core/errors.js';
import type { Classified, Situation } from './rule.js';

export function redirected({ status }: Situation): Classified | undefined {
  if (status < 300 || status > 399) return undefined;
  const remedy = 'give the address that it redirects to as base URL';
  return {
    failure: { class: 'fatal', down: true },
    what: 'the server redirects',
    stop: { remedy, exitCode: EXIT.unavailable },
  };
}

/** Content filters of OpenAI, Azure, DashScope, DeepSeek, OpenRouter and one-api. */
const FILTERED =
  /content_filter|content_policy_violation|ResponsibleAIPolicyViolation|content management policy|data_?inspection_?failed|inappropriate content|Content Exists Risk|sensitive_words_detected|flagged (?:as|by|for)|input was flagged|prompt was flagged|requires moderation/i;

export function filtered({ said, status }: Situation): Classified | undefined {
  if (status === 401 || status === 404 || status === 429 || !FILTERED.test(said.text)) return undefined;
  return { failure: { class: 'refused' }, what: 'refused by the content filter' };
}

const UNKNOWN_MODEL_CODE =
  /^(?:model_not_found|model_not_available|model_not_exist|DeploymentNotFound|invalid_model)$/i;
const UNKNOWN_MODEL =
  /\bmodel\b.{0,200}?(?:not found|does ?n[o']t exist|not exist|is not available|not a valid model)|no endpoints found for|not a valid model|invalid model name|deployment\b.{0,100}?does not exist|^server is pinned to |^model: \S+\s*$/im;

export function unknownModel(situation: Situation): Classified | undefined {
  const { said, status, model, flagPrefix } = situation;
  if (status === 401 || status === 429 || status >= 500) return undefined;
  const coded = UNKNOWN_MODEL_CODE.test(said.code) || UNKNOWN_MODEL_CODE.test(said.type);
  const told = (status === 404 || status === 400) && UNKNOWN_MODEL.test(said.text);
  if (!coded && !told) return undefined;
  const remedy = `name a model that it has${flagOfModel(flagPrefix)}`;
  return {
    failure: { class: 'fatal', down: true, unknownModel: true },
    what: `no model "${model}"`,
    stop: { remedy, exitCode: EXIT.unavailable },
  };
}

function flagOfModel(prefix: Situation['flagPrefix']): string {
  if (prefix === '') return '';
  return prefix === 'model' ? ' with --model-name' : ` with --${prefix}-model`;
}

const INVALID_KEY = /api[ _-]?key (?:not valid|is invalid)|(?:invalid|incorrect) api[ _-]?key/i;

export function authRefused(situation: Situation): Classified | undefined {
  const { said, status, hasKey, flagPrefix, host } = situation;
  if (status !== 401 && status !== 403 && !(status === 400 && INVALID_KEY.test(said.text))) return undefined;
  const openAi = host === 'api.openai.com' ? ' or OPENAI_API_KEY' : '';
  const name = flagPrefix === '' ? 'api-key' : `${flagPrefix}-api-key`;
  const sources = `--${name} or AWB_${name.toUpperCase().replaceAll('-', '_')}${openAi}`;
  const give = `give one by ${sources}${openAi === '' ? ' (OPENAI_API_KEY is sent to api.openai.com alone)' : ''}`;
  return {
    failure: { class: 'auth' },
    what: status === 403 ? 'access denied' : hasKey ? 'the API key is refused' : 'an API key is needed',
    stop: {
      remedy: hasKey ? `check the key given by ${sources}, and what it may use` : give,
      exitCode: EXIT.authRefused,
    },
  };
}

const QUOTA =
  /insufficient_(?:user_)?quota|insufficient[ _]balance|billing_(?:hard_limit_reached|not_active)|exceeded_current_quota|insufficient credits|credit balance is too low/i;

export function quotaUsedUp({ said, status }: Situation): Classified | undefined {
  if (status !== 402 && !(status < 500 && QUOTA.test(said.text))) return undefined;
  const remedy = 'add credit, then run the same command again: finished rows are kept';
  return {
    failure: { class: 'fatal' },
    what: 'the account has no credit left',
    stop: { remedy, exitCode: EXIT.unavailable },
  };
}

export function rateLimited({ said, status }: Situation): Classified | undefined {
  // The same status is used for a request that is larger than the limit per minute: it will never fit.
  if ((status === 429 || status === 413) && /^request too large for/i.test(said.message)) {
    return { failure: { class: 'fatal' }, what: 'the request is larger than the rate limit' };
  }
  return status === 429 ? { failure: { class: 'rate-limit' }, what: 'rate limited' } : undefined;
}

export function wrongPath({ status, asked }: Situation): Classified | undefined {
  if (status !== 404 && status !== 405) return undefined;
  const remedy = 'check the base URL: most servers have the API under /v1';
  return {
    failure: { class: 'fatal', down: true },
    what: `no ${asked} at this address`,
    stop: { remedy, exitCode: EXIT.unavailable },
  };
}

export function tooLarge({ status }: Situation): Classified | undefined {
  // This is no overflow: a proxy's limit on bodies says nothing about the model.
  if (status !== 413) return undefined;
  return { failure: { class: 'fatal' }, what: 'the request is larger than the server takes' };
}

export function serverTrouble({ status, said }: Situation): Classified | undefined {
  const passing = status >= 500 || status === 408 || status === 409 || status === 425;
  if (!passing) return undefined;
  // A gateway with nobody behind it, or a server that is loading. A gateway's 504 may come from a long reply.
  const down = status === 502 || status === 503 || (said.html && status !== 504);
  return { failure: { class: 'transient', ...(down && { down }) }, what: 'the server failed' };
}
