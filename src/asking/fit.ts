// Which rows are too long for the context that a server tells, by estimate, before the first of them is asked.

import { inTableOrder } from '../domains.js';
import { throwIfStopped } from '../errors.js';
import { counted } from '../figures.js';
import type { ServedContext } from '../model/backend.js';
import type { Domain } from '../types.js';

/** What asking leaves of a context to the prompt. */
interface Room {
  readonly context: ServedContext;
  /** Tokens of the longest prompt that is taken. */
  readonly tokens: number;
}

/** A smaller budget is not worth a call under --fit-max-tokens. */
const LEAST_BUDGET = 256;

/** The room of the server with the least of it; undefined where none tells its context. */
export function leastRoom(
  contexts: readonly ServedContext[],
  { maxTokens, fitMaxTokens }: { readonly maxTokens?: number | undefined; readonly fitMaxTokens: boolean },
): Room | undefined {
  const rooms = contexts.map((context): Room => {
    const budget = fitMaxTokens ? LEAST_BUDGET : (maxTokens ?? 1);
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

/** Below it a budget for all rows is no advice: replies would be cut off. */
const USEFUL_BUDGET = 4_096;

/** What stands around a row in a prompt at most: a system prompt, a rubric. */
const MOST_AROUND = 32_768;
/** So many rows are read; of the others that may be too long, the size is told by their bytes. */
const MOST_READ = 60;
const LONGEST_READ = 10;

/**
 * The rows whose prompts are longer than the room, the longest first. A row's line bounds its characters, so that few are read. Where
 * more than sixty may be too long, only so many are, the longest among them, and the others are estimated by what they show.
 * @throws UserError (130, 143) once the user has interrupted
 */
export async function overlongRows(
  rows: Iterable<SizableRow>,
  room: Pick<Room, 'tokens'>,
  charsAToken: number,
  stop: AbortSignal,
): Promise<SizedRow[]> {
  const mostChars = room.tokens * charsAToken;
  const candidates = [...rowsOver(rows, mostChars - MOST_AROUND)].sort((a, b) => b.bytes - a.bytes);
  const shares = new Map<Domain, { chars: number; bytes: number }>();
  const exact = new Map<SizableRow, number>();
  for (const row of sampleOf(candidates)) {
    throwIfStopped(stop);
    const chars = await row.characters();
    exact.set(row, chars);
    const { chars: before, bytes } = shares.get(row.domain) ?? { chars: 0, bytes: 0 };
    shares.set(row.domain, { chars: before + chars, bytes: bytes + row.bytes });
  }
  const all = [...shares.values()].reduce(
    (sum, { chars, bytes }) => ({ chars: sum.chars + chars, bytes: sum.bytes + bytes }),
    {
      chars: 0,
      bytes: 0,
    },
  );
  const charsOf = (row: SizableRow) => {
    const { chars, bytes } = shares.get(row.domain) ?? all;
    return exact.get(row) ?? (row.bytes * chars) / bytes;
  };
  return candidates
    .map((row) => ({ place: row.place, domain: row.domain, tokens: Math.ceil(charsOf(row) / charsAToken) }))
    .filter(({ tokens }) => tokens > room.tokens)
    .sort((a, b) => b.tokens - a.tokens);
}

function* rowsOver(rows: Iterable<SizableRow>, bytes: number): Iterable<SizableRow> {
  for (const row of rows) if (row.bytes > bytes) yield row;
}

/** The longest rows, and others evenly among the rest; all where they are few. */
function sampleOf(rows: readonly SizableRow[]): readonly SizableRow[] {
  if (rows.length <= MOST_READ) return rows;
  const step = (rows.length - LONGEST_READ) / (MOST_READ - LONGEST_READ);
  return rows.filter((_, index) => index < LONGEST_READ || Math.floor((index - LONGEST_READ) % step) === 0);
}

/** How many rows are named. */
const MOST_NAMED = 10;

interface FitNotice {
  /** One line: how many, where, and what to do. */
  readonly summary: string;
  /** The longest of the rows, a line each. */
  readonly rows: readonly string[];
}

/** What the user is told of rows that are too long; undefined where there are none. `rows` are the longest first. */
export function fitNotice(
  rows: readonly SizedRow[],
  { context, tokens: room }: Room,
  { maxTokens, fitMaxTokens }: { readonly maxTokens?: number | undefined; readonly fitMaxTokens: boolean },
): FitNotice | undefined {
  const [longest] = rows;
  if (longest === undefined) return undefined;
  const isBudget = context.refusesBudgets && !fitMaxTokens && maxTokens !== undefined;
  const beside = isBudget ? ` beside --max-tokens ${maxTokens}` : '';
  const domains = [...countsOf(rows)]
    .sort(([a], [b]) => inTableOrder(a, b))
    .map(([domain, count]) => `${domain} ${count}`);
  const fitting = rows.filter(({ tokens }) => tokens + LEAST_BUDGET < context.tokens);
  const lower = isBudget && fitting.length > 0 ? lowerBudget(context.tokens - (fitting[0]?.tokens ?? 0)) : [];
  const remedies = [
    ...(fitting.length > 0 && isBudget ? ['add --fit-max-tokens'] : []),
    ...lower,
    'serve a longer context',
  ];
  return {
    summary: `${counted(rows.length, 'row')} (${domains.join(', ')}) will hardly fit into the context of ${tokensText(context.tokens)} at ${context.host}${beside}: ${shortEnough(room)}, and the longest has about ${figure(longest.tokens)}; ${remedies.join(', or ')}`,
    rows: [
      ...rows
        .slice(0, MOST_NAMED)
        .map(({ place, domain, tokens }) => `  ${place} (${domain}): about ${tokensText(tokens)}`),
      ...(rows.length > MOST_NAMED ? [`  ... and ${rows.length - MOST_NAMED} more`] : []),
    ],
  };
}

function lowerBudget(left: number): string[] {
  return left < USEFUL_BUDGET ? [] : [`lower --max-tokens (to ${2 ** Math.floor(Math.log2(left))})`];
}

function countsOf(rows: readonly SizedRow[]): Map<Domain, number> {
  const counts = new Map<Domain, number>();
  for (const { domain } of rows) counts.set(domain, (counts.get(domain) ?? 0) + 1);
  return counts;
}

/** Of a context smaller than what a reply takes, nothing is left. */
function shortEnough(room: number): string {
  return room < 1 ? 'no prompt does' : `prompts of up to ${tokensText(room)} do`;
}

function tokensText(count: number): string {
  return `${figure(count)} ${count === 1 ? 'token' : 'tokens'}`;
}

function figure(count: number): string {
  return count.toLocaleString('en');
}
