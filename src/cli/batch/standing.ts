// How a batch folder stands, and what to do next: the table for people, the document for programs.

import { EXIT, type ExitCode } from '../../core/errors.js';
import { counted, grouped } from '../../core/figures.js';
import { oneLine, printable } from '../../core/printable.js';
import { shellLine } from '../../core/shell.js';
import { NONE, type Table } from '../../core/table.js';
import { type Look, terminal } from '../../core/terminal.js';
import { type BatchPart, isLive, resultsToFetch, type Sent } from '../../model/batch/folder.js';
import { requestsIn } from '../../model/batch/requests.js';
import { programName } from '../../settings/program-name.js';
import { type BatchClient, readingCommand } from './client.js';

interface PartStanding {
  readonly part: BatchPart;
  /** As it was sent the last time; undefined where it never was. */
  readonly sent?: Sent | undefined;
  readonly state: string;
  readonly isEnded: boolean;
  /** What was sent of it has ended, and every result that the server has of it is here. */
  readonly isFetched: boolean;
  /** The ids of requests without a result although nothing is awaited any more. */
  readonly missing: readonly string[];
}

export interface Standing {
  readonly parts: readonly PartStanding[];
  /** Nothing is waited for. */
  readonly isEnded: boolean;
  readonly isFetched: boolean;
  /** What a command ends with that shows how the folder stands. */
  readonly exitCode: ExitCode;
}

export async function standingOf(client: BatchClient): Promise<Standing> {
  const answered = await client.answered();
  const parts: PartStanding[] = [];
  for (const part of client.batch.parts) parts.push(await standingOfPart(client, part, answered));
  const isEnded = parts.every((part) => part.isEnded);
  // Some part has come to nothing, or to less than it should have.
  const isShort = parts.some(({ missing }) => missing.length > 0);
  return {
    parts,
    isEnded,
    isFetched: parts.every((part) => part.isFetched),
    exitCode: !isEnded ? EXIT.later : isShort ? EXIT.incomplete : EXIT.done,
  };
}

async function standingOfPart(
  client: BatchClient,
  part: BatchPart,
  answered: ReadonlySet<string>,
): Promise<PartStanding> {
  const sent = client.latest(part);
  const isEnded = sent?.isEnded === true;
  const times = client.sent.filter((each) => each.part === part.file);
  const isFetched = isEnded && times.every((each) => resultsToFetch(each).length === 0);
  const isMade = sent?.batchId !== undefined || sent?.isOpen === true;
  const missing: string[] = [];
  // Whatever the server says of the batch: it may have completed without a result for each request.
  if (isFetched || !isMade) for await (const { id } of requestsIn(client.dir, part, answered)) missing.push(id);
  if (!isMade && missing.length === 0) {
    return { part, sent, state: 'answered', isEnded: true, isFetched: true, missing };
  }
  return { part, sent, state: stateOf(sent), isEnded, isFetched, missing: isFetched ? missing : [] };
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

/** The table, what went wrong, and what to do next. */
export function standingText(client: BatchClient, standing: Standing, look: Look): string {
  const { shown, batch, api } = client;
  const now = Math.floor(Date.now() / 1000);
  const table = {
    columns: COLUMNS,
    groups: [standing.parts.map((part) => cellsOf(part, now))],
    footnotes: [problemsOf, missingNotes].flatMap((notes) => standing.parts.flatMap(notes)),
  };
  const requests = standing.parts.reduce((sum, { part }) => sum + part.requests, 0);
  const head = `${shown}: ${counted(requests, 'request')} for ${printable(batch.model)}, at ${api.host}`;
  return `${head}\n${terminal(table, look)}next: ${nextStep(client, standing)}\n`;
}

/** @param now seconds since 1970 */
function cellsOf({ part, sent, state, isEnded, isFetched }: PartStanding, now: number): string[] {
  const { counts, createdAt, expiresAt, requests = part.requests, outputs, errors } = sent ?? {};
  const isHere = isFetched && (outputs ?? errors) !== undefined;
  return [
    part.file,
    grouped(requests),
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

function problemsOf({ part: { file }, sent }: PartStanding): string[] {
  const { problems = [] } = sent ?? {};
  const told = problems.slice(0, MOST_PROBLEMS).map(({ code, message, line }) => {
    const what = [code, message].filter((text) => text !== '').join(': ');
    return `${file}${line === undefined ? '' : `:${line}`}: ${what}`;
  });
  const more = problems.length - told.length;
  return more > 0 ? [...told, `${file}: and ${counted(more, 'error')} more`] : told;
}

function missingNotes({ part: { file, requests }, missing }: PartStanding): string[] {
  if (missing.length === 0) return [];
  const which = missing.length === requests ? '' : `, the first is ${oneLine(missing[0] ?? '', 80)}`;
  return [`${file}: no result for ${grouped(missing.length)} of ${counted(requests, 'request')}${which}`];
}

/** What to type next, or what to wait for. */
function nextStep({ shown, batch, access, io }: BatchClient, { isEnded, exitCode, parts }: Standing): string {
  const command = (...words: string[]) => `${programName(io)} ${shellLine(['batch', ...words, ...access])}`;
  if (parts.some((part) => part.isEnded && !part.isFetched)) return command('fetch', shown);
  if (parts.some((part) => !part.isEnded && part.sent?.batchId === undefined)) return command('submit', shown);
  if (!isEnded) return `${command('status', shown)}, until all have ended (or submit --wait)`;
  if (exitCode === EXIT.done) return readingCommand(batch, io);
  const again = `${command('submit', shown, '--again')}, since requests have no result`;
  return parts.some((part) => problemsOf(part).length > 0) ? `mend what is said above, then ${again}` : again;
}

export function standingDocument({ dir, batch, api }: BatchClient, { parts, isEnded, isFetched }: Standing): string {
  const document = {
    schema: 'awb.batch-status/1',
    folder: dir,
    base_url: api.baseUrl,
    run: { kind: batch.run.kind, dir: batch.run.dir },
    ended: isEnded,
    fetched: isFetched,
    parts: parts.map(({ part, sent, state, missing, ...flags }) => ({
      file: part.file,
      requests: part.requests,
      bytes: part.bytes,
      state,
      ended: flags.isEnded,
      fetched: flags.isFetched,
      short: missing.length > 0,
      missing: missing.length,
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
