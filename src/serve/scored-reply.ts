// A reply whose tokens are scored: generated as ever, then scored in one pass over what was said.

import type { GenerateEvent, ScoreOptions, TokenScore } from './engine-contract.js';
import type { Request } from './engine-request.js';

type End = Extract<GenerateEvent, { type: 'end' }>;

/**
 * The same reply as without scores, since llama.cpp samples it alone: its probabilities after cuts and penalties are not the model's own.
 * So its text comes when it has ended. `run` puts a request through the engine; `scoring` makes the one that scores tokens from a position.
 */
export async function* scoredReply(
  request: Request,
  scores: ScoreOptions,
  run: (request: Request) => AsyncIterable<GenerateEvent>,
  scoring: (tokens: readonly number[], from: number) => Request,
): AsyncGenerator<GenerateEvent, void, void> {
  const { tokens } = request.prompt;
  const texts = { reasoning: '', content: '' };
  let end: End | undefined;
  if (request.options.maxTokens !== 0) {
    for await (const event of run(request)) {
      if (event.type === 'text') texts[event.channel] += event.text;
      if (event.type === 'end') end = event;
    }
    // The reader has left.
    if (end === undefined) return;
  }
  const scored = scores.reply ? [...tokens, ...request.reader.spoken] : tokens;
  const from = scores.promptFrom ?? tokens.length;
  const found: TokenScore[] = [];
  let cachedTokens = 0;
  if (from < scored.length) {
    for await (const event of run(scoring(scored, from))) {
      if (event.type === 'prompt') found.push(...event.scores);
      if (event.type === 'end') cachedTokens = event.usage.cachedTokens;
    }
    if (found.length < scored.length - from) return;
  }
  const ofPrompt = found.slice(0, tokens.length - from);
  if (ofPrompt.length > 0) yield { type: 'prompt', scores: ofPrompt };
  const ofReply = splitScores(found.slice(ofPrompt.length), request.reader.spokenThinking, texts.content);
  for (const channel of ['reasoning', 'content'] as const) {
    if (texts[channel] === '' && ofReply[channel].length === 0) continue;
    yield { type: 'text', channel, text: texts[channel], scores: ofReply[channel] };
  }
  const silent = { promptTokens: tokens.length, cachedTokens, completionTokens: 0, reasoningTokens: 0 };
  yield end ?? { type: 'end', finishReason: 'length', usage: silent };
}

/** Thinking has the newlines behind it too; what was said behind the content (a stop string, the end) has no score. */
function splitScores(
  scores: readonly TokenScore[],
  thinking: number,
  content: string,
): { reasoning: readonly TokenScore[]; content: readonly TokenScore[] } {
  const said = thinking === 0 ? 0 : scores.findIndex(({ text }, index) => index >= thinking && !/^\n+$/.test(text));
  const start = said < 0 ? scores.length : said;
  let left = Buffer.byteLength(content);
  const ofContent: TokenScore[] = [];
  for (const score of scores.slice(start)) {
    if (left <= 0) break;
    ofContent.push(score);
    left -= score.bytes.length;
  }
  return { reasoning: scores.slice(0, start), content: ofContent };
}
