// The one description of a verdict's JSON: the schema that a judge can be held to, and the shape that a prompt shows.

import { FACT_KINDS, LONGEST_CLAIM, MOST_FACTS } from '../core/facts.js';
import type { JsonObject } from '../core/json.js';
import type { RubricPack } from '../core/rubric.js';
import { DIMENSIONS } from '../core/types.js';
import { MARK_LENGTH } from './answer-mark.js';

/** Changes with what a judge is held to. */
export const SCHEMA_VERSION = 2;

/** The most remarks of a kind: packs without a checklist have been held to three since the first version. */
const MOST_REMARKS = { plain: 3, checked: 4 } as const;
const LONGEST_REMARK = 200;

/**
 * The `response_format` for the pack's verdicts. The mark comes first. Checklist and reasons come before the scores: a judge that is held to it writes in this
 * order, and so it still thinks first. There is no `strict`: some servers then refuse bounds of texts, and the reader checks all of it.
 */
export function verdictFormat(
  { facts }: Pick<RubricPack, 'facts'>,
  { asksMark }: { readonly asksMark: boolean },
): JsonObject {
  const [most, scores] = facts === undefined ? [MOST_REMARKS.plain, SCORES] : [MOST_REMARKS.checked, TYPED_SCORES];
  const remarks = { type: 'array', items: { type: 'string', maxLength: LONGEST_REMARK }, maxItems: most };
  const properties = {
    // It is another one in each case: a schema of its own for each would have to be compiled anew.
    ...(asksMark ? { mark: { type: 'string', minLength: MARK_LENGTH, maxLength: MARK_LENGTH } } : {}),
    ...(facts === undefined ? {} : { facts: FACTS }),
    strengths: remarks,
    weaknesses: remarks,
    scores,
  };
  return { type: 'json_schema', json_schema: { name: 'verdict', schema: closed(properties) } };
}

const SCORES = closed(Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, { enum: [1, 2, 3, 4, 5] }])));
const TYPED_SCORES = closed(
  Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, { type: 'integer', enum: [1, 2, 3, 4, 5] }])),
);
const FACTS = {
  type: 'array',
  items: closed({
    claim: { type: 'string', minLength: 1, maxLength: LONGEST_CLAIM },
    kind: { type: 'string', enum: FACT_KINDS },
    met: { type: 'boolean' },
    // Empty where nothing is quoted: not every server takes members that may be absent.
    quote: { type: 'string', maxLength: LONGEST_CLAIM },
  }),
  maxItems: MOST_FACTS,
};

/** An object that has all of these properties and no others. */
function closed(properties: JsonObject): JsonObject {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}
