// `awb batch run`: a batch folder answered by live calls, where there is no batch engine.

import { join } from 'node:path';
import { ANSWERS, openAnswerer, openAnswers, requestsLeft, requireNotAwaited } from '../asking/batch/answering.js';
import { type Opened, openBatchFolder, readingCommand } from '../asking/batch/client.js';
import { RUN_OPTIONS, type RunSettings } from '../asking/batch/options.js';
import { startLocal } from '../asking/local.js';
import { openProgress } from '../asking/progress/progress.js';
import { drainOnInterrupt } from '../asking/session.js';
import { targetAt } from '../asking/target.js';
import { EXIT, type ExitCode, interruption, UserError } from '../errors.js';
import { counted, grouped } from '../figures.js';
import { readSubmission } from '../model/batch/submission.js';
import type { NamedEndpoints } from '../model/http-backend.js';
import { defineCommand } from '../settings/command.js';
import { lockFile } from '../store/lock.js';
import type { Io } from '../types.js';

export const command = defineCommand({
  description:
    'Answers a batch folder by live calls to a model here or to any endpoint: every request without a result, its body sent as it is. Results go to answers.jsonl of the folder; the same command goes on where it ended.',
  examples: [
    { line: 'awb batch run B --local my-judge-Q8_0.gguf', does: 'serve, answer and stop in one' },
    {
      line: 'awb batch run B --model-base-url http://node1:8000/v1,http://node2:8000/v1',
      does: 'two endpoints of a cluster',
    },
  ],
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
  let file: AnswersFile | undefined;
  let left: RequestsLeft | undefined;
  try {
    requireNotAwaited(await readSubmission(dir, shown), shown);
    file = await openAnswers(dir);
    left = await requestsLeft(dir, opened.batch);
    const tally = left.jobs.length === 0 ? { answered: 0, refused: 0 } : await answer(opened, left, file, settings, io);
    io.stdout.write(resultText(opened, left, tally, settings, io));
    if (io.stop.aborted) return interruption(io.stop);
    return tally.answered === left.jobs.length ? EXIT.done : EXIT.incomplete;
  } finally {
    await left?.close();
    await file?.close();
    release();
  }
}

type AnswersFile = Awaited<ReturnType<typeof openAnswers>>;
type RequestsLeft = Awaited<ReturnType<typeof requestsLeft>>;

/** How many requests were answered now, and how many of them otherwise than by a reply. */
interface AnswerTally {
  answered: number;
  refused: number;
}

async function answer(
  { batch }: Opened,
  left: RequestsLeft,
  file: AnswersFile,
  settings: RunSettings,
  io: Io,
): Promise<AnswerTally> {
  const tally = { answered: 0, refused: 0 };
  const { named, close } = await serverFor(settings, batch.model, io);
  try {
    const drain = drainOnInterrupt(io, (text) => progress.notice(text));
    const answerer = openAnswerer({
      batch,
      left,
      file,
      named,
      settings,
      signals: { stop: io.stop, abort: drain.over },
      onNotice: (text) => progress.notice(text),
      onAnswered({ part, isReply, tokens, reason }) {
        tally.answered++;
        if (!isReply) tally.refused++;
        progress.settled(part, { status: isReply ? 'ok' : 'failed', tokens, reason });
      },
    });
    const progress = openProgress(io, {
      ...settings,
      title: 'batch run',
      unit: 'requests',
      totals: left.totals,
      already: left.already,
      status: () => answerer.backend.status(),
    });
    io.setLastWords('ended at once: every answer that was written is kept; the same command goes on');
    try {
      await answerer.run();
    } finally {
      drain.close();
      progress.finish();
      await answerer.backend.close();
    }
  } finally {
    await close();
  }
  return tally;
}

async function serverFor(
  settings: RunSettings,
  model: string,
  io: Io,
): Promise<{ readonly named: NamedEndpoints; close(): Promise<void> }> {
  const { local, modelBaseUrl: baseUrls, modelApiKey: apiKey } = settings;
  if (local === undefined) return targetAt({ prefix: 'model', baseUrls, model, apiKey }, io);
  const { url, apiKey: key, slots, lost, close } = await startLocal(local, io, { ...settings, alias: model });
  const named = { kind: 'endpoints', prefix: 'model', baseUrls: [url], proxies: [undefined], model } as const;
  return { named: { ...named, apiKey: key, own: { slots, lost } }, close };
}

function resultText(
  { shown, dir, batch }: Opened,
  { jobs, totals }: RequestsLeft,
  { answered, refused }: AnswerTally,
  { json }: RunSettings,
  io: Io,
): string {
  const total = [...totals.values()].reduce((sum, count) => sum + count, 0);
  const missing = jobs.length - answered;
  if (json) {
    const counts = { requests: total, answered, errors: refused, missing };
    return `${JSON.stringify({ schema: 'awb.batch-run/1', folder: dir, file: ANSWERS, ...counts }, null, 2)}\n`;
  }
  const now = answered === 0 ? 'nothing was left to ask' : `${grouped(answered)} asked now, into ${ANSWERS}`;
  const errors = refused === 0 ? '' : `; ${counted(refused, 'of them is an error', 'of them are errors')}`;
  const next = missing === 0 ? readingCommand(batch, io) : 'the same command, for the rest';
  return `${shown}: ${grouped(total - missing)} of ${counted(total, 'request')} ${total === 1 ? 'has a result' : 'have results'}; ${now}${errors}\nnext: ${next}\n`;
}
