// Failures as servers report them, and how `classify` classifies each.

import { classify, type Evidence } from '../../src/model/failures/classify.js';
import type { CallContext } from '../../src/model/failures/rules.js';

export const NOW = Date.parse('2026-11-02T12:00:00Z');
export const SENT = ['model', 'messages', 'max_tokens', 'temperature', 'top_p', 'top_k', 'seed', 'reasoning_effort'];
export const STREAMED = [...SENT, 'stream', 'stream_options'];

export function classified(evidence: Evidence, context: Partial<CallContext> = {}) {
  return classify(evidence, {
    host: 'models.example:8000',
    model: 'wm-35b',
    asked: 'chat completions',
    flagPrefix: 'model',
    hasKey: true,
    sent: STREAMED,
    redact: (text) => text,
    nowMs: NOW,
    ...context,
  });
}

export const openAi = (message: string, rest: object = {}) => ({
  error: { message, type: 'invalid_request_error', ...rest },
});
export const vllm = (message: string, code = 400) => ({
  object: 'error',
  message,
  type: 'BadRequestError',
  param: null,
  code,
});
export const http = (status: number, body: unknown): Evidence => ({
  status,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
