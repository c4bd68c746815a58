// A batch folder and the server that has its batches. submission.json records what was sent, before and after every step.

import { join, resolve } from 'node:path';
import { identityDiffers, inputMissing, UserError, unavailable } from '../../core/errors.js';
import { shellLine, shownPath } from '../../core/printable.js';
import type { Io } from '../../core/types.js';
import { lockFile } from '../../disk/lock.js';
import { openBatchApi, Refused, type ServedBatch, saysFull } from '../../model/batch/api.js';
import { type Batch, type BatchPart, folderAt, isLive, type Sent, withServed } from '../../model/batch/folder.js';
import { proxyFor } from '../../model/http/address.js';
import { showLoading } from '../../serve/loading.js';
import { httpUrl } from '../../settings/address.js';
import { type OptionTable, option, programName, type Settings, under } from '../../settings/command.js';

export const FOLDER_OPTION = {
  'batch-dir': option.text('B', 'the batch folder of awb infer, judge or calibrate', { required: true }),
} as const satisfies OptionTable;

export const SERVER_OPTIONS = {
  ...FOLDER_OPTION,
  ...under('Server', {
    'base-url': option.text('URL', "the server (default: the folder's)", { check: httpUrl }),
    'api-key': option.text('KEY', 'key for --base-url (api.openai.com: also OPENAI_API_KEY)', { secret: true }),
    'retry-minutes': option.number('how long to retry a failing server', { min: 0, default: 10 }),
  }),
} as const satisfies OptionTable;

export type ServerSettings = Settings<typeof SERVER_OPTIONS>;

const OPENAI = 'https://api.openai.com';
/** HTTP statuses of a server that cannot list batches. */
const NO_LIST = [404, 405, 501];

/** A batch folder that was read; `shown` is its path as shown to people. */
export type Opened = Awaited<ReturnType<typeof openBatchFolder>>;

/** @throws UserError: 66 if there is no batch folder, 65 if batch.json is damaged */
export async function openBatchFolder(given: string, io: Io) {
  const dir = resolve(io.cwd, given);
  const disk = folderAt(dir);
  const batch = await disk.batch.read();
  const shown = shownPath(dir, io);
  if (batch !== undefined) return { dir, disk, shown, batch };
  throw inputMissing(`${shown} has no batch.json; awb infer, judge and calibrate write one with --batch-dir`);
}

/** The command that reads the results, ready to paste; a description of it if batch.json does not record it. */
export function readingCommand({ command, run }: Batch, io: Pick<Io, 'cwd' | 'env'>): string {
  if (command === undefined) return `repeat the awb ${run.kind} --batch-dir command that wrote the folder`;
  const line = `${programName(io)} ${shellLine(command.words)}`;
  return command.cwd === io.cwd ? line : `cd ${shellLine([command.cwd])} && ${line}`;
}

export type BatchClient = Awaited<ReturnType<typeof openClient>>;

/**
 * Opens what the commands on a submitted folder share, exclusively for this process unless it only reads (`status`). Only `submit` may be
 * the first command on a folder.
 * @throws UserError: 2 for invalid settings, 66 and 65 for the folder, 73 if another process is working on it
 */
export async function openClient(command: 'submit' | 'status' | 'fetch' | 'cancel', settings: ServerSettings, io: Io) {
  const { dir, disk, shown, batch } = await openBatchFolder(settings.batchDir, io);
  const busy = `another awb batch command is working on ${shown}; wait for it to end, or interrupt it: nothing is lost`;
  const release = command === 'status' ? undefined : await lockFile(join(dir, '.submission.lock'), busy);
  try {
    const loading = showLoading(io.stderr, settings.quiet);
    const submission = await disk.submission.read();
    if (submission === undefined && command !== 'submit') {
      throw inputMissing(`nothing in ${shown} has been submitted yet; run awb batch submit ${shown} first`);
    }
    const baseUrl = settings.baseUrl ?? submission?.baseUrl ?? batch.baseUrl;
    if (baseUrl === undefined) {
      throw new UserError(`${shown} names no server; name one, such as --base-url https://api.openai.com/v1`);
    }
    const server = { baseUrl, apiKey: keyFor(baseUrl, settings, shown, io), proxy: proxyFor(baseUrl, io.env) };
    const api = openBatchApi(server, settings.retryMinutes * 60_000, io.stop, loading.say);
    // All parts of a folder go to one server: submitting to another one would mean paying twice.
    if (submission !== undefined && submission.sent.length > 0 && submission.baseUrl !== api.baseUrl) {
      throw identityDiffers(
        `${shown} was sent to ${submission.baseUrl}; leave --base-url out, or rename submission.json`,
      );
    }
    const client = {
      ...{ io, dir, disk, shown, batch, api, loading },
      /** Everything sent, in order. */
      sent: submission?.sent ?? [],
      /** Flags that a later command needs to reach the server with the same key. */
      access: settings.apiKey === undefined ? [] : ['--base-url', api.baseUrl],
      /** Requests with a result in the folder, whether from a batch or `awb batch run`. */
      answered: async (): Promise<ReadonlySet<string>> => (await disk.results()).ids,
      /** The last submission of a part; undefined if there was none. */
      latest: ({ file }: BatchPart) => client.sent.findLast(({ part }) => part === file),
      /** How many batches the server is working on. */
      atWork: () => client.sent.filter(isLive).length,
      note,
      noteServed,
      refresh,
      findMade,
      async close(): Promise<void> {
        loading.finish();
        await api.close();
        release?.();
      },
    };
    return client;

    /**
     * Replaces a record by its new state, or appends the new one if `before` is undefined. `status` keeps the change in memory and does
     * not write it.
     */
    async function note(before: Sent | undefined, now: Sent): Promise<Sent> {
      if (before !== undefined && JSON.stringify(before) === JSON.stringify(now)) return before;
      const at = before === undefined ? client.sent.length : client.sent.indexOf(before);
      client.sent = client.sent.toSpliced(at, 1, now);
      if (release === undefined) return now;
      await disk.submission.write({ baseUrl: api.baseUrl, sent: client.sent });
      const { part, status = before?.status } = now;
      const isNews = before !== undefined && isLive(before) && status !== before.status;
      if (isNews && command === 'submit') loading.say(`${part}: ${status}`);
      return now;
    }

    /** Records a batch's state by the server. A batch refused because too many tokens were queued did nothing, and is created again. */
    function noteServed(sent: Sent, served: ServedBatch): Promise<Sent> {
      const now = withServed(sent, served);
      const { status, problems } = served;
      const isFull = status === 'failed' && problems.some(({ code, message }) => saysFull(`${code} ${message}`));
      if (!isFull) return note(sent, now);
      const waitsBehind = client.atWork() - (isLive(sent) ? 1 : 0);
      const unmade = { batchId: undefined, status: undefined, isEnded: undefined, key: undefined };
      return note(sent, { ...now, ...unmade, waitsBehind });
    }

    /**
     * Asks about every batch that may still change, and looks for those whose creation was not confirmed. If the server cannot list
     * batches, `isNone` is the user's word, after looking, that there is no such batch.
     */
    async function refresh(isNone = false): Promise<void> {
      for (const sent of client.sent) {
        if (!isLive(sent) && !sent.isOpen) continue;
        const served = await (isLive(sent) ? api.batch(sent.batchId ?? '').catch(unknown) : findMade(sent, isNone));
        if (served === undefined) await note(sent, { ...sent, isOpen: undefined });
        else if ('id' in served) await noteServed(sent, served);
        else await note(sent, { ...sent, status: 'unknown', isEnded: true, problems: [served] });
      }
    }

    /** The problem to show for a batch that the server no longer knows. */
    function unknown(error: unknown) {
      if (!(error instanceof Refused) || error.http !== 404) throw error;
      return { code: '', message: `the server no longer knows this batch (${error.reason})` };
    }

    /**
     * The batch that was created for a part although no answer arrived.
     * @throws UserError (69) if the server cannot tell whether it was created
     */
    async function findMade({ key, inputFileId, part }: Sent, isNone = false): Promise<ServedBatch | undefined> {
      const isIt = ({ metadata, status, ...served }: ServedBatch) =>
        metadata.awb_key === key ||
        (metadata.awb_key === undefined && served.inputFileId === inputFileId && status !== 'failed');
      try {
        return await api.findBatch(isIt);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        // A plain UserError, since the caller would read Refused as a refusal to create the batch.
        if (!NO_LIST.includes(error.http)) throw new UserError(error.message, error.exitCode);
        if (isNone) return undefined;
        throw unavailable(`no answer for ${shown}/${part}; look for its batch at ${api.host}, or submit --again`);
      }
    }
  } catch (error) {
    release?.();
    throw error;
  }
}

/**
 * A key is only sent to a server named in this call, since anyone may have written the address in a folder. `OPENAI_API_KEY` implies its server.
 * @throws UserError (2) for a key if only the folder names the server
 */
function keyFor(baseUrl: string, { apiKey = '', baseUrl: named }: ServerSettings, shown: string, { env }: Io): string {
  const { origin, host } = URL.canParse(baseUrl) ? new URL(baseUrl) : { origin: '', host: baseUrl };
  if (apiKey === '') return (origin === OPENAI ? env.OPENAI_API_KEY : undefined) ?? '';
  if (named !== undefined) return apiKey;
  throw new UserError(`only ${shown} names ${host}; to send the key there, add ${shellLine(['--base-url', baseUrl])}`);
}
