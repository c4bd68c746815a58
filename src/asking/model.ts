// How a stage's model is opened.

import type { BackendOptions, OpenBackend } from '../model/backend.js';
import { openEndpoints } from '../model/http-backend.js';
import { Reserve } from './budget.js';
import type { AskingSettings, CallSettings } from './options.js';
import type { Run } from './run.js';
import { samplingOf } from './sampling.js';
import { droppedOf, type Stage, type StageJob } from './stage-contract.js';
import { sayWhatIsTooLong } from './too-long.js';

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
  const reserve = reserveFor(run, settings);
  const dropped = droppedOf(run);
  const options = { ...backendOptions(settings), responseFormat, dropped, reserve, onNotice: notice };
  const backend = await (run.batch === undefined ? openEndpoints(target.named, options) : byFiles(run.batch.dir));
  for (const facts of backend.models) run.models.set(String(facts.sha256), facts);
  await sayWhatIsTooLong(stage, backend, notice);
  return backend;

  async function byFiles(dir: string) {
    const { openBatch } = await import('./by-batch/backend.js');
    const { manifest, io } = stage;
    const asked = { run, settings, shown: manifest.settings, cwd: io.cwd, endpoints: target.named };
    return openBatch({ ...asked, dir, onDropped }, options);
  }
};

/** What keeps back the cost of calls in flight; undefined where there is no budget. */
function reserveFor({ ledger }: Run, settings: AskingSettings): BackendOptions['reserve'] {
  const { budgetUsd, budgetTokens, maxTokens } = settings;
  if (budgetUsd === undefined && budgetTokens === undefined) return undefined;
  const reserve = new Reserve(ledger, settings);
  return (chars) => reserve.take(chars, maxTokens, ledger);
}

/** What the settings say of how a model is asked. */
export function backendOptions(settings: CallSettings) {
  return {
    sampling: samplingOf(settings),
    stream: settings.stream,
    clocks: {
      firstTokenTimeoutMs: settings.firstTokenTimeout * 1000,
      gapTimeoutMs: settings.gapTimeout * 1000,
      callTimeoutMs: settings.callTimeout * 1000,
    },
    fitMaxTokens: settings.fitMaxTokens,
    allowParamDrop: settings.allowParamDrop,
    concurrency: settings.concurrency,
    maxAttempts: settings.maxAttempts,
    retryMs: settings.retryMinutes * 60_000,
    waitReadyMs: settings.waitReady * 1000,
    keepGoing: settings.keepGoing,
    rpm: settings.rpm,
    tpm: settings.tpm,
  };
}
