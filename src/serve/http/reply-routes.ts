// Requests for replies: chat and text completions, of one or several choices, through the engine to the client.

import { randomUUID } from 'node:crypto';
import type { Engine, EnginePrompt, GenerateOptions, Tool } from '../engine-contract.js';
import { type ChatRequest, readChatRequest } from '../request/chat-request.js';
import { type CompletionRequest, type RawPrompt, readCompletionRequest } from '../request/completion-request.js';
import { MOST_SEED } from '../request/parameters.js';
import { commonPrefix } from '../slots.js';
import { toldOf } from './api-error.js';
import { CHAT_REPLY, scoredChatReply } from './chat-reply.js';
import { completionReply, type Echo } from './completion-reply.js';
import { type Desk, type Handler, nowS, type Visit } from './desk.js';
import { fingerprintOf, type ReplyFormat, replyInEvents, replyWhole } from './replies.js';
import { readToolCalls } from './tool-calls.js';

/** Carries the seed of a reply, given or drawn, so that it can be asked for again; further choices count up from it. */
const SEED_HEADER = 'x-seed';

const PING_MS = 15_000;

interface Call {
  readonly prompt: EnginePrompt;
  readonly options: GenerateOptions;
}

/** What is asked of the engine for one reply. */
interface Asked {
  readonly prompts: readonly Call[];
  /** Choices for each prompt. */
  readonly n: number;
  readonly tools: readonly Tool[];
  readonly format: ReplyFormat;
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

export const chat: Handler = async (desk, visit) => {
  const asked = readChatRequest(await desk.bodyOf(visit), desk.defaults());
  if (asked.promptLogprobs !== undefined) return replyToGiven(desk, visit, asked, asked.promptLogprobs);
  const { messages, tools, options } = asked;
  await reply(desk, visit, { ...asked, format: CHAT_REPLY, prompts: [{ prompt: { messages, tools }, options }] });
};

/** Scores the last message, from where its prompt leaves that of the messages before it. */
async function replyToGiven(desk: Desk, visit: Visit, asked: ChatRequest, top: number): Promise<void> {
  const { messages, tools, options } = asked;
  const { engine } = desk;
  const rendered = (shown: ChatRequest['messages']) =>
    engine.tokenize({ messages: shown, tools }, { ...options, addGenerationPrompt: false });
  const tokens = await rendered(messages);
  // Nothing precedes the first token.
  const promptFrom = Math.max(1, commonPrefix(tokens, await rendered(messages.slice(0, -1))));
  const prompts = [{ prompt: { tokens }, options: { ...options, scores: { promptFrom, reply: false, top } } }];
  await reply(desk, visit, { ...asked, tools: [], format: scoredChatReply(promptFrom), prompts });
}

export const complete: Handler = async (desk, visit) => {
  const asked = readCompletionRequest(await desk.bodyOf(visit), desk.defaults());
  const echoes: Echo[] = [];
  const prompts: Call[] = [];
  for (const prompt of asked.prompts) {
    const { echo, ...call } = await echoed(desk.engine, prompt, asked);
    prompts.push(call);
    for (let choice = 0; choice < asked.n; choice++) echoes.push(echo);
  }
  const format = completionReply(echoes, asked.options.scores !== undefined);
  await reply(desk, visit, { ...asked, tools: [], format, prompts });
};

/** A prompt, what of it is scored, and what the reply repeats of it. */
async function echoed(
  engine: Engine,
  prompt: RawPrompt,
  { echo, scoreFrom, options }: CompletionRequest,
): Promise<{ prompt: RawPrompt; options: GenerateOptions; echo: Echo }> {
  if (!echo) return { prompt, options, echo: { text: undefined, unscored: [] } };
  const tokens = await engine.tokenize(prompt, { templateArguments: {}, addGenerationPrompt: true });
  const text = 'text' in prompt ? prompt.text : engine.detokenize(tokens);
  const { scores } = options;
  if (scores === undefined) return { prompt: { tokens }, options, echo: { text, unscored: [] } };
  const promptFrom = Math.min(scoreFrom, tokens.length);
  const unscored = tokens.slice(0, promptFrom).map((token) => engine.detokenize([token]));
  return {
    prompt: { tokens },
    options: { ...options, scores: { ...scores, promptFrom } },
    echo: { text, unscored },
  };
}

async function reply(desk: Desk, visit: Visit, asked: Asked): Promise<void> {
  const { engine } = desk;
  const { facts } = engine;
  const { format, tools, prompts } = asked;
  const calls = prompts.flatMap((call) =>
    Array.from({ length: asked.n }, (_, choice) => ({ ...call, options: withSeed(call.options, choice) })),
  );
  await desk.admit(calls.length, async () => {
    const head = {
      id: `${format.idPrefix}${randomUUID()}`,
      created: nowS(),
      model: facts.name,
      system_fingerprint: fingerprintOf(facts),
    };
    const [first] = calls;
    if (first !== undefined) visit.response.setHeader(SEED_HEADER, first.options.seed);
    // Where one choice fails, the others end too.
    const failing = new AbortController();
    const either = AbortSignal.any([visit.signal, failing.signal]);
    const choices = calls.map(({ prompt, options }) => {
      const events = engine.generate(prompt, options, either);
      return tools.length === 0 ? events : readToolCalls(events, tools);
    });
    const replying = { format, head, choices, prompts: prompts.length };
    try {
      visit.usages = asked.stream
        ? await replyInEvents(visit.response, replying, {
            includeUsage: asked.includeUsage,
            pingIntervalMs: desk.options.pingIntervalMs ?? PING_MS,
            errorOf: (error) => toldOf(error, visit.signal, desk.options.onError),
          })
        : await replyWhole(visit.response, replying);
    } finally {
      failing.abort();
    }
  });
}

/** The choices of a prompt count up from its seed. */
function withSeed(options: GenerateOptions, choice: number): GenerateOptions {
  return { ...options, seed: (options.seed + choice) % (MOST_SEED + 1) };
}
