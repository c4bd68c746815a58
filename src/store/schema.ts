// The schema of the SQLite file: tables for what is looked up row by row, a JSON column for each document, and views of these.

import { badData } from '../core/errors.js';
import { DIMENSIONS } from '../core/types.js';
import type { Sqlite } from '../disk/sqlite.js';

/** Marks a SQLite file as ours ("awb1"), so that another program's database is not written to. */
const APPLICATION_ID = 0x61776231;

/**
 * Raised with any change of the schema, of the contents of its documents, or of how they are computed: a file of another version is
 * refused, and score rebuilds it.
 */
export const SCHEMA_VERSION = 12;

/** A number in a document, which JSON may write without a fraction. */
const real = (document: string, path: string) => `CAST(${member(document, path)} AS REAL)`;
const member = (document: string, path: string) => `${document} ->> '$.${path}'`;

/** A column for queries, taken from the row that a judgement stores as JSON. */
const ofRow = (type: string, path: string) =>
  `${columnOf(path.replace(/^.*\./, ''))} ${type} AS (${type === 'REAL' ? real('row', path) : member('row', path)})`;

/** The column name for a property such as `sourceSha256`. */
export function columnOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const estimateIn = (document: string) => `
  ${real(document, 'value')} AS value, ${member(document, 'rows')} AS n, ${member(document, 'clusters')} AS clusters,
  ${real(document, 'se')} AS se, ${real(document, 'df')} AS df,
  ${real(document, 'low')} AS low, ${real(document, 'high')} AS high`;

/** The tokens that have columns. */
export const TOKENS = ['promptTokens', 'cachedTokens', 'completionTokens', 'reasoningTokens'] as const;

const costIn = (document: string) => `
  ${member(document, 'rows')} AS rows,
  ${TOKENS.map((name) => `${member(document, `usage.${name}`)} AS ${columnOf(name)}`).join(', ')},
  ${real(document, 'usd')} AS usd, ${member(document, 'unpriced')} AS unpriced`;

const CALL =
  'attempts INTEGER, prompt_tokens INTEGER, cached_tokens INTEGER, completion_tokens INTEGER, reasoning_tokens INTEGER, ms REAL, usd REAL';

const SCHEMA = `
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  identity TEXT NOT NULL UNIQUE,
  label TEXT, kind TEXT NOT NULL, source TEXT NOT NULL, source_sha256 TEXT NOT NULL, world_model TEXT, judge_model TEXT,
  rubric_pack TEXT, rubric_fingerprint TEXT, protocol TEXT,
  meta TEXT NOT NULL CHECK (json_valid(meta)),
  manifest TEXT CHECK (json_valid(manifest)),
  started_at TEXT, ended_at TEXT, scored_at TEXT NOT NULL, tool_version TEXT NOT NULL,
  chosen INTEGER NOT NULL, valid INTEGER NOT NULL, failed INTEGER NOT NULL, coverage REAL NOT NULL, macro_of INTEGER NOT NULL,
  card TEXT NOT NULL CHECK (json_valid(card)),
  costs TEXT NOT NULL CHECK (json_valid(costs)),
  equivalence TEXT CHECK (json_valid(equivalence)),
  scenarios TEXT CHECK (json_valid(scenarios))
) STRICT;

CREATE TABLE judgements (
  run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  key TEXT NOT NULL,
  repeat INTEGER NOT NULL,
  judgement_index INTEGER NOT NULL,
  ${CALL},
  row TEXT NOT NULL CHECK (json_valid(row)),
  excerpt TEXT CHECK (json_valid(excerpt)),
  ${['trajectory', 'domain', 'rollout.chain'].map((path) => ofRow('TEXT', path)).join(', ')},
  ${['turnIdx', 'rollout.step', 'rollout.distance'].map((path) => ofRow('INTEGER', path)).join(', ')},
  ${['failed', 'total', ...DIMENSIONS.map((name) => `ratings.${name}`)].map((path) => ofRow('REAL', path)).join(', ')},
  status TEXT AS (iif(${member('row', 'failure')} IS NULL, 'ok', 'failed')),
  failure_class TEXT AS (${member('row', 'failure.class')}),
  failure_reason TEXT AS (${member('row', 'failure.reason')}),
  measures TEXT AS (row -> '$.measures'),
  flags TEXT AS (row -> '$.flags'),
  off_script TEXT AS (row -> '$.rollout.offScript'),
  PRIMARY KEY (run_id, key, repeat, judgement_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE predictions (
  run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  key TEXT NOT NULL,
  repeat INTEGER NOT NULL,
  domain TEXT NOT NULL,
  ${CALL},
  PRIMARY KEY (run_id, key, repeat)
) STRICT, WITHOUT ROWID;

-- What is known of judges. A calibration belongs to no run: runs are judged by what has the same key.
CREATE TABLE calibrations (
  id INTEGER PRIMARY KEY,
  identity TEXT NOT NULL UNIQUE,
  judge_key TEXT NOT NULL, judge_model TEXT NOT NULL, judge_snapshot TEXT, rubric_pack TEXT, rubric_fingerprint TEXT,
  verdicts TEXT, sampling TEXT NOT NULL CHECK (json_valid(sampling)), source TEXT NOT NULL,
  manifest TEXT NOT NULL CHECK (json_valid(manifest)),
  started_at TEXT NOT NULL, ended_at TEXT, saved_at TEXT NOT NULL, tool_version TEXT NOT NULL,
  document TEXT NOT NULL CHECK (json_valid(document)),
  judged INTEGER AS (${member('document', 'overall.judged')}), failed INTEGER AS (${member('document', 'overall.failed')}),
  ${['ceiling', 'noise', 'attack_gain'].map((name) => `${name} REAL AS (${real('document', `trust.${name}`)})`).join(', ')},
  ${['corruptions', 'blind', 'undecided'].map((name) => `${name} INTEGER AS (${member('document', `trust.${name}`)})`).join(', ')}
) STRICT;

CREATE VIEW measures AS
SELECT run_id, judgements.key AS key, repeat, judgement_index, one.key AS name, CAST(one.value AS REAL) AS value
FROM judgements, json_each(judgements.measures) AS one;

CREATE VIEW domain_counts AS
SELECT runs.id AS run_id, ${member('one.value', 'domain')} AS domain, ${member('one.value', 'chosen')} AS chosen,
  ${member('one.value', 'valid')} AS valid, ${member('one.value', 'failed')} AS failed,
  ${real('one.value', 'coverage')} AS coverage,
  ${member('one.value', 'failures')} AS failures, ${member('one.value', 'flags')} AS flags
FROM runs, json_each(runs.card, '$.domains') AS one;

CREATE VIEW domain_scores AS
SELECT runs.id AS run_id, ${member('one.value', 'domain')} AS domain, kinds.column1 AS kind, figure.key AS dimension,
  ${estimateIn('figure.value')}
FROM runs, json_each(runs.card, '$.domains') AS one,
  (VALUES ('official', '$.scores'), ('with_failures', '$.withFailures'), ('measure', '$.measures')) AS kinds,
  json_each(one.value, kinds.column2) AS figure;

CREATE VIEW overall_scores AS
SELECT runs.id AS run_id, kinds.column1 AS kind, figure.key AS dimension, ${estimateIn('figure.value')}
FROM runs,
  (VALUES ('official', '$.overall'), ('with_failures', '$.overallWithFailures'), ('micro', '$.overallMicro'),
    ('measure', '$.overallMeasures')) AS kinds,
  json_each(runs.card, kinds.column2) AS figure;

CREATE VIEW run_costs AS
SELECT runs.id AS run_id, one.key AS asked, ${costIn("(one.value ->> '$.total')")},
  ${member('one.value', 'price')} AS price
FROM runs, json_each(runs.costs) AS one;

CREATE VIEW domain_costs AS
SELECT runs.id AS run_id, one.key AS asked, own.key AS domain, ${costIn('own.value')}
FROM runs, json_each(runs.costs) AS one, json_each(one.value, '$.domains') AS own;

-- An empty domain is the mean over domains. A value is NULL where there is none, and why_none says why.
CREATE VIEW decision_equivalence AS
SELECT run_id, domain,
  ${real('part', 'predicted')} AS predicted, ${real('part', 'ceiling')} AS ceiling, ${real('part', 'floor')} AS floor,
  ${member('part', 'rows')} AS n, ${member('part', 'clusters')} AS clusters,
  ${real('part', 'gap.low')} AS gap_low, ${real('part', 'gap.high')} AS gap_high,
  ${real('part', 'found.value')} AS value,
  ${real('part', 'found.interval.low')} AS low, ${real('part', 'found.interval.high')} AS high,
  CASE json_type(part, '$.found') WHEN 'text' THEN ${member('part', 'found')} END AS why_none
FROM (
  SELECT runs.id AS run_id, ${member('one.value', 'domain')} AS domain, one.value AS part
  FROM runs, json_each(runs.equivalence, '$.domains') AS one
  UNION ALL
  SELECT id, '', ${member('equivalence', 'overall')} FROM runs WHERE equivalence IS NOT NULL
);

-- An empty domain is all of them.
CREATE VIEW scenario_figures AS
SELECT run_id, scenario, domain, figure.key AS figure, ${estimateIn('figure.value')}
FROM (
  SELECT runs.id AS run_id, one.key AS scenario, '' AS domain, one.value AS part
  FROM runs, json_each(runs.scenarios, '$.scenarios') AS one
  UNION ALL
  SELECT runs.id, one.key, own.key, own.value
  FROM runs, json_each(runs.scenarios, '$.scenarios') AS one, json_each(one.value, '$.domains') AS own
), json_each(part) AS figure
WHERE figure.type = 'object' AND figure.key NOT IN ('failures', 'domains');

-- An empty domain is all of them, and an empty variant, against or dimension is none.
CREATE VIEW calibration_figures AS
WITH parts AS (
  SELECT id AS calibration_id, '' AS domain, ${member('document', 'overall')} AS part FROM calibrations
  UNION ALL
  SELECT calibrations.id, one.key, one.value FROM calibrations, json_each(document, '$.domains') AS one
), figures AS (
  SELECT calibration_id, domain, key AS figure, '' AS dimension, value AS estimate
  FROM parts, json_each(part) WHERE type = 'object' AND key <> 'failures'
  UNION ALL
  SELECT calibration_id, domain, kinds.column2, CASE kinds.column1 WHEN 'losses' THEN 'total' ELSE '' END, one.value
  FROM parts, (VALUES ('scores', 'score'), ('losses', 'loss'), ('steps', 'step'), ('attacks', 'gain')) AS kinds,
    json_each(part, '$.' || kinds.column1) AS one
  UNION ALL
  SELECT calibration_id, domain, 'loss', own.key, json_set(own.value, '$.variant', ${member('loss.value', 'variant')})
  FROM parts, json_each(part, '$.losses') AS loss, json_each(loss.value, '$.dimensions') AS own
  UNION ALL
  SELECT calibration_id, domain, 'smallest_difference', '', json_object('value', value)
  FROM parts, json_each(part) WHERE key = 'smallest_difference' AND value IS NOT NULL
)
SELECT calibration_id, domain, figure,
  coalesce(${member('estimate', 'variant')}, ${member('estimate', 'better')}, '') AS variant,
  coalesce(${member('estimate', 'worse')}, '') AS against, dimension,
  CAST(coalesce(${member('estimate', 'value')}, ${member('estimate', 'sd')}) AS REAL) AS value,
  coalesce(${member('estimate', 'rows')}, ${member('estimate', 'predictions')}) AS n,
  ${member('estimate', 'clusters')} AS clusters, ${real('estimate', 'se')} AS se, ${real('estimate', 'df')} AS df,
  ${real('estimate', 'low')} AS low, ${real('estimate', 'high')} AS high,
  CASE ${member('estimate', 'order')} WHEN 'inverted' THEN ${real('estimate', 'p_inverted')}
    ELSE ${real('estimate', 'p_adjusted')} END AS adjusted_p,
  CASE ${member('estimate', 'is_none')} WHEN 1 THEN 'none' WHEN 0 THEN 'some'
    ELSE coalesce(${member('estimate', 'sight')}, ${member('estimate', 'order')}) END AS verdict
FROM figures;

PRAGMA user_version = ${SCHEMA_VERSION};
PRAGMA application_id = ${APPLICATION_ID};
`;

/** Creates the schema in an empty database. @throws UserError (65) as `hasSchema`. */
export function makeSchema(database: Sqlite, path: string): void {
  if (hasSchema(database, path)) return;
  database.immediate(() => {
    // Another process may have done the same.
    if (!hasSchema(database, path)) database.exec(SCHEMA);
  });
}

/**
 * Whether the database has the schema; false for an empty one. It changes nothing.
 * @throws UserError (65) for a database of another program or of another version.
 */
export function hasSchema(database: Sqlite, path: string): boolean {
  // In this order: another process may create the schema between the two.
  const isEmpty = database.value('SELECT count(*) FROM sqlite_schema') === 0;
  const applicationId = database.value('PRAGMA application_id');
  if (isEmpty && applicationId === 0) return false;
  if (applicationId !== APPLICATION_ID) {
    throw badData(`${path} is a SQLite database of another program; choose another file with --db`);
  }
  const version = Number(database.value('PRAGMA user_version'));
  if (version === SCHEMA_VERSION) return true;
  const remedy =
    version > SCHEMA_VERSION
      ? 'a later awb wrote it; use that one, or choose another file with --db'
      : 'an earlier awb wrote it; move it away, and awb score RUN rebuilds it from each judged file';
  throw badData(`${path} has schema version ${version}, but this version of awb needs ${SCHEMA_VERSION}: ${remedy}`);
}
