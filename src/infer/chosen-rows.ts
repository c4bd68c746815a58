// The chosen rows, opened for a world model: the data, the prompts, the model and its price; and what stages over rows share.

import { readdir } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { type BadRow, type Dataset, openDataset, type RowRef } from '../benchmark/dataset.js';
import { holdsRows, readSourceRecord } from '../benchmark/hub/client.js';
import { chooseRows } from '../benchmark/selection.js';
import { type Survey, surveyRows } from '../benchmark/survey.js';
import { RELEASED } from '../core/domains.js';
import { badData, closing, codeOf, inputMissing, present } from '../core/errors.js';
import { countBy } from '../core/groups.js';
import type { Identity } from '../core/identity.js';
import { counted, grouped, printable, shellLine, shownPath } from '../core/printable.js';
import { groundTruthOf } from '../core/turn.js';
import { CHARS_A_TOKEN, type Io } from '../core/types.js';
import { openSizes, openTokenizer } from '../model/tokens/tokenizer.js';
import { withTarget } from '../run/command.js';
import type { Manifest } from '../run/manifest.js';
import { type AskingSettings, samplingIdentity } from '../run/options.js';
import type { Pricing, Run } from '../run/run.js';
import type { Stage, StageJob } from '../run/stage-contract.js';
import { priceOf, requirePriced, type Target } from '../run/target.js';
import { programName, type ShownSettings } from '../settings/command.js';
import { buildMessages, openSystemPrompts, type SystemPrompts } from './messages.js';
import { type InferSettings, takenShard } from './options.js';

/** The flags about the rows. */
type DataSettings = Pick<InferSettings, 'dataDir' | 'shard' | 'skipInvalid' | 'domains' | 'sampleSeed' | 'quiet'> &
  Partial<Pick<InferSettings, 'ids' | 'limit' | 'sample'>>;

export interface ChosenRows {
  readonly dataset: Dataset;
  /** In input order. */
  readonly chosen: readonly RowRef[];
  /** The part of what the other flags choose, as `I/N`; undefined if it is all of it. */
  readonly shard: string | undefined;
  readonly prompts: SystemPrompts;
  readonly target: Target;
  readonly pricing: Pricing;
}

/**
 * Passes the rows to `ask`; everything is closed afterwards.
 * @throws UserError: 66 and 65 for the data, 2 for what the flags choose of it, and what opening the model throws
 */
export async function withChosenRows<T>(
  settings: Omit<InferSettings, 'baseline' | 'repeats'>,
  io: Io,
  ask: (rows: ChosenRows) => Promise<T>,
): Promise<T> {
  const prompts = await openSystemPrompts(settings, io);
  return withData(settings, io, async (data) => {
    for (const { domain, file, line } of data.chosen) {
      const refusal = prompts.refusal(domain);
      if (refusal !== undefined) throw badData(`${data.dataset.files[file]}:${line}: ${refusal}`);
    }
    const { modelBaseUrl: baseUrls, modelName: model, modelApiKey: apiKey } = settings;
    return withTarget({ prefix: 'model', baseUrls, model, apiKey }, settings, io, (asked) =>
      ask({ ...data, prompts, ...asked }),
    );
  });
}

/** The same for the rows only. @throws UserError: 66 and 65 for the data, 2 for what the flags choose of it */
export async function withData<T>(
  settings: DataSettings,
  io: Io,
  use: (data: Pick<ChosenRows, 'dataset' | 'chosen' | 'shard'>) => Promise<T>,
): Promise<T> {
  const shard = takenShard(settings, io);
  return withDataset(settings.dataDir, io, async (dataset) => {
    requireUsable(dataset, settings, io);
    return use({ dataset, chosen: chooseRows(dataset.rows, { ...settings, shard }), shard });
  });
}

async function withDataset<T>(dataDir: string, io: Io, use: (dataset: Dataset) => Promise<T>): Promise<T> {
  await requireData(dataDir, io);
  return closing(await openDataset(resolve(io.cwd, dataDir), io.stop), use);
}

/** Where `awb data fetch` puts the rows, and where infer looks for them. */
const DEFAULT = 'data';

/** @throws UserError (66) with the command to type, if there are no rows in the folder or a fetch is incomplete. */
export async function requireData(dataDir: string, io: Pick<Io, 'cwd' | 'env'>): Promise<void> {
  const folder = resolve(io.cwd, dataDir);
  const names = await readdir(folder).catch((error: unknown) => (codeOf(error) === 'ENOENT' ? [] : undefined));
  // Reading the folder reports any other problem best.
  if (names === undefined) return;
  const record = await readSourceRecord(folder);
  if (names.some((name) => holdsRows({ name })) && record?.complete !== false) return;
  const { revision = RELEASED.commit } = record ?? {};
  const command = [
    ...['data', 'fetch', ...(dataDir === DEFAULT ? [] : ['--output-dir', dataDir])],
    ...(revision === RELEASED.commit ? [] : ['--revision', revision]),
  ];
  throw inputMissing(
    `there is no ${record === undefined ? '' : 'complete '}benchmark in ${shownPath(folder, io)} (files named *_test.jsonl); to fetch it (402 MB), type\n  ${programName(io)} ${shellLine(command)}\nor name its folder with --data-dir`,
  );
}

const BAD_ROWS_SHOWN = 20;

/**
 * Lists the unusable rows, before anything is asked.
 * @throws UserError (65) with that list, unless they are to be skipped and others are left.
 */
function requireUsable({ bad, rows }: Dataset, { skipInvalid, dataDir, quiet }: DataSettings, { stderr }: Io): void {
  if (bad.length === 0) return;
  const shown = bad.slice(0, BAD_ROWS_SHOWN).map((row) => `  ${printable(`${row.file}:${row.line}: ${row.reason}`)}`);
  const more = bad.length > shown.length ? [`  ... and ${bad.length - shown.length} more`] : [];
  const count = `${bad.length} of ${counted(bad.length + rows.length, 'row')} in ${dataDir} cannot be used`;
  if (skipInvalid && rows.length > 0) {
    if (!quiet) stderr.write(`${[`${count}, left out:`, ...shown, ...more].join('\n')}\n`);
    return;
  }
  const remedy =
    'Fix the files, or if others are left, leave these rows out with --skip-invalid (they then count against coverage).';
  throw badData([`${count}; nothing was asked:`, ...shown, ...more, remedy].join('\n'));
}

/** Unusable rows that are left out, by domain. */
export function invalidByDomain(
  bad: readonly BadRow[],
  { skipInvalid, domains }: Pick<InferSettings, 'skipInvalid' | 'domains'>,
): Record<string, number> {
  const isChosen = ({ domain }: BadRow) => domain === undefined || domains.length === 0 || domains.includes(domain);
  return countBy(skipInvalid ? bad.filter(isChosen) : [], ({ domain = 'unknown' }) => domain);
}

/** A row's file and line, and the length of the line. */
export function placeOfRow({ files }: Dataset, { file, line, length }: RowRef) {
  return { place: `${basename(present(files[file]))}:${line}`, bytes: length };
}

/** What a stage over the rows of a folder works on, as far as its manifest shows it. */
interface DataWork<S> extends Pick<ChosenRows, 'shard' | 'dataset' | 'target' | 'pricing'> {
  readonly settings: S;
  readonly io: Io;
  readonly shown: ShownSettings;
}

/** The manifest except for the counts; a calibration has no label. */
export function manifestOfData(
  { settings: { dataDir }, io, shown, shard, dataset, target, pricing }: DataWork<{ readonly dataDir: string }>,
  run: Run,
  { label, meta }: Pick<Stage<StageJob>['manifest'], 'label' | 'meta'>,
): Stage<StageJob>['manifest'] {
  return {
    label,
    meta,
    settings: shard === undefined ? shown : { ...shown, shard },
    endpoints: target.hosts,
    get price() {
      return priceOf(run, pricing);
    },
    data: { dir: resolve(io.cwd, dataDir), rows: dataset.rows.length, fingerprint: dataset.fingerprint },
  };
}

/**
 * The common parts of every stage that sends rows to a world model, or to a baseline. @throws UserError (2) for a budget in dollars
 * without a price
 */
export function stageOver<
  S extends AskingSettings &
    Pick<InferSettings, 'dataDir' | 'fresh' | 'label' | 'meta'> & { readonly baseline?: unknown },
>(work: DataWork<S> & Pick<ChosenRows, 'prompts'>, run: Run) {
  const { settings, io, target, prompts } = work;
  const asksModel = settings.baseline === undefined;
  if (asksModel) requirePriced(settings, run.ledger.usd !== undefined, target);
  const manifest = manifestOfData(work, run, settings);
  return { io, run, settings, target, remarks: prompts.remarks, asks: () => asksModel, manifest };
}

/** What answers depend on in addition to the rows, and nothing else: addresses, keys and speed may change. */
export function askedIdentity(
  work: Pick<ChosenRows, 'prompts' | 'target'> & {
    readonly settings: Pick<InferSettings, 'protocol'> & AskingSettings;
  },
  stored: Manifest | undefined,
): Identity {
  const { settings, prompts, target } = work;
  return {
    // If the model was not started, the stored identity is kept.
    model: target.identity ?? stored?.identity.model,
    protocol: settings.protocol,
    system_prompt: prompts.identity,
    sampling: samplingIdentity(settings, stored),
  };
}

/**
 * The sizes of rows under the official protocol and the row's own system prompt, without what a chat template adds around messages;
 * `tokens` says how they were counted.
 * @param step shows the progress
 * @throws UserError as `openTokenizer`, `requireData`, `openDataset` and `surveyRows`
 */
export async function surveyData(
  { dataDir, tokenizer: file }: Pick<InferSettings, 'dataDir' | 'tokenizer'>,
  io: Io,
  step: (text: string) => void,
): Promise<{ readonly survey: Survey; readonly tokens: string }> {
  await requireData(dataDir, io);
  const tokenizer = file === undefined ? undefined : await openTokenizer(resolve(io.cwd, file), file);
  const { count } = tokenizer ?? { count: ({ length }: string) => length / CHARS_A_TOKEN };
  const sizeOf = openSizes(count);
  step('indexing rows');
  return withDataset(dataDir, io, async (dataset) => {
    const survey = await surveyRows(
      dataset,
      (sample) => ({
        contextTokens: Math.ceil(sizeOf({ messages: buildMessages(sample, 'history', sample.systemPrompt) }).tokens),
        truthTokens: Math.ceil(count(groundTruthOf(sample))),
      }),
      io.stop,
      (rows) => step(`reading rows: ${grouped(rows)} of ${grouped(dataset.rows.length)}`),
    );
    return { survey, tokens: file === undefined ? `characters / ${CHARS_A_TOKEN}` : `counted by ${printable(file)}` };
  });
}
