// The JSON Schemas in schemas/: for documents of --json, events, and the files that users write. test/cli/schemas.test.ts keeps them up to date.

import { z } from 'zod';
import { PACK } from '../benchmark/rubric-pack.js';
import { PRICE } from '../core/costs.js';
import { COUNT, ESTIMATE, FIGURE, keyed, TEXT } from '../core/document.js';
import { groupBy, heldIn } from '../core/groups.js';
import { DOMAINS } from '../core/types.js';
import { PRICE_FILE } from '../model/prices/prices.js';
import { COMPARE } from '../report/comparison.js';
import { LEADERBOARD } from '../report/formats.js';
import { GATE } from '../report/gate.js';
import { METHODS } from '../report/methods.js';
import { ON_SCENARIOS, SCORE } from '../report/score.js';
import { REMOVAL, RUN, RUNS } from '../results/stored-runs.js';
import { RUN_COUNTS, STATE, USAGE as usage } from '../run/manifest.js';
import { type CommandEntry, FLAGS_ONLY, type OptionSpec, type OptionTable, schemaUrl } from '../settings/command.js';
import { NUMBER_FORMS } from '../settings/sources.js';
import { fileForm, scenarioForm, worldForm } from '../simulate/scenarios/forms.js';
import { PANEL } from '../stats/agreement/panel.js';
import { AGREE } from '../stats/agreement/people.js';
import { CALIBRATION } from '../stats/calibration/document.js';
import { policyForm } from '../stats/policy.js';
import { SCENARIOS } from '../stats/scenarios.js';
import { SAMPLES } from './samples.js';

const text = z.string();
const texts = z.array(text);
const number = z.number();
const flag = z.boolean();
const counts = z.record(text, COUNT);
const object = z.strictObject;
const members = z.record(text, z.unknown());
const exit_code = COUNT;
const run = object({ name: text, source: text });
const place = object({ file: text, line: COUNT });
const rowSize = object({ ...place.shape, domain: text, context_tokens: COUNT });
const spent = object({
  ...{ tokens: COUNT, estimated: COUNT, usd: number.optional() },
  budget: object({ usd: number.optional(), tokens: COUNT.optional() }),
});
const estimated = object(keyed(number, 'expected', 'at_least', 'at_most'));
const charges = {
  ...keyed(number, 'rows', 'calls', 'characters', 'prompt_tokens', 'cached_tokens'),
  output_tokens: estimated,
  ...keyed(estimated.nullable(), 'usd', 'usd_cached'),
};
/** Which earlier runs a figure of a bill is measured on. */
const measured = { runs: texts.optional(), models: texts.optional() };
const share = object(keyed(number, 'budget', 'spent', 'covers')).nullable();
const spread = object({ ...keyed(number, 'median', 'p90', 'max'), bins: z.array(COUNT) });
const rowStats = object({
  rows: COUNT,
  trajectories: COUNT,
  ...keyed(spread, 'turn', 'context_tokens', 'truth_tokens'),
});
const progress = { ...keyed(COUNT, 'ok', 'failed'), ...keyed(COUNT.optional(), 'total', 'left') };
const pace = { ...keyed(number.optional(), 'rows_per_second', 'seconds_left', 'usd'), tokens: COUNT };
const players = <Form extends z.ZodType>(form: Form) => object({ agent: form, world: form });

const STAGE = {
  ...{ exit_code, state: STATE, stop_reason: text.optional() },
  batch: object({
    ...{ dir: text, awaited: COUNT, written: COUNT, notes: texts },
    parts: z.array(object({ file: text, ...keyed(COUNT, 'requests', 'bytes', 'answered', 'awaited') })),
  }).optional(),
  ...{ output: text.optional(), label: text.optional(), meta: z.record(text, text), fingerprint: text },
  ...{ chosen: counts, counts: RUN_COUNTS, reasons: z.record(text, text), tokens: usage, spent },
  ...{ served_models: texts, notices: texts, asked: COUNT, seconds: number },
};
const COMPARED_TOTAL = object(keyed(FIGURE.optional(), 'difference', 'low', 'high', 'base', 'candidate')).nullable();

/** The members of documents that no other module describes, without `schema`. */
const OTHERS = {
  'awb.init/1': { files: z.array(object({ path: text, state: z.enum(['written', 'kept']) })) },
  'awb.infer/1': STAGE,
  'awb.judge/1': STAGE,
  'awb.likelihood/1': STAGE,
  'awb.calibrate-run/1': STAGE,
  'awb.scenarios-run/1': STAGE,
  'awb.cost-estimate/1': {
    ...{ kind: text, model: text, hosts: texts },
    rows: object(keyed(COUNT, 'chosen', 'done', 'without_call', 'absent', 'to_ask')),
    ...{ domains: z.array(object({ domain: text, ...charges })), total: object(charges) },
    tokens_by: z.discriminatedUnion('by', [
      object({ by: z.literal('tokenizer'), file: text }),
      object({ by: z.literal('guess'), characters_per_token: number }),
      object({ by: z.literal('measured'), characters_per_token: number, calls: COUNT, ...measured }),
    ]),
    ...{ output_by: members, max_tokens: COUNT, price: PRICE.nullable() },
    time: object({ ...keyed(number, 'seconds', 'per_minute'), at_least: flag, by: text, ...measured }).nullable(),
    measured_cache: object({ share: number, usd: FIGURE, ...measured }).nullable(),
    asked_again: object({ ...keyed(number, 'times', 'calls', 'prompt_tokens'), usd: FIGURE, ...measured }).nullable(),
    budget: object({ is_spent: flag, usd: share, tokens: share }).nullable(),
    servers: z.array(object({ host: text, model: TEXT, context_tokens: FIGURE })),
    ...{ overlong: z.array(members), notes: texts },
  },
  'awb.recheck/1': {
    ...{ exit_code, state: STATE, judged: text, output: text.optional(), snapshot_before: TEXT, snapshot_now: TEXT },
    ...{ counts: RUN_COUNTS, shift: ESTIMATE.nullable(), ...keyed(FIGURE, 'judge_sd', 'smallest_shift') },
    drifted: flag.nullable(),
  },
  'awb.status/1': {
    runs: z.array(
      object({
        ...{ dir: text, name: text, kind: text, label: text.optional(), state: z.enum([...STATE.options, 'killed']) },
        process: object({ pid: COUNT, host: text }).optional(),
        ...{ started_at: text, ended_at: text.optional(), last_record_at: text.optional(), ...progress, ...pace },
        domains: z.record(text, object(progress)),
        failures: z.array(object({ class: text, rows: COUNT, reason: text.optional() })),
      }),
    ),
    total: object({ runs: COUNT, ...progress, ...pace }),
  },
  'awb.merge/1': {
    exit_code,
    runs: z.array(
      object({
        ...{ run: text, kind: text, state: STATE, output: text.optional(), fingerprint: text, chosen: counts },
        ...{ counts: RUN_COUNTS, reasons: z.record(text, text), missing: counts },
        parts: z.array(object({ dir: text, shard: text.optional(), state: STATE, rows: COUNT.optional() })),
        ...{ duplicates: object(keyed(COUNT, 'identical', 'recovered')), damages: texts },
      }),
    ),
    notes: texts,
  },
  'awb.report/1': { output: text, url: text, samples: COUNT, bytes: COUNT, run, compare: run.nullable() },
  'awb.rate/1': {
    ...{ output: text, url: text, ...keyed(COUNT, 'samples', 'shared', 'seed', 'bytes') },
    ...{ blind: flag, runs: texts },
  },
  'awb.view/1': { url: text, output: text.optional(), files: COUNT.optional(), bytes: COUNT.optional() },
  'awb.quickstart/1': { db: text, page: text, runs: z.record(text, SCORE) },
  'awb.batch-status/1': {
    ...{ folder: text, base_url: text, run: object({ kind: text, dir: text }), ended: flag, fetched: flag },
    parts: z.array(
      object({
        ...{ file: text, state: text, ...keyed(COUNT, 'requests', 'bytes', 'missing') },
        ...keyed(flag, 'ended', 'fetched', 'short'),
        ...keyed(TEXT, 'first_missing', 'input_file_id', 'batch_id', 'outputs', 'errors'),
        ...keyed(FIGURE, 'sent_requests', 'completed', 'failed', 'created_at', 'expires_at'),
        problems: z.array(z.unknown()),
      }),
    ),
  },
  'awb.batch-run/1': { folder: text, file: text, ...keyed(COUNT, 'requests', 'answered', 'errors', 'missing') },
  'awb.data-fetch/1': {
    ...{ folder: text, hub: text, repository: text, revision: text, commit: text },
    files: z.array(object({ name: text, bytes: COUNT, sha256: TEXT, state: text })),
    ...{ fetched_bytes: COUNT, aside: TEXT, strangers: texts },
  },
  'awb.data-check/1': {
    ...{ folder: text, status: z.enum(['as-released', 'differs', 'unusable']), differences: texts, files: texts },
    ...keyed(COUNT, 'rows', 'released', 'trajectories', 'model_context'),
    domains: z.record(
      text,
      object({
        ...{ rows: COUNT, released: FIGURE, trajectories: COUNT },
        context_tokens: object(keyed(FIGURE, 'median', 'max')),
      }),
    ),
    unusable: z.array(object({ ...place.shape, reason: text, domain: text.optional() })),
    equal_rows: z.array(object({ ...place.shape, equals: place })),
    ...{ tokens: text, longest: z.array(rowSize), beyond_context: z.array(rowSize) },
    source: object({
      ...{ status: text, repository: text.optional(), revision: text.optional(), commit: text.optional() },
      files: z.array(object({ name: text, state: text })).optional(),
      strangers: texts.optional(),
    }),
  },
  'awb.data-stats/1': {
    ...{ folder: text, tokens: text, domains: z.record(text, rowStats), all: rowStats },
    bin_edges: object(keyed(z.array(number), 'turn', 'context_tokens', 'truth_tokens')),
  },
  'awb.scenario-suite/1': {
    ...{ name: text, fingerprint: text },
    scenarios: z.array(
      object({
        ...{ ...keyed(text, 'name', 'about', 'put', 'instruction'), domains: texts, verifiers: texts },
        ...{ steps: COUNT, own_start: flag, rows: FIGURE },
      }),
    ),
  },
  'awb.simulate/1': {
    ...{ exit_code, state: STATE, stop_reason: text.optional(), output: text, label: text.optional() },
    ...{ meta: z.record(text, text), fingerprint: text },
    episodes: object({ ...keyed(COUNT, 'chosen', 'ended', 'failed', 'not_done'), by_domain: counts }),
    ...{ ends: counts, rows: COUNT, steps: COUNT },
    failures: z.record(text, object({ episodes: COUNT, reason: text })),
    ...{ tokens: players(usage), calls: players(COUNT), served_models: players(texts) },
    ...{ spent, notices: texts, seconds: number },
  },
  'awb.simulate.cost-estimate/1': {
    ...{ episodes: COUNT, steps: COUNT },
    at_most: object({
      ...players(object(keyed(number, 'calls', 'promptTokens', 'completionTokens'))).shape,
      usd: FIGURE,
    }),
  },
  'awb.environment/1': { url: text, mcp: text.optional(), model: text },
  'awb.serve/1': {
    url: text,
    model: object({
      ...keyed(text, 'name', 'file', 'sha256', 'architecture', 'quantization', 'llamaCpp', 'kvCache', 'gpu'),
      ...keyed(COUNT, 'bytes', 'contextSize', 'slots', 'gpuLayers', 'threads', 'batchSize'),
      flashAttention: flag,
    }),
  },
  'awb.watch-result/1': {
    ...{ at: text, checkpoint: object({ name: text, path: text, stamp: text }), dir: text, base: text, verdict: text },
    ...{ exit_code: exit_code.optional(), summary: TEXT.optional(), advice: TEXT.optional(), reason: text.optional() },
    ...{ score: object({ overall: z.unknown(), coverage: z.unknown() }).nullable().optional() },
    ...{ difference: COMPARED_TOTAL.optional(), will_retry: flag.optional() },
    last_go: object({ name: text, difference: COMPARED_TOTAL }).nullable().optional(),
  },
  'awb.watch-results/1': { exit_code, results: z.array(object({ name: text, verdict: text, result: text })) },
  'awb.run-renamed/1': { db: text, id: COUNT, before: TEXT, label: text, label_given: flag },
  'awb.settings/1': { command: text, settings: z.record(text, object({ value: z.unknown(), from: text })) },
  'awb.mlflow-export/1': { ...keyed(text, 'experiment', 'experiment_id', 'run_id', 'url'), updated: flag },
};

/** Every document of --json, by the `schema` that it names. */
export const DOCUMENTS: Readonly<Record<string, z.ZodType>> = {
  'awb.agree/1': AGREE,
  'awb.calibrate/1': CALIBRATION,
  'awb.compare/1': COMPARE,
  'awb.gate/1': GATE,
  'awb.leaderboard/2': LEADERBOARD,
  'awb.methods/1': METHODS,
  'awb.panel/1': PANEL,
  'awb.run/1': RUN,
  'awb.runs/1': RUNS,
  'awb.runs-removed/1': REMOVAL,
  'awb.samples/1': SAMPLES,
  'awb.scenarios/1': object({ ...SCENARIOS.shape, ...ON_SCENARIOS.partial().shape }),
  'awb.score/1': SCORE,
  ...Object.fromEntries(
    Object.entries(OTHERS).map(([name, shape]) => [name, object({ schema: z.literal(name), ...shape })]),
  ),
};

const LIMIT = { limit: COUNT, before: COUNT.optional(), in_flight: COUNT };
const CAUSE = z.enum(['rate-limit', 'outage', 'not-ready']);

/** The members of an event line by its type, after the common ones (docs/events.md). */
const EVENTS = {
  started: { tool: object({ name: text, version: text }), pid: COUNT, totals: counts, already: counts },
  row: {
    ...{ id: text, domain: text, status: z.enum(['ok', 'failed']), class: text.optional(), reason: text.optional() },
    ...{ flags: texts.optional(), attempts: COUNT, seconds: number.optional(), tokens: usage, usd: number.optional() },
  },
  limit: LIMIT,
  paused: { cause: CAUSE, host: text.optional(), seconds: number.optional(), until: text.optional() },
  resumed: { cause: CAUSE, host: text.optional() },
  budget: {
    spent: object({ tokens: COUNT, estimated_tokens: COUNT, usd: number.optional() }),
    ...{ budget: object({ usd: number.optional(), tokens: COUNT.optional() }), reached: flag },
  },
  notice: { text },
  finished: {
    ...{ state: STATE, exit_code, reason: text.optional(), asked: COUNT, seconds: number, tokens: usage },
    counts: object({ ...keyed(COUNT, 'chosen', 'ok', 'failed', 'not_done', 'absent'), failures: counts }),
    spent: object({ tokens: COUNT, usd: number.optional() }),
  },
};

/** A line of --events. */
const EVENT = z.union(
  Object.entries(EVENTS).map(([type, shape]) => {
    const run = object({ kind: text, dir: text, label: text.optional() });
    return object({ v: z.literal('awb.events/1'), type: z.literal(type), at: text, run, ...shape });
  }),
);

/** What a setting may be in a configuration file, which may write numbers and switches as text. */
function settingForm(option: OptionSpec): z.ZodType {
  const scalar = z.union([text.min(1), number, flag]);
  const words = 'words' in option ? (option.words ?? []) : [];
  const { min = -Infinity, max = Infinity } = 'min' in option || 'max' in option ? option : {};
  const form = {
    text: () => scalar,
    integer: () =>
      z.union([z.int().min(min).max(max), text.regex(NUMBER_FORMS.integer), ...words.map((word) => z.literal(word))]),
    number: () =>
      z.union([number.min(min).max(max), text.regex(NUMBER_FORMS.number), ...words.map((word) => z.literal(word))]),
    duration: () => z.union([number.min(min), text.regex(NUMBER_FORMS.duration)]),
    boolean: () => z.union([flag, z.literal([0, 1]), text.regex(/^(true|false|yes|no|on|off|0|1)$/i)]),
    choice: () => z.enum('choices' in option ? option.choices : []),
    list: () => z.union([z.array(scalar).min(1), scalar]),
    map: () => z.union([z.record(text, scalar), text.regex(/=/)]),
    json: () => z.union([members, text.regex(/^\s*\{/)]),
  }[option.kind]();
  return 'default' in option && option.default !== undefined
    ? form.meta({ description: option.help, default: option.default })
    : form.describe(option.help);
}

/** A configuration file: settings by flag name, at the top level and in a section for each command. */
async function configForm(commands: readonly CommandEntry[]) {
  // A setting that several commands share is one form, so its schema appears once.
  const known = new Map<string, z.ZodType>();
  const formsOf = (table: OptionTable) =>
    Object.fromEntries(
      Object.entries(table)
        .filter(([name]) => !FLAGS_ONLY.includes(name))
        .map(([name, option]) => {
          const form = heldIn(known, JSON.stringify([name, option]), () => settingForm(option).optional());
          return [name, form] as const;
        }),
    );
  const sections = await Promise.all(
    commands.map(async ({ name, summary, load }) => [name, summary, formsOf((await load()).command.options)] as const),
  );
  const own = sections.map(([name, summary, forms]) => [name, object(forms).nullish().describe(summary)] as const);
  const byName = groupBy(
    sections.flatMap(([, , forms]) => Object.entries(forms)),
    ([name]) => name,
  );
  const all = [...byName].map(([name, found]) => [name, z.union([...new Set(found.map(([, form]) => form))])] as const);
  return object(Object.fromEntries([...all, ...own])).nullable();
}

type Completed = Parameters<NonNullable<z.core.ToJSONSchemaParams['override']>>[0];

/** Corrects a schema from zod: adds the short form that `z.preprocess` expands, and allows the user's own domains as keys. */
function complete({ zodSchema, jsonSchema }: Completed): void {
  const { def } = zodSchema._zod;
  if (def.type === 'record') delete jsonSchema.propertyNames;
  if (jsonSchema.maximum === Infinity) delete jsonSchema.maximum;
  if (jsonSchema.minimum === -Infinity) delete jsonSchema.minimum;
  if (def.type !== 'pipe' || def.in._zod.def.type !== 'transform') return;
  const long = { ...jsonSchema };
  const { pattern, phrases } = long.properties ?? {};
  const short = phrases ? (['string', 'array'] as const) : ([pattern || long.items ? 'string' : 'number'] as const);
  // The short form, a number, has the bounds of the number in the long form.
  const { points, max } = long.properties ?? {};
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = Object(points ?? max ?? long.additionalProperties);
  for (const key of Object.keys(long)) delete jsonSchema[key];
  jsonSchema.anyOf = [...short.map((type) => (type === 'number' ? { type, minimum, maximum } : { type })), long];
}

/** The texts of schemas/, by file name without its ending. */
export async function jsonSchemas(commands: readonly CommandEntry[]): Promise<Readonly<Record<string, string>>> {
  const written = {
    config: await configForm(commands),
    'gate-policy': policyForm(DOMAINS),
    prices: PRICE_FILE,
    'rubric-pack': PACK,
    'scenario-suite': object({
      ...fileForm.shape,
      scenarios: z.array(scenarioForm).optional(),
      world: worldForm.optional(),
    }),
    events: EVENT,
  };
  const all = {
    ...written,
    ...Object.fromEntries(Object.entries(DOCUMENTS).map(([name, form]) => [name.replace('/', '-'), form])),
  };
  return Object.fromEntries(
    Object.entries(all).map(([name, form]) => {
      const io = name in written ? 'input' : 'output';
      const schema = z.toJSONSchema(form, { unrepresentable: 'any', override: complete, io, reused: 'ref' });
      return [name, `${JSON.stringify({ $id: schemaUrl(name), ...schema }, null, 1)}\n`];
    }),
  );
}
