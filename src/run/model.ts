// Opens a stage's model, and lists the rows that are too long for it before the first one is asked.

import { present } from '../core/errors.js';
import { charactersOf } from '../core/types.js';
import { type OpenBackend, openEndpoints } from '../model/backend.js';
import { fitNotice, leastRoom, overlongRows } from '../model/context.js';
import { Reserve } from './budget.js';
import { type CallSettings, samplingOf } from './options.js';
import { droppedOf, type Stage, type StageJob } from './stage-contract.js';

/** What a session needs from an open model. */
export type Model = Pick<OpenBackend, 'work' | 'status' | 'report' | 'close' | 'dropped'>;

/**
 * Opens the model of a stage.
 * @param notice shows the user a notice that the run keeps; `more` is shown after it and is not kept
 */
export type OpenModel = <J extends StageJob>(
  stage: Stage<J>,
  notice: (text: string, more?: string) => void,
) => Promise<Model>;

export const openModel: OpenModel = async (stage, notice) => {
  const { run, settings, target, responseFormat, remarks = [] } = stage;
  for (const remark of remarks) notice(remark);
  const { budgetUsd, budgetTokens, maxTokens } = settings;
  const hasBudget = budgetUsd !== undefined || budgetTokens !== undefined;
  // Reserves the cost of calls in flight.
  const held = hasBudget ? new Reserve(run.ledger, settings) : undefined;
  const reserve = held && ((chars: number) => held.take(chars, maxTokens));
  const dropped = droppedOf(run);
  const options = { ...backendOptions(settings), responseFormat, dropped, reserve, onNotice: notice };
  const backend = await (run.batch === undefined ? openEndpoints(target.named, options) : byFiles(run.batch.dir));
  for (const facts of backend.models) run.models.set(String(facts.sha256), facts);
  await sayWhatIsTooLong(stage, backend, notice);
  return backend;

  async function byFiles(dir: string) {
    const { commandOf, openBatch } = await import('./batch/backend.js');
    const asked = { run, settings, command: commandOf(stage), endpoints: target.named };
    return openBatch({ ...asked, dir }, options);
  }
};

/** The settings that say how a model is asked. */
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
 * Lists the rows that are too long for a reported context. They are asked anyway: sizes are estimates.
 * @throws UserError if no row can fit or once the user has interrupted; the backend is then closed
 */
async function sayWhatIsTooLong<J extends StageJob>(
  stage: Stage<J>,
  backend: OpenBackend,
  notice: (text: string, more: string) => void,
): Promise<void> {
  const { run, settings, io } = stage;
  const sizable = stage.order.flatMap((job) => {
    const place = stage.asks(job) ? stage.placeOf(job) : undefined;
    // A row that asks the model has a question.
    const characters = async () => charactersOf(present((await stage.questions(job))[0]));
    return place === undefined ? [] : [{ ...place, domain: job.domain, characters }];
  });
  try {
    const room = leastRoom(await backend.contexts(), settings);
    if (room === undefined) return;
    const tooLong = await overlongRows(sizable, room, run.ledger.charsAToken, io.stop);
    const said = fitNotice(tooLong, room, settings);
    if (said !== undefined) notice(said.summary, `:\n${said.lines.join('\n')}`);
  } catch (error) {
    await backend.close();
    throw error;
  }
}
