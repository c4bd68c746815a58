// An estimate as every JSON document holds it.

import { expect, test } from 'vitest';
import { estimateDocument, spreadDocument } from '../../src/report/estimate-json.js';

test('what is not known is null, so that every document has every key', () => {
  const spread = { rows: 3, clusters: 2, se: null, df: null, low: null, high: null };
  expect(estimateDocument({ value: 1 / 3, rows: 3, clusters: 2 })).toEqual({ value: 1 / 3, ...spread });
  expect(spreadDocument({})).toEqual({ ...spread, rows: null, clusters: null });
});
