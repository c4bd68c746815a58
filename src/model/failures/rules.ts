// How to recognise failures, whatever form and words the server used: a table of rules, and the result of each.

import { isTokenCount } from '../../core/costs.js';
import { EXIT, type ExitCode } from '../../core/errors.js';
import { asObject, isContainer, parseJson } from '../../core/json.js';
import type { Redact } from '../../core/redaction.js';
import { PARAMETERS } from '../../core/sampling.js';
import type { AttemptFailure } from '../attempt.js';
import { MAX_COMPLETION_TOKENS, MAX_TOKENS } from '../endpoint/request.js';
import { MOST_LOOKED_THROUGH } from '../http/wording.js';

/** What the classification depends on besides the failure itself. */
export interface CallContext {
  /** Host and port. */
  readonly host: string;
  readonly model: string;
  /** What the server was asked for, in words. */
  readonly asked: string;
  /** The prefix of the flags that a remedy names; empty if no model is asked and the flags have no prefix. */
  readonly flagPrefix: 'model' | 'judge' | 'agent' | '';
  readonly hasKey: boolean;
  /** Whether this program, and not the user with --extra-body, requires a form of replies. */
  readonly isHeld?: boolean;
  /** The keys of the request body as sent: no other parameter counts as rejected. */
  readonly sent: readonly string[];
  /** The proxy in use, and the environment variable that names it. */
  readonly proxy?: { readonly host: string; readonly variable: string } | undefined;
  readonly redact: Redact;
  /** Milliseconds since the epoch, for a Retry-After that is a date. */
  readonly nowMs: number;
}

/** A failure as the rules see it. */
export type Situation = CallContext & Readonly<{ said: ReturnType<typeof readError>; status: number }>;

/** The result of a rule. */
export interface Classified {
  readonly failure: Omit<AttemptFailure, 'status' | 'reason' | 'stop'>;
  /** The failure in awb's words. */
  readonly what: string;
  /** If it stops the run: what to do, and the exit code (69 by default). */
  readonly remedy?: string;
  readonly exitCode?: ExitCode;
}

/** Content filters of OpenAI, Azure, DashScope, DeepSeek, OpenRouter and one-api. */
const FILTERED =
  /content_filter|content_policy_violation|ResponsibleAIPolicyViolation|content management policy|data_?inspection_?failed|inappropriate content|Content Exists Risk|sensitive_words_detected|flagged (?:as|by|for)|input was flagged|prompt was flagged|requires moderation/i;
const UNKNOWN_MODEL_CODE =
  /^(?:model_not_found|model_not_available|model_not_exist|DeploymentNotFound|invalid_model)$/i;
const UNKNOWN_MODEL =
  /\bmodel\b.{0,200}?(?:not found|does ?n[o']t exist|not exist|is not available|not a valid model)|no endpoints found for|not a valid model|invalid model name|deployment\b.{0,100}?does not exist|^server is pinned to |^model: \S+\s*$/im;
const INVALID_KEY = /api[ _-]?key (?:not valid|is invalid)|(?:invalid|incorrect) api[ _-]?key/i;
const QUOTA =
  /insufficient_(?:user_)?quota|insufficient[ _]balance|billing_(?:hard_limit_reached|not_active)|exceeded_current_quota|insufficient credits|credit balance is too low/i;
const WANTS_OTHER_NAME =
  /max_tokens\b.*\b(?:use|instead)\b.*max_completion_tokens|use\W+max_completion_tokens|un(?:supported|known|recognized)[^.]{0,40}\Wmax_tokens\b/is;

/**
 * Context overflows as OpenAI, Azure, DeepSeek, vLLM, SGLang, llama.cpp, TGI, Anthropic, Gemini, Mistral, xAI, Fireworks,
 * LM Studio, Bedrock and OpenRouter report them.
 */
const OVERFLOW =
  /context_length_exceeded|exceed_context_size|maximum (?:context|prompt|model) length|model's (?:maximum )?context length|context length (?:is|of)(?: only)? \d|exceeds? (?:the )?(?:available |maximum )?context|exceeds? (?:the|your|this model's)[^.]{0,40}context window|exceed context limit|prompt is too long|input is too long|input token count.{0,40}exceeds|large for model with \d+ maximum context|`inputs` (?:tokens|must have less)|must be at least 1, got -\d|max_tokens=\d+ cannot be greater than max_model_len/i;

const CONTEXT_TOKENS = [
  /(?:maximum )?(?:context|prompt|model) length(?: is| of|:)?(?: only)? \(?(\d[\d,]*)/i,
  /context (?:size|window)(?: of)? \(?(\d[\d,]*)/i,
  /exceed context limit: \d+ \+ \d+ > (\d+)/i,
  /too long: \d+ tokens > (\d+)/i,
  /`max_new_tokens` must be <= (\d+)/i,
  /number of tokens allowed \((\d+)\)/i,
  /for model with (\d+) maximum context/i,
  /cannot be greater than max_model_len=(\d+)/i,
];

/** Only exact counts: newer vLLM stops counting at the budget and says "at least". */
const PROMPT_TOKENS = [
  /\((\d[\d,]*) (?:in the messages|in your prompt|of text input)/i,
  /messages resulted in (\d[\d,]*) tokens/i,
  /your request has (\d+) input tokens/i,
  /(\d+) tokens from the input messages/i,
  /input \((\d+) tokens\)/i,
  /passed (\d+) input tokens/i,
  /request \((\d+) tokens\)/i,
  /exceed context limit: (\d+) \+/i,
  /prompt is too long: (\d+)/i,
  /given: (\d+) `inputs` tokens/i,
  /prompt \(length (\d+)\)/i,
  /prompt contains (\d+) tokens/i,
  /token count \((\d+)\)/i,
  /request contains (\d+) tokens/i,
];

const TOO_LARGE =
  /max_(?:completion_|new_)?tokens\b.{0,80}(?:too large|too high|valid range|above maximum|less than or equal|cannot exceed|must be (?:<|less))|supports at most \d+ (?:completion|output) tokens|max_(?:completion_)?tokens is limited/is;
/** Words for the form of replies, as used by servers and the engines behind them. */
const FORM =
  /response[_ ]?format|json[_ ]?schema|\bschema\b|structured[_ ]outputs?|guided[_ ](?:json|decoding)|\bgrammars?\b/i;
const REJECTION =
  /unsupported|not supported|n[o']t support|unknown|unrecognized|unexpected|not permitted|not allowed|extra_forbidden|cannot find field|cannot both be|only the default|invalid (?:parameter|argument|field|value)|deprecated/i;

/** What a server must support if the probabilities of a given reply are requested. */
export const SCORES_A_REPLY =
  'use an endpoint that can score a given reply: vLLM (prompt_logprobs of a chat) or awb serve, which --local GGUF starts here';

/** How the user leaves a parameter out. A parameter that is not listed came from --extra-body. */
const FLAGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    PARAMETERS.flatMap(({ wire, leftOutBy }) => (leftOutBy === undefined ? [] : [[wire, leftOutBy]])),
  ),
  stream: 'ask for complete replies with --no-stream',
  prompt_logprobs: SCORES_A_REPLY,
  add_generation_prompt: SCORES_A_REPLY,
  [MAX_COMPLETION_TOKENS]: 'use endpoints that accept the same parameters',
};
/** These are part of every request, so servers never object to them. */
const ALWAYS_SENT = ['model', 'messages', 'prompt'];
const NEVER_DROPPED = ['stream', 'prompt_logprobs', 'add_generation_prompt', MAX_COMPLETION_TOKENS];

/** The first match wins. */
export const RULES: readonly ((situation: Situation) => Classified | false)[] = [
  ({ status }) =>
    status >= 300 &&
    status <= 399 && {
      failure: { class: 'fatal', down: true },
      what: 'the server redirects',
      remedy: 'use the address that it redirects to as the base URL',
    },
  ({ said, status }) =>
    ![401, 404, 429].includes(status) &&
    FILTERED.test(said.text) && { failure: { class: 'refused' }, what: 'refused by the content filter' },
  ({ said, status, model, flagPrefix }) => {
    if (status === 401 || status === 429 || status >= 500) return false;
    const isCoded = UNKNOWN_MODEL_CODE.test(said.code) || UNKNOWN_MODEL_CODE.test(said.type);
    const isTold = (status === 404 || status === 400) && UNKNOWN_MODEL.test(said.text);
    const flag = flagPrefix === 'model' ? ' with --model-name' : ` with --${flagPrefix}-model`;
    return (
      (isCoded || isTold) && {
        failure: { class: 'fatal', down: true, unknownModel: true },
        what: `no model "${model}"`,
        remedy: `name a model that it serves${flagPrefix === '' ? '' : flag}`,
      }
    );
  },
  ({ said, status, hasKey, flagPrefix, host }) => {
    if (status !== 401 && status !== 403 && !(status === 400 && INVALID_KEY.test(said.text))) return false;
    const isOpenAi = host === 'api.openai.com';
    const name = flagPrefix === '' ? 'api-key' : `${flagPrefix}-api-key`;
    const variable = `AWB_${name.toUpperCase().replaceAll('-', '_')}`;
    const sources = `--${name} or ${variable}${isOpenAi ? ' or OPENAI_API_KEY' : ''}`;
    return {
      failure: { class: 'auth' },
      what: status === 403 ? 'access denied' : hasKey ? 'the API key is refused' : 'an API key is needed',
      remedy: hasKey
        ? `check the key given by ${sources}, and its permissions`
        : `give one with ${sources}${isOpenAi ? '' : ' (OPENAI_API_KEY is sent only to api.openai.com)'}`,
      exitCode: EXIT.authRefused,
    };
  },
  ({ said, status }) =>
    (status === 402 || (status < 500 && QUOTA.test(said.text))) && {
      failure: { class: 'fatal' },
      what: 'the account has no credit left',
      remedy: 'add credit, then run the same command again: finished rows are kept',
    },
  // The same status is used for a request that is larger than the limit per minute: it will never fit.
  ({ said, status }) =>
    (status === 429 || status === 413) &&
    /^request too large for/i.test(said.message) && {
      failure: { class: 'fatal' },
      what: 'the request is larger than the rate limit',
    },
  ({ status }) => status === 429 && { failure: { class: 'rate-limit' }, what: 'rate limited' },
  ({ said, status, sent }) => {
    if (!isAboutBody(status) || !sent.includes(MAX_TOKENS)) return false;
    const isUnknown = (said.param === MAX_TOKENS || said.located.includes(MAX_TOKENS)) && REJECTION.test(said.text);
    return (
      (isUnknown || WANTS_OTHER_NAME.test(said.text)) && {
        failure: { class: 'fatal', rejected: MAX_TOKENS },
        what: `the server rejects ${MAX_TOKENS}`,
      }
    );
  },
  ({ said, status }) => {
    if (!(isAboutBody(status) || status === 500) || !OVERFLOW.test(said.text)) return false;
    const contextTokens = said.counts.contextTokens ?? firstNumber(CONTEXT_TOKENS, said.text);
    const promptTokens = said.counts.promptTokens ?? firstNumber(PROMPT_TOKENS, said.text);
    const overflow = countsOf({ contextTokens, promptTokens });
    return { failure: { class: 'context-overflow', overflow }, what: 'the context overflows' };
  },
  ({ said, status }) =>
    isAboutBody(status) &&
    TOO_LARGE.test(said.text) && {
      failure: { class: 'fatal' },
      what: 'max_tokens is larger than the model allows',
      remedy: 'lower --max-tokens to what the model can write',
      exitCode: EXIT.usage,
    },
  // A form required by this program is never left out: replies would then differ from what the run records.
  ({ said, status, sent, isHeld }) =>
    isHeld === true &&
    (isAboutBody(status) || status === 501) &&
    sent.includes('response_format') &&
    FORM.test([said.param, ...said.located, said.text].join(' ')) && {
      failure: { class: 'fatal' },
      what: 'the server rejects the JSON schema of the verdicts',
      remedy: 'leave out --verdict-schema, or use an endpoint that enforces a JSON schema',
      exitCode: EXIT.usage,
    },
  ({ said, status, sent }) => {
    const rejected = isAboutBody(status) ? rejectedAmong(sent, said) : undefined;
    if (rejected === undefined) return false;
    const leave = FLAGS[rejected] ?? `leave ${rejected} out of --extra-body`;
    const isDroppable = !NEVER_DROPPED.includes(rejected);
    return {
      failure: { class: 'fatal', ...(isDroppable && { rejected }) },
      what: `the server rejects ${rejected}`,
      remedy: isDroppable ? `${leave}, or let it be dropped for the whole run with --allow-param-drop` : leave,
      exitCode: EXIT.usage,
    };
  },
  ({ status, asked }) =>
    (status === 404 || status === 405) && {
      failure: { class: 'fatal', down: true },
      what: `no ${asked} at this address`,
      remedy: 'check the base URL: most servers have the API under /v1',
    },
  // This is not an overflow: a proxy's limit on bodies says nothing about the model.
  ({ status }) =>
    status === 413 && { failure: { class: 'fatal' }, what: 'the request is larger than the server accepts' },
  ({ status, said }) => {
    if (status < 500 && ![408, 409, 425].includes(status)) return false;
    // A gateway without a server behind it, or a server that is loading. A gateway's 504 may come from a long reply.
    const down = status === 502 || status === 503 || (said.html && status !== 504);
    return { failure: { class: 'transient', ...(down && { down }) }, what: 'the server failed' };
  },
];

/** Whether a status belongs to an error about the request's body. */
function isAboutBody(status: number): boolean {
  return [400, 413, 416, 422].includes(status);
}

function firstNumber(patterns: readonly RegExp[], text: string): number | undefined {
  const digits = patterns.map((pattern) => pattern.exec(text)?.[1]).find((found) => found !== undefined);
  return digits === undefined ? undefined : Number(digits.replaceAll(',', ''));
}

function rejectedAmong(sent: readonly string[], said: Situation['said']): string | undefined {
  const parameters = sent.filter((name) => !ALWAYS_SENT.includes(name));
  const named = parameters.find((name) => said.param === name || said.located.includes(name));
  if (named !== undefined || !REJECTION.test(said.text)) return named;
  // If several are named, the server complains about the first, and the others explain it.
  const words = said.message.match(/[\w-]+/g) ?? [];
  return words.find((word) => parameters.includes(word) && word !== 'stream' && word !== 'stop');
}

/** Reads an error's body: JSON of any known form, a web page, or plain text. */
export function readError(body: string) {
  const parsed = parseJson(body);
  const html = !isContainer(parsed) && isHtml(body);
  // Gemini wraps its error in a list; vLLM once had no `error` around it; TGI, Ollama and FastAPI say it in a string.
  const root = asObject(Array.isArray(parsed) ? parsed[0] : parsed);
  const error = asObject(root.error ?? root);
  const details = [error.detail, root.detail, asObject(error.message).detail].find(Array.isArray) ?? [];
  const plain = [error.message, root.error, root.message, root.detail].find((value) => typeof value === 'string');
  const upstream = asObject(error.metadata).raw;
  const title = html ? (/<title[^>]*>([^<]*)/i.exec(body)?.[1] ?? '').trim() : body;
  const words = isContainer(parsed)
    ? [plain, ...details.map((detail) => asObject(detail).msg), upstream]
        .filter((part) => typeof part === 'string' && part !== '')
        .join(': ')
    : title;
  const type = asText(error.type ?? error.status ?? root.error_type);
  const code = asText(asObject(error.innererror).code ?? error.code ?? root.code);
  return {
    /** Everything the server said, for the patterns: messages and codes, but never the request that some servers echo. */
    text: [type, code, asText(error.code), asText(error.param), words].join('\n').slice(0, MOST_LOOKED_THROUGH),
    /** The message as a person reads it. */
    message: words === '' && !html ? body : words,
    type,
    code: asText(error.code ?? root.code),
    param: asText(error.param).replace(/^body\./, ''),
    /** Where a validation error points: the last named part of each location. */
    located: details.map(locationOf),
    counts: countsOf({ contextTokens: error.n_ctx, promptTokens: error.n_prompt_tokens }),
    html,
  };
}

/** Whether a body is a web page: a proxy's or a website's answer, not an API's. */
export function isHtml(body: string): boolean {
  return /^\s*<(?:!doctype|html|head|body|\?xml)/i.test(body);
}

function locationOf(detail: unknown): string {
  const { loc } = asObject(detail);
  return Array.isArray(loc) ? asText(loc.find((part) => typeof part === 'string' && part !== 'body')) : '';
}

/** The credible counts. */
function countsOf(found: { contextTokens: unknown; promptTokens: unknown }) {
  return {
    ...(isTokenCount(found.contextTokens) && { contextTokens: found.contextTokens }),
    ...(isTokenCount(found.promptTokens) && { promptTokens: found.promptTokens }),
  };
}

export function asText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
