// Reads what a server said about an error, in any of the forms that servers use.

import { isTokenCount } from '../../core/costs.js';
import { asObject, isContainer, parseJson } from '../../core/json.js';
import { MOST_LOOKED_THROUGH } from '../http/wording.js';

export type Said = ReturnType<typeof readError>;

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
    /** All that was said, for the patterns: messages and codes, but never the request that some servers echo. */
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

/** Those of the counts that are credible. */
export function countsOf(found: { contextTokens: unknown; promptTokens: unknown }) {
  return {
    ...(isTokenCount(found.contextTokens) && { contextTokens: found.contextTokens }),
    ...(isTokenCount(found.promptTokens) && { promptTokens: found.promptTokens }),
  };
}

export function asText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
