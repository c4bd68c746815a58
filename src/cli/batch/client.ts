// A batch folder and the server that has its batches: what was sent stands in submission.json before and after every step.

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
    'base-url': option.text('URL', 'the server; by default the one that the folder knows', { check: httpUrl }),
    'api-key': option.text('KEY', 'key for --base-url; for api.openai.com OPENAI_API_KEY does as well', {
      secret: true,
    }),
    'retry-minutes': option.number('longest time of trying again where the server fails', { min: 0, default: 10 }),
  }),
} as const satisfies OptionTable;

export type ServerSettings = Settings<typeof SERVER_OPTIONS>;

const OPENAI = 'https://api.openai.com';
/** What a server answers that has no such list. */
const NO_LIST = [404, 405, 501];

/** A batch folder, read; `shown` is as people are shown it. */
export type Opened = Awaited<ReturnType<typeof openBatchFolder>>;

/** @throws UserError: 66 where there is no batch folder, 65 where batch.json is damaged */
export async function openBatchFolder(given: string, io: Io) {
  const dir = resolve(io.cwd, given);
  const disk = folderAt(dir);
  const batch = await disk.batch.read();
  const shown = shownPath(dir, io);
  if (batch !== undefined) return { dir, disk, shown, batch };
  throw inputMissing(`${shown} has no batch.json; awb infer, judge and calibrate write one with --batch-dir`);
}

/** The command that reads what has come, to be pasted; in words where batch.json does not hold it. */
export function readingCommand({ command, run }: Batch, io: Pick<Io, 'cwd' | 'env'>): string {
  if (command === undefined) return `the awb ${run.kind} command with --batch-dir that wrote the folder, once more`;
  const line = `${programName(io)} ${shellLine(command.words)}`;
  return command.cwd === io.cwd ? line : `cd ${shellLine([command.cwd])} && ${line}`;
}

export type BatchClient = Awaited<ReturnType<typeof openClient>>;

/**
 * Opens what the commands on a submitted folder share; unless it is only looked at (`status`), for this process alone. `submit` is the
 * first command on it.
 * @throws UserError: 2 for settings that do not do, 66 and 65 for the folder, 73 where another process works on it
 */
export async function openClient(command: 'submit' | 'status' | 'fetch' | 'cancel', settings: ServerSettings, io: Io) {
  const { dir, disk, shown, batch } = await openBatchFolder(settings.batchDir, io);
  const busy = `another awb batch command works on ${shown}; wait for it to end, or interrupt it: nothing is lost`;
  const release = command === 'status' ? undefined : await lockFile(join(dir, '.submission.lock'), busy);
  try {
    const loading = showLoading(io.stderr, settings.quiet);
    const submission = await disk.submission.read();
    if (submission === undefined && command !== 'submit') {
      throw inputMissing(`nothing of ${shown} was submitted yet; first: awb batch submit ${shown}`);
    }
    const baseUrl = settings.baseUrl ?? submission?.baseUrl ?? batch.baseUrl;
    if (baseUrl === undefined) {
      throw new UserError(`${shown} names no server; name one, such as --base-url https://api.openai.com/v1`);
    }
    const server = { baseUrl, apiKey: keyFor(baseUrl, settings, shown, io), proxy: proxyFor(baseUrl, io.env) };
    const api = openBatchApi(server, settings.retryMinutes * 60_000, io.stop, loading.say);
    // Parts of one folder are one server's: whoever went to another one would pay twice.
    if (submission !== undefined && submission.sent.length > 0 && submission.baseUrl !== api.baseUrl) {
      throw identityDiffers(`${shown} is at ${submission.baseUrl}; leave --base-url out, or rename submission.json`);
    }
    const client = {
      ...{ io, dir, disk, shown, batch, api, loading },
      /** All that was sent, in the order in which it was. */
      sent: submission?.sent ?? [],
      /** What a later command has to be given to reach the server with the same key. */
      access: settings.apiKey === undefined ? [] : ['--base-url', api.baseUrl],
      /** What has a result in the folder, from wherever it came: a batch, or `awb batch run`. */
      answered: async (): Promise<ReadonlySet<string>> => (await disk.results()).ids,
      /** How a part was sent the last time; undefined where it never was. */
      latest: ({ file }: BatchPart) => client.sent.findLast(({ part }) => part === file),
      /** How many batches the server works on. */
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
     * Puts what is known now in the place of what was known, or, where that is undefined, behind all that was sent. A client that only
     * looks keeps it to itself.
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

    /** Notes what a server says of a batch. One that was refused since too many tokens waited has done nothing, and its file is sent once more. */
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
     * Asks about every batch that may still change, and looks for those of which no answer came. Where the server cannot tell whether there
     * is such a one, `isNone` says that there is not: the user has looked.
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

    /** What is said of a batch that the server does not know any more. */
    function unknown(error: unknown) {
      if (!(error instanceof Refused) || error.http !== 404) throw error;
      return { code: '', message: `the server does not know this batch any more (${error.reason})` };
    }

    /**
     * The batch that was made of a part, although no answer came.
     * @throws UserError (69) where the server cannot tell whether it was made
     */
    async function findMade({ key, inputFileId, part }: Sent, isNone = false): Promise<ServedBatch | undefined> {
      const isIt = ({ metadata, status, ...served }: ServedBatch) =>
        metadata.awb_key === key ||
        (metadata.awb_key === undefined && served.inputFileId === inputFileId && status !== 'failed');
      try {
        return await api.findBatch(isIt);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        // Whoever asked for a batch is not to take it for a refusal of that.
        if (!NO_LIST.includes(error.http)) throw new UserError(error.message, error.exitCode);
        if (isNone) return undefined;
        throw unavailable(`no answer came about ${shown}/${part}; look for it at ${api.host}, or submit it --again`);
      }
    }
  } catch (error) {
    release?.();
    throw error;
  }
}

/**
 * A key goes to the server that this call names: anybody may have written the address that a folder holds. `OPENAI_API_KEY` names its own.
 * @throws UserError (2) for a key where only the folder names the server
 */
function keyFor(baseUrl: string, { apiKey = '', baseUrl: named }: ServerSettings, shown: string, { env }: Io): string {
  const { origin, host } = URL.canParse(baseUrl) ? new URL(baseUrl) : { origin: '', host: baseUrl };
  if (apiKey === '') return (origin === OPENAI ? env.OPENAI_API_KEY : undefined) ?? '';
  if (named !== undefined) return apiKey;
  throw new UserError(`only ${shown} names ${host}; to send the key there, add ${shellLine(['--base-url', baseUrl])}`);
}
