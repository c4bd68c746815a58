// Excerpts of judged rows, taken as a judged file is read, so that samples are listed and found without reading it again.

import type { JsonObject } from '../core/json.js';
import { type Excerpt, remarksIn } from '../core/judged-row.js';
import { oneLine } from '../core/printable.js';
import { rowIdOf } from '../core/row-id.js';
import { actionOf, earlierTurns, textsOf } from '../core/turn.js';
import type { JudgedRow } from '../core/types.js';
import type { Line } from '../disk/lines.js';
import { spanOf } from './line-file.js';
import { readSampleAgain } from './sample.js';

/** Longest note, in columns of a terminal. */
const NOTE_COLUMNS = 200;

/** Takes the excerpt of each row as `readJudged` reads it. */
export function takeExcerpts() {
  const excerpts = new Map<string, Excerpt>();
  return {
    take(row: JudgedRow, fields: JsonObject, line: Line): void {
      excerpts.set(rowIdOf(row), excerptOf(row, fields, line));
    },
    /** By record id. */
    excerpts,
  };
}

function excerptOf(row: JudgedRow, fields: JsonObject, line: Line): Excerpt {
  const { weaknesses, facts } = remarksIn(fields);
  const determined = facts?.filter(({ kind }) => kind === 'determined');
  const unmet = determined?.flatMap(({ met, claim }) => (met ? [] : [claim])) ?? [];
  const note = oneLine(row.failure?.reason ?? weaknesses[0] ?? '', NOTE_COLUMNS);
  return {
    ...spanOf(line),
    ...(note !== '' && { note }),
    ...(unmet.length > 0 && { unmet }),
    ...(determined && { determined: determined.length }),
    ...charsIn(row, fields),
  };
}

function charsIn(row: JudgedRow, fields: JsonObject): Pick<Excerpt, 'chars'> {
  const sample = readSampleAgain(fields, row);
  if (sample === undefined) return {};
  const texts = [sample.systemPrompt, ...textsOf(earlierTurns(sample)), actionOf(sample)];
  return { chars: texts.reduce((sum, text) => sum + text.length, 0) };
}
