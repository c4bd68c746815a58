// `awb batch run`: answers a batch folder without a batch engine, by a live call for every request without a result.

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

/** The file in the folder that answers are written to. */
const ANSWERS = 'answers.jsonl';
/** Requests are sorted by prefix, so this many neighbours go to one endpoint. */
const GROUP = 32;

const RUN_OPTIONS = {
  ...FOLDER_OPTION,
  local: {
    ...ASKING_OPTIONS.local,
    help: 'serve this GGUF file or hub model here, under the name in the requests; AWB_… variables of awb serve apply',
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
    'Answers a batch folder with live calls to a local model or any endpoint; the body of every unanswered request is sent unchanged. Results go to answers.jsonl in the folder. The same command continues where it stopped.',
  examples: {
    'awb batch run B --local my-judge-Q8_0.gguf': 'serve, answer and stop in one command',
    'awb batch run B --model-base-url http://node1:8000/v1,http://node2:8000/v1': 'two endpoints of a cluster',
  },
  options: RUN_OPTIONS,
  operands: ['batch-dir'],
  alsoNeeds: ({ local }) => (local === undefined ? ['model-base-url'] : []),
  run: answerFolder,
});

async function answerFolder(settings: RunSettings, io: Io): Promise<ExitCode> {
  if (settings.local !== undefined && settings.modelBaseUrl.length > 0) {
    throw new UserError('give either --local or --model-base-url');
  }
  const opened = await openBatchFolder(settings.batchDir, io);
  const { dir, shown } = opened;
  const busy = `another awb batch run is working on ${shown}; wait for it to end, or interrupt it: nothing is lost`;
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

/** Answering what a server is working on would mean paying twice. @throws UserError (2) if batches are awaited */
async function requireNotAwaited({ disk, shown }: Opened): Promise<void> {
  const submission = await disk.submission.read();
  const isAwaited = submission?.sent.some(
    (sent) => isLive(sent) || sent.isOpen === true || resultsToFetch(sent).length > 0,
  );
  if (!isAwaited) return;
  throw new UserError(`a server is working on ${shown}; awb batch fetch ${shown} or awb batch cancel ${shown} first`);
}

/** A request to send, and the place of its line. */
type RequestJob = Job & Place & Readonly<{ id: string }>;

/**
 * The requests that have no result yet.
 * @throws UserError: 65 for a part that has changed since it was written, 66 if a file cannot be read
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

/** Opens or creates answers.jsonl. A torn last line, left by a kill, is cut off: its request is sent again. */
async function openAnswers(dir: string) {
  const path = join(dir, ANSWERS);
  // Like 'r+', but creates the file, and follows no link: someone else's folder must not point to a file of ours.
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
      /** Resolves when the line is on disk. */
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
 * Sends the remaining requests. Each answer is on disk before its slot is reused.
 * @returns the number of requests in total, answered now, of these answered with an error, and left
 * @throws UserError if every request would fail alike (auth, an unknown model), and 69 if no endpoint answers any more
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
  io.setLastWords('stopped immediately: every written answer is kept; run the same command again to continue');
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

/** A line of results in OpenAI's form. The body keeps the server's bytes, except for line ends between its tokens. */
function resultLine(customId: string, outcome: HttpAnswer | { code: string; message: string }): Buffer {
  const head = `{"id":"batch_req_${randomBytes(12).toString('hex')}","custom_id":${JSON.stringify(customId)}`;
  if ('code' in outcome) return Buffer.from(`${head},"response":null,"error":${JSON.stringify(outcome)}}\n`);
  const { status, requestId, body } = outcome;
  // In JSON, line ends occur only between tokens.
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
  const now = answered === 0 ? 'nothing was left to ask' : `${grouped(answered)} answered now, written to ${ANSWERS}`;
  const errors = refused === 0 ? '' : `; ${counted(refused, 'of them is an error', 'of them are errors')}`;
  const next = missing === 0 ? readingCommand(batch, io) : 'repeat this command for the rest';
  return `${shown}: ${grouped(total - missing)} of ${counted(total, 'request')} ${total === 1 ? 'has a result' : 'have results'}; ${now}${errors}\nnext: ${next}\n`;
}
