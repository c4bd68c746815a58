// What an MLflow run is to hold of a judged run: parameters, metrics, tags and files.

import { isObject } from '../../json.js';
import { figuresOf } from '../../report/export/figures.js';
import type { RunNames } from '../../report/export/rows-csv.js';
import { scoresCsv } from '../../report/export/scores-csv.js';
import type { ReadRun } from '../read-run.js';

/** What MLflow keeps: parameters and tags are texts of some length, a metric has a step and a time. */
export interface MlflowRecord {
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
export const RUN_TAG = 'awb.run';
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
      'scores.csv': scoresCsv(figuresOf(card), names),
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
