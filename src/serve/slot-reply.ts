// From a sampled token to what the slot's next step evaluates, and to the events of the request.

import type { Request } from './engine-request.js';

/** What the next step evaluates; none where the reply is over. The text is told apart from it, since nothing waits for that. */
export function takeToken(request: Request, token: number, free: number): readonly number[] {
  const { reader, spoken } = request;
  const { inThinking } = reader;
  const { insteadOf, finish } = reader.take(token);
  const next = insteadOf ?? [token];
  spoken.push(...next);
  if (inThinking || reader.inThinking) request.spokenThinking = spoken.length;
  request.finished = finish ?? (free < next.length ? 'length' : undefined);
  return request.finished === undefined ? next : [];
}

/** Hands on the text of the tokens taken since the last time, and the end where it has come. Does not throw. */
export function tell(request: Request): void {
  const { reader, events, finished } = request;
  try {
    for (const text of finished === undefined ? reader.texts() : reader.rest()) events.push({ type: 'text', ...text });
    if (finished !== undefined) tellEnd(request, finished);
  } catch (error) {
    request.fail(error);
  }
}

export function tellEnd({ reader, events, prompt, cachedTokens }: Request, finishReason: 'stop' | 'length'): void {
  events.push({
    type: 'end',
    finishReason,
    usage: {
      promptTokens: prompt.tokens.length,
      cachedTokens,
      completionTokens: reader.completionTokens,
      reasoningTokens: reader.reasoningTokens,
    },
  });
  events.close();
}
