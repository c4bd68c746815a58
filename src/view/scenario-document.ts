// What the page of a run on scenarios is made of, read from its file: its figures, and its samples with their texts.

import { basename } from 'node:path';
import { objectsIn } from '../benchmark/line-file.js';
import { present } from '../core/errors.js';
import { isInteger, isObject, type JsonObject } from '../core/json.js';
import { writtenPrediction } from '../core/reply.js';
import { scenarioIn, stepKey, twinKey } from '../core/scenario-row.js';
import type { JudgedRow } from '../core/types.js';
import { type ReadRun, warningsOn } from '../results/read-run.js';
import { scenarioRows } from '../results/score/scenarios.js';
import type { Fact } from './parts.js';

/** Its texts are models' and users' own, and may be hostile. */
export type ScenarioReport = Awaited<ReturnType<typeof scenarioReport>>;
/** A sample with its texts. */
export type ShownSample = ReturnType<typeof sampleOf>;
export type ShownStep = ShownSample['steps'][number];

const WRITTEN_BY = { hint: 'awb infer --scenarios writes it', command: 'awb infer --scenarios' };

/**
 * @param mostBytes texts of all samples together; those of further samples are left out
 * @throws UserError: 66 and 65 for the file, 130 or 143 once `stop` is aborted
 */
export async function scenarioReport(run: ReadRun, mostBytes: number, stop?: AbortSignal) {
  const lines = await readScenarioLines(run.source, stop);
  const rows = scenarioRows();
  const samples: ShownSample[] = [];
  let [bytes, leftOut] = [0, 0];
  for (const row of run.rows) {
    const fields = present(lines.get(row.key));
    rows.take(row, fields);
    const sample = sampleOf(row, fields, lines);
    bytes += sizeOf(sample);
    if (bytes <= mostBytes) samples.push(sample);
    else leftOut++;
  }
  const { made, name, source, manifest } = run;
  const facts: Fact[] = [
    ['world model', made.worldModel],
    ['suite', textIn(manifest?.identity ?? {}, 'suite')],
    ['protocol', made.protocol],
    ['asked', made.startedAt?.slice(0, 10)],
    ...Object.entries(made.meta),
    ['file', basename(source)],
  ];
  const figures = present(rows.figures());
  return { name, facts, warnings: warningsOn(run), figures, samples, leftOut };
}

/** Every line by the key of its record: samples, the steps before them, and twins. */
async function readScenarioLines(path: string, stop?: AbortSignal): Promise<ReadonlyMap<string, JsonObject>> {
  const lines = new Map<string, JsonObject>();
  for await (const { fields } of objectsIn({ path, ...WRITTEN_BY }, stop)) {
    const key = isObject(fields.awb) ? fields.awb.key : undefined;
    if (typeof key === 'string') lines.set(key, fields);
  }
  return lines;
}

function sampleOf(row: JudgedRow, fields: JsonObject, lines: ReadonlyMap<string, JsonObject>) {
  const count = isInteger(fields.steps) && fields.steps > 0 ? fields.steps : 1;
  const verdicts = Array.isArray(fields.verdicts) ? fields.verdicts : [];
  const twin = twinKey(row.key, count);
  const steps = Array.from({ length: count }, (_, step) => {
    const own = lines.get(stepKey(row.key, step, count));
    return {
      action: (own && textIn(own, 'action')) ?? '',
      /** What was predicted with the instruction, and by the twin without it; undefined where nobody knows. */
      prediction: predictionIn(own),
      twin: predictionIn(lines.get(stepKey(twin, step, count))),
      verdicts: objectsOf(verdicts[step]).map((item) => ({
        verifier: textIn(item, 'verifier') ?? '',
        met: item.met === true,
        why: textIn(item, 'why') ?? '',
      })),
    };
  });
  return {
    scenario: scenarioIn(fields) ?? '',
    domain: row.domain,
    id: String(fields.id),
    turn: row.turnIdx - count + 1,
    instruction: textIn(fields, 'instruction') ?? '',
    steps,
    /** In percent; a measure that nobody knows is absent. */
    measures: row.measures ?? {},
    /** Why there is no prediction in some step. */
    failure: row.failure && `${row.failure.class}: ${row.failure.reason}`,
  };
}

/** What a line predicts; undefined where it is not there, or holds no prediction. */
function predictionIn(fields: JsonObject | undefined): string | undefined {
  if (fields === undefined || !isObject(fields.awb) || fields.awb.status !== 'ok') return undefined;
  return writtenPrediction(textIn(fields, 'gen') ?? '');
}

function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function textIn(fields: JsonObject, name: string): string | undefined {
  const { [name]: value } = fields;
  return typeof value === 'string' ? value : undefined;
}

function sizeOf({ instruction, steps }: ShownSample): number {
  return steps.reduce(
    (sum, { action, prediction = '', twin = '' }) => sum + action.length + prediction.length + twin.length,
    instruction.length,
  );
}
