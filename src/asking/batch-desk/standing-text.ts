// How a batch folder stands, in words: the table and the next step for people, the document for programs.

import { counted, grouped } from '../../figures.js';
import { oneLine, printable } from '../../printable.js';
import { NONE, type Table } from '../../report/table.js';
import { type Look, terminal } from '../../report/terminal.js';
import { programName } from '../../settings/program-name.js';
import { shellLine } from '../../shell.js';
import type { Io } from '../../types.js';
import type { Desk } from './desk.js';
import { readingCommand } from './reading-command.js';
import type { PartStanding, Standing } from './standing.js';

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
export function standingText(desk: Desk, standing: Standing, io: Io, look: Look, now: number): string {
  const table = {
    columns: COLUMNS,
    groups: [standing.parts.map((part) => cellsOf(part, now))],
    footnotes: [problemsOf, missingNotes, voidNotes].flatMap((notes) => standing.parts.flatMap(notes)),
  };
  const requests = standing.parts.reduce((sum, { part }) => sum + part.requests, 0);
  const head = `${desk.opened.shown}: ${counted(requests, 'request')} for ${printable(desk.opened.batch.model)}, at ${desk.api.host}`;
  return `${head}\n${terminal(table, look)}next: ${nextStep(desk, standing, io)}\n`;
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

/** What is void of a part; whether a batch is cancelled for it is the user's to say. */
function voidNotes({ part: { file }, void: { leftOut, asked } }: PartStanding): string[] {
  const leaving = `${file}: ${counted(leftOut, 'request is', 'requests are')} void and left out`;
  const working = `${file}: ${counted(asked, 'request', 'requests')} became void after this was submitted, and ${asked === 1 ? 'its result' : 'their results'} will be ignored`;
  return [...(leftOut > 0 ? [leaving] : []), ...(asked > 0 ? [working] : [])];
}

/** What to type next, or what to wait for. */
function nextStep(desk: Desk, standing: Standing, io: Io): string {
  const { shown, batch } = desk.opened;
  const { isEnded, isFetched, isShort, parts } = standing;
  const command = (...words: string[]) => `${programName(io)} ${shellLine(['batch', ...words, ...desk.access])}`;
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

export function standingDocument(desk: Desk, { parts, isEnded, isFetched }: Standing): string {
  const { opened, api } = desk;
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
      void: flags.void.leftOut,
      void_asked: flags.void.asked,
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
