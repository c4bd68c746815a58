// `awb batch run`: a batch folder answered by live calls, where there is no batch engine.

import { join } from 'node:path';
import { EXIT, type ExitCode, interruption, UserError } from '../core/errors.js';
import { counted, grouped } from '../core/figures.js';
import type { Io } from '../core/types.js';
import { lockFile } from '../disk/lock.js';
import { readSubmission } from '../model/batch/submission.js';
import { defineCommand } from '../settings/command.js';
import {
  ANSWERS,
  type AnswersFile,
  type AnswerTally,
  answerAll,
  openAnswers,
  type RequestsLeft,
  requestsLeft,
  requireNotAwaited,
} from './batch/answering.js';
import { type Opened, openBatchFolder, readingCommand } from './batch/client.js';
import { RUN_OPTIONS, type RunSettings } from './batch/options.js';

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
    const tally =
      left.jobs.length === 0 ? { answered: 0, refused: 0 } : await answerAll(opened.batch, left, file, settings, io);
    io.stdout.write(resultText(opened, left, tally, settings, io));
    if (io.stop.aborted) return interruption(io.stop);
    return tally.answered === left.jobs.length ? EXIT.done : EXIT.incomplete;
  } finally {
    await left?.close();
    await file?.close();
    release();
  }
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
