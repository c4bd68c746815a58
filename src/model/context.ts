// What a model's context leaves for a prompt, for a reply, and for the next request of a dialogue; and what to do if it is too little.

import { inDomains } from '../core/domains.js';
import { throwIfStopped, UserError } from '../core/errors.js';
import { counted, grouped } from '../core/printable.js';
import { CHARS_A_TOKEN, type Domain } from '../core/types.js';
import type { Attempt } from './attempt.js';

/**
 * What a server says about its model's context before it is called. A server that `refusesBudgets` refuses a prompt that fits unless
 * its full output budget fits, too; others end the reply at the context's end.
 */
export type ServedContext = Readonly<{ host: string; tokens: number; refusesBudgets: boolean }>;

const LONGER =
  'serve a longer context (vLLM --max-model-len, SGLang --context-length, llama.cpp -c, awb serve --context)';
/** With fewer tokens a reply is cut off, so the call is not worth making. */
const LEAST_REPLY = 256;
/** Tokens left free, since servers' counts differ by a few tokens. */
const FIT_MARGIN = 16;

/** What the run has learned about its servers' contexts, shared by all endpoints. */
export type ContextWatch = ReturnType<typeof openContextWatch>;

/** The endpoint, and its output budget. */
type Budgeted = Readonly<{ host: string; budget: number | undefined }>;
type AskWith = (maxTokens: number) => Promise<Attempt>;

/** Opens a watch. `maxTokens` is the output budget; `fits` says whether it may be lowered to what the context leaves. */
export function openContextWatch(options: {
  readonly maxTokens: number | undefined;
  readonly fits: boolean;
  onNotice(text: string): void;
}) {
  const { maxTokens = 0, fits, onNotice } = options;
  let saidTooLong = false;
  let saidOverBudget = false;
  return {
    /**
     * The result of a call whose first request gave `first`. If prompt and output budget together overflow the context, the call is
     * repeated with the tokens that the context leaves, or is a failure with its reason; the first of these is reported to the user.
     * `ask` repeats the call with a given budget.
     */
    async fitted(first: Attempt, { host, budget }: Budgeted, ask: AskWith): Promise<Attempt> {
      const overflow = first.status === 'failed' ? first.overflow : undefined;
      if (first.status !== 'failed' || overflow === undefined) return first;
      let { contextTokens, promptTokens } = overflow;
      if (contextTokens !== undefined && promptTokens === undefined && budget !== undefined) {
        // The server did not count the prompt: a request for a one-token reply makes it do so.
        const counting = await ask(1);
        if (counting.status === 'ok') promptTokens = counting.usage.promptTokens;
        else if (counting.status === 'failed' && counting.overflow !== undefined) {
          ({ contextTokens = contextTokens, promptTokens } = counting.overflow);
        } else return counting;
      }
      const left = (contextTokens ?? 0) - (promptTokens ?? Number.POSITIVE_INFINITY) - FIT_MARGIN;
      if (budget === undefined || left >= budget || left < LEAST_REPLY) {
        // The prompt does not fit even alone, or it is unknown whether it would.
        const what =
          contextTokens === undefined || promptTokens === undefined
            ? 'the context overflows'
            : `a prompt of ${tokensText(promptTokens)} leaves no room for a reply in the context of ${tokensText(contextTokens)}`;
        if (!saidTooLong) onNotice(`${host}: ${what}: such rows are missing, not the model's failures; ${LONGER}`);
        saidTooLong = true;
        return first;
      }
      if (fits) {
        const second = await ask(left);
        return second.status === 'ok' ? { ...second, fittedMaxTokens: left } : second;
      }
      const what = `${host}: prompts fit into the context of ${tokensText(contextTokens ?? 0)}, but not with --max-tokens ${maxTokens}`;
      const remedy = `add --fit-max-tokens (gives such a row the budget that is left, and flags it), lower --max-tokens from the start, or serve a longer context`;
      if (!saidOverBudget) onNotice(`${what}: such rows count as missing; ${remedy}`);
      saidOverBudget = true;
      const reason = `the prompt fits into the context, but not with --max-tokens ${budget}: ${first.reason}`;
      return { ...first, reason };
    },
    /**
     * Checks what a server says about its model at /models, before anything is asked.
     * @throws UserError (2) if no prompt can fit together with the output budget
     */
    described(host: string, contextTokens: number, endsReplies: boolean): void {
      if (maxTokens < contextTokens || fits) return;
      const what = `${host} has a context of ${tokensText(contextTokens)}, prompt included, and --max-tokens is ${maxTokens}`;
      const remedy = 'add --fit-max-tokens, give a lower --max-tokens, or serve a longer context';
      if (!endsReplies) throw new UserError(`${what}: no row can fit; ${remedy}`);
      onNotice(`${what}: replies end where the context does`);
    },
  };
}

/** A context, and the tokens of the longest prompt that it accepts. */
type PromptRoom = Readonly<{ context: ServedContext; tokens: number }>;
type OutputBudget = Readonly<{ maxTokens?: number | undefined; fitMaxTokens: boolean }>;

/** The room of the server with the least room; undefined if none reports its context. */
export function leastRoom(contexts: readonly ServedContext[], { maxTokens = 1, fitMaxTokens }: OutputBudget) {
  const budget = fitMaxTokens ? LEAST_REPLY : maxTokens;
  return contexts
    .map((context) => ({ context, tokens: context.tokens - (context.refusesBudgets ? budget : 1) }))
    .sort((a, b) => a.tokens - b.tokens)[0];
}

/** A row with the size of its prompt; `place` is file and line, or key. */
export type SizedRow = Readonly<{ place: string; domain: Domain; tokens: number }>;

/** A row that can be sized. */
export interface SizableRow extends Omit<SizedRow, 'tokens'> {
  /** At least the characters sent for the row itself, without the text around it. */
  readonly bytes: number;
  /** Reads the row. @returns characters of its prompt */
  characters(): Promise<number>;
}

/** The longest text around a row in a prompt: a system prompt, a rubric. */
const MOST_AROUND = 32_768;
/** How many rows are read, the longest first; the sizes of the others are estimated from their bytes. */
const MOST_READ = 60;

/**
 * The rows whose prompts are longer than the room, the longest first. A row's line bounds its characters, so only few are read.
 * @throws UserError (130, 143) if the user interrupts
 */
export async function overlongRows(
  rows: Iterable<SizableRow>,
  room: Pick<PromptRoom, 'tokens'>,
  charsAToken: number,
  stop: AbortSignal,
): Promise<SizedRow[]> {
  const leastBytes = room.tokens * charsAToken - MOST_AROUND;
  const candidates = [...rows].filter(({ bytes }) => bytes > leastBytes).sort((a, b) => b.bytes - a.bytes);
  const sized: SizedRow[] = [];
  let [allChars, allBytes] = [0, 0];
  for (const row of candidates) {
    throwIfStopped(stop);
    let chars = (row.bytes * allChars) / allBytes;
    if (sized.length < MOST_READ) {
      chars = await row.characters();
      allChars += chars;
      allBytes += row.bytes;
    }
    sized.push({ place: row.place, domain: row.domain, tokens: Math.ceil(chars / charsAToken) });
  }
  return sized.filter(({ tokens }) => tokens > room.tokens).sort((a, b) => b.tokens - a.tokens);
}

/** How many rows are named. */
const MOST_NAMED = 10;

/**
 * The message about rows that are too long; undefined if there are none. `rows` are sorted, the longest first. `summary` has the count, the
 * place and the next step; `lines` has one line for each of the longest rows.
 */
export function fitNotice(
  rows: readonly SizedRow[],
  { context, tokens: room }: PromptRoom,
  { maxTokens, fitMaxTokens }: OutputBudget,
): Readonly<{ summary: string; lines: readonly string[] }> | undefined {
  const [longest] = rows;
  if (longest === undefined) return undefined;
  const isBudget = context.refusesBudgets && !fitMaxTokens && maxTokens !== undefined;
  const beside = isBudget ? ` with --max-tokens ${maxTokens}` : '';
  const domains = inDomains(rows);
  const counts = domains.map(([domain, found]) => `${domain} ${found.length}`).join(', ');
  const isFitting = isBudget && rows.some(({ tokens }) => tokens + LEAST_REPLY < context.tokens);
  const remedy = `${isFitting ? 'add --fit-max-tokens, or lower --max-tokens, or ' : ''}serve a longer context`;
  const shortEnough = `prompts of up to ${tokensText(Math.max(0, room))} fit`;
  const lines = rows.map(({ place, domain, tokens }) => `  ${place} (${domain}): about ${tokensText(tokens)}`);
  return {
    summary: `${counted(rows.length, 'row')} (${counts}) will probably not fit into the context of ${tokensText(context.tokens)} at ${context.host}${beside}: ${shortEnough}, and the longest has about ${grouped(longest.tokens)}; ${remedy}`,
    lines: lines.slice(0, MOST_NAMED),
  };
}

/**
 * Possible relative errors of an estimate: of one that extends a count by the server, and of one without; and the tokens that servers
 * add.
 */
const WRONG = { counted: 0.05, estimated: 0.3 };
const ADDED = 64;
/** From this share on, the end is near. */
const NEAR = 0.8;

/** A request whose prompt the server has counted. */
export type Measured = Readonly<{ chars: number; promptTokens: number }>;

/** A context, and how much of it the next request takes, in tokens. */
export interface Room {
  readonly contextTokens: number;
  readonly promptTokens: number;
  /** What is certainly left for a reply, as far as that can be known. */
  readonly replyTokens: number;
  /** `near`: the context is nearly full; `full`: no reply fits any more. */
  readonly state: 'open' | 'near' | 'full';
}

/**
 * How much of the context a prompt of `chars` characters takes. `before` is an exactly counted request that it continues; `charsAToken`
 * is the ratio measured in other requests.
 */
export function roomFor(contextTokens: number, chars: number, before?: Measured, charsAToken = CHARS_A_TOKEN): Room {
  const ratio = before === undefined || before.promptTokens === 0 ? charsAToken : before.chars / before.promptTokens;
  const known = before ?? { chars: 0, promptTokens: 0 };
  const added = (chars - known.chars) / ratio;
  const promptTokens = Math.max(1, Math.ceil(known.promptTokens + added));
  const wrong = before === undefined ? WRONG.estimated * promptTokens : WRONG.counted * Math.abs(added);
  const replyTokens = Math.max(LEAST_REPLY, Math.floor(contextTokens - promptTokens - wrong - ADDED));
  const state =
    promptTokens + LEAST_REPLY > contextTokens ? 'full' : promptTokens >= NEAR * contextTokens ? 'near' : 'open';
  return { contextTokens, promptTokens, replyTokens, state };
}

function tokensText(count: number): string {
  return counted(count, 'token', 'tokens', grouped);
}
