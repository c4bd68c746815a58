// `awb batch submit`, `status`, `fetch` and `cancel`: a batch folder and the server that works it off; how the folder stands, and what to do next.

import { closing, EXIT, type ExitCode } from '../core/errors.js';
import { counted, grouped, oneLine, printable, shellLine } from '../core/printable.js';
import { columnsOf, NONE } from '../core/table.js';
import { type Look, lookOf, terminal } from '../core/terminal.js';
import type { Io } from '../core/types.js';
import { type BatchPart, isLive, resultsToFetch, type Sent } from '../model/batch/folder.js';
import { waitOf } from '../model/schedule/outages.js';
import { defineCommand, type OptionTable, option, programName } from '../settings/command.js';
import { type BatchClient, openClient, readingCommand, SERVER_OPTIONS, type ServerSettings } from './batch/client.js';
import { fetchResults, submit as submitParts, unlessRefused } from './batch/transfers.js';

const SUBMIT_OPTIONS = {
  ...SERVER_OPTIONS,
  wait: option.flag('look again and again until every batch has ended'),
  poll: option.duration('under --wait, longest time between two looks', { min: 0.01, default: 60 }),
  again: option.flag('submit once more what has ended without a result'),
} as const satisfies OptionTable;

export const submit = defineCommand({
  description:
    "Submits a batch folder's parts to a server with OpenAI's Files and Batches API. The same command goes on where it ended, and submits nothing twice. Exit code 0: all batches have ended; 75: they are awaited; 3: a part came to less than it should.",
  examples: {
    'awb batch submit B --base-url https://api.openai.com/v1': 'all parts; the key is OPENAI_API_KEY',
    'awb batch submit B --wait && awb batch fetch B': 'wait until all have ended, then fetch',
    'awb batch submit B --again': 'once more what failed or expired',
  },
  options: SUBMIT_OPTIONS,
  operands: ['batch-dir'],
  async run({ again, wait, poll, ...settings }, io) {
    const work = (client: BatchClient) => submitParts(client, again, wait, poll * 1000);
    return exitCodeOf(await withClient('submit', settings, io, work));
  },
});

export const status = defineCommand({
  description:
    'Shows how far the batches of a folder are: state, requests done and failed, age, and when they expire. It changes nothing. Exit code 0: all have ended; 75: some have not; 3: a part came to less than it should.',
  examples: {
    'awb batch status B': 'a line a part',
    "awb batch status B --json | jq '.parts[].state'": 'for a script',
  },
  options: SERVER_OPTIONS,
  operands: ['batch-dir'],
  run: async (settings, io) => exitCodeOf(await withClient('status', settings, io, (client) => client.refresh(true))),
});

export const fetch = defineCommand({
  description:
    'Fetches the results of batches that have ended, whole or in part, into outputs-0001.jsonl and errors-0001.jsonl of the folder. Nothing is fetched twice. Exit code 0: everything is here; 75: batches are awaited; 3: a part came to less than it should.',
  examples: { 'awb batch fetch B': 'whatever has come; then the command that wrote B, once more' },
  options: SERVER_OPTIONS,
  operands: ['batch-dir'],
  async run(settings, io) {
    const standing = await withClient('fetch', settings, io, async (client) => {
      await client.refresh();
      await fetchResults(client);
    });
    return standing.fetched ? exitCodeOf(standing) : EXIT.later;
  },
});

export const cancel = defineCommand({
  description:
    'Cancels every batch of a folder that has not ended. What was answered by then is charged, and awb batch fetch gets it.',
  examples: { 'awb batch cancel B': 'then awb batch fetch B, for what was done' },
  options: SERVER_OPTIONS,
  operands: ['batch-dir'],
  async run(settings, io) {
    await withClient('cancel', settings, io, cancelBatches);
    return EXIT.done;
  },
});

/**
 * Opens the folder and its server, does the work, and prints how the folder stands then.
 * @throws UserError as opening and the work do; everything that was reached stands on the disk
 */
async function withClient(
  command: Parameters<typeof openClient>[0],
  settings: ServerSettings,
  io: Io,
  work: (client: BatchClient) => Promise<void>,
): Promise<Standing> {
  return closing(await openClient(command, settings, io), async (client) => {
    io.setLastWords('ended at once: whatever was submitted is found again by the same command');
    await work(client);
    client.loading.finish();
    const standing = await standingOf(client);
    const text = () => standingText(client, standing, lookOf(settings, io));
    io.stdout.write(settings.json ? `${JSON.stringify(standing, null, 2)}\n` : text());
    return standing;
  });
}

/** What a server answers for a batch that has ended meanwhile. */
const TOO_LATE = [400, 404, 409];

/** Tells every batch that has not ended to end; what it has done by then can be fetched. */
async function cancelBatches(client: BatchClient): Promise<void> {
  await client.refresh();
  let cancelled = 0;
  for (const sent of client.sent) {
    if (!isLive(sent) || sent.status === 'cancelling') continue;
    const served = await unlessRefused(client.api.cancel(sent.batchId ?? ''), ({ http }) => TOO_LATE.includes(http));
    if (served === undefined) continue;
    await client.noteServed(sent, served);
    cancelled++;
  }
  // What ended in between is told as it is now.
  await client.refresh();
  client.loading.say(
    cancelled === 0 ? 'nothing was left to cancel' : `${counted(cancelled, 'batch', 'batches')} cancelled`,
  );
}

/** How a folder stands, as `--json` prints it. */
type Standing = Awaited<ReturnType<typeof standingOf>>;
type PartStanding = Standing['parts'][number];

async function standingOf(client: BatchClient) {
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
function exitCodeOf({ ended, parts }: Standing): ExitCode {
  if (!ended) return EXIT.later;
  return parts.some(({ short }) => short) ? EXIT.incomplete : EXIT.done;
}

async function standingOfPart(client: BatchClient, part: BatchPart, answered: ReadonlySet<string>) {
  const sent = client.latest(part);
  const times = client.sent.filter((each) => each.part === part.file);
  const isFetched = sent?.isEnded === true && times.every((each) => resultsToFetch(each).length === 0);
  const isMade = sent?.batchId !== undefined || sent?.isOpen === true;
  const without: string[] = [];
  if (isFetched || !isMade) for await (const { id } of client.disk.requestsIn(part, answered)) without.push(id);
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

const COLUMNS = columnsOf('<Part, Requests|Req., <State, Done, Failed|Fail., Age, Expires|Exp.');
/** How many errors of a part are told. */
const MOST_PROBLEMS = 3;

/** The table, what went wrong, and what to do next. */
function standingText(client: BatchClient, standing: Standing, look: Look): string {
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
  return problems.slice(0, MOST_PROBLEMS).map(({ code, message, line }) => {
    const what = [code, message].filter((text) => text !== '').join(': ');
    return `${file}${line === undefined ? '' : `:${line}`}: ${what}`;
  });
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
