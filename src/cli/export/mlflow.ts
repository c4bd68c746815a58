// A record into an MLflow server: its experiment, its run, and what is in it. Whatever is there already is not doubled.

import { UserError } from '../../core/errors.js';
import { asObject, isObject, type JsonObject } from '../../core/json.js';
import { figuresOf, type RunNames, scoresCsv } from '../../report/run-csv.js';
import type { ReadRun } from '../../results/read-run.js';
import { MlflowRefusal, type MlflowServer, textIn } from './mlflow-server.js';

/** What came of an export. */
interface MlflowExport {
  readonly experimentId: string;
  readonly runId: string;
  /** Whether the run was there already. */
  readonly isUpdate: boolean;
  /** Parameters that the run has with other values: MLflow does not change them. */
  readonly kept: readonly string[];
  /** Why no files were put beside it; undefined where they were. */
  readonly withoutFiles?: string | undefined;
}

/** What a server takes in one call. */
const MOST_AT_ONCE = 100;
const STATUS = { complete: 'FINISHED', running: 'RUNNING' } as const;

/** @throws UserError as `mlflowAt`, and for an experiment that was deleted */
export async function exportTo(server: MlflowServer, experiment: string, record: MlflowRecord): Promise<MlflowExport> {
  const experimentId = await experimentOf(server, experiment);
  const found = await runWith(server, experimentId, record.tags[RUN_TAG] ?? '');
  const run = found ?? (await createRun(server, experimentId, record));
  const info = asObject(run.info);
  const runId = textIn(info, 'run_id', server);
  const before = paramsOf(run);
  const kept = Object.entries(record.params).flatMap(([name, value]) => {
    const known = before.get(name);
    return known === undefined || known === value ? [] : [name];
  });
  await logAll(server, runId, record, before);
  await server.post('runs/update', { run_id: runId, run_name: record.name, ...ended(record) });
  const withoutFiles = await putFiles(server, String(info.artifact_uri ?? ''), record);
  return { experimentId, runId, isUpdate: found !== undefined, kept, withoutFiles };
}

async function experimentOf(server: MlflowServer, name: string): Promise<string> {
  const find = async () =>
    asObject((await server.get('experiments/get-by-name', { experiment_name: name })).experiment);
  try {
    return activeId(await find(), name, server);
  } catch (error) {
    if (!isRefusal(error, 'RESOURCE_DOES_NOT_EXIST')) throw error;
  }
  try {
    return textIn(await server.post('experiments/create', { name }), 'experiment_id', server);
  } catch (error) {
    // Another has made it meanwhile.
    if (!isRefusal(error, 'RESOURCE_ALREADY_EXISTS')) throw error;
    return activeId(await find(), name, server);
  }
}

function activeId(experiment: JsonObject, name: string, server: MlflowServer): string {
  if (experiment.lifecycle_stage === 'deleted') {
    throw new UserError(
      `the experiment "${name}" of ${server.shown} was deleted; restore it there, or name another with --experiment`,
    );
  }
  return textIn(experiment, 'experiment_id', server);
}

async function runWith(server: MlflowServer, experimentId: string, id: string): Promise<JsonObject | undefined> {
  const { runs } = await server.post('runs/search', {
    experiment_ids: [experimentId],
    filter: `tags.\`${RUN_TAG}\` = '${id}'`,
    max_results: 1,
  });
  const [run] = Array.isArray(runs) ? runs : [];
  return isObject(run) ? run : undefined;
}

async function createRun(server: MlflowServer, experimentId: string, record: MlflowRecord): Promise<JsonObject> {
  const { name, startMs, tags } = record;
  const made = await server.post('runs/create', {
    experiment_id: experimentId,
    run_name: name,
    start_time: startMs,
    // With it the run is found again, whatever cuts the rest off.
    tags: [{ key: RUN_TAG, value: tags[RUN_TAG] }],
  });
  return asObject(made.run);
}

/** A metric that stands there with the same time, step and value is the same one. */
async function logAll(
  server: MlflowServer,
  runId: string,
  record: MlflowRecord,
  before: ReadonlyMap<string, string>,
): Promise<void> {
  const params = Object.entries(record.params).filter(([name]) => !before.has(name));
  const parts = {
    params: params.map(([key, value]) => ({ key, value })),
    tags: Object.entries(record.tags).map(([key, value]) => ({ key, value })),
    metrics: Object.entries(record.metrics).map(([key, value]) => ({
      ...{ key, value },
      ...{ timestamp: record.endMs, step: record.step },
    })),
  };
  for (const [kind, items] of Object.entries(parts)) {
    for (let at = 0; at < items.length; at += MOST_AT_ONCE) {
      await server.post('runs/log-batch', { run_id: runId, [kind]: items.slice(at, at + MOST_AT_ONCE) });
    }
  }
}

function ended({ tags, endMs }: MlflowRecord) {
  const state = tags['awb.state'] ?? 'complete';
  const status = state === 'complete' || state === 'running' ? STATUS[state] : 'FAILED';
  return status === 'RUNNING' ? { status } : { status, end_time: endMs };
}

/** Files go through the server where it keeps artifacts for its clients; another store would ask for another client and other keys. */
async function putFiles(server: MlflowServer, uri: string, { files }: MlflowRecord): Promise<string | undefined> {
  const [, folder] = /^mlflow-artifacts:\/(?:\/[^/]*\/)?(.+)$/.exec(uri) ?? [];
  if (folder === undefined) return 'the server keeps no artifacts for its clients (mlflow server --serve-artifacts)';
  for (const [name, text] of Object.entries(files)) await server.putArtifact(`${folder}/${name}`, text);
  return undefined;
}

function paramsOf(run: JsonObject): ReadonlyMap<string, string> {
  const { params } = asObject(run.data);
  const list = Array.isArray(params) ? params.filter(isObject) : [];
  return new Map(list.map(({ key, value }) => [String(key), String(value)]));
}

function isRefusal(error: unknown, code: string): boolean {
  return error instanceof MlflowRefusal && error.code === code;
}

/** What MLflow keeps: parameters and tags are texts of some length, a metric has a step and a time. */
interface MlflowRecord {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly params: Readonly<Record<string, string>>;
  readonly tags: Readonly<Record<string, string>>;
  readonly metrics: Readonly<Record<string, number>>;
  readonly step: number;
  /** By their names. */
  readonly files: Readonly<Record<string, string>>;
}

/** The tag by which a run is found again. */
const RUN_TAG = 'awb.run';
/** Older servers take no longer values of parameters; tags may be longer. */
const MOST_VALUE = 500;
const MOST_NAME = 250;

export function mlflowRecord({ made, manifest, card, name }: ReadRun, names: RunNames): MlflowRecord {
  const { identity = {}, settings = {}, predictions } = manifest ?? {};
  const startMs = Date.parse(made.startedAt ?? '') || 0;
  return {
    name,
    startMs,
    endMs: Date.parse(made.endedAt ?? '') || startMs,
    params: namesAndTexts({
      ...flattened('judge', settings),
      ...flattened('infer', predictions?.settings ?? {}),
      ...flattened('identity', identity),
    }),
    tags: namesAndTexts({
      [RUN_TAG]: names.id,
      'awb.mode': made.mode,
      'awb.world_model': made.worldModel,
      'awb.judge': made.judgeName,
      'awb.rubrics': made.rubricPack,
      'awb.state': manifest?.state,
      'awb.version': manifest?.tool?.version,
      ...Object.fromEntries(Object.entries(made.meta).map(([key, value]) => [`meta.${key}`, value])),
    }),
    metrics: metricsOf(card),
    step: stepOf(made.meta.step),
    files: {
      'scores.csv': scoresCsv(card, names),
      ...(manifest === undefined ? {} : { 'manifest.json': `${JSON.stringify(manifest, null, 2)}\n` }),
    },
  };
}

/** Metrics are sorted by their names: figures of a domain stand together, those of Overall first in `overall/`. */
function metricsOf(card: ReadRun['card']): Record<string, number> {
  const metrics: Record<string, number> = {};
  for (const { domain, kind, figure, estimate } of figuresOf(card)) {
    const name = metricName(`${domain}/${kind === 'official' ? figure : `${kind}/${figure}`}`);
    metrics[name] = estimate.value;
    if (figure !== 'total') continue;
    if (estimate.low !== undefined) metrics[`${name}_low`] = estimate.low;
    if (estimate.high !== undefined) metrics[`${name}_high`] = estimate.high;
  }
  for (const { domain, coverage } of card.domains) metrics[metricName(`${domain}/coverage`)] = coverage;
  return { ...metrics, 'overall/coverage': card.coverage, rows: card.chosen, failed: card.failed };
}

/** What MLflow allows in a name: letters, digits, `_-. :/`. */
function metricName(text: string): string {
  return text.replace(/[^\w\-. :/]/g, '_').slice(0, MOST_NAME);
}

function stepOf(text = ''): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

/** The members of members by their paths; a list is one value. */
function flattened(path: string, value: unknown): Record<string, unknown> {
  if (!isObject(value)) return { [path]: value };
  return Object.assign({}, ...Object.entries(value).map(([name, member]) => flattened(`${path}.${name}`, member)));
}

function namesAndTexts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      if (value === undefined || value === null) return [];
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return [[metricName(name), text.slice(0, MOST_VALUE)]];
    }),
  );
}
