// Calibrations in the SQLite file: written with their figures, and what they come to read back.

import { type Calibration, type CalibrationPart, decidingP } from '../calibration.js';
import type { JudgeTrust } from '../judge-trust.js';
import type { Estimate } from '../types.js';
import type { CalibrationRecord, StoredCalibration } from './records.js';
import { insertion, Row, rowsOf, type Sqlite } from './sqlite.js';

/** Writes a calibration with its figures in one transaction. One of the same identity is replaced, and keeps its number. */
export function saveCalibration(database: Sqlite, record: CalibrationRecord): { id: number; replaced: boolean } {
  return database.immediate(() => {
    const found = database.prepare('SELECT id FROM calibrations WHERE identity = ?').get(record.identity);
    const before = found && new Row(found).number('id');
    if (before !== undefined) database.prepare('DELETE FROM calibrations WHERE id = ?').run(before);
    const values = { id: before ?? null, ...valuesOf(record) };
    const inserted = insertion(database, 'calibrations', Object.keys(values)).run(...Object.values(values));
    return { id: Number(inserted.lastInsertRowid), replaced: before !== undefined };
  });
}

function valuesOf(record: CalibrationRecord) {
  const { trust, calibration } = record;
  return {
    identity: record.identity,
    judge_key: record.judgeKey,
    judge_model: record.judgeModel,
    judge_snapshot: record.judgeSnapshot ?? null,
    rubric_pack: record.rubricPack ?? null,
    rubric_fingerprint: record.rubricFingerprint ?? null,
    verdicts: record.verdicts ?? null,
    sampling: JSON.stringify(record.sampling),
    source: record.source,
    manifest: record.manifest,
    started_at: record.startedAt,
    ended_at: record.endedAt ?? null,
    saved_at: record.savedAt,
    tool_version: record.toolVersion,
    judged: calibration.overall.judged,
    failed: calibration.overall.failed,
    ceiling: trust.ceiling ?? null,
    noise: trust.noise ?? null,
    damages: trust.damages,
    blind: trust.blind,
    undecided: trust.undecided,
    gullible: trust.gullible ?? null,
    document: record.document,
    figures: JSON.stringify(figuresDocument(calibration)),
  };
}

/** A figure of a calibration; what its kind has not is absent. */
interface Figure {
  readonly figure: string;
  /** Of which variant, and which one it was held against. */
  readonly variant?: string;
  readonly against?: string;
  readonly dimension?: string;
  readonly estimate: Pick<Estimate, 'value'> & Partial<Estimate>;
  /** Of a step: `decidingP`. */
  readonly adjustedP?: number | undefined;
  /** What follows from it, in a word. */
  readonly verdict?: string | undefined;
}

/** The figures of a calibration, as the view of them takes them. */
function figuresDocument({ overall, domains }: Calibration): object[] {
  return [{ ...overall, domain: '' }, ...domains].flatMap((part) =>
    Array.from(figuresOf(part), ({ estimate, ...figure }) => ({ domain: part.domain, ...figure, ...estimate })),
  );
}

function* figuresOf(part: CalibrationPart): Generator<Figure> {
  for (const figure of ['ceiling', 'truth', 'floor'] as const) {
    const estimate = part[figure];
    if (estimate !== undefined) yield { figure, estimate };
  }
  const { falsePenalty, gullibility, noise, smallestDifference } = part;
  if (falsePenalty !== undefined) {
    const verdict = { true: 'none', false: 'some' }[String(falsePenalty.isNone)];
    yield { figure: 'false_penalty', estimate: falsePenalty.cost, verdict };
  }
  for (const { variant, score } of part.scores) yield { figure: 'score', variant: variant.name, estimate: score };
  for (const { variant, loss, dimensions, sight } of part.losses) {
    yield { figure: 'loss', variant: variant.name, dimension: 'total', estimate: loss, verdict: sight };
    for (const [dimension, estimate] of Object.entries(dimensions)) {
      yield { figure: 'loss', variant: variant.name, dimension, estimate };
    }
  }
  for (const step of part.steps) {
    const { better, worse, difference, order } = step;
    const names = { variant: better.name, against: worse.name };
    yield { figure: 'step', ...names, estimate: difference, adjustedP: decidingP(step), verdict: order };
  }
  for (const { variant, gain } of part.canaries) yield { figure: 'gain', variant: variant.name, estimate: gain };
  if (gullibility !== undefined) {
    yield { figure: 'gullibility', variant: gullibility.variant.name, estimate: gullibility.gain };
  }
  if (noise !== undefined) {
    const { sd, low, high, predictions } = noise;
    const ends = { ...(low === undefined ? {} : { low }), ...(high === undefined ? {} : { high }) };
    yield { figure: 'noise', estimate: { value: sd, rows: predictions, ...ends } };
  }
  if (smallestDifference !== undefined)
    yield { figure: 'smallest_difference', estimate: { value: smallestDifference } };
}

/** Every calibration, in the order of their ids. @throws DamagedValue */
export function readCalibrations(database: Sqlite): StoredCalibration[] {
  const columns = 'judge_key, started_at, ended_at, ceiling, noise, damages, blind, undecided, gullible';
  return Array.from(rowsOf(database, `SELECT ${columns} FROM calibrations ORDER BY id`), (row) => ({
    judgeKey: row.text('judge_key'),
    at: row.textIn('ended_at') ?? row.text('started_at'),
    trust: trustIn(row),
  }));
}

function trustIn(row: Row): JudgeTrust {
  const [ceiling, noise, gullible] = [row.numberIn('ceiling'), row.numberIn('noise'), row.numberIn('gullible')];
  return {
    ...(ceiling === undefined ? {} : { ceiling }),
    ...(noise === undefined ? {} : { noise }),
    damages: row.number('damages'),
    blind: row.number('blind'),
    undecided: row.number('undecided'),
    ...(gullible === undefined ? {} : { gullible }),
  };
}
