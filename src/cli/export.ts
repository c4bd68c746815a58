// awb export csv writes rows or scores. awb export mlflow logs settings and scores to an MLflow server over its REST API, without
// duplicating what is already there.

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
    'Writes a run as CSV (RFC 4180): a line per judgement with ratings, score, status and measures, or a line per figure. Cells that a spreadsheet would read as a formula start with an apostrophe.',
  examples: {
    'awb export csv results/step-100 --output rows.csv': 'a line per judgement',
    'awb export csv results/step-100 --scores': 'the figures by domain, with intervals',
    'awb export csv step-100 --db runs.sqlite | head': 'a stored run',
  },
  options: {
    run: JUDGED_RUN,
    output: option.text('FILE', 'file to write (default: stdout)'),
    scores: option.flag('write the figures by domain instead of the judgements'),
    db: RUN_OPTIONS.db,
  },
  operands: ['run'],
  async run(settings, io) {
    if (settings.json) throw new UserError('this command writes CSV; use awb samples --json or awb score --json');
    const run = await readRun(settings.run, settings, io);
    const lines = settings.scores ? [scoresCsv(run.card, namesOf(run))] : rowsCsv(run.rows, namesOf(run));
    await deliver([...lines].join(''), settings, io);
    return EXIT.done;
  },
});

/** The tag that identifies a run. */
const RUN_TAG = 'awb.run';
/** The most items that a server accepts in one call. */
const MOST_AT_ONCE = 100;

export const mlflow = defineCommand({
  description:
    'Logs a judged run to an MLflow server: settings and identity as parameters, scores by domain as metrics (at the step of --meta step=N). Repeating the command updates the same MLflow run. MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, are sent to the server.',
  examples: {
    'awb export mlflow results/step-100 --tracking-uri http://mlflow:5000': 'into the experiment agentworldbench',
    'awb export mlflow step-100 --db runs.sqlite --experiment nightly': 'a stored run, to MLFLOW_TRACKING_URI',
  },
  options: {
    run: JUDGED_RUN,
    'tracking-uri': option.text('URL', 'the MLflow server (default: MLFLOW_TRACKING_URI)', { check: httpUrl }),
    experiment: option.text('NAME', 'experiment to log to (default: MLFLOW_EXPERIMENT_NAME, else agentworldbench)'),
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
      // Sent on creation, so that the run is found again if the rest is cut off.
      tags: [{ key: RUN_TAG, value: record.id }],
    };
    const there = before ?? asObject((await server.post('runs/create', creation)).run);
    const info = asObject(there.info);
    const runId = textIn(info, 'run_id', server);
    // MLflow does not change parameters: they keep the value of the first export.
    const known = new Set(objectsIn(asObject(there.data).params).map(({ key }) => key));
    const parts = {
      params: record.params.filter(({ key }) => !known.has(key)),
      tags: record.tags,
      // MLflow keeps a metric with the same time, step and value only once.
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

/** @throws UserError (2) if there is none, or it is not the address of a server */
function trackingUri(given: string | undefined, { MLFLOW_TRACKING_URI: named }: Io['env']): string {
  const address = given ?? named ?? '';
  if (httpUrl(address) === undefined) return address;
  throw new UserError('name the MLflow server (http:// or https://) with --tracking-uri or MLFLOW_TRACKING_URI');
}

/** The experiment's id; the experiment is created if missing. @throws UserError (2) if it was deleted */
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

/** A text member of a reply. @throws UserError (69) if missing: then the server is not MLflow */
function textIn(found: JsonObject, name: string, { root }: MlflowServer): string {
  const value = found[name];
  if (typeof value === 'string' && value !== '') return value;
  throw unavailable(`${root} responds, but not like an MLflow server; check --tracking-uri`);
}

type MlflowServer = ReturnType<typeof mlflowAt>;

const API = 'api/2.0/mlflow';
const TIME_LIMIT_MS = 60_000;
const CREDENTIALS = 'set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD';

/**
 * The server at an address. `MLFLOW_TRACKING_TOKEN`, or `MLFLOW_TRACKING_USERNAME` and `MLFLOW_TRACKING_PASSWORD`, are sent to it.
 * Calls throw UserError: 77 if it refuses the credentials, 69 if it cannot be reached or refuses for another reason, and 130 or 143
 * once `io.stop` is aborted.
 */
function mlflowAt(address: string, io: Pick<Io, 'env' | 'stop'>) {
  const url = new URL(address);
  const root = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  const { authorization, secrets } = credentials(url, io.env);
  const { fetch: send } = proxiedDownloads(io.env);
  const clean = (text: string) =>
    secrets.reduce((cut, secret) => cut.replaceAll(secret, '[secret]'), oneLine(printable(cutPasswords(text)), 300));

  /** @param missing MLflow's error code for something that does not exist; the call then returns undefined */
  async function call(path: string, body?: object, missing?: string) {
    const headers = { ...(authorization && { authorization }), 'content-type': 'application/json' };
    const signal = AbortSignal.any([io.stop, AbortSignal.timeout(TIME_LIMIT_MS)]);
    const sent = body === undefined ? { method: 'GET' } : { method: 'POST', body: JSON.stringify(body) };
    // Redirects are not followed, so that a token only goes to the named server.
    const request = { ...sent, headers, redirect: 'manual', signal } as const;
    const { ok, status, text } = await send(new URL(`${root}/${API}/${path}`), request)
      .then(async (response) => ({ ok: response.ok, status: response.status, text: await response.text() }))
      .catch((error: unknown) => {
        if (io.stop.aborted) throw new UserError('interrupted; run the same command again', interruption(io.stop));
        if (error instanceof UserError) throw error;
        const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
        const why = clean(messageOf(cause) || 'connection failed');
        const remedy = 'check --tracking-uri and whether the server is running';
        throw unavailable(`no answer from the MLflow server at ${root} (${why}); ${remedy}`);
      });
    const found = parseObject(text);
    if (ok) return found ?? {};
    const { error_code: code, message } = found ?? {};
    if (missing !== undefined && code === missing) return undefined;
    const isAccess = status === 401 || status === 403;
    const remedy = isAccess ? CREDENTIALS : clean(typeof code === 'string' ? code : 'check --tracking-uri');
    const said = typeof message === 'string' ? `: ${clean(message)}` : '';
    const what = `the MLflow server at ${root} refused the request (${status})${said}; ${remedy}`;
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
  // fetch would quote such a token in its error.
  if (!/^[\x21-\x7e]*$/.test(token)) {
    throw new UserError('MLFLOW_TRACKING_TOKEN contains invalid characters; set it again');
  }
  // User and password take precedence over a token, as in MLflow's own clients.
  const basic = Buffer.from(`${user}:${password}`).toString('base64');
  const authorization = user === '' ? `Bearer ${token}` : `Basic ${basic}`;
  return { authorization, secrets: [token, password, basic].filter((secret) => secret !== '') };
}

/** Older servers refuse longer values of parameters; tags may be longer. */
const MOST_VALUE = 500;
const MOST_NAME = 250;

/** The record for MLflow: parameters and tags are texts of limited length, a metric has a step and a time. */
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

/** Metrics by name. MLflow sorts them, so the names group the figures of a domain, and those of Overall under `overall/`. */
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

/** A name with only the characters that MLflow allows: letters, digits, `_-. :/`. */
function metricName(text: string): string {
  return text.replace(/[^\w\-. :/]/g, '_').slice(0, MOST_NAME);
}

/** Nested members by their paths; a list counts as one value. */
function flattened(path: string, value: unknown): (readonly [string, unknown])[] {
  if (!isObject(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, member]) => flattened(`${path}.${name}`, member));
}

/** Defined values as texts. MLflow's limits may make names equal; since it accepts a key only once, the last one wins. */
function keyedTexts(entries: readonly (readonly [name: string, value: unknown])[]) {
  const texts = new Map<string, string>();
  for (const [name, value] of entries) {
    const text = typeof value === 'string' ? value : JSON.stringify(value ?? undefined);
    if (text !== undefined) texts.set(metricName(name), text.slice(0, MOST_VALUE));
  }
  return [...texts].map(([key, value]) => ({ key, value }));
}
