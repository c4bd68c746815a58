// awb export csv: rows or scores; awb export mlflow: settings and scores into an MLflow server, over its REST API. What is there already
// is not doubled.

import { EXIT, interruption, messageOf, UserError, unavailable } from '../core/errors.js';
import { asObject, isObject, type JsonObject, parseObject } from '../core/json.js';
import { oneLine, printable } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { proxiedDownloads } from '../model/http/wire.js';
import { figuresOf, rowsCsv, scoresCsv } from '../report/run-csv.js';
import { JUDGED_RUN, RUN_OPTIONS } from '../results/databases.js';
import { readRun } from '../results/find.js';
import { deliver, print } from '../results/output.js';
import { namesOf, type ReadRun } from '../results/read-run.js';
import { cutPasswords, httpUrl } from '../settings/address.js';
import { defineCommand, option } from '../settings/command.js';

export const csv = defineCommand({
  description:
    'Writes a run as CSV (RFC 4180), a line for each judgement with ratings, score, status and measures, or a line for each figure. What a spreadsheet would take for a formula has an apostrophe in front.',
  examples: {
    'awb export csv results/step-100 --output rows.csv': 'a line for each judgement',
    'awb export csv results/step-100 --scores': 'the figures by domain, with intervals',
    'awb export csv step-100 --db runs.sqlite | head': 'of a stored run',
  },
  options: {
    run: JUDGED_RUN,
    output: option.text('FILE', 'file to write (default: stdout)'),
    scores: option.flag('the figures by domain in place of the judgements'),
    db: RUN_OPTIONS.db,
  },
  operands: ['run'],
  async run(settings, io) {
    const run = await readRun(settings.run, settings, io);
    const lines = settings.scores ? [scoresCsv(run.card, namesOf(run))] : rowsCsv(run.rows, namesOf(run));
    await deliver([...lines].join(''), settings, io);
    return EXIT.done;
  },
});

/** The tag by which a run is found again. */
const RUN_TAG = 'awb.run';
/** What a server takes in one call. */
const MOST_AT_ONCE = 100;

export const mlflow = defineCommand({
  description:
    'Puts a judged run into an MLflow server: settings and identity as parameters, and scores by domain as metrics (at the step of --meta step=N). The same command again updates the same MLflow run. MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, are sent to the server.',
  examples: {
    'awb export mlflow results/step-100 --tracking-uri http://mlflow:5000': 'into the experiment agentworldbench',
    'awb export mlflow step-100 --db runs.sqlite --experiment nightly': 'a stored run, to MLFLOW_TRACKING_URI',
  },
  options: {
    run: JUDGED_RUN,
    'tracking-uri': option.text('URL', 'the MLflow server (default: MLFLOW_TRACKING_URI)', { check: httpUrl }),
    experiment: option.text('NAME', 'made where there is none (default: MLFLOW_EXPERIMENT_NAME, else agentworldbench)'),
    db: RUN_OPTIONS.db,
  },
  operands: ['run'],
  async run(settings, io) {
    const server = mlflowAt(trackingUri(settings.trackingUri, io.env), io);
    const name = settings.experiment ?? (io.env.MLFLOW_EXPERIMENT_NAME || 'agentworldbench');
    const run = await readRun(settings.run, settings, io);
    const record = recordOf(run);
    const experiment = await experimentOf(server, name);
    const search = { experiment_ids: [experiment], filter: `tags.\`${RUN_TAG}\` = '${record.id}'`, max_results: 1 };
    const [before] = objectsIn((await server.post('runs/search', search)).runs);
    const creation = {
      experiment_id: experiment,
      run_name: run.name,
      start_time: record.startMs,
      // With it the run is found again, whatever cuts the rest off.
      tags: [{ key: RUN_TAG, value: record.id }],
    };
    const there = before ?? asObject((await server.post('runs/create', creation)).run);
    const info = asObject(there.info);
    const runId = textIn(info, 'run_id', server);
    // MLflow changes no parameters: they keep the value of the first export.
    const known = new Set(objectsIn(asObject(there.data).params).map(({ key }) => key));
    const parts = {
      params: record.params.filter(({ key }) => !known.has(key)),
      tags: record.tags,
      // A metric that stands there with the same time, step and value is the same one.
      metrics: record.metrics.map(([key, value]) => ({ key, value, timestamp: record.endMs, step: record.step })),
    };
    for (const [kind, items] of Object.entries(parts)) {
      for (let at = 0; at < items.length; at += MOST_AT_ONCE) {
        await server.post('runs/log-batch', { run_id: runId, [kind]: items.slice(at, at + MOST_AT_ONCE) });
      }
    }
    const state = run.manifest?.state ?? 'complete';
    const ended = { status: state === 'complete' ? 'FINISHED' : 'FAILED', end_time: record.endMs };
    const status = state === 'running' ? { status: 'RUNNING' } : ended;
    await server.post('runs/update', { run_id: runId, run_name: run.name, ...status });
    const url = `${server.root}/#/experiments/${experiment}/runs/${runId}`;
    const updated = before !== undefined;
    const ids = { experiment: name, experiment_id: experiment, run_id: runId };
    const text = `${updated ? 'updated' : 'exported'}: ${printable(url)}\n`;
    print({ schema: 'awb.mlflow-export/1', ...ids, updated, url }, () => text, settings, io);
    return EXIT.done;
  },
});

/** @throws UserError (2) where there is none, or where it is not the address of a server */
function trackingUri(given: string | undefined, { MLFLOW_TRACKING_URI: named }: Io['env']): string {
  const address = given ?? named ?? '';
  if (httpUrl(address) === undefined) return address;
  throw new UserError('name the MLflow server (http:// or https://) by --tracking-uri, or MLFLOW_TRACKING_URI');
}

/** The experiment's id; it is made where there is none. @throws UserError (2) for one that was deleted */
async function experimentOf(server: MlflowServer, name: string): Promise<string> {
  const query = new URLSearchParams({ experiment_name: name });
  const found = await server.get(`experiments/get-by-name?${query}`, 'RESOURCE_DOES_NOT_EXIST');
  if (found === undefined) return textIn(await server.post('experiments/create', { name }), 'experiment_id', server);
  const experiment = asObject(found.experiment);
  if (experiment.lifecycle_stage !== 'deleted') return textIn(experiment, 'experiment_id', server);
  throw new UserError(`the experiment "${name}" was deleted; restore it in MLflow, or name another with --experiment`);
}

function objectsIn(list: unknown): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** A member that is a text; the server is not an MLflow where it has none. @throws UserError (69) */
function textIn(found: JsonObject, name: string, { root }: MlflowServer): string {
  const value = found[name];
  if (typeof value === 'string' && value !== '') return value;
  throw unavailable(`${root} answers, but not as an MLflow server does; check --tracking-uri`);
}

type MlflowServer = ReturnType<typeof mlflowAt>;

const API = 'api/2.0/mlflow';
const TIME_LIMIT_MS = 60_000;
const CREDENTIALS = 'set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD';

/**
 * The server at an address. `MLFLOW_TRACKING_TOKEN`, or `MLFLOW_TRACKING_USERNAME` and `MLFLOW_TRACKING_PASSWORD`, are sent to it.
 * Calls throw UserError: 77 where it refuses the credentials, 69 where it cannot be reached or refuses for another reason, and 130 or 143
 * once `io.stop` is aborted.
 */
function mlflowAt(address: string, io: Pick<Io, 'env' | 'stop'>) {
  const url = new URL(address);
  const root = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  const { authorization, secrets } = credentials(url, io.env);
  const { fetch: send } = proxiedDownloads(io.env);
  const clean = (text: string) =>
    secrets.reduce((cut, secret) => cut.replaceAll(secret, '[secret]'), oneLine(printable(cutPasswords(text)), 300));

  /** @param missing what MLflow calls a refusal that says that something is not there: undefined is given for it */
  async function call(path: string, body?: object, missing?: string) {
    const headers = { ...(authorization && { authorization }), 'content-type': 'application/json' };
    const signal = AbortSignal.any([io.stop, AbortSignal.timeout(TIME_LIMIT_MS)]);
    const sent = body === undefined ? { method: 'GET' } : { method: 'POST', body: JSON.stringify(body) };
    // A token goes to the server that was named alone.
    const request = { ...sent, headers, redirect: 'manual', signal } as const;
    const { ok, status, text } = await send(new URL(`${root}/${API}/${path}`), request)
      .then(async (response) => ({ ok: response.ok, status: response.status, text: await response.text() }))
      .catch((error: unknown) => {
        if (io.stop.aborted) throw new UserError('interrupted; the same command goes on', interruption(io.stop));
        if (error instanceof UserError) throw error;
        const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
        const why = clean(messageOf(cause) || 'connection failed');
        const remedy = 'check --tracking-uri, and that the server runs';
        throw unavailable(`no answer from the MLflow server at ${root} (${why}); ${remedy}`);
      });
    const found = parseObject(text);
    if (ok) return found ?? {};
    const { error_code: code, message } = found ?? {};
    if (missing !== undefined && code === missing) return undefined;
    const isAccess = status === 401 || status === 403;
    const remedy = isAccess ? CREDENTIALS : clean(typeof code === 'string' ? code : 'check --tracking-uri');
    const said = typeof message === 'string' ? `: ${clean(message)}` : '';
    const what = `the MLflow server at ${root} refuses (${status})${said}; ${remedy}`;
    throw new UserError(what, isAccess ? EXIT.authRefused : EXIT.unavailable);
  }
  return {
    /** Its address without credentials. */
    root,
    get: (path: string, missing: string) => call(path, undefined, missing),
    post: async (path: string, body: object) => (await call(path, body)) ?? {},
  };
}

function credentials(url: URL, env: Io['env']) {
  const token = env.MLFLOW_TRACKING_TOKEN?.trim() ?? '';
  const user = env.MLFLOW_TRACKING_USERNAME || decodeURIComponent(url.username);
  const password = env.MLFLOW_TRACKING_PASSWORD || decodeURIComponent(url.password);
  if (user === '' && token === '') return { authorization: undefined, secrets: [] };
  // fetch would show such a token in its error.
  if (!/^[\x21-\x7e]*$/.test(token)) {
    throw new UserError('MLFLOW_TRACKING_TOKEN holds characters that no token has; set it anew');
  }
  // As MLflow's own clients do, user and password come before a token.
  const basic = Buffer.from(`${user}:${password}`).toString('base64');
  const authorization = user === '' ? `Bearer ${token}` : `Basic ${basic}`;
  return { authorization, secrets: [token, password, basic].filter((secret) => secret !== '') };
}

/** Older servers take no longer values of parameters; tags may be longer. */
const MOST_VALUE = 500;
const MOST_NAME = 250;

/** What MLflow keeps: parameters and tags are texts of some length, a metric has a step and a time. */
function recordOf(run: ReadRun) {
  const { made, manifest, card } = run;
  const names = namesOf(run);
  const { identity = {}, settings = {}, predictions } = manifest ?? {};
  const startMs = Date.parse(made.startedAt ?? '') || 0;
  const meta = Object.entries(made.meta).map(([key, value]) => [`meta.${key}`, value] as const);
  const tags = {
    [RUN_TAG]: names.id,
    'awb.mode': made.mode,
    'awb.world_model': made.worldModel,
    'awb.judge': made.judgeName,
    'awb.rubrics': made.rubricPack,
    'awb.state': manifest?.state,
    'awb.version': manifest?.tool?.version,
  };
  return {
    id: names.id,
    startMs,
    endMs: Date.parse(made.endedAt ?? '') || startMs,
    params: keyedTexts([
      ...flattened('judge', settings),
      ...flattened('infer', predictions?.settings ?? {}),
      ...flattened('identity', identity),
    ]),
    tags: keyedTexts([...Object.entries(tags), ...meta]),
    metrics: Object.entries(metricsOf(card)),
    step: /^\d{1,15}$/.test(made.meta.step ?? '') ? Number(made.meta.step) : 0,
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

/** The members of members by their paths; a list is one value. */
function flattened(path: string, value: unknown): (readonly [string, unknown])[] {
  if (!isObject(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, member]) => flattened(`${path}.${name}`, member));
}

/** What is there, as texts. Names may become the same by what MLflow allows in them, and it takes a key once: the last one. */
function keyedTexts(entries: readonly (readonly [name: string, value: unknown])[]) {
  const texts = new Map<string, string>();
  for (const [name, value] of entries) {
    const text = typeof value === 'string' ? value : JSON.stringify(value ?? undefined);
    if (text !== undefined) texts.set(metricName(name), text.slice(0, MOST_VALUE));
  }
  return [...texts].map(([key, value]) => ({ key, value }));
}
