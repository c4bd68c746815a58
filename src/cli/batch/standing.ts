// How a batch folder stands, and what to do next: the table for people, the document for programs.

import { EXIT, type ExitCode } from '../../core/errors.js';
import { counted, grouped } from '../../core/figures.js';
import { oneLine, printable } from '../../core/printable.js';
import { shellLine } from '../../core/shell.js';
import { NONE, type Table } from '../../core/table.js';
import { type Look, terminal } from '../../core/terminal.js';
import type { Io } from '../../core/types.js';
import type { BatchPart } from '../../model/batch/folder.js';
import { unansweredIn } from '../../model/batch/requests.js';
import { namesWithResult } from '../../model/batch/results.js';
import { isLive, resultsToFetch, type Sent } from '../../model/batch/submission.js';
import { programName } from '../../settings/program-name.js';
import { type BatchClient, readingCommand } from './client.js';

interface PartStanding {
  readonly part: BatchPart;
  /** As it was sent the last time; undefined where it never was. */
  readonly sent: Sent | undefined;
  readonly state: string;
  readonly isEnded: boolean;
  /** What was sent of it has ended, and every result that the server has of it is here. */
  readonly isFetched: boolean;
  /** What has no result although nothing is awaited any more. */
  readonly missing: Missing;
}

/** Requests without a result. */
interface Missing {
  readonly count: number;
  /** The id of the first; undefined where there is none, or where none has a result. */
  readonly first?: string | undefined;
}

export interface Standing {
  readonly parts: readonly PartStanding[];
  /** Nothing is waited for. */
  readonly isEnded: boolean;
  readonly isFetched: boolean;
  /** Some part has come to nothing, or to less than it should have. */
  readonly isShort: boolean;
}

export async function standingOf(client: BatchClient): Promise<Standing> {
  const { dir } = client.opened;
  // What has a result in the folder, from wherever it came: a batch, or `awb batch run`.
  const answered = await namesWithResult(dir);
  const parts: PartStanding[] = [];
  for (const part of client.parts) parts.push(await standingOfPart(client, part, answered));
  return {
    parts,
    isEnded: parts.every((part) => part.isEnded),
    isFetched: parts.every((part) => part.isFetched),
    isShort: parts.some(({ missing }) => missing.count > 0),
  };
}

/** What a command ends with that shows how the folder stands. */
export function exitCodeOf({ isEnded, isShort }: Standing): ExitCode {
  if (!isEnded) return EXIT.later;
  return isShort ? EXIT.incomplete : EXIT.done;
}

async function standingOfPart(
  client: BatchClient,
  part: BatchPart,
  answered: ReadonlySet<string>,
): Promise<PartStanding> {
  const { dir } = client.opened;
  const sent = client.latest(part);
  const isMade = sent?.batchId !== undefined || sent?.isOpen === true;
  const none = { count: 0 };
  if (!isMade && (await missingOf(dir, part, answered)).count === 0) {
    return { part, sent, state: 'answered', isEnded: true, isFetched: true, missing: none };
  }
  const times = client.sent.filter((each) => each.part === part.file);
  const isEnded = sent?.isEnded === true;
  const isFetched = isEnded && times.every((each) => resultsToFetch(each).length === 0);
  // Whatever the server says of the batch: it may have completed without a result for each request.
  const missing = isFetched ? await missingOf(dir, part, answered) : none;
  return { part, sent, state: stateOf(sent), isEnded, isFetched, missing };
}

async function missingOf(dir: string, part: BatchPart, answered: ReadonlySet<string>): Promise<Missing> {
  if (answered.size === 0) return { count: part.requests };
  const missing: string[] = [];
  for await (const { id } of unansweredIn(dir, part, answered)) missing.push(id);
  return { count: missing.length, first: missing.length < part.requests ? missing[0] : undefined };
}

/** As the server says it, or, where it has said nothing, as it is from here. */
function stateOf(sent: Sent | undefined): string {
  if (sent?.status !== undefined && (isLive(sent) || sent.isEnded)) return sent.status;
  if (sent?.waitsBehind !== undefined) return 'waits for room';
  if (sent?.isOpen) return 'being made';
  return sent?.inputFileId === undefined ? 'not submitted' : 'uploaded';
}

const COLUMNS = [
  { heading: 'Part', short: 'Part', align: 'left' },
  { heading: 'Requests', short: 'Req.', align: 'right' },
  { heading: 'State', short: 'State', align: 'left' },
  { heading: 'Done', short: 'Done', align: 'right' },
  { heading: 'Failed', short: 'Fail.', align: 'right' },
  { heading: 'Age', short: 'Age', align: 'right' },
  { heading: 'Expires', short: 'Exp.', align: 'right' },
] as const satisfies Table['columns'];
/** How many errors of a part are told. */
const MOST_PROBLEMS = 3;

/** The table, what went wrong, and what to do next. `now` is seconds since 1970. */
export function standingText(client: BatchClient, standing: Standing, io: Io, look: Look, now: number): string {
  const { shown, batch } = client.opened;
  const table = {
    columns: COLUMNS,
    groups: [standing.parts.map((part) => cellsOf(part, now))],
    footnotes: [problemsOf, missingNotes].flatMap((notes) => standing.parts.flatMap(notes)),
  };
  const requests = standing.parts.reduce((sum, { part }) => sum + part.requests, 0);
  const head = `${shown}: ${counted(requests, 'request')} for ${printable(batch.model)}, at ${client.api.host}`;
  return `${head}\n${terminal(table, look)}next: ${nextStep(client, standing, io)}\n`;
}

function cellsOf({ part, sent, state, isEnded, isFetched }: PartStanding, now: number): string[] {
  const { counts, createdAt, expiresAt } = sent ?? {};
  const isHere = isFetched && (sent?.outputs ?? sent?.errors) !== undefined;
  return [
    part.file,
    grouped(sent?.requests ?? part.requests),
    isHere ? `${state}, fetched` : state,
    counts === undefined ? NONE : grouped(counts.completed),
    counts === undefined ? NONE : grouped(counts.failed),
    createdAt === undefined ? NONE : spanText(now - createdAt),
    expiresAt === undefined || isEnded ? NONE : expiresAt <= now ? 'now' : `in ${spanText(expiresAt - now)}`,
  ];
}

/** In its largest unit: `40 s`, `12 min`, `5 h`, `3 d`. */
function spanText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  return whole < 172_800 ? `${Math.floor(whole / 3600)} h` : `${Math.floor(whole / 86_400)} d`;
}

function problemsOf({ part, sent }: PartStanding): string[] {
  const { problems = [] } = sent ?? {};
  const told = problems.slice(0, MOST_PROBLEMS).map(({ code, message, line }) => {
    const where = line === undefined ? part.file : `${part.file}:${line}`;
    return `${where}: ${[code, message].filter((text) => text !== '').join(': ')}`;
  });
  const more = problems.length - told.length;
  return more > 0 ? [...told, `${part.file}: and ${counted(more, 'error')} more`] : told;
}

function missingNotes({ part: { file, requests }, missing: { count, first } }: PartStanding): string[] {
  if (count === 0) return [];
  const which = first === undefined ? '' : `, the first is ${oneLine(first, 80)}`;
  return [`${file}: no result for ${grouped(count)} of ${counted(requests, 'request')}${which}`];
}

/** What to type next, or what to wait for. */
function nextStep(client: BatchClient, standing: Standing, io: Io): string {
  const { shown, batch } = client.opened;
  const { isEnded, isFetched, isShort, parts } = standing;
  const command = (...words: string[]) => `${programName(io)} ${shellLine(['batch', ...words, ...client.access])}`;
  const isWaiting = parts.some(({ sent, isEnded }) => !isEnded && sent?.batchId === undefined);
  if (parts.some((part) => part.isEnded && !part.isFetched)) return command('fetch', shown);
  if (isWaiting) return command('submit', shown);
  if (!isEnded) return `${command('status', shown)}, until all have ended (or submit --wait)`;
  if (isShort) {
    const again = `${command('submit', shown, '--again')}, since requests have no result`;
    return parts.some((part) => problemsOf(part).length > 0) ? `mend what is said above, then ${again}` : again;
  }
  return isFetched ? readingCommand(batch, io) : command('fetch', shown);
}

export function standingDocument({ opened, api }: BatchClient, { parts, isEnded, isFetched }: Standing): string {
  const document = {
    schema: 'awb.batch-status/1',
    folder: opened.dir,
    base_url: api.baseUrl,
    run: { kind: opened.batch.run.kind, dir: opened.batch.run.dir },
    ended: isEnded,
    fetched: isFetched,
    parts: parts.map(({ part, sent, state, ...flags }) => ({
      file: part.file,
      requests: part.requests,
      bytes: part.bytes,
      state,
      ended: flags.isEnded,
      fetched: flags.isFetched,
      short: flags.missing.count > 0,
      missing: flags.missing.count,
      sent_requests: sent?.requests ?? null,
      input_file_id: sent?.inputFileId ?? null,
      batch_id: sent?.batchId ?? null,
      completed: sent?.counts?.completed ?? null,
      failed: sent?.counts?.failed ?? null,
      created_at: sent?.createdAt ?? null,
      expires_at: sent?.expiresAt ?? null,
      outputs: sent?.outputs?.file ?? null,
      errors: sent?.errors?.file ?? null,
      problems: sent?.problems ?? [],
    })),
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
