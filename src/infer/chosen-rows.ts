// The chosen rows, opened for whoever puts them to a world model: the data, the prompts, the model and its price.

import { readdir } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { type BadRow, type Dataset, openDataset, type RowRef } from '../benchmark/dataset.js';
import { holdsRows, readSourceRecord } from '../benchmark/hub/source-record.js';
import { type Choice, chooseRows } from '../benchmark/selection.js';
import { type SizesOf, type Survey, surveyRows } from '../benchmark/survey.js';
import { codeOf, EXIT, nearest, UserError } from '../core/errors.js';
import { counted, grouped } from '../core/figures.js';
import type { Identity } from '../core/identity.js';
import { present } from '../core/present.js';
import { printable } from '../core/printable.js';
import { CHARS_A_TOKEN } from '../core/question.js';
import { RELEASED } from '../core/released.js';
import { shellLine } from '../core/shell.js';
import { groundTruthOf } from '../core/turn.js';
import { DOMAINS, type Io } from '../core/types.js';
import { openSizes, openTokenizer } from '../model/tokens/tokenizer.js';
import { withTarget } from '../run/command.js';
import type { Manifest } from '../run/manifest.js';
import { requireNamedTokenizer } from '../run/model.js';
import { type AskingSettings, samplingIdentity } from '../run/options.js';
import type { Pricing, Run } from '../run/run.js';
import type { Stage, StageJob } from '../run/stage-contract.js';
import { priceOf, type Target } from '../run/target.js';
import type { ShownSettings } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { programName } from '../settings/program-name.js';
import { shownPath } from '../settings/shown-path.js';
import { buildMessages, openSystemPrompts, type SystemPrompts } from './messages.js';
import { type InferSettings, takenShard } from './options.js';

/** What the flags say of the rows. */
type DataSettings = Pick<
  InferSettings,
  'dataDir' | 'shard' | 'skipInvalid' | 'domains' | 'sampleSeed' | 'tokenizer' | 'quiet'
> &
  Partial<Pick<InferSettings, 'ids' | 'limit' | 'sample'>>;

export interface ChosenRows {
  readonly dataset: Dataset;
  /** In input order. */
  readonly chosen: readonly RowRef[];
  /** Which part of what the other flags choose these are, as `I/N`; undefined where they are all of it. */
  readonly shard: string | undefined;
  readonly prompts: SystemPrompts;
  readonly target: Target;
  readonly pricing: Pricing;
}

/**
 * What `ask` makes of them; all is closed behind it.
 * @throws UserError: 66 and 65 for the data, 2 for what the flags choose of them, and what the model's own opening throws
 */
export async function withChosenRows<T>(
  settings: Omit<InferSettings, 'baseline' | 'repeats'>,
  io: Io,
  ask: (rows: ChosenRows) => Promise<T>,
): Promise<T> {
  const prompts = await openSystemPrompts(settings, io);
  return withData(settings, io, async (data) => {
    requirePrompts(prompts, data.chosen, data.dataset);
    const { modelBaseUrl: baseUrls, modelName: model, modelApiKey: apiKey } = settings;
    return withTarget({ prefix: 'model', baseUrls, model, apiKey }, settings, io, (asked) =>
      ask({ ...data, prompts, ...asked }),
    );
  });
}

/** The same of the rows alone. @throws UserError: 66 and 65 for the data, 2 for what the flags choose of them */
export async function withData<T>(
  settings: DataSettings,
  io: Io,
  use: (data: Pick<ChosenRows, 'dataset' | 'chosen' | 'shard'>) => Promise<T>,
): Promise<T> {
  const shard = takenShard(settings, io);
  await requireNamedTokenizer(settings, io);
  await requireData(settings.dataDir, io);
  const dataset = await openDataset(resolve(io.cwd, settings.dataDir), io.stop);
  try {
    requireUsable(dataset, settings, io);
    const chosen = chooseRows(dataset.rows, choiceOf({ ...settings, shard }, dataset));
    return await use({ dataset, chosen, shard });
  } finally {
    await dataset.close();
  }
}

/** Where `awb data fetch` puts the rows, and infer looks for them. */
const DEFAULT = 'data';

/** @throws UserError (66) with the one command to type, where there are no rows in the folder or a fetch has not brought all of them. */
export async function requireData(dataDir: string, io: Pick<Io, 'cwd' | 'env'>): Promise<void> {
  const folder = resolve(io.cwd, dataDir);
  const names = await readdir(folder).catch((error: unknown) => {
    // What else is wrong with a folder, reading it says best.
    return codeOf(error) === 'ENOENT' ? [] : undefined;
  });
  if (names === undefined) return;
  const shown = shownPath(folder, io);
  const record = await readSourceRecord(folder);
  const isCut = typeof record === 'object' && !record.complete;
  if (names.some((name) => holdsRows({ name })) && !isCut) return;
  const what = isCut
    ? `the benchmark has not been fetched to its end into ${shown}; to go on with it, type`
    : `there is no benchmark in ${shown} (files named *_test.jsonl); to fetch it (402 MB), type`;
  const command = [
    'data',
    'fetch',
    ...(dataDir === DEFAULT ? [] : ['--output-dir', dataDir]),
    ...(isCut && record.revision !== RELEASED.commit ? ['--revision', record.revision] : []),
  ];
  const otherwise = isCut ? '' : '\nor name the folder that holds it with --data-dir';
  throw new UserError(`${what}\n  ${programName(io)} ${shellLine(command)}${otherwise}`, EXIT.inputMissing);
}

const BAD_ROWS_SHOWN = 20;

/**
 * Lists the unusable rows, before anything is asked.
 * @throws UserError (65) with that list, unless they are to be skipped and others are left.
 */
export function requireUsable(
  dataset: Dataset,
  settings: Pick<InferSettings, 'skipInvalid' | 'dataDir' | 'quiet'>,
  io: Io,
): void {
  const { bad, rows } = dataset;
  if (bad.length === 0) return;
  const list = bad.slice(0, BAD_ROWS_SHOWN).map((row) => `  ${printable(`${row.file}:${row.line}: ${row.reason}`)}`);
  if (bad.length > list.length) list.push(`  ... and ${bad.length - list.length} more`);
  const count = `${bad.length} of ${counted(bad.length + rows.length, 'row')} in ${settings.dataDir}`;
  if (settings.skipInvalid && rows.length > 0) {
    if (!settings.quiet)
      io.stderr.write(`${count} cannot be used and ${bad.length === 1 ? 'is' : 'are'} left out:\n${list.join('\n')}\n`);
    return;
  }
  const remedy =
    rows.length === 0
      ? 'No usable row is left: mend the files, or name another folder with --data-dir.'
      : 'Mend the files, or leave these rows out with --skip-invalid (they then count against coverage).';
  throw new UserError([`${count} cannot be used; nothing was asked:`, ...list, remedy].join('\n'), EXIT.badData);
}

/** @throws UserError (65) for a chosen row of a domain that there is no system prompt for. */
function requirePrompts(prompts: SystemPrompts, chosen: readonly RowRef[], { files }: Dataset): void {
  for (const { domain, file, line } of chosen) {
    const refusal = prompts.refusal(domain);
    if (refusal !== undefined) throw new UserError(`${files[file]}:${line}: ${refusal}`, EXIT.badData);
  }
}

/** Unusable rows, by domain. */
export function invalidByDomain(
  bad: readonly BadRow[],
  settings: Pick<InferSettings, 'domains'>,
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const row of bad) {
    const domain = row.domain ?? 'unknown';
    if (row.domain !== undefined && settings.domains.length > 0 && !settings.domains.includes(row.domain)) continue;
    counts[domain] = (counts[domain] ?? 0) + 1;
  }
  return counts;
}

/**
 * Which of the usable rows the flags choose.
 * @throws UserError (2) for a domain that neither the benchmark nor the data has.
 */
export function choiceOf(
  settings: Pick<DataSettings, 'domains' | 'shard' | 'sampleSeed' | 'ids' | 'limit' | 'sample'>,
  dataset: Dataset,
): Choice {
  const known = [...new Set([...DOMAINS, ...dataset.rows.map(({ domain }) => domain)])];
  const unknown = settings.domains.find((domain) => !known.includes(domain));
  if (unknown !== undefined) {
    const near = nearest(unknown, known);
    const advice = near === undefined ? `known are ${known.join(', ')}` : `did you mean "${near}"?`;
    throw new UserError(`--domains: unknown domain "${unknown}"; ${advice}`);
  }
  const [index = 1, of = 1] = (settings.shard ?? '').split('/').map(Number);
  return {
    sampleSeed: settings.sampleSeed,
    ...(settings.domains.length > 0 ? { domains: settings.domains } : {}),
    ...(settings.ids !== undefined && settings.ids.length > 0 ? { ids: settings.ids } : {}),
    ...(settings.limit === undefined ? {} : { limit: settings.limit }),
    ...(settings.sample === undefined ? {} : { sample: settings.sample }),
    ...(settings.shard === undefined ? {} : { shard: { index, of } }),
  };
}

/** What such a stage works on, as far as its manifest tells. */
interface DataWork {
  readonly settings: { readonly dataDir: string };
  readonly io: Io;
  readonly shown: ShownSettings;
  /** Which part of the rows it takes, as `I/N`. */
  readonly shard: string | undefined;
  readonly dataset: Dataset;
  readonly target: Target;
  readonly pricing: Pricing;
}

/** The line of a file that a row is, and its length. */
export function placeOfRow(
  { files }: Dataset,
  { file, line, length }: RowRef,
): { readonly place: string; readonly bytes: number } {
  return { place: `${basename(present(files[file]))}:${line}`, bytes: length };
}

/** What the manifest holds beside the counts; a calibration has no label. */
export function manifestOfData(
  { settings: { dataDir }, io, shown, shard, dataset, target, pricing }: DataWork,
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

/** What answers depend on beside the rows, and nothing else: addresses, keys and speed may change. */
export function askedIdentity(
  {
    settings,
    prompts,
    target,
  }: Pick<ChosenRows, 'prompts' | 'target'> & { readonly settings: Pick<InferSettings, 'protocol'> & AskingSettings },
  stored: Manifest | undefined,
): Identity {
  return {
    // A model that was not started is taken to be the run's own.
    model: target.identity ?? stored?.identity.model,
    protocol: settings.protocol,
    system_prompt: prompts.identity,
    sampling: samplingIdentity(settings, stored),
  };
}

/** Rows by their sizes, and how tokens were counted. */
interface Surveyed {
  readonly survey: Survey;
  /** Such as `characters / 4`. */
  readonly tokens: string;
}

/** The options that say what is looked at. */
// biome-ignore format: a table, a line an option
export const SURVEY_OPTIONS = {
  'data-dir': { kind: 'text', value: 'DIR', default: 'data', help: 'folder of *_test.jsonl files' },
  tokenizer: { kind: 'text', value: 'FILE', help: "count tokens by a model's tokenizer.json, or the one in this folder (default: characters / 4)" },
} as const satisfies OptionTable;

/**
 * @param step shows how far the work is
 * @throws UserError as `requireData`, `openTokenizer`, `openDataset` and `surveyRows`
 */
export async function surveyData(
  { dataDir, tokenizer: file }: Pick<Settings<typeof SURVEY_OPTIONS>, 'dataDir' | 'tokenizer'>,
  io: Io,
  step: (text: string) => void,
): Promise<Surveyed> {
  await requireData(dataDir, io);
  const tokenizer = file === undefined ? undefined : await openTokenizer(resolve(io.cwd, file), file);
  step('indexing rows');
  const dataset = await openDataset(resolve(io.cwd, dataDir), io.stop);
  try {
    const all = grouped(dataset.rows.length);
    const onRow = (rows: number) => step(`reading rows: ${grouped(rows)} of ${all}`);
    const survey = await surveyRows(
      dataset,
      sizesBy(tokenizer?.count ?? (({ length }) => length / CHARS_A_TOKEN)),
      io.stop,
      onRow,
    );
    return {
      survey,
      tokens: file === undefined ? `characters / ${CHARS_A_TOKEN}` : `counted by ${printable(file)}`,
    };
  } finally {
    await dataset.close();
  }
}

/** By the official protocol, and the row's own system prompt. What a chat template puts around messages is left out. */
function sizesBy(count: (text: string) => number): SizesOf {
  const sizeOf = openSizes(count);
  return (sample) => {
    const messages = buildMessages(sample, 'history', sample.systemPrompt);
    return {
      contextTokens: Math.ceil(sizeOf({ messages }).tokens),
      truthTokens: Math.ceil(count(groundTruthOf(sample))),
    };
  };
}
