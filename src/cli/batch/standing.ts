// How a batch folder stands, and what to do next: the table for people, the document for programs.

import { EXIT, type ExitCode } from '../../core/errors.js';
import { counted, grouped } from '../../core/figures.js';
import { oneLine, printable, shellLine } from '../../core/printable.js';
import { NONE, type Table } from '../../core/table.js';
import { type Look, terminal } from '../../core/terminal.js';
import { type BatchPart, isLive, resultsToFetch, type Sent } from '../../model/batch/folder.js';
import { requestsIn } from '../../model/batch/requests.js';
import { waitOf } from '../../model/schedule/outages.js';
import { programName } from '../../settings/command.js';
import { type BatchClient, readingCommand } from './client.js';

/** How a folder stands, as `--json` prints it. */
export type Standing = Awaited<ReturnType<typeof standingOf>>;
type PartStanding = Standing['parts'][number];

export async function standingOf(client: BatchClient) {
  const { dir, batch, api } = client;
  const answered = await client.answered();
  const parts = [];
  for (const part of batch.parts) parts.push(await standingOfPart(client, part, answered));
  return {
    schema: 'awb.batch-status/1',
    folder: dir,
    base_url: api.baseUrl,
    run: { kind: batch.run.kind, dir: batch.run.dir },
    /** Nothing is waited for. */
    ended: parts.every((part) => part.ended),
    fetched: parts.every((part) => part.fetched),
    parts,
  };
}

/** What a command ends with that shows how the folder stands. */
export function exitCodeOf({ ended, parts }: Standing): ExitCode {
  if (!ended) return EXIT.later;
  return parts.some(({ short }) => short) ? EXIT.incomplete : EXIT.done;
}

async function standingOfPart(client: BatchClient, part: BatchPart, answered: ReadonlySet<string>) {
  const sent = client.latest(part);
  const times = client.sent.filter((each) => each.part === part.file);
  const isFetched = sent?.isEnded === true && times.every((each) => resultsToFetch(each).length === 0);
  const isMade = sent?.batchId !== undefined || sent?.isOpen === true;
  const without: string[] = [];
  if (isFetched || !isMade) for await (const { id } of requestsIn(client.dir, part, answered)) without.push(id);
  const isAnswered = !isMade && without.length === 0;
  // Whatever the server says of the batch: it may have completed without a result for each request.
  const missing = isFetched ? without.length : 0;
  return {
    file: part.file,
    requests: part.requests,
    bytes: part.bytes,
    state: isAnswered ? 'answered' : stateOf(sent),
    ended: isAnswered || sent?.isEnded === true,
    /** What was sent of it has ended, and every result that the server has of it is here. */
    fetched: isAnswered || isFetched,
    /** It has come to nothing, or to less than it should have. */
    short: missing > 0,
    missing,
    first_missing: missing === 0 || missing === part.requests ? null : (without[0] ?? null),
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
  };
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
  const { parts } = standing;
  const now = Date.now();
  const footnotes = [problemsOf, missingNotes].flatMap((notes) => parts.flatMap(notes));
  const table = { columns: COLUMNS, groups: [parts.map((part) => cellsOf(part, now))], footnotes };
  const requests = parts.reduce((sum, part) => sum + part.requests, 0);
  const head = `${shown}: ${counted(requests, 'request')} for ${printable(batch.model)}, at ${api.host}`;
  return `${head}\n${terminal(table, look)}next: ${nextStep(client, standing)}\n`;
}

function cellsOf(part: PartStanding, now: number): string[] {
  const { state, completed, failed, created_at: createdAt, expires_at: expiresAt } = part;
  const isHere = part.fetched && (part.outputs ?? part.errors) !== null;
  return [
    part.file,
    grouped(part.sent_requests ?? part.requests),
    isHere ? `${state}, fetched` : state,
    completed === null ? NONE : grouped(completed),
    failed === null ? NONE : grouped(failed),
    createdAt === null ? NONE : waitOf(Math.max(0, now - createdAt * 1000)),
    expiresAt === null || part.ended ? NONE : `in ${waitOf(Math.max(0, expiresAt * 1000 - now))}`,
  ];
}

function problemsOf({ file, problems }: PartStanding): string[] {
  const told = problems.slice(0, MOST_PROBLEMS).map(({ code, message, line }) => {
    const what = [code, message].filter((text) => text !== '').join(': ');
    return `${file}${line === undefined ? '' : `:${line}`}: ${what}`;
  });
  const more = problems.length - told.length;
  return more > 0 ? [...told, `${file}: and ${counted(more, 'error')} more`] : told;
}

function missingNotes({ file, requests, missing, first_missing: first }: PartStanding): string[] {
  const which = first === null ? '' : `, the first is ${oneLine(first, 80)}`;
  return missing === 0 ? [] : [`${file}: no result for ${grouped(missing)} of ${counted(requests, 'request')}${which}`];
}

/** What to type next, or what to wait for. */
function nextStep({ shown, batch, access, io }: BatchClient, { ended, parts }: Standing): string {
  const command = (...words: string[]) => `${programName(io)} ${shellLine(['batch', ...words, ...access])}`;
  if (parts.some((part) => part.ended && !part.fetched)) return command('fetch', shown);
  if (parts.some((part) => !part.ended && part.batch_id === null)) return command('submit', shown);
  if (!ended) return `${command('status', shown)}, until all have ended (or submit --wait)`;
  if (!parts.some(({ short }) => short)) return readingCommand(batch, io);
  const again = `${command('submit', shown, '--again')}, since requests have no result`;
  return parts.some(({ problems }) => problems.length > 0) ? `mend what is said above, then ${again}` : again;
}
