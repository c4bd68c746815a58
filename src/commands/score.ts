// awb score: a judged file -> scores in a table, in JSON and in SQLite.

import { resolve } from 'node:path';
import { readCosts, readJudged } from '../bench/judged.js';
import { LEAST_COVERAGE, percent, shortDomains } from '../coverage.js';
import { domainName } from '../domains.js';
import { EXIT, type ExitCode, throwIfStopped } from '../errors.js';
import { oneLine, printable } from '../printable.js';
import { coverageText, measureTable, scoreTable } from '../report/score-table.js';
import { terminal } from '../report/terminal.js';
import { recordId } from '../run/journal-record.js';
import { type MadeWith, madeWith } from '../run/made-with.js';
import type { Manifest } from '../run/manifest.js';
import { changeSince, readManifest } from '../run/manifest-file.js';
import { DEFAULT_DB, judgedFileOf } from '../runs/paths.js';
import { aggregate } from '../score/aggregate.js';
import { defineCommand } from '../settings/command.js';
import { programName } from '../settings/program-name.js';
import { shownPath } from '../settings/shown-path.js';
import { toolVersion } from '../settings/version.js';
import { shellLine } from '../shell.js';
import type { RunRecord, StoredJudgement, StoredRun } from '../store/records.js';
import { openStore } from '../store/store.js';
import { DIMENSIONS, type DomainScore, type Estimate, type Io, type ScoreCard, type ScoreSet } from '../types.js';

/** What `score` needs of its settings; paths may be relative to the working folder. */
export interface ScoreSettings {
  readonly predictions: string;
  readonly db: string;
  readonly label?: string | undefined;
  readonly minCoverage: number;
  readonly json: boolean;
  readonly color: boolean;
}

export const command = defineCommand({
  description:
    'Aggregates a judged file into scores of 0 to 100 per domain and dimension, with coverage and 95 % intervals, and stores all of it in SQLite.',
  examples: [
    { line: 'awb score results/step-100', does: 'a table, and the run in awb.sqlite' },
    {
      line: 'awb score out/judged.jsonl --db runs.sqlite --label step-1000',
      does: 'another SQLite file, and a name of your own',
    },
    { line: 'awb score results/step-100 --json | jq .overall.total_score', does: 'one unrounded figure' },
  ],
  options: {
    predictions: {
      kind: 'text',
      value: 'RUN',
      required: true,
      help: "a judged.jsonl, of awb judge or of the official script's judge, or the folder of one",
    },
    db: { kind: 'text', value: 'FILE', default: DEFAULT_DB, help: 'SQLite file, which can hold many runs' },
    label: { kind: 'text', help: "name of the checkpoint (default: the run's own label)" },
    'min-coverage': {
      kind: 'number',
      min: 0,
      max: 1,
      default: LEAST_COVERAGE,
      help: 'share of the chosen rows of each domain that must be scored; below it the exit code is 3',
    },
  },
  operands: ['predictions'],
  run: (settings, io) => score(settings, io),
});

/**
 * Scores a judged file, stores the run and prints it.
 * @returns 0, or 3 where a domain's coverage is below the least.
 * @throws UserError: 66 and 65 for the input, 74 and 65 for the SQLite file.
 */
export async function score(settings: ScoreSettings, io: Io): Promise<ExitCode> {
  const source = judgedFileOf(settings.predictions, io);
  const stem = source.replace(/\.jsonl$/, '');
  const judged = await readJudged(source, io.stop);
  const costs = await readCosts(`${stem}.journal.jsonl`, io.stop);
  const manifest = await readManifest(`${stem}.manifest.json`);
  throwIfStopped(io.stop);
  const change = changeSince(manifest, shownPath(source, io), judged.sha256);
  if (change !== undefined) io.stderr.write(`note: ${printable(change)}\n`);
  const made = madeWith(manifest);
  const card = aggregate(judged.rows, made.chosen);
  const run = describeRun(source, judged.sha256, { manifest, made }, settings.label);
  const judgements = judged.rows.map((row) => ({ row, log: costs.get(recordId(row.key, row.repeat, row.index)) }));
  const db = resolve(io.cwd, settings.db);
  const stored = storeRun(db, run, judgements, card);
  const short = shortDomains(card, settings.minCoverage);
  const result: Result = { ...stored, db, run, card, short, isOurs: manifest !== undefined };
  io.stdout.write(settings.json ? `${JSON.stringify(documentOf(result))}\n` : page(result, settings.color, io));
  for (const warning of judged.warnings) io.stderr.write(`warning: ${printable(warning)}\n`);
  for (const line of coverageWarning(short, settings.minCoverage)) io.stderr.write(`${line}\n`);
  return short.length === 0 ? EXIT.done : EXIT.incomplete;
}

interface Result {
  readonly id: number;
  readonly replaced: boolean;
  readonly db: string;
  readonly run: RunRecord;
  /** The runs of the file: what each is called by, and those that were judged in the same way as this one, the latest first. */
  readonly others: { readonly alike: readonly string[]; name(id: number): string };
  readonly card: ScoreCard;
  /** Domains below the least coverage. */
  readonly short: readonly DomainScore[];
  /** Whether a manifest says that our own judging made the file. */
  readonly isOurs: boolean;
}

function storeRun(db: string, run: RunRecord, judgements: readonly StoredJudgement[], card: ScoreCard) {
  const store = openStore(db);
  try {
    const stored = store.saveRun(run, judgements, card);
    return { ...stored, others: othersIn(store.runs(), stored.id) };
  } finally {
    store.close();
  }
}

function othersIn(runs: readonly StoredRun[], id: number): Result['others'] {
  const name = (wanted: number) => {
    const label = runs.find((run) => run.id === wanted)?.label;
    // A label that several have, or that reads as a number or a file, would name another run.
    const isPlain =
      label !== undefined && label !== '' && !/^\d+$|^-|\.jsonl$/i.test(label) && printable(label) === label;
    return isPlain && runs.filter((run) => run.label === label).length === 1 ? label : String(wanted);
  };
  const kind = runs.find((run) => run.id === id)?.kind;
  const alike = runs
    .filter((run) => run.id !== id && run.kind === kind)
    .sort((a, b) => (a.scoredAt < b.scoredAt ? 1 : -1))
    .map((run) => name(run.id));
  return { alike, name };
}

function describeRun(
  source: string,
  sha256: string,
  { manifest, made }: { readonly manifest: Manifest | undefined; readonly made: MadeWith },
  label: string | undefined,
): RunRecord {
  return {
    identity: identityOf(made) ?? `file ${sha256}`,
    label: label ?? made.label,
    kind: made.mode,
    source,
    sourceSha256: sha256,
    worldModel: made.worldModel,
    judgeModel: made.judge,
    rubricPack: made.rubricPack,
    rubricFingerprint: made.rubricFingerprint,
    protocol: made.protocol,
    meta: made.meta,
    manifest: manifest && JSON.stringify(manifest),
    startedAt: made.startedAt,
    endedAt: made.endedAt,
    scoredAt: new Date().toISOString(),
    toolVersion: toolVersion(),
  };
}

/**
 * What a run is known by, over continuing, moving, renaming and labelling: who judged whom, and when each of the two began, which
 * continuing does not change. The fingerprints will not do: two checkpoints under one name have equal ones, and a run's own
 * changes when the judge's snapshot becomes known. A file without a manifest is known by its bytes.
 */
function identityOf(made: MadeWith): string | undefined {
  const { mode: kind, judge: judgeModel, rubricFingerprint, startedAt, worldModel, predictedAt: inferredAt } = made;
  if (startedAt === undefined) return undefined;
  return JSON.stringify({ kind, judgeModel, rubricFingerprint, startedAt, worldModel, inferredAt });
}

function page(result: Result, color: boolean, io: Io): string {
  const { run, card, id, replaced } = result;
  const look = { columns: io.stdout.columns, color: color && io.stdout.isTTY };
  const tables = [scoreTable(card), measureTable(card)].filter((table) => table !== undefined);
  const lines = [
    `coverage: ${coverageText(card)}`,
    tallyLine(
      'failed',
      card.domains.map((domain) => domain.failures),
    ),
    tallyLine(
      'flags',
      card.domains.map((domain) => domain.flags),
    ),
    `stored: ${shownPath(result.db, io)} (SQLite; run ${id}${replaced ? ', replaced' : ''})`,
    ...nextSteps(result, io).map((step, index) => `${index === 0 ? 'next: ' : '      '}${step}`),
  ].filter((line) => line !== undefined);
  const blocks = [titleOf(run), ...tables.map((table) => terminal(table, look)), `${lines.join('\n')}\n`];
  return blocks.filter((block) => block !== undefined).join('\n');
}

function titleOf(run: RunRecord): string | undefined {
  const parts = [
    run.label,
    run.worldModel && `world model ${run.worldModel}`,
    run.judgeModel && `judge ${run.judgeModel}`,
    run.rubricPack && `rubrics ${run.rubricPack}`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : `${oneLine(parts.join(', '), 400)}\n`;
}

/** Counts by name over all domains, the largest first; undefined where nothing was counted. */
function tallyLine(heading: string, tallies: readonly Readonly<Record<string, number>>[]): string | undefined {
  const sums = new Map<string, number>();
  for (const [name, count] of tallies.flatMap((tally) => Object.entries(tally))) {
    if (count > 0) sums.set(name, (sums.get(name) ?? 0) + count);
  }
  if (sums.size === 0) return undefined;
  const shown = [...sums].sort((a, b) => b[1] - a[1]).map(([name, count]) => `${oneLine(name, 40)} ${count}`);
  return `${heading}: ${shown.join(', ')}`;
}

function coverageWarning(short: readonly DomainScore[], least: number): string[] {
  if (short.length === 0) return [];
  const rows = short.map((score) => {
    const failures = tallyLine('not valid', [score.failures]);
    return `  ${domainName(score.domain)}: ${percent(score.coverage)} of ${score.chosen} rows${failures ? ` (${failures})` : ''}`;
  });
  return [`INCOMPLETE: coverage below ${percent(least)}; these scores must not be compared with others:`, ...rows];
}

/** Command lines to be pasted; the labels and paths in them may be hostile. */
function nextSteps(result: Result, io: Io): string[] {
  const { short, isOurs, db, id, others } = result;
  const program = programName(io);
  if (short.length > 0) {
    return isOurs
      ? ['the same awb infer and awb judge commands ask only for what is missing; then score again']
      : ['judge the rows that failed once more, then score again'];
  }
  const where = db === resolve(io.cwd, io.env.AWB_DB || DEFAULT_DB) ? [] : ['--db', shownPath(db, io)];
  const line = (...words: string[]) => `${program} ${shellLine([...words, ...where])}`;
  const own = others.name(id);
  const [other] = others.alike;
  if (other === undefined) {
    return [`${line('score', 'RUN')}   # another run, in the same file`, line('report', '--run', own)];
  }
  const pair = result.run.kind === 'metrics' ? [] : [line('compare', other, own), line('gate', other, own)];
  return [...pair, line('leaderboard'), line('report', '--run', own, '--compare', other)];
}

/** The document of `--json`. Figures are unrounded; a score that no row counts for is null. */
function documentOf(result: Result) {
  const { run, card } = result;
  return {
    schema: 'awb.score/1',
    run: {
      id: result.id,
      replaced: result.replaced,
      label: run.label ?? null,
      kind: run.kind,
      source: run.source,
      world_model: run.worldModel ?? null,
      judge_model: run.judgeModel ?? null,
      rubric_pack: run.rubricPack ?? null,
      meta: run.meta,
    },
    db: result.db,
    chosen: card.chosen,
    valid: card.valid,
    failed: card.failed,
    coverage: card.coverage,
    below_min_coverage: result.short.map((score) => score.domain),
    domains: Object.fromEntries(card.domains.map((score) => [score.domain, domainDocument(score)])),
    overall: scoresDocument(card.overall),
    overall_with_failures: scoresDocument(card.overallWithFailures),
    overall_micro: scoresDocument(card.overallMicro),
    overall_measures: measuresDocument(card.overallMeasures),
    macro_of: card.macroOf,
  };
}

function domainDocument(score: DomainScore) {
  return {
    chosen: score.chosen,
    valid: score.valid,
    failed: score.failed,
    coverage: score.coverage,
    failures: score.failures,
    flags: score.flags,
    ...scoresDocument(score.scores),
    with_failures: scoresDocument(score.withFailures),
    measures: measuresDocument(score.measures),
  };
}

/** The five dimensions and `total_score` as figures, and under `intervals` what is known of their uncertainty. */
function scoresDocument(scores: ScoreSet) {
  const estimates = [
    ...DIMENSIONS.map((name) => [name, scores[name]] as const),
    ['total_score', scores.total] as const,
  ];
  return {
    ...Object.fromEntries(estimates.map(([name, estimate]) => [name, estimate?.value ?? null])),
    intervals: Object.fromEntries(
      estimates.flatMap(([name, estimate]) => (estimate === undefined ? [] : [[name, spreadOf(estimate)]])),
    ),
  };
}

function measuresDocument(measures: Readonly<Record<string, Estimate>>) {
  return Object.fromEntries(
    Object.entries(measures).map(([name, estimate]) => [name, { value: estimate.value, ...spreadOf(estimate) }]),
  );
}

function spreadOf({ rows, clusters, se, df, low, high }: Estimate) {
  return { rows, clusters, se: se ?? null, df: df ?? null, low: low ?? null, high: high ?? null };
}
