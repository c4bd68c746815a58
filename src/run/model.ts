// How a stage's model is opened, and the rows that are told to be too long for it before the first of them is asked.

import { resolve } from 'node:path';
import { present } from '../core/errors.js';
import { charactersOf, type Io, type Question, textsOf } from '../core/types.js';
import { type OpenBackend, openEndpoints } from '../model/backend.js';
import { fitNotice, leastRoom, overlongRows } from '../model/context.js';
import { openTokenizer, requireTokenizer } from '../model/tokens/tokenizer.js';
import { Reserve } from './budget.js';
import { type AskingSettings, type CallSettings, samplingOf } from './options.js';
import { droppedOf, type Stage, type StageJob } from './stage-contract.js';

/** What a session needs of a model that is open. */
export type Model = Pick<OpenBackend, 'work' | 'status' | 'report' | 'close' | 'dropped'>;

/**
 * Opens the model of a stage.
 * @param notice tells the user something that the run keeps; `more` is told behind it, and is not kept
 * @param onDropped is called where a batch has left a parameter out
 */
export type OpenModel = <J extends StageJob>(
  stage: Stage<J>,
  notice: (text: string, more?: string) => void,
  onDropped: () => void,
) => Promise<Model>;

export const openModel: OpenModel = async (stage, notice, onDropped) => {
  const { run, settings, target, responseFormat, remarks = [] } = stage;
  for (const remark of remarks) notice(remark);
  const { budgetUsd, budgetTokens, maxTokens } = settings;
  const hasBudget = budgetUsd !== undefined || budgetTokens !== undefined;
  // Keeps back the cost of calls in flight.
  const held = hasBudget ? new Reserve(run.ledger, settings) : undefined;
  const reserve = held && ((chars: number) => held.take(chars, maxTokens, run.ledger));
  const dropped = droppedOf(run);
  const options = { ...backendOptions(settings), responseFormat, dropped, reserve, onNotice: notice };
  const backend = await (run.batch === undefined ? openEndpoints(target.named, options) : byFiles(run.batch.dir));
  for (const facts of backend.models) run.models.set(String(facts.sha256), facts);
  await sayWhatIsTooLong(stage, backend, notice);
  return backend;

  async function byFiles(dir: string) {
    const { commandOf, openBatch } = await import('./batch/backend.js');
    const asked = { run, settings, command: commandOf(stage), endpoints: target.named };
    return openBatch({ ...asked, dir, onDropped }, options);
  }
};

/** What the settings say of how a model is asked. */
export function backendOptions(settings: CallSettings) {
  const { stream, fitMaxTokens, allowParamDrop, concurrency, maxAttempts, keepGoing, rpm, tpm } = settings;
  return {
    ...{ stream, fitMaxTokens, allowParamDrop, concurrency, maxAttempts, keepGoing, rpm, tpm },
    sampling: samplingOf(settings),
    clocks: {
      firstTokenTimeoutMs: settings.firstTokenTimeout * 1000,
      gapTimeoutMs: settings.gapTimeout * 1000,
      callTimeoutMs: settings.callTimeout * 1000,
    },
    retryMs: settings.retryMinutes * 60_000,
    waitReadyMs: settings.waitReady * 1000,
  };
}

/**
 * Tells a slip in --tokenizer before anything is read or asked: a server with a large context would never have it opened.
 * @throws UserError (66) for a tokenizer that is not there, (65) for what cannot be one
 */
export async function requireNamedTokenizer(
  { tokenizer: file }: Pick<AskingSettings, 'tokenizer'>,
  { cwd }: Pick<Io, 'cwd'>,
): Promise<void> {
  if (file !== undefined) await requireTokenizer(resolve(cwd, file), file);
}

/**
 * Lists the rows that are too long for a context that is told. They are asked all the same: sizes are estimates.
 * @throws UserError where no row can fit, where the tokenizer cannot be used, or once the user has interrupted; the backend is closed then
 */
async function sayWhatIsTooLong<J extends StageJob>(
  stage: Stage<J>,
  backend: OpenBackend,
  notice: (text: string, more: string) => void,
): Promise<void> {
  const { settings, io } = stage;
  const sizable = stage.order.flatMap((job) => {
    const place = stage.asks(job) ? stage.placeOf(job) : undefined;
    const characters = async () => charactersOf(await firstQuestion(stage, job));
    return place === undefined ? [] : [{ ...place, domain: job.domain, characters }];
  });
  try {
    const room = leastRoom(await backend.contexts(), settings);
    if (room === undefined) return;
    const tooLong = await overlongRows(sizable, room, await charsAToken(stage), io.stop);
    const said = fitNotice(tooLong, room, settings);
    if (said !== undefined) notice(said.summary, `:\n${said.lines.join('\n')}`);
  } catch (error) {
    await backend.close();
    throw error;
  }
}

async function firstQuestion<J extends StageJob>({ questions }: Stage<J>, job: J): Promise<Question> {
  // A row that asks the model has a question.
  return present((await questions(job))[0]);
}

/** So many rows, and so many characters of each, tell the characters a token under a tokenizer: to count whole rows takes seconds. */
const ROWS_COUNTED = 12;
const CHARACTERS_COUNTED = 20_000;

/** By the tokenizer that the user named, from the ends of rows all over the order; else as the run has measured. */
async function charsAToken<J extends StageJob>(stage: Stage<J>): Promise<number> {
  const { io, run } = stage;
  const { tokenizer: file } = stage.settings;
  const asked = stage.order.filter((job) => stage.asks(job));
  if (file === undefined || asked.length === 0) return run.ledger.charsAToken;
  const { count } = await openTokenizer(resolve(io.cwd, file), file);
  const step = Math.ceil(asked.length / ROWS_COUNTED);
  let sample = '';
  for (const job of asked.filter((_, place) => place % step === 0)) {
    sample += textsOf(await firstQuestion(stage, job))
      .join('\n')
      .slice(-CHARACTERS_COUNTED);
  }
  return sample.length / Math.max(1, count(sample));
}
