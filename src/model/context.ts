// What a model's context leaves: to a prompt, to a reply, and to the next request of a dialogue; and what is done where it is too little.

import { inTableOrder } from '../core/domains.js';
import { EXIT, throwIfStopped, UserError } from '../core/errors.js';
import { counted, grouped } from '../core/figures.js';
import { CHARS_A_TOKEN } from '../core/question.js';
import type { Domain } from '../core/types.js';
import type { Attempt, AttemptFailure } from './attempt.js';

/** What a server tells of its model's context before it is asked. */
export interface ServedContext {
  readonly host: string;
  readonly tokens: number;
  /** It refuses a prompt that fits without its whole output budget; others end the reply where the context does. */
  readonly refusesBudgets: boolean;
}

/** With fewer tokens a reply is cut off: such a call is not worth making. */
const LEAST_REPLY = 256;
/** Tokens left free, since servers differ by a few tokens in what they count. */
const FIT_MARGIN = 16;

/** So many calls that overflow only by their output budget show that the whole set will, not only a few rows ... */
const ENOUGH = 5;
/** ... if they are at least this share of the calls. */
const SHARE = 0.05;

/** Sizes in tokens, as far as the server told. */
interface Sizes {
  readonly contextTokens?: number | undefined;
  readonly promptTokens?: number | undefined;
}

/** What the run has learned about its servers' contexts, shared by all endpoints. */
export type ContextWatch = ReturnType<typeof openContextWatch>;

/** Opens a watch. `maxTokens` is the output budget, `fits` whether it is lowered to what the context leaves. */
export function openContextWatch(options: {
  readonly maxTokens: number | undefined;
  readonly fits: boolean;
  onNotice(text: string): void;
}) {
  const { maxTokens = 0, fits, onNotice } = options;
  let calls = 0;
  let overBudget = 0;
  let longest = 0;
  let saidTooLong = false;
  return {
    /** A call was answered, or overflowed. */
    called(): void {
      calls++;
    },
    /**
     * A prompt fits, but not together with the output budget. The user is told of the first; once there are many, the error that ends
     * the run is returned.
     */
    overBudget(host: string, { contextTokens, promptTokens = 0 }: Sizes): UserError | undefined {
      overBudget++;
      longest = Math.max(longest, promptTokens);
      const left = contextTokens === undefined ? 0 : contextTokens - longest;
      const lower = left > 0 && longest > 0 ? ` (or --max-tokens ${usualBudget(left)}, from the start)` : '';
      const remedy = `add --fit-max-tokens, which gives such a row the budget that is left and flags it${lower}, or serve a longer context`;
      const what = `${host}: prompts fit into the context${ofTokens(contextTokens)}, but not with --max-tokens ${maxTokens} beside them`;
      if (overBudget === 1) onNotice(`${what}: such rows are missing; ${remedy}`);
      if (overBudget < ENOUGH || overBudget < SHARE * calls) return undefined;
      return new UserError(
        `${what} (${overBudget} of ${counted(calls, 'call')}): ${remedy}, and repeat the command: finished rows are kept`,
      );
    },
    /** A prompt does not fit even alone, or nobody knows whether it would. The user is told of the first. */
    overLong(host: string, { contextTokens, promptTokens }: Sizes): void {
      if (saidTooLong) return;
      saidTooLong = true;
      const what =
        contextTokens === undefined
          ? 'the context overflows'
          : `a prompt${ofTokens(promptTokens)} leaves no room for a reply in the context${ofTokens(contextTokens)}`;
      onNotice(
        `${host}: ${what}: such rows are missing, no failures of the model; serve a longer context (vLLM --max-model-len, SGLang --context-length, llama.cpp -c, awb serve --context)`,
      );
    },
    /**
     * What a server says about its model at /models, before anything is asked.
     * @throws UserError (2) where no prompt can fit beside the output budget
     */
    described(host: string, contextTokens: number, endsReplies: boolean): void {
      if (maxTokens < contextTokens || fits) return;
      const what = `${host} has a context${ofTokens(contextTokens)}, prompt included, and --max-tokens is ${maxTokens}`;
      if (endsReplies) onNotice(`${what}: replies end where the context does`);
      else {
        throw new UserError(
          `${what}: no row can fit; add --fit-max-tokens, give a lower --max-tokens, or serve a longer context`,
          EXIT.usage,
        );
      }
    },
  };
}

interface Fitting {
  /** The output budget that was asked for; undefined where it was left to the server. */
  readonly maxTokens: number | undefined;
  /** Whether to ask once more with the tokens that are left. */
  readonly fits: boolean;
  readonly host: string;
  readonly context: ContextWatch;
}

/**
 * Handles a call whose prompt and output budget together overflow the context: asks again with the tokens that the context leaves, or
 * returns the failure with its reason. `ask` asks with a given budget.
 */
export async function afterOverflow(
  failure: AttemptFailure,
  overflow: Sizes,
  { maxTokens, fits, host, context }: Fitting,
  ask: (maxTokens: number) => Promise<Attempt>,
): Promise<Attempt> {
  context.called();
  const sizes = await measured(overflow, maxTokens, ask);
  if ('status' in sizes) return sizes;
  const { contextTokens, promptTokens } = sizes;
  const left =
    contextTokens === undefined || promptTokens === undefined ? 0 : contextTokens - promptTokens - FIT_MARGIN;
  if (maxTokens === undefined || left >= maxTokens || left < LEAST_REPLY) {
    context.overLong(host, sizes);
    return failure;
  }
  if (!fits) {
    const stop = context.overBudget(host, sizes);
    const reason = `the prompt fits into the context, but not with --max-tokens ${maxTokens}: ${failure.reason}`;
    return { ...failure, reason, ...(stop && { stop }) };
  }
  const second = await ask(left);
  return second.status === 'ok' ? { ...second, fittedMaxTokens: left } : second;
}

/**
 * The sizes that show whether the prompt alone would fit. If the server did not count the prompt, a request for a reply of one
 * token makes it do so; if that fails, its failure is the call's.
 */
async function measured(
  sizes: Sizes,
  maxTokens: number | undefined,
  ask: (maxTokens: number) => Promise<Attempt>,
): Promise<Sizes | Attempt> {
  if (sizes.contextTokens === undefined || sizes.promptTokens !== undefined || maxTokens === undefined) return sizes;
  const attempt = await ask(1);
  if (attempt.status === 'failed' && attempt.overflow !== undefined) return { ...sizes, ...attempt.overflow };
  return attempt.status === 'ok' ? { ...sizes, promptTokens: attempt.usage.promptTokens } : attempt;
}

/** What asking leaves of a context to the prompt. */
interface PromptRoom {
  readonly context: ServedContext;
  /** Tokens of the longest prompt that is taken. */
  readonly tokens: number;
}

interface OutputBudget {
  readonly maxTokens?: number | undefined;
  readonly fitMaxTokens: boolean;
}

/** The room of the server with the least of it; undefined where none tells its context. */
export function leastRoom(
  contexts: readonly ServedContext[],
  { maxTokens = 1, fitMaxTokens }: OutputBudget,
): PromptRoom | undefined {
  const budget = fitMaxTokens ? LEAST_REPLY : maxTokens;
  const rooms = contexts.map((context): PromptRoom => {
    return { context, tokens: context.tokens - (context.refusesBudgets ? budget : 1) };
  });
  return rooms.sort((a, b) => a.tokens - b.tokens)[0];
}

/** A row by its size. */
export interface SizedRow {
  /** File and line, or key. */
  readonly place: string;
  readonly domain: Domain;
  /** Of its prompt. */
  readonly tokens: number;
}

/** A row that can be sized. */
export interface SizableRow {
  readonly place: string;
  readonly domain: Domain;
  /** No fewer than the characters of what is sent of the row, though not of what stands around it. */
  readonly bytes: number;
  /** Reads the row. @returns characters of its prompt */
  characters(): Promise<number>;
}

/** What stands around a row in a prompt at most: a system prompt, a rubric. */
const MOST_AROUND = 32_768;
/** So many rows are read, the longest among them; of the others that may be too long, the size is told by their bytes. */
const MOST_READ = 60;
const LONGEST_READ = 10;

/**
 * The rows whose prompts are longer than the room, the longest first. A row's line bounds its characters, so that few are read.
 * @throws UserError (130, 143) once the user has interrupted
 */
export async function overlongRows(
  rows: Iterable<SizableRow>,
  room: Pick<PromptRoom, 'tokens'>,
  charsAToken: number,
  stop: AbortSignal,
): Promise<SizedRow[]> {
  const leastBytes = room.tokens * charsAToken - MOST_AROUND;
  const candidates: SizableRow[] = [];
  for (const row of rows) if (row.bytes > leastBytes) candidates.push(row);
  candidates.sort((a, b) => b.bytes - a.bytes);
  const step = candidates.length <= MOST_READ ? 1 : Math.ceil(candidates.length / (MOST_READ - LONGEST_READ));
  const read = new Map<SizableRow, number>();
  let [allChars, allBytes] = [0, 0];
  for (const [place, row] of candidates.entries()) {
    if (place >= LONGEST_READ && place % step > 0) continue;
    throwIfStopped(stop);
    const chars = await row.characters();
    read.set(row, chars);
    allChars += chars;
    allBytes += row.bytes;
  }
  return candidates
    .map((row) => {
      const chars = read.get(row) ?? (row.bytes * allChars) / allBytes;
      return { place: row.place, domain: row.domain, tokens: Math.ceil(chars / charsAToken) };
    })
    .filter(({ tokens }) => tokens > room.tokens)
    .sort((a, b) => b.tokens - a.tokens);
}

/** How many rows are named. */
const MOST_NAMED = 10;
/** Below it a budget for all rows is no advice: replies would be cut off. */
const USEFUL_BUDGET = 4_096;

export interface FitNotice {
  /** One line: how many, where, and what to do. */
  readonly summary: string;
  /** The longest of the rows, a line each. */
  readonly lines: readonly string[];
}

/** What the user is told of rows that are too long; undefined where there are none. `rows` are the longest first. */
export function fitNotice(
  rows: readonly SizedRow[],
  { context, tokens: room }: PromptRoom,
  { maxTokens, fitMaxTokens }: OutputBudget,
): FitNotice | undefined {
  const [longest] = rows;
  if (longest === undefined) return undefined;
  const isBudget = context.refusesBudgets && !fitMaxTokens && maxTokens !== undefined;
  const beside = isBudget ? ` beside --max-tokens ${maxTokens}` : '';
  const counts = new Map<Domain, number>();
  for (const { domain } of rows) counts.set(domain, (counts.get(domain) ?? 0) + 1);
  const domains = [...counts].sort(([a], [b]) => inTableOrder(a, b)).map(([domain, count]) => `${domain} ${count}`);
  const fitting = isBudget ? rows.find(({ tokens }) => tokens + LEAST_REPLY < context.tokens) : undefined;
  const left = fitting === undefined ? 0 : context.tokens - fitting.tokens;
  const remedies = [
    ...(fitting === undefined ? [] : ['add --fit-max-tokens']),
    ...(left < USEFUL_BUDGET ? [] : [`lower --max-tokens (to ${usualBudget(left)})`]),
    'serve a longer context',
  ];
  // Of a context smaller than what a reply takes, nothing is left.
  const shortEnough = room < 1 ? 'no prompt does' : `prompts of up to ${tokensText(room)} do`;
  return {
    summary: `${counted(rows.length, 'row')} (${domains.join(', ')}) will hardly fit into the context of ${tokensText(context.tokens)} at ${context.host}${beside}: ${shortEnough}, and the longest has about ${grouped(longest.tokens)}; ${remedies.join(', or ')}`,
    lines: [
      ...rows
        .slice(0, MOST_NAMED)
        .map(({ place, domain, tokens }) => `  ${place} (${domain}): about ${tokensText(tokens)}`),
      ...(rows.length > MOST_NAMED ? [`  ... and ${rows.length - MOST_NAMED} more`] : []),
    ],
  };
}

/** What may be wrong with a count that goes on from one of the server, and with an estimate, as shares; and what servers add. */
const WRONG = { counted: 0.05, estimated: 0.3 };
const ADDED = 64;
/** From this share on, the end is near. */
const NEAR = 0.8;

/** A request whose prompt the server has counted. */
export interface Measured {
  readonly chars: number;
  readonly promptTokens: number;
}

/** A context and what of it the next request takes, in tokens. */
export interface Room {
  readonly contextTokens: number;
  readonly promptTokens: number;
  /** What is left for a reply for certain, as far as that can be said. */
  readonly replyTokens: number;
  /** `near`: the context is nearly full; `full`: no reply fits any more. */
  readonly state: 'open' | 'near' | 'full';
}

/**
 * What a prompt of so many characters takes of the context. `before` is a request that it goes on from, and its count exact;
 * `charsAToken` is what other requests have measured.
 */
export function roomFor(
  contextTokens: number,
  chars: number,
  {
    before,
    charsAToken = CHARS_A_TOKEN,
  }: { readonly before?: Measured | undefined; readonly charsAToken?: number | undefined } = {},
): Room {
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

function ofTokens(count: number | undefined): string {
  return count === undefined ? '' : ` of ${tokensText(count)}`;
}

function tokensText(count: number): string {
  return counted(count, 'token', 'tokens', grouped);
}

/** A power of two is a usual budget. */
function usualBudget(left: number): number {
  return 2 ** Math.floor(Math.log2(left));
}
