// calibration.jsonl -> the judgements in it, without their texts.

import type { CalibratedRow } from '../calibration.js';
import { isObject, type JsonObject } from '../json.js';
import { judgedIdIn, readJudgedRow } from '../judged-row.js';
import { variantId } from '../row-id.js';
import { badLine, parseJudgedLine } from './judged-line.js';
import { openToRead, readLines } from './line-file.js';
import { domainOf } from './sample.js';

const HINT = 'awb calibrate writes it';

/**
 * Reads calibration.jsonl.
 * @throws UserError 66 where the file cannot be read; 65 where a line is no judgement of a variant, or stands there twice; 130 or 143 once
 * `stop` is aborted.
 */
export async function readCalibrated(path: string, stop?: AbortSignal): Promise<CalibratedRow[]> {
  const handle = await openToRead(path, HINT);
  try {
    const lines = new Map<string, number>();
    const rows: CalibratedRow[] = [];
    for await (const line of readLines(handle, path, HINT, stop)) {
      const row = rowOf(path, line.number, parseJudgedLine(path, line, 'awb calibrate').fields);
      const id = variantId(row.key, row.variant, row.index);
      const earlier = lines.get(id);
      if (earlier !== undefined) {
        throw badLine(path, line.number, `the judgement of line ${earlier} stands here again; take one of the two out`);
      }
      lines.set(id, line.number);
      rows.push(row);
    }
    return rows;
  } finally {
    await handle.close();
  }
}

function rowOf(path: string, line: number, fields: JsonObject): CalibratedRow {
  const id = judgedIdIn(fields);
  const variant = isObject(fields.awb) ? fields.awb.variant : undefined;
  if (id === undefined || typeof variant !== 'string' || typeof fields.task !== 'string') {
    throw badLine(path, line, 'no judgement of awb calibrate; the same awb calibrate command writes the file anew');
  }
  try {
    return { ...readJudgedRow(fields, id, domainOf(fields.task)), variant };
  } catch (error) {
    if (error instanceof RangeError) throw badLine(path, line, `${error.message}; mend the line or take it out`);
    throw error;
  }
}
