// The schema's history: the database's `user_version` is the number of entries applied. Entries are only ever added at the end.
// They are applied with foreign keys off and checked before they are committed (schema.ts), so an entry may make a table anew.

/** Marks a SQLite file as ours ("awb1"), so that another program's database is not written to. */
export const APPLICATION_ID = 0x61776231;

export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE,
    label TEXT,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    source_sha256 TEXT NOT NULL,
    world_model TEXT,
    judge_model TEXT,
    rubric_pack TEXT,
    rubric_fingerprint TEXT,
    protocol TEXT,
    meta TEXT NOT NULL CHECK (json_valid(meta)),
    manifest TEXT CHECK (manifest IS NULL OR json_valid(manifest)),
    started_at TEXT,
    ended_at TEXT,
    scored_at TEXT NOT NULL,
    tool_version TEXT NOT NULL,
    chosen INTEGER NOT NULL,
    valid INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    coverage REAL NOT NULL,
    macro_of INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE judgements (
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    trajectory TEXT NOT NULL,
    domain TEXT NOT NULL,
    turn_idx INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('ok', 'failed')),
    failure_class TEXT,
    failure_reason TEXT,
    failed REAL,
    format REAL,
    factuality REAL,
    consistency REAL,
    realism REAL,
    quality REAL,
    total REAL NOT NULL,
    flags TEXT NOT NULL CHECK (json_valid(flags)),
    attempts INTEGER,
    prompt_tokens INTEGER,
    cached_tokens INTEGER,
    completion_tokens INTEGER,
    reasoning_tokens INTEGER,
    ms REAL,
    PRIMARY KEY (run_id, key, repeat)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE measures (
    run_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    name TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (run_id, key, repeat, name),
    FOREIGN KEY (run_id, key, repeat) REFERENCES judgements (run_id, key, repeat) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE domain_counts (
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    domain TEXT NOT NULL,
    chosen INTEGER NOT NULL,
    valid INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    coverage REAL NOT NULL,
    failures TEXT NOT NULL CHECK (json_valid(failures)),
    flags TEXT NOT NULL CHECK (json_valid(flags)),
    PRIMARY KEY (run_id, domain)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE domain_scores (
    run_id INTEGER NOT NULL,
    domain TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('official', 'with_failures', 'measure')),
    dimension TEXT NOT NULL,
    value REAL NOT NULL,
    n INTEGER NOT NULL,
    clusters INTEGER NOT NULL,
    se REAL,
    df REAL,
    low REAL,
    high REAL,
    PRIMARY KEY (run_id, domain, kind, dimension),
    FOREIGN KEY (run_id, domain) REFERENCES domain_counts (run_id, domain) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE overall_scores (
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('official', 'with_failures', 'micro', 'measure')),
    dimension TEXT NOT NULL,
    value REAL NOT NULL,
    n INTEGER NOT NULL,
    clusters INTEGER NOT NULL,
    se REAL,
    df REAL,
    low REAL,
    high REAL,
    PRIMARY KEY (run_id, kind, dimension)
  ) STRICT, WITHOUT ROWID;
  `,

  // A prediction can be judged several times. SQLite cannot change a primary key, so the two tables that hold judgements are made anew.
  `
  CREATE TABLE judgements_anew (
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    judgement_index INTEGER NOT NULL DEFAULT 0,
    trajectory TEXT NOT NULL,
    domain TEXT NOT NULL,
    turn_idx INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('ok', 'failed')),
    failure_class TEXT,
    failure_reason TEXT,
    failed REAL,
    format REAL,
    factuality REAL,
    consistency REAL,
    realism REAL,
    quality REAL,
    total REAL NOT NULL,
    flags TEXT NOT NULL CHECK (json_valid(flags)),
    attempts INTEGER,
    prompt_tokens INTEGER,
    cached_tokens INTEGER,
    completion_tokens INTEGER,
    reasoning_tokens INTEGER,
    ms REAL,
    PRIMARY KEY (run_id, key, repeat, judgement_index)
  ) STRICT, WITHOUT ROWID;

  INSERT INTO judgements_anew
  SELECT run_id, key, repeat, 0, trajectory, domain, turn_idx, status, failure_class, failure_reason, failed,
    format, factuality, consistency, realism, quality, total, flags,
    attempts, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, ms
  FROM judgements;

  CREATE TABLE measures_anew (
    run_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    judgement_index INTEGER NOT NULL DEFAULT 0,
    name TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (run_id, key, repeat, judgement_index, name),
    FOREIGN KEY (run_id, key, repeat, judgement_index)
      REFERENCES judgements (run_id, key, repeat, judgement_index) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;

  INSERT INTO measures_anew SELECT run_id, key, repeat, 0, name, value FROM measures;

  DROP TABLE measures;
  DROP TABLE judgements;
  ALTER TABLE judgements_anew RENAME TO judgements;
  ALTER TABLE measures_anew RENAME TO measures;
  `,

  // What asking took: of a row in dollars too, of its prediction, and of domains and run together. Runs that were scored before have
  // none of it until they are scored again.
  `
  ALTER TABLE judgements ADD COLUMN usd REAL;

  CREATE TABLE predictions (
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    domain TEXT NOT NULL,
    attempts INTEGER,
    prompt_tokens INTEGER,
    cached_tokens INTEGER,
    completion_tokens INTEGER,
    reasoning_tokens INTEGER,
    ms REAL,
    usd REAL,
    PRIMARY KEY (run_id, key, repeat)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE run_costs (
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    asked TEXT NOT NULL CHECK (asked IN ('world_model', 'judge')),
    rows INTEGER NOT NULL,
    prompt_tokens INTEGER,
    cached_tokens INTEGER,
    completion_tokens INTEGER,
    reasoning_tokens INTEGER,
    usd REAL,
    unpriced INTEGER NOT NULL,
    price TEXT CHECK (price IS NULL OR json_valid(price)),
    PRIMARY KEY (run_id, asked)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE domain_costs (
    run_id INTEGER NOT NULL,
    asked TEXT NOT NULL,
    domain TEXT NOT NULL,
    rows INTEGER NOT NULL,
    prompt_tokens INTEGER,
    cached_tokens INTEGER,
    completion_tokens INTEGER,
    reasoning_tokens INTEGER,
    usd REAL,
    unpriced INTEGER NOT NULL,
    PRIMARY KEY (run_id, asked, domain),
    FOREIGN KEY (run_id, asked) REFERENCES run_costs (run_id, asked) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;
  `,

  // What is known of judges. A calibration belongs to no run: runs are judged by what has the same key. Of its figures, an empty domain
  // is all of them, and an empty variant, against or dimension is none.
  `
  CREATE TABLE calibrations (
    id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE,
    judge_key TEXT NOT NULL,
    judge_model TEXT NOT NULL,
    judge_snapshot TEXT,
    rubric_pack TEXT,
    rubric_fingerprint TEXT,
    verdicts TEXT,
    sampling TEXT NOT NULL CHECK (json_valid(sampling)),
    source TEXT NOT NULL,
    manifest TEXT NOT NULL CHECK (json_valid(manifest)),
    started_at TEXT NOT NULL,
    ended_at TEXT,
    saved_at TEXT NOT NULL,
    tool_version TEXT NOT NULL,
    judged INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    ceiling REAL,
    noise REAL,
    damages INTEGER NOT NULL,
    blind INTEGER NOT NULL,
    undecided INTEGER NOT NULL,
    gullible REAL,
    document TEXT NOT NULL CHECK (json_valid(document))
  ) STRICT;

  CREATE TABLE calibration_figures (
    calibration_id INTEGER NOT NULL REFERENCES calibrations (id) ON DELETE CASCADE,
    domain TEXT NOT NULL,
    figure TEXT NOT NULL,
    variant TEXT NOT NULL,
    against TEXT NOT NULL,
    dimension TEXT NOT NULL,
    value REAL NOT NULL,
    n INTEGER,
    clusters INTEGER,
    se REAL,
    df REAL,
    low REAL,
    high REAL,
    adjusted_p REAL,
    verdict TEXT,
    PRIMARY KEY (calibration_id, domain, figure, variant, against, dimension)
  ) STRICT, WITHOUT ROWID;
  `,

  // Where in a rollout a prediction stands: NULL in all four where it is no rollout.
  `
  ALTER TABLE judgements ADD COLUMN chain TEXT;
  ALTER TABLE judgements ADD COLUMN step INTEGER;
  ALTER TABLE judgements ADD COLUMN distance INTEGER;
  ALTER TABLE judgements ADD COLUMN off_script TEXT CHECK (off_script IS NULL OR json_valid(off_script));
  `,

  // How far predictions lead an agent where the truth leads it. An empty domain is the mean over domains; a value is NULL where there is
  // none, and `why_none` says why.
  `
  CREATE TABLE decision_equivalence (
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    domain TEXT NOT NULL,
    predicted REAL NOT NULL,
    ceiling REAL NOT NULL,
    floor REAL NOT NULL,
    n INTEGER NOT NULL,
    clusters INTEGER NOT NULL,
    gap_low REAL,
    gap_high REAL,
    value REAL,
    low REAL,
    high REAL,
    why_none TEXT,
    PRIMARY KEY (run_id, domain)
  ) STRICT, WITHOUT ROWID;
  `,

  // What a run on scenarios comes to by scenario; an empty domain is all of them.
  `
  CREATE TABLE scenario_figures (
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    scenario TEXT NOT NULL,
    domain TEXT NOT NULL,
    figure TEXT NOT NULL,
    value REAL NOT NULL,
    n INTEGER NOT NULL,
    clusters INTEGER NOT NULL,
    se REAL,
    df REAL,
    low REAL,
    high REAL,
    PRIMARY KEY (run_id, scenario, domain, figure)
  ) STRICT, WITHOUT ROWID;
  `,
];
