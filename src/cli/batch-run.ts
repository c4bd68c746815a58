// `awb batch run`: a batch folder answered here, where there is no batch engine: every request without a result by a live call.

import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { closing, EXIT, type ExitCode, interruption, UserError } from '../core/errors.js';
import { counted, grouped } from '../core/printable.js';
import type { Backend, Io, Job, ModelRequest, Solve } from '../core/types.js';
import { bytesAt, type Place, syncFolder } from '../disk/files.js';
import { Appender } from '../disk/group-commit.js';
import { splitLines } from '../disk/lines.js';
import { lockFile } from '../disk/lock.js';
import { openEndpoints } from '../model/backend.js';
import { bodyIn, isGood, isLive, resultsToFetch, unwritable } from '../model/batch/folder.js';
import type { HttpAnswer } from '../model/endpoint/endpoint.js';
import { ASKING_OPTIONS } from '../run/options.js';
import { openProgress } from '../run/progress.js';
import { drainOnInterrupt } from '../run/session.js';
import { localTarget, targetAt } from '../run/target.js';
import { httpUrl } from '../settings/address.js';
import { defineCommand, type OptionTable, option, type Settings, under } from '../settings/command.js';
import { FOLDER_OPTION, type Opened, openBatchFolder, readingCommand } from './batch/client.js';

/** The file of the folder that answers go to. */
const ANSWERS = 'answers.jsonl';
/** Requests stand in the order of their prefixes: those that lie together go to one endpoint. */
const GROUP = 32;

const RUN_OPTIONS = {
  ...FOLDER_OPTION,
  local: {
    ...ASKING_OPTIONS.local,
    help: 'serve this GGUF file or hub model here, under the name that the requests have; AWB_… variables of awb serve apply',
  },
  ...under('Model', {
    'model-base-url': option.list('URL', 'OpenAI-compatible endpoint; several share the requests', { check: httpUrl }),
    'model-api-key': option.text('KEY', 'key, sent as bearer token', { secret: true }),
  }),
  concurrency: ASKING_OPTIONS.concurrency,
  'call-timeout': ASKING_OPTIONS['call-timeout'],
  'max-attempts': ASKING_OPTIONS['max-attempts'],
  'retry-minutes': ASKING_OPTIONS['retry-minutes'],
  'wait-ready': ASKING_OPTIONS['wait-ready'],
  'keep-going': ASKING_OPTIONS['keep-going'],
  rpm: ASKING_OPTIONS.rpm,
  tpm: ASKING_OPTIONS.tpm,
} as const satisfies OptionTable;

type RunSettings = Settings<typeof RUN_OPTIONS>;

export const command = defineCommand({
  description:
    'Answers a batch folder by live calls to a model here or to any endpoint: every request without a result, its body sent as it is. Results go to answers.jsonl of the folder; the same command goes on where it ended.',
  examples: {
    'awb batch run B --local my-judge-Q8_0.gguf': 'serve, answer and stop in one',
    'awb batch run B --model-base-url http://node1:8000/v1,http://node2:8000/v1': 'two endpoints of a cluster',
  },
  options: RUN_OPTIONS,
  operands: ['batch-dir'],
  alsoNeeds: ({ local }) => (local === undefined ? ['model-base-url'] : []),
  run: answerFolder,
});

async function answerFolder(settings: RunSettings, io: Io): Promise<ExitCode> {
  if (settings.local !== undefined && settings.modelBaseUrl.length > 0) {
    throw new UserError('give one of --local and --model-base-url');
  }
  const opened = await openBatchFolder(settings.batchDir, io);
  const { dir, shown } = opened;
  const busy = `another awb batch run works on ${shown}; wait for it to end, or interrupt it: nothing is lost`;
  const release = await lockFile(join(dir, '.answers.lock'), busy);
  try {
    await requireNotAwaited(opened);
    return await closing(await openAnswers(dir), async (file) => {
      const tally = await answerAll(opened, await requestsLeft(opened), file, settings, io);
      io.stdout.write(resultText(opened, tally, settings, io));
      if (io.stop.aborted) return interruption(io.stop);
      return tally.missing === 0 ? EXIT.done : EXIT.incomplete;
    });
  } finally {
    release();
  }
}

/** Whoever answers here what a server works on pays for it twice. @throws UserError (2) where batches are awaited */
async function requireNotAwaited({ disk, shown }: Opened): Promise<void> {
  const submission = await disk.submission.read();
  const isAwaited = submission?.sent.some(
    (sent) => isLive(sent) || sent.isOpen === true || resultsToFetch(sent).length > 0,
  );
  if (!isAwaited) return;
  throw new UserError(`a server works on ${shown}; first awb batch fetch ${shown}, or awb batch cancel ${shown}`);
}

/** A request to be asked, and where its line lies. */
type RequestJob = Job & Place & Readonly<{ id: string }>;

/**
 * The requests that have no result yet.
 * @throws UserError: 65 for a part that is not as it was written, 66 where a file cannot be read
 */
async function requestsLeft({ disk, batch }: Opened): Promise<RequestJob[]> {
  const { ids: answered } = await disk.results();
  const jobs: RequestJob[] = [];
  for (const part of batch.parts) {
    await disk.requireAsWritten(part);
    for await (const { id, path, offset, length } of disk.requestsIn(part, answered)) {
      jobs.push({ id, path, offset, length, group: String(Math.floor(jobs.length / GROUP)) });
    }
  }
  return jobs;
}

/** Opens answers.jsonl, or makes it. A torn last line, as a kill leaves it, is cut off: its request is asked again. */
async function openAnswers(dir: string) {
  const path = join(dir, ANSWERS);
  // Like 'r+', but makes the file, and follows no link: a folder of somebody else's must not name a file of ours.
  const flags = constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);
  let opened: FileHandle | undefined;
  try {
    const handle = await open(path, flags);
    opened = handle;
    for await (const { offset, ended } of splitLines(handle.createReadStream({ start: 0, autoClose: false }))) {
      if (!ended) await handle.truncate(offset);
    }
    await syncFolder(dir);
    const appender = new Appender(handle, path, (await handle.stat()).size);
    return {
      /** Resolves when the line is on the disk. */
      append: (line: Buffer) => appender.append(line),
      async close() {
        await appender.idle();
        await handle.close();
      },
    };
  } catch (error) {
    await opened?.close();
    throw unwritable(path, error);
  }
}

/**
 * Asks all that is left; each answer is on the disk before its slot is used again.
 * @returns how many requests there are, how many were answered now, how many of them otherwise than by a reply, and how many are left
 * @throws UserError where no request would fare better (auth, an unknown model), and 69 where nobody answers any more
 */
async function answerAll(
  { batch: { parts, url, model } }: Opened,
  jobs: readonly RequestJob[],
  file: Awaited<ReturnType<typeof openAnswers>>,
  settings: RunSettings,
  io: Io,
) {
  const total = parts.reduce((sum, { requests }) => sum + requests, 0);
  const tally = { total, answered: 0, refused: 0, missing: jobs.length };
  if (jobs.length === 0) return tally;
  const { local, rpm, tpm, concurrency, maxAttempts, keepGoing } = settings;
  const addresses = { baseUrls: settings.modelBaseUrl, apiKey: settings.modelApiKey };
  const answers = new WeakMap<ModelRequest, HttpAnswer>();
  const { named, close } =
    local === undefined
      ? targetAt({ prefix: 'model', model, ...addresses }, io)
      : await localTarget('model', local, { ...settings, alias: model }, io);
  const onNotice = (text: string) => progress.notice(text);
  const drain = drainOnInterrupt(io, onNotice);
  let pool: Backend | undefined;
  const progress = openProgress(io, {
    ...settings,
    title: 'batch run',
    unit: 'requests',
    totals: new Map([['requests', total]]),
    already: new Map([['requests', total - jobs.length]]),
    status: () => pool?.status(),
  });
  io.setLastWords('ended at once: every answer that was written is kept; the same command goes on');
  const solve: Solve<RequestJob> = async (job, ask) => {
    const request = { prompt: bodyIn(bytesAt(job).toString()), seedOffset: 0 };
    const outcome = await ask({ make: async () => request });
    if (outcome.status === 'interrupted') return;
    const answer = answers.get(request);
    const { class: failure = 'fatal', reason = `HTTP ${answer?.status}` } = outcome.status === 'failed' ? outcome : {};
    await file.append(resultLine(job.id, answer ?? { code: failure.replaceAll('-', '_'), message: reason }));
    const isReply = answer !== undefined && isGood(answer.status);
    tally.answered++;
    tally.missing--;
    if (!isReply) tally.refused++;
    const tokens = outcome.log.usage.completionTokens ?? 0;
    progress.settled('requests', { status: isReply ? 'ok' : 'failed', tokens, reason });
  };
  try {
    const callTimeoutMs = settings.callTimeout * 1000;
    pool = await openEndpoints(named, {
      ...{ rpm, tpm, concurrency, maxAttempts, keepGoing, onNotice },
      retryMs: settings.retryMinutes * 60_000,
      waitReadyMs: settings.waitReady * 1000,
      clocks: { firstTokenTimeoutMs: callTimeoutMs, gapTimeoutMs: callTimeoutMs, callTimeoutMs },
      ...{ sampling: {}, stream: false, fitMaxTokens: false, allowParamDrop: false, dropped: [] },
      raw: { path: url.replace(/^\/v1/, ''), answers },
    });
    await pool.work(jobs, solve, { stop: io.stop, abort: drain.over });
    return tally;
  } finally {
    drain.close();
    progress.finish();
    await pool?.close();
    await close();
  }
}

/** A line of results as OpenAI writes it. The body's bytes are the server's own, but for line ends between its members. */
function resultLine(customId: string, outcome: HttpAnswer | { code: string; message: string }): Buffer {
  const head = `{"id":"batch_req_${randomBytes(12).toString('hex')}","custom_id":${JSON.stringify(customId)}`;
  if ('code' in outcome) return Buffer.from(`${head},"response":null,"error":${JSON.stringify(outcome)}}\n`);
  const { status, requestId, body } = outcome;
  // Within a JSON text a line end stands between its tokens alone.
  const line = body.replace(/[\r\n]+/g, ' ').trim();
  const response = `{"status_code":${status},"request_id":${JSON.stringify(requestId)},"body":${line}}`;
  return Buffer.from(`${head},"response":${response},"error":null}\n`);
}

function resultText(
  { shown, dir, batch }: Opened,
  { total, answered, refused, missing }: Awaited<ReturnType<typeof answerAll>>,
  { json }: RunSettings,
  io: Io,
): string {
  if (json) {
    const counts = { requests: total, answered, errors: refused, missing };
    return `${JSON.stringify({ schema: 'awb.batch-run/1', folder: dir, file: ANSWERS, ...counts }, null, 2)}\n`;
  }
  const now = answered === 0 ? 'nothing was left to ask' : `${grouped(answered)} asked now, into ${ANSWERS}`;
  const errors = refused === 0 ? '' : `; ${counted(refused, 'of them is an error', 'of them are errors')}`;
  const next = missing === 0 ? readingCommand(batch, io) : 'the same command, for the rest';
  return `${shown}: ${grouped(total - missing)} of ${counted(total, 'request')} ${total === 1 ? 'has a result' : 'have results'}; ${now}${errors}\nnext: ${next}\n`;
}
