// What went wrong with a call, and whose fault it is: every server's way of saying it, as one of our classes.

import { EXIT, UserError } from '../errors.js';
import { oneLine, printable } from '../printable.js';
import type { Redact } from '../redaction.js';
import type { FailureClass } from '../types.js';
import { isTokenCount } from '../usage.js';
import type { AttemptFailure } from './attempt.js';
import { MAX_COMPLETION_TOKENS, MAX_TOKENS } from './dialect.js';

/** What a call came to: an HTTP answer, an error object in a stream (no status, or 200), or what the connection threw. */
export interface Trouble {
  readonly status?: number;
  /** The body as text. */
  readonly body?: string;
  readonly headers?: { get(name: string): string | null };
  /** What the client or the connection threw. */
  readonly error?: unknown;
}

/** What the judgement of a failure depends on beside the failure. */
export interface CallContext {
  /** Host and port. */
  readonly host: string;
  readonly model: string;
  /** What it was asked for, in words. */
  readonly asked: string;
  /** Whose flags a remedy names. */
  readonly flagPrefix: 'model' | 'judge';
  readonly hasKey: boolean;
  /** The request body's keys as they were sent: no other parameter counts as rejected. */
  readonly sent: readonly string[];
  /** What the endpoint is asked through, and the variable that names it. */
  readonly proxy?: { readonly host: string; readonly variable: string } | undefined;
  readonly redact: Redact;
  /** Milliseconds since the epoch, for a Retry-After that is a date. */
  readonly nowMs: number;
}

/** A failed attempt, and what the endpoint may do about it before it gives up. */
export interface Failure extends AttemptFailure {
  /** The parameter that the server does not take, as it was sent. */
  readonly rejected?: string;
  /** Set on a context overflow. `promptTokens` only where the server counted them exactly. */
  readonly overflow?: { readonly contextTokens?: number; readonly promptTokens?: number };
  /** The server does not know the model. */
  readonly unknownModel?: true;
}

/** Longest piece of a server's text in a reason, in terminal columns. */
const MOST_SERVER_TEXT = 300;
/** Longest piece of a server's text that patterns are tried on, in characters. */
const MOST_LOOKED_THROUGH = 4000;

/**
 * Classifies a failure. `rate-limit`, `transient`, `timeout` and `malformed` are worth another try. `fatal` with `stop` ends
 * the run; `fatal` without it is this row's failure for good: a 4xx that says nothing we know may be about this row alone, and
 * is neither the model's refusal nor likely to change.
 */
export function classify(trouble: Trouble, context: CallContext): Failure {
  if (trouble.error !== undefined) return classifyConnection(trouble.error, context);
  const said = readError(trouble.body ?? '');
  const situation = { ...context, said, status: statusOf(trouble, said) };
  const verdict = RULES.reduce<Verdict | undefined>((found, rule) => found ?? rule(situation), undefined);
  const { failure, what, stop } = verdict ?? UNEXPLAINED;
  const reason = describe(what, situation, failure.class);
  return {
    status: 'failed',
    ...failure,
    reason,
    ...retryAfter(trouble, context.nowMs),
    ...(stop && { stop: new UserError(`${context.host}: ${reason}; ${stop.remedy}`, stop.exitCode) }),
  };
}

/** A server's text on one line: secrets out, what differs from call to call (ids, times) masked, cut to 300 columns. */
export function tidy(text: string, redact: Redact): string {
  // Redacted without what hides between a secret's characters, and cut behind that, so that no half of one is left; but before the
  // patterns, whose time may grow with its square.
  const clean = redact(printable(text))
    .slice(0, MOST_LOOKED_THROUGH)
    .replace(/\S*\*{3,}\S*/g, '[redacted]');
  const steady = VARYING.reduce((masked, [pattern, replacement]) => masked.replace(pattern, replacement), clean);
  return oneLine(steady, MOST_SERVER_TEXT);
}

const VARYING: readonly (readonly [RegExp, string])[] = [
  [/\s*[([{]?\b(?:request|trace|ray|correlation|log)[ _-]?id[\s:="']*[\w-]{6,}["')\]}.]*/gi, ''],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '[id]'],
  [/\b(?:req|chatcmpl|cmpl|gen|resp|msg|org|proj|user)[-_](?=[\w-]*\d)[\w-]{8,}/g, '[id]'],
  [/\b(?=[a-z]*\d)(?=\d*[a-f])[0-9a-f]{16,}\b/gi, '[id]'],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g, '[time]'],
  [/\b(?:\d+m)?\d+(?:\.\d+)?\s?(?:ms|s|sec|secs|seconds?|minutes?)\b/gi, '[time]'],
];

// --- what the server said ---

interface Said {
  /** All that was said, for looking through: messages and codes, never the request that some servers echo. */
  readonly text: string;
  /** The message as a person reads it. */
  readonly message: string;
  readonly type: string;
  readonly code: string;
  readonly param: string;
  /** Where a validation error points: the last named part of each location. */
  readonly located: readonly string[];
  readonly counts: { readonly contextTokens?: number; readonly promptTokens?: number };
  readonly html: boolean;
}

type Json = Record<string, unknown>;

function readError(body: string): Said {
  const parsed = parse(body);
  if (parsed === undefined) return readText(body);
  // Gemini wraps its error in a list; vLLM once had no `error` around it; TGI, Ollama and FastAPI say it in a string.
  const root = asObject(Array.isArray(parsed) ? parsed[0] : parsed);
  const error = asObject(root.error ?? root);
  const details = [error.detail, root.detail, asObject(error.message).detail].find(Array.isArray) ?? [];
  const plain = [error.message, root.error, root.message, root.detail].find((value) => typeof value === 'string');
  const upstream = asObject(error.metadata).raw;
  const message = [plain, ...details.map((detail) => asObject(detail).msg), upstream]
    .filter((part) => typeof part === 'string' && part !== '')
    .join(': ');
  const type = asText(error.type ?? error.status ?? root.error_type);
  const code = asText(asObject(error.innererror).code ?? error.code ?? root.code);
  const codes = [type, code, asText(error.code)];
  return {
    text: [...codes, asText(error.param), message].join('\n').slice(0, MOST_LOOKED_THROUGH),
    message: message === '' ? body : message,
    type,
    code: asText(error.code ?? root.code),
    param: asText(error.param).replace(/^body\./, ''),
    located: details.map(locationOf),
    counts: numbers({ contextTokens: error.n_ctx, promptTokens: error.n_prompt_tokens }),
    html: false,
  };
}

function readText(body: string): Said {
  const html = isHtml(body);
  const title = /<title[^>]*>([^<]*)/i.exec(body)?.[1] ?? '';
  const message = html ? title.trim() : body;
  const text = message.slice(0, MOST_LOOKED_THROUGH);
  return { text, message, type: '', code: '', param: '', located: [], counts: {}, html };
}

/** Whether a body is a web page: a proxy's or a website's answer, not an API's. */
export function isHtml(body: string): boolean {
  return /^\s*<(?:!doctype|html|head|body|\?xml)/i.test(body);
}

function locationOf(detail: unknown): string {
  const { loc } = asObject(detail);
  return Array.isArray(loc) ? asText(loc.find((part) => typeof part === 'string' && part !== 'body')) : '';
}

function numbers(found: { contextTokens: unknown; promptTokens: unknown }): Said['counts'] {
  return {
    ...(isTokenCount(found.contextTokens) && { contextTokens: found.contextTokens }),
    ...(isTokenCount(found.promptTokens) && { promptTokens: found.promptTokens }),
  };
}

function parse(body: string): unknown {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function asText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** Statuses that error types stand for, where an error object came without one (in a stream, or behind a 200). */
const STATUS_OF_TYPE: readonly (readonly [RegExp, number])[] = [
  [/rate.?limit|resource_exhausted|too_many_requests/i, 429],
  [/insufficient_quota/i, 429],
  [/authentication/i, 401],
  [/permission/i, 403],
  [/not_?found/i, 404],
  [/invalid_request|invalid_argument|bad_?request|validation|exceed_context|context_length/i, 400],
];

function statusOf({ status }: Trouble, said: Said): number {
  if (status !== undefined && status !== 200) return status;
  const code = /^[45]\d\d$/.test(said.code) ? Number(said.code) : undefined;
  const known = STATUS_OF_TYPE.find(([pattern]) => pattern.test(said.type) || pattern.test(said.code));
  return code ?? known?.[1] ?? 500;
}

// --- the rules, first match wins ---

interface Situation extends CallContext {
  readonly said: Said;
  readonly status: number;
}

interface Verdict {
  readonly failure: Omit<Failure, 'status' | 'reason' | 'stop'>;
  /** The failure in our words. */
  readonly what: string;
  readonly stop?: { readonly remedy: string; readonly exitCode: UserError['exitCode'] };
}

type Rule = (situation: Situation) => Verdict | undefined;

const RULES: readonly Rule[] = [
  redirected,
  filtered,
  unknownModel,
  authRefused,
  quotaUsedUp,
  rateLimited,
  maxTokensRenamed,
  overflown,
  maxTokensTooLarge,
  parameterRejected,
  wrongPath,
  tooLarge,
  serverTrouble,
];

function redirected({ status }: Situation): Verdict | undefined {
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

function filtered({ said, status }: Situation): Verdict | undefined {
  if (status === 401 || status === 404 || status === 429 || !FILTERED.test(said.text)) return undefined;
  return { failure: { class: 'refused' }, what: 'refused by the content filter' };
}

const UNKNOWN_MODEL_CODE =
  /^(?:model_not_found|model_not_available|model_not_exist|DeploymentNotFound|invalid_model)$/i;
const UNKNOWN_MODEL =
  /\bmodel\b.{0,200}?(?:not found|does ?n[o']t exist|not exist|is not available|not a valid model)|no endpoints found for|not a valid model|invalid model name|deployment\b.{0,100}?does not exist|^model: \S+\s*$/im;

function unknownModel(situation: Situation): Verdict | undefined {
  const { said, status, model, flagPrefix } = situation;
  if (status === 401 || status === 429 || status >= 500) return undefined;
  const coded = UNKNOWN_MODEL_CODE.test(said.code) || UNKNOWN_MODEL_CODE.test(said.type);
  const told = (status === 404 || status === 400) && UNKNOWN_MODEL.test(said.text);
  if (!coded && !told) return undefined;
  const remedy = `name a model that it has with ${flagPrefix === 'judge' ? '--judge-model' : '--model-name'}`;
  return {
    failure: { class: 'fatal', down: true, unknownModel: true },
    what: `no model "${model}"`,
    stop: { remedy, exitCode: EXIT.unavailable },
  };
}

const INVALID_KEY = /api[ _-]?key (?:not valid|is invalid)|(?:invalid|incorrect) api[ _-]?key/i;

function authRefused(situation: Situation): Verdict | undefined {
  const { said, status, hasKey, flagPrefix, host } = situation;
  if (status !== 401 && status !== 403 && !(status === 400 && INVALID_KEY.test(said.text))) return undefined;
  const openAi = host === 'api.openai.com' ? ' or OPENAI_API_KEY' : '';
  const sources = `--${flagPrefix}-api-key or AWB_${flagPrefix.toUpperCase()}_API_KEY${openAi}`;
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

function quotaUsedUp({ said, status }: Situation): Verdict | undefined {
  if (status !== 402 && !(status < 500 && QUOTA.test(said.text))) return undefined;
  const remedy = 'add credit, then run the same command again: finished rows are kept';
  return {
    failure: { class: 'fatal' },
    what: 'the account has no credit left',
    stop: { remedy, exitCode: EXIT.unavailable },
  };
}

function rateLimited({ said, status }: Situation): Verdict | undefined {
  // A request above the limit per minute is told by the same code, and will never fit.
  if ((status === 429 || status === 413) && /^request too large for/i.test(said.message)) {
    return { failure: { class: 'fatal' }, what: 'the request is larger than the rate limit' };
  }
  return status === 429 ? { failure: { class: 'rate-limit' }, what: 'rate limited' } : undefined;
}

/** Client errors that say something of the request's body. */
function isAboutBody(status: number): boolean {
  return status === 400 || status === 413 || status === 416 || status === 422;
}

const WANTS_OTHER_NAME =
  /max_tokens\b.*\b(?:use|instead)\b.*max_completion_tokens|use\W+max_completion_tokens|un(?:supported|known|recognized)[^.]{0,40}\Wmax_tokens\b/is;

function maxTokensRenamed({ said, status, sent }: Situation): Verdict | undefined {
  if (!isAboutBody(status) || !sent.includes(MAX_TOKENS)) return undefined;
  const isUnknown = (said.param === MAX_TOKENS || said.located.includes(MAX_TOKENS)) && REJECTION.test(said.text);
  if (!isUnknown && !WANTS_OTHER_NAME.test(said.text)) return undefined;
  return { failure: { class: 'fatal', rejected: MAX_TOKENS }, what: `the server rejects ${MAX_TOKENS}` };
}

/**
 * Context overflows as OpenAI, Azure, DeepSeek, vLLM, SGLang, llama.cpp, TGI, Anthropic, Gemini, Mistral, xAI, Fireworks,
 * LM Studio, Bedrock and OpenRouter tell them.
 */
const OVERFLOW =
  /context_length_exceeded|exceed_context_size|maximum (?:context|prompt|model) length|model's (?:maximum )?context length|context length (?:is|of)(?: only)? \d|exceeds? (?:the )?(?:available |maximum )?context|exceeds? (?:the|your|this model's)[^.]{0,40}context window|exceed context limit|prompt is too long|input is too long|input token count.{0,40}exceeds|large for model with \d+ maximum context|`inputs` (?:tokens|must have less)|must be at least 1, got -\d/i;

const CONTEXT_TOKENS = [
  /(?:maximum )?(?:context|prompt|model) length(?: is| of|:)?(?: only)? \(?(\d[\d,]*)/i,
  /context (?:size|window)(?: of)? \(?(\d[\d,]*)/i,
  /exceed context limit: \d+ \+ \d+ > (\d+)/i,
  /too long: \d+ tokens > (\d+)/i,
  /`max_new_tokens` must be <= (\d+)/i,
  /number of tokens allowed \((\d+)\)/i,
  /for model with (\d+) maximum context/i,
];

/** Only exact counts: newer vLLM stops counting where the budget ends and says "at least". */
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

function overflown({ said, status }: Situation): Verdict | undefined {
  if (!isAboutBody(status) && status !== 500) return undefined;
  if (!OVERFLOW.test(said.text)) return undefined;
  const contextTokens = said.counts.contextTokens ?? firstNumber(CONTEXT_TOKENS, said.text);
  const promptTokens = said.counts.promptTokens ?? firstNumber(PROMPT_TOKENS, said.text);
  const overflow = numbers({ contextTokens, promptTokens });
  return { failure: { class: 'context-overflow', overflow }, what: 'the context overflows' };
}

function firstNumber(patterns: readonly RegExp[], text: string): number | undefined {
  for (const pattern of patterns) {
    const digits = pattern.exec(text)?.[1];
    if (digits !== undefined) return Number(digits.replaceAll(',', ''));
  }
  return undefined;
}

const TOO_LARGE =
  /max_(?:completion_|new_)?tokens\b.{0,80}(?:too large|too high|valid range|above maximum|less than or equal|cannot exceed|must be (?:<|less))|supports at most \d+ (?:completion|output) tokens|max_(?:completion_)?tokens is limited/is;

function maxTokensTooLarge({ said, status }: Situation): Verdict | undefined {
  if (!isAboutBody(status) || !TOO_LARGE.test(said.text)) return undefined;
  const remedy = 'lower --max-tokens to what the model can write';
  return {
    failure: { class: 'fatal' },
    what: 'max_tokens is larger than the model allows',
    stop: { remedy, exitCode: EXIT.usage },
  };
}

const REJECTION =
  /unsupported|not supported|n[o']t support|unknown|unrecognized|unexpected|not permitted|not allowed|extra_forbidden|cannot find field|cannot both be|only the default|invalid (?:parameter|argument|field|value)|deprecated/i;

/** What leaves a parameter out. Any other came from --extra-body. */
const FLAGS: Readonly<Record<string, string>> = {
  temperature: 'leave it out with --temperature default',
  top_p: 'leave out --top-p (or the preset that sets it)',
  top_k: 'leave out --top-k (or the preset that sets it)',
  min_p: 'leave out --min-p',
  seed: 'leave out --seed',
  presence_penalty: 'leave out --presence-penalty',
  reasoning_effort: 'leave out --reasoning-effort',
  stream: 'ask for whole replies with --no-stream',
  [MAX_COMPLETION_TOKENS]: 'give endpoints that take the same parameters',
};
/** No server could do without these. */
const ALWAYS_SENT = ['model', 'messages', 'prompt'];
const NEVER_DROPPED = ['stream', MAX_COMPLETION_TOKENS];

function parameterRejected({ said, status, sent }: Situation): Verdict | undefined {
  if (!isAboutBody(status)) return undefined;
  const rejected = rejectedAmong(sent, said);
  if (rejected === undefined) return undefined;
  const what = `the server rejects ${rejected}`;
  const leave = FLAGS[rejected] ?? `leave ${rejected} out of --extra-body`;
  const droppable = !NEVER_DROPPED.includes(rejected);
  const remedy = droppable ? `${leave}, or let it be dropped for the whole run with --allow-param-drop` : leave;
  return {
    failure: { class: 'fatal', ...(droppable && { rejected }) },
    what,
    stop: { remedy, exitCode: EXIT.usage },
  };
}

function rejectedAmong(sent: readonly string[], said: Said): string | undefined {
  const parameters = sent.filter((name) => !ALWAYS_SENT.includes(name));
  const named = parameters.find((name) => said.param === name || said.located.includes(name));
  if (named !== undefined) return named;
  if (!REJECTION.test(said.text)) return undefined;
  const places = parameters
    .filter((name) => name !== 'stream' && name !== 'stop')
    .map((name) => ({ name, at: said.message.search(new RegExp(`(?<![\\w-])${escapeForPattern(name)}(?![\\w-])`)) }))
    .filter(({ at }) => at >= 0);
  // Where several are named, the first is the one complained of and the others explain it.
  return places.sort((a, b) => a.at - b.at)[0]?.name;
}

function escapeForPattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function wrongPath({ status, asked }: Situation): Verdict | undefined {
  if (status !== 404 && status !== 405) return undefined;
  const remedy = 'check the base URL: most servers have the API under /v1';
  return {
    failure: { class: 'fatal', down: true },
    what: `no ${asked} at this address`,
    stop: { remedy, exitCode: EXIT.unavailable },
  };
}

function tooLarge({ status }: Situation): Verdict | undefined {
  // Not an overflow: a proxy's limit on bodies says nothing of the model.
  if (status !== 413) return undefined;
  return { failure: { class: 'fatal' }, what: 'the request is larger than the server takes' };
}

function serverTrouble({ status, said }: Situation): Verdict | undefined {
  const passing = status >= 500 || status === 408 || status === 409 || status === 425;
  if (!passing) return undefined;
  // A gateway with nobody behind it, or a server that is loading. A gateway's 504 may be a long reply's own.
  const down = status === 502 || status === 503 || (said.html && status !== 504);
  return { failure: { class: 'transient', ...(down && { down }) }, what: 'the server failed' };
}

const UNEXPLAINED: Verdict = { failure: { class: 'fatal' }, what: 'the server rejects the request' };

function describe(what: string, { said, status, redact }: Situation, failureClass: FailureClass): string {
  const page = said.html ? 'a web page' : '';
  const words = [page, tidy(said.message, redact)].filter((part) => part !== '').join(', ');
  // How much of a rate limit was used differs from call to call.
  const steady = failureClass === 'rate-limit' ? words.replace(/\d[\d.,]*\d|\d/g, 'N') : words;
  return `${redact(what)} (HTTP ${status}${steady === '' ? '' : `: ${steady}`})`;
}

/** retry-after-ms, or Retry-After in seconds or as a date (RFC 9110, 10.2.3), as milliseconds from now. */
function retryAfter({ headers }: Trouble, nowMs: number): { retryAfterMs?: number } {
  const exact = Number(headers?.get('retry-after-ms') ?? Number.NaN);
  if (exact >= 0) return { retryAfterMs: exact };
  const text = headers?.get('retry-after')?.trim();
  if (!text) return {};
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(ms) ? {} : { retryAfterMs: Math.max(0, ms) };
}

// --- no answer at all ---

const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'host not found',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'no connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
};
const BROKEN = /^(?:ECONNRESET|EPIPE|ECONNABORTED|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/;
const TLS = /^(?:ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(?:GET|VERIFY)|HOSTNAME_MISMATCH)/;

function classifyConnection(error: unknown, context: CallContext): Failure {
  const { code, message } = rootOf(error);
  const failed = (rest: Omit<Failure, 'status'>): Failure => ({ status: 'failed', ...rest });
  const { proxy } = context;
  const known = UNREACHABLE[code];
  if (known !== undefined) {
    // Through a proxy it is the proxy that could not be reached.
    const where = proxy === undefined ? '' : ` at the proxy ${proxy.host} that ${proxy.variable} names`;
    return failed({ class: 'transient', reason: `${known} (${code})${where}`, unreachable: true });
  }
  if (TLS.test(code)) {
    const reason = `TLS failed (${code})`;
    const remedy = /WRONG_VERSION|EPROTO|PACKET_LENGTH/.test(code)
      ? 'the server may speak plain HTTP: try http:// in the base URL'
      : 'if the certificate is your own, name its authority in NODE_EXTRA_CA_CERTS';
    const stop = new UserError(`${context.host}: ${reason}; ${remedy}`, EXIT.unavailable);
    return failed({ class: 'fatal', reason, stop });
  }
  if (BROKEN.test(code)) return failed({ class: 'transient', reason: `the connection broke (${code})` });
  if (code.startsWith('HPE_')) {
    const reason = `the server does not answer in HTTP (${code}): does it want https:// in the base URL?`;
    return failed({ class: 'malformed', reason });
  }
  const refusal = /Proxy response \((\d+)\)/.exec(message)?.[1];
  if (refusal !== undefined && proxy !== undefined) return refusedByProxy(Number(refusal), proxy, context.host);
  const words = tidy(code === '' ? message : code, context.redact);
  return failed({ class: 'transient', reason: `the call failed (${words})` });
}

function refusedByProxy(status: number, proxy: NonNullable<CallContext['proxy']>, host: string): Failure {
  const name = `the proxy ${proxy.host} that ${proxy.variable} names`;
  if (status !== 407) {
    const reason = `${name} lets nothing through (HTTP ${status})`;
    return { status: 'failed', class: 'transient', reason, unreachable: true };
  }
  const reason = `${name} wants other credentials (HTTP 407)`;
  const remedy = `give it http://user:password@${proxy.host}, or exclude the host with NO_PROXY=${host}`;
  const stop = new UserError(`${host}: ${reason}; ${remedy}`, EXIT.unavailable);
  return { status: 'failed', class: 'fatal', reason, stop };
}

/** The innermost cause that has a code, as the client and Node wrap what the socket said. */
function rootOf(error: unknown): { code: string; message: string } {
  let code = '';
  let message = '';
  for (let cause = error, depth = 0; cause !== undefined && cause !== null && depth < 8; depth++) {
    const { errors, ...rest } = describeError(cause);
    if (rest.message !== '') message = rest.message;
    if (rest.code !== '') code = rest.code;
    cause = errors?.[0] ?? asObject(cause).cause;
  }
  // The client keeps nothing of a connection that was not made in time.
  return { code: code === '' && message === 'Request timed out.' ? 'ETIMEDOUT' : code, message };
}

function describeError(cause: unknown): { code: string; message: string; errors?: unknown[] } {
  const { name, code, message, errors } = asObject(cause);
  // Only some of the parser's errors have a code.
  const known = name === 'HTTPParserError' ? (code ?? 'HPE_INVALID') : code;
  return {
    code: typeof known === 'string' ? known : '',
    message: asText(message),
    ...(Array.isArray(errors) && { errors }),
  };
}
