// Surveyed rows for tests.

import type { Survey, SurveyedRow } from '../../src/benchmark/survey.js';

/** A survey of rows, each on its own line of one file; values that are not given do not matter. */
export function surveyOf(rows: readonly Partial<SurveyedRow>[], rest: Partial<Survey> = {}): Survey {
  return {
    files: ['a_test.jsonl'],
    unusable: [],
    rows: rows.map((row, index) => ({
      file: 'a_test.jsonl',
      line: index + 1,
      domain: 'mcp',
      id: String(index),
      turnIdx: 1,
      trajectory: index,
      contextTokens: 100,
      truthTokens: 10,
      ...row,
    })),
    ...rest,
  };
}
