// Failures about the request's body: it does not fit, or holds a parameter that the server does not take.

import { EXIT } from '../../core/errors.js';
import { PARAMETERS } from '../../core/sampling.js';
import { MAX_COMPLETION_TOKENS, MAX_TOKENS } from '../endpoint/dialect.js';
import { countsOf, type Said } from './error-body.js';
import type { Classified, Situation } from './rule.js';

/** The statuses of errors about the request's body. */
function isAboutBody(status: number): boolean {
  return status === 400 || status === 413 || status === 416 || status === 422;
}

const WANTS_OTHER_NAME =
  /max_tokens\b.*\b(?:use|instead)\b.*max_completion_tokens|use\W+max_completion_tokens|un(?:supported|known|recognized)[^.]{0,40}\Wmax_tokens\b/is;

export function maxTokensRenamed({ said, status, sent }: Situation): Classified | undefined {
  if (!isAboutBody(status) || !sent.includes(MAX_TOKENS)) return undefined;
  const isUnknown = (said.param === MAX_TOKENS || said.located.includes(MAX_TOKENS)) && REJECTION.test(said.text);
  if (!isUnknown && !WANTS_OTHER_NAME.test(said.text)) return undefined;
  return { failure: { class: 'fatal', rejected: MAX_TOKENS }, what: `the server rejects ${MAX_TOKENS}` };
}

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

export function overflown({ said, status }: Situation): Classified | undefined {
  if (!isAboutBody(status) && status !== 500) return undefined;
  if (!OVERFLOW.test(said.text)) return undefined;
  const contextTokens = said.counts.contextTokens ?? firstNumber(CONTEXT_TOKENS, said.text);
  const promptTokens = said.counts.promptTokens ?? firstNumber(PROMPT_TOKENS, said.text);
  const overflow = countsOf({ contextTokens, promptTokens });
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

export function maxTokensTooLarge({ said, status }: Situation): Classified | undefined {
  if (!isAboutBody(status) || !TOO_LARGE.test(said.text)) return undefined;
  const remedy = 'lower --max-tokens to what the model can write';
  return {
    failure: { class: 'fatal' },
    what: 'max_tokens is larger than the model allows',
    stop: { remedy, exitCode: EXIT.usage },
  };
}

/** Words for the form of replies as servers, and the engines behind them, use them. */
const FORM =
  /response[_ ]?format|json[_ ]?schema|\bschema\b|structured[_ ]outputs?|guided[_ ](?:json|decoding)|\bgrammars?\b/i;

/** A form that this program asks for is never left out: replies would then be made in another way than the run says. */
export function formRejected({ said, status, sent, isHeld }: Situation): Classified | undefined {
  const isAbout = isAboutBody(status) || status === 501;
  if (
    isHeld !== true ||
    !isAbout ||
    !sent.includes('response_format') ||
    !FORM.test([said.param, ...said.located, said.text].join(' '))
  ) {
    return undefined;
  }
  const remedy = 'do without --verdict-schema, or name an endpoint that holds replies to a JSON schema';
  return {
    failure: { class: 'fatal' },
    what: 'the server rejects the JSON schema of the verdicts',
    stop: { remedy, exitCode: EXIT.usage },
  };
}

const REJECTION =
  /unsupported|not supported|n[o']t support|unknown|unrecognized|unexpected|not permitted|not allowed|extra_forbidden|cannot find field|cannot both be|only the default|invalid (?:parameter|argument|field|value)|deprecated/i;

/** What a server must be able to do where the probabilities of a given reply are asked for. */
export const SCORES_A_REPLY =
  'name an endpoint that scores a given reply: vLLM (prompt_logprobs of a chat) or awb serve; --local GGUF starts that one here';

/** How the user leaves a parameter out. A parameter that is not listed came from --extra-body. */
const FLAGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    PARAMETERS.flatMap(({ wire, leftOutBy }) => (leftOutBy === undefined ? [] : [[wire, leftOutBy]])),
  ),
  stream: 'ask for whole replies with --no-stream',
  prompt_logprobs: SCORES_A_REPLY,
  add_generation_prompt: SCORES_A_REPLY,
  [MAX_COMPLETION_TOKENS]: 'give endpoints that take the same parameters',
};
/** These are part of every request, so they are never what the server objects to. */
const ALWAYS_SENT = ['model', 'messages', 'prompt'];
const NEVER_DROPPED = ['stream', 'prompt_logprobs', 'add_generation_prompt', MAX_COMPLETION_TOKENS];

export function parameterRejected({ said, status, sent }: Situation): Classified | undefined {
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
  // Where several are named, the server complains about the first, and the others explain it.
  return places.sort((a, b) => a.at - b.at)[0]?.name;
}

function escapeForPattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
