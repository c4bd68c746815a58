// Made-up judged files with their manifests, for tests that compare runs.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DIMENSIONS, type Dimension, DOMAINS, type Domain } from '../../src/core/types.js';
import { awb } from './cli.js';

export interface JudgedRun {
  readonly label?: string;
  /** The rating (1 to 5) of a row, by domain and position in it; undefined for a row that the judge failed. */
  readonly rating: (domain: Domain, row: number) => number | undefined;
  /** Rows whose prediction the model refused. */
  readonly refuses?: (domain: Domain, row: number) => boolean;
  readonly domains?: readonly Domain[];
  /** Rows without a rating in a dimension. */
  readonly unrated?: Partial<Record<Dimension, (domain: Domain, row: number) => boolean>>;
  /** Rows in each domain, two per trajectory. */
  readonly rows?: number;
  readonly weakness?: (domain: Domain, row: number) => string;
  /** A prefix for every row's key. */
  readonly prefix?: string;
  /** Replaces what the manifests of the judge and the predictions say. */
  readonly identity?: object;
  readonly predictions?: object;
  readonly meta?: object;
}

let runs = 0;

/** Writes `<dir>/judged.jsonl` with its manifest, scores it if a `db` is given, and returns the file's path. */
export async function judgedRun(dir: string, run: JudgedRun, db?: string): Promise<string> {
  const { label, domains = DOMAINS, rows = 20, prefix = '' } = run;
  await mkdir(dir, { recursive: true });
  const lines = domains.flatMap((domain) =>
    Array.from({ length: rows }, (_, row) => JSON.stringify(rowOf(run, domain, row, prefix))),
  );
  const startedAt = new Date(Date.UTC(2026, 0, 1, 0, 0, ++runs)).toISOString();
  const manifest = {
    schema: 'awb.manifest/1',
    kind: 'judge',
    meta: {},
    identity: {
      mode: 'rubric',
      judge: 'judge-model',
      rubrics: { name: 'bundled', fingerprint: 'abcdef' },
      verdicts: 'strict',
      sampling: {},
      ...run.identity,
    },
    startedAt,
    endedAt: startedAt,
    chosen: Object.fromEntries(domains.map((domain) => [domain, rows])),
    predictions: {
      label,
      meta: run.meta ?? {},
      identity: { model: 'wm', protocol: 'history', system_prompt: 'row', data: 'data', ...run.predictions },
      startedAt,
      costs: Object.fromEntries(
        domains.map((domain) => [domain, { rows, unpriced: rows, usage: { completionTokens: 500 * rows } }]),
      ),
      counts: { ok: rows * domains.length, failed: 0 },
    },
  };
  const file = join(dir, 'judged.jsonl');
  await writeFile(file, `${lines.join('\n')}\n`);
  await writeFile(join(dir, 'judged.manifest.json'), JSON.stringify(manifest));
  if (db !== undefined) {
    const { code, stderr } = await awb(['score', '--predictions', file, '--db', db]);
    if (code !== 0 && code !== 3) throw new Error(stderr);
  }
  return file;
}

function rowOf(run: JudgedRun, domain: Domain, row: number, prefix: string) {
  const rating = run.rating(domain, row);
  const ids = { key: `${prefix}${domain}-${row}`, trajectory: `${domain}-t${row >> 1}`, repeat: 0, flags: [] };
  if (run.refuses?.(domain, row)) {
    const judge = { status: 'failed', class: 'refused', reason: 'no' };
    return { task: domain, turn_idx: 1, total_score: 0, failed: 1, awb: { ...ids, judge } };
  }
  if (rating === undefined) {
    const judge = { status: 'failed', class: 'judge-timeout', reason: 'no end' };
    return { task: domain, turn_idx: 1, total_score: 0, failed: 1, awb: { ...ids, judge } };
  }
  return {
    task: domain,
    turn_idx: 1 + (row % 4),
    ...Object.fromEntries(DIMENSIONS.map((name) => [name, run.unrated?.[name]?.(domain, row) ? 0 : rating])),
    total_score: rating,
    failed: 0,
    weaknesses: [run.weakness?.(domain, row) ?? `weakness of ${domain} ${row}`],
    awb: { ...ids, judge: { status: 'ok' } },
  };
}

/** Ratings around `level` that differ from row to row, and slightly from those of the same rows in another `phase`. */
export function around(level: number, phase = 0): (domain: Domain, row: number) => number {
  return (_, row) => level + (row % 3) * 0.4 + (((row + phase) * 7) % 5) * 0.05;
}
