// Stored runs: the record of a scored run and the next commands; runs as text (a table that fits a terminal, and one run in full) and as
// JSON; and the report of removed ones. Texts of runs may be hostile.

import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { journalBeside } from '../benchmark/judged-path.js';
import { documentOf, ESTIMATE, FIGURE, keyed, TEXT } from '../core/document.js';
import { coversBenchmark } from '../core/domains.js';
import { present, UserError } from '../core/errors.js';
import { groupBy, keysOf } from '../core/groups.js';
import { canonicalJson, isObject, isText, parseObject } from '../core/json.js';
import {
  bytesText,
  counted,
  oneLine,
  printable,
  shellLine,
  shortenedByWords,
  shownPath,
  widthOf,
} from '../core/printable.js';
import { columnsOf, figure, NONE, type Table } from '../core/table.js';
import { blocksText, bold, type Look, wrapped } from '../core/terminal.js';
import { askedName, type Io } from '../core/types.js';
import { sha256Of, sizeOf } from '../disk/files.js';
import { askedWord, measureOf } from '../judge/modes.js';
import { COSTS, costsSource } from '../report/costs.js';
import { CARD, COUNTS, cardSource, cardTables, countLines } from '../report/score.js';
import { leadingMeasure } from '../report/score-table.js';
import { TRUST, trustDocument, trustText } from '../report/trust.js';
import { type MadeWith, madeWith, worldModelManifest } from '../run/made-with.js';
import { checkedManifest, type Manifest } from '../run/manifest.js';
import { programName, toolVersion } from '../settings/command.js';
import { percent } from '../stats/coverage.js';
import type { RunRecord, StoredName, StoredRun } from '../store/runs.js';
import { rolloutOf } from './comparability.js';
import { type KnownRun, manifestOf, wordsFor } from './databases.js';
import { type ReadRun, readStoredRun, warningsOn } from './read-run.js';

/** The record of a run, under the given label or else its own. */
export function recordOf(
  { source, sha256, manifest, made }: Pick<ReadRun, 'source' | 'sha256' | 'manifest' | 'made'>,
  label: string | undefined,
): Omit<RunRecord, 'costs'> {
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
    protocol: askedName(made.protocol, made.rollout),
    meta: made.meta,
    manifest: manifest && JSON.stringify(manifest),
    startedAt: made.startedAt,
    endedAt: made.endedAt,
    scoredAt: new Date().toISOString(),
    toolVersion: toolVersion(),
  };
}

/**
 * The label of a run that is scored again without one. A label given in the SQLite file is kept; otherwise the run's own label, which
 * may have changed, applies.
 */
export function keptLabel(before: StoredName, own: string | undefined): string | undefined {
  return isGiven(before) ? before.label : own;
}

/**
 * Whether the user gave a run its label, by `awb score --label` or `awb runs rename`: then it differs from the one in its stored
 * manifest, as far as that can be read.
 */
export function isGiven({ label, manifest }: StoredName): boolean {
  return label !== undefined && label !== madeBefore(manifest)?.label;
}

/** The provenance of a stored run; undefined if the manifest is missing or damaged. */
function madeBefore(manifest: string | undefined): MadeWith | undefined {
  const found = manifest === undefined ? undefined : parseObject(manifest);
  try {
    return found && madeWith(checkedManifest(found, 'the manifest'));
  } catch (error) {
    // With a damaged manifest the source of the label is unknown, and the label is kept.
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

/**
 * The identity of a run, unchanged by continuing, moving, renaming and labelling: its judge, its world model, and the start times of
 * both, which continuing does not change. Fingerprints are not suitable: two checkpoints under one name have equal ones, and a run's
 * own changes when the judge's snapshot becomes known. Undefined for a file without a manifest, which is identified by its bytes.
 */
function identityOf(made: MadeWith): string | undefined {
  const { mode: kind, judge: judgeModel, rubricFingerprint, startedAt, worldModel, predictedAt: inferredAt } = made;
  if (startedAt === undefined) return undefined;
  // SQLite files contain this text: its keys and their order identify a run that is already stored.
  return JSON.stringify({ kind, judgeModel, rubricFingerprint, startedAt, worldModel, inferredAt });
}

/** Command lines to paste after a run was scored, with a placeholder for the other run. @param db absolute path of the SQLite file */
export function nextSteps(id: number, db: string, io: Io): string[] {
  const steps = [['leaderboard'], ['report', '--run', `${id}`], ['compare', 'BASE', `${id}`]];
  return steps.map((words) => `${programName(io)} ${shellLine([...words, ...wordsFor(db, io)])}`);
}

type ListedRun = ReturnType<typeof listedRuns>[number];
type ShownRun = Awaited<ReturnType<typeof shownRun>>;

/** The runs as a list shows them. */
export function listedRuns(known: readonly KnownRun[]) {
  const bytes = new Map([...new Set(known.map(({ store }) => store))].map((store) => [store, store.bytesByRun()]));
  return known.map(({ run, store, db, path }) => ({
    ...run,
    /** The SQLite file: its absolute path, and the path as shown to people. */
    db: path,
    shownDb: db,
    /** Whether the user gave the label in the SQLite file: the run's manifest then has another one, or none. */
    labelGiven: isGiven(run),
    /** Whether the judged file exists now. */
    sourceExists: existsSync(run.source),
    /** Approximately how many bytes it takes in the SQLite file. */
    bytes: Math.round(bytes.get(store)?.get(run.id) ?? 0),
  }));
}

/** Reads everything about a run: its rows, manifest and judged file. @throws UserError (65) for a damaged manifest */
export async function shownRun(known: KnownRun) {
  const manifest = manifestOf(known);
  const run = readStoredRun(known, manifest);
  return {
    ...present(listedRuns([known])[0]),
    trust: run.trust,
    facts: factsOf(known.run, run, manifest),
    file: await judgedFileState(known.run),
    judgements: run.rows.length,
    /** The label in its manifest. */
    ownLabel: run.made.label,
    /** Current warnings; `notices` are those of the commands that made it. */
    warnings: warningsOn(run),
    notices: [...(manifest?.predictions?.notices ?? []), ...(manifest?.notices ?? [])],
    manifest,
    rollout: rolloutOf(run.rows, run.card),
  };
}

/** The provenance of a run, the world model's part first. A checked manifest may lack fields; those are left out. */
function factsOf(run: StoredRun, { made, trust }: ReadRun, manifest: Partial<Manifest> | undefined) {
  const { identity, data, startedAt, endedAt } = worldModelManifest(manifest) ?? {};
  const { rubricPack, rubricFingerprint } = run;
  const facts = {
    'world model': run.worldModel,
    protocol: run.protocol,
    'system prompt': identity?.system_prompt,
    sampling: identity?.sampling,
    data: data?.dir,
    predicted: [startedAt, endedAt],
    mode: run.kind,
    [askedWord(made.mode)]: made.judgeName ?? run.judgeModel,
    calibration: trust && trustText(trust).replace(/^judge: /, ''),
    rubrics: [rubricPack, rubricFingerprint && `fingerprint ${rubricFingerprint.slice(0, 12)}`],
    verdicts: [made.verdicts, ...made.versions],
    method: made.method,
    'judge sampling': made.judge && made.sampling,
    'left out': made.dropped,
    judged: [run.startedAt, run.endedAt],
    scored: [run.scoredAt, `by awb ${run.toolVersion}`],
  };
  const meta = Object.entries(run.meta).map(([name, value]) => [`meta ${name}`, value] as const);
  return [...Object.entries(facts), ...meta].flatMap(([name, value]) => {
    const text = factText(value);
    return text === '' ? [] : [[name, text] as const];
  });
}

/** A fact as text, such as `temperature 0.6, top_p 0.95` for an object; empty for a missing one. */
function factText(value: unknown): string {
  if (value === undefined || typeof value === 'string') return value ?? '';
  if (Array.isArray(value)) return value.filter(Boolean).map(factText).join(', ');
  if (!isObject(value)) return canonicalJson(value);
  return factText(
    Object.entries(value).map(([name, field]) => `${name} ${isText(field) ? field : canonicalJson(field)}`),
  );
}

/** The state of the judged file since the run was scored from it. The complete file is read for its hash. */
async function judgedFileState({ source, sourceSha256 }: StoredRun) {
  const found = await stat(source).catch(() => undefined);
  // Anything else (a FIFO, a device) could hang or never end.
  const sha256 = found?.isFile() ? await sha256Of(source).catch(() => undefined) : undefined;
  let state: keyof typeof FILE_STATES = sha256 === sourceSha256 ? 'same' : 'changed';
  if (sha256 === undefined) state = found === undefined ? 'missing' : 'unreadable';
  return {
    state,
    bytes: sha256 === undefined ? undefined : found?.size,
    journalBytes: await sizeOf(journalBeside(source)),
  };
}

const COLUMNS = columnsOf(
  'Id, <Label, <World model|Model, <Judged by|Judge, Predictions|Pred., Overall|Over., Coverage|Cov., <Scored',
);
/** Columns of a name on a terminal of 80 columns, and columns that the rest of the table takes. */
const LEAST_NAME_COLUMNS = 14;
const OTHER_COLUMNS = 38;

/** The table of runs in the given order, for a terminal of this width; the three names share the space equally. */
export function runsTable(runs: readonly ListedRun[], columns: number): Table {
  const most = Math.max(LEAST_NAME_COLUMNS, Math.floor((columns - OTHER_COLUMNS) / 3));
  // A model's owner is cut off first, since the rest of the name identifies the model.
  const shown = (text: string) =>
    widthOf(text) <= most ? text : shortenedByWords(text.replace(/^[^/\s]+\/(?=[^/]+$)/, ''), most);
  const name = (text: string | undefined) => (text === undefined ? NONE : shown(oneLine(text, MOST_COLUMNS)));
  const rows = runs.map((run) => {
    const { card, kind, judgeModel } = run;
    const lead = leadingMeasure(card, measureOf);
    // The judge of a run rated by rubric; else the mode, with its judge if there is one.
    const judge = kind === 'rubric' ? (judgeModel ?? kind) : [kind, judgeModel].filter(Boolean).join(', ');
    return [
      ...[String(run.id), name(run.label), name(run.worldModel), name(judge), `${card.valid}/${card.chosen}`],
      figure(lead === undefined ? card.overallWithFailures.total : card.overallMeasures[lead]),
      percent(card.coverage),
      oneLine(run.scoredAt.slice(0, 10), 10),
    ];
  });
  return { columns: COLUMNS, groups: [rows], footnotes: notesOn(runs) };
}

function notesOn(runs: readonly ListedRun[]): string[] {
  const few = runs.filter(({ card }) => !coversBenchmark(card.domains.map(({ domain }) => domain)));
  const shared = [...groupBy(runs, ({ label }) => label)].filter(([label, alike]) => label && alike.length > 1);
  const numbers = (some: readonly ListedRun[]) => some.map(({ id }) => id).join(', ');
  return [
    'Predictions (Pred.): valid / chosen. Overall: mean of the domains, with empty, refused and confusing predictions as rating 1; for runs without ratings, the mean of their main measure.',
    ...(few.length === 0 ? [] : [`Not over the seven published domains: ${numbers(few)}.`]),
    ...shared.map(
      ([label = '', alike]) => `${oneLine(label, 60)} is the label of runs ${numbers(alike)}; name each by its number.`,
    ),
  ];
}

/** Longest text of a fact that is not shortened. */
const MOST_COLUMNS = 1000;

const FILE_STATES = {
  same: 'unchanged since it was scored',
  changed: 'changed since it was scored: awb score stores it again',
  missing: 'no longer there',
  unreadable: 'cannot be read',
};

export function runText(run: ShownRun, look: Look, io: Io): string {
  const { label, labelGiven, ownLabel, file } = run;
  const own = ownLabel === undefined ? '' : `; its manifest says ${ownLabel}`;
  const size = file.bytes === undefined ? '' : `, ${bytesText(file.bytes)}`;
  const journal = file.journalBytes === undefined ? '' : `; its journal has ${bytesText(file.journalBytes)}`;
  const facts = [
    ['label', label === undefined ? 'none' : `${label}${labelGiven ? ` (given here${own})` : ''}`],
    ...run.facts,
    ['judged file', `${shownPath(run.source, io)}${size}, ${FILE_STATES[file.state]}${journal}`],
    ['stored', `${counted(run.judgements, 'judgement')}, about ${bytesText(run.bytes)}`],
  ] as const;
  const names = facts.map(([name]) => oneLine(name, 24));
  const indent = Math.max(...names.map(widthOf)) + 2;
  const factLines = facts.flatMap(([, text], at) =>
    wrapped((names[at] ?? '').padEnd(indent) + oneLine(text, MOST_COLUMNS), look.columns, indent),
  );
  const sentences = (heading: string, texts: readonly string[]) =>
    texts.flatMap((text) => wrapped(`${heading}: ${oneLine(text, MOST_COLUMNS)}`, look.columns, 2));
  return blocksText([
    [bold(`run ${run.id} of ${printable(run.shownDb)}`, look)],
    factLines,
    ...cardTables(run, { measureOf, look, byDomain: true }).map((table) => [table.trimEnd()]),
    countLines(run.card),
    sentences('warning', run.warnings),
    sentences('note', run.notices),
  ]);
}

/** The names and description of a stored run. */
const NAMED = z.strictObject({
  db: z.string(),
  id: z.number(),
  label: TEXT,
  label_given: z.boolean(),
  kind: z.string(),
  ...keyed(TEXT, 'world_model', 'protocol', 'judge_model', 'rubric_pack', 'rubric_fingerprint'),
  meta: z.record(z.string(), z.unknown()),
  ...keyed(z.string(), 'source', 'source_sha256'),
  source_exists: z.boolean(),
  ...keyed(TEXT, 'started_at', 'ended_at'),
  ...keyed(z.string(), 'scored_at', 'tool_version'),
  bytes: z.number(),
  costs: COSTS,
});

/** The document of `awb runs list`. */
export const RUNS = z.strictObject({
  schema: z.literal('awb.runs/1'),
  databases: z.array(z.strictObject({ db: z.string(), bytes: z.number(), runs: z.number() })),
  runs: z.array(
    z.strictObject({
      ...NAMED.shape,
      ...COUNTS.shape,
      domains: z.array(z.string()),
      ...keyed(ESTIMATE.nullable(), 'overall', 'overall_with_failures'),
      overall_measures: z.record(z.string(), ESTIMATE),
      macro_of: z.number(),
    }),
  ),
});

export function runsDocument(databases: z.infer<typeof RUNS>['databases'], runs: readonly ListedRun[]) {
  return documentOf(RUNS, {
    schema: 'awb.runs/1',
    databases,
    runs: runs.map((run) => ({
      ...run.card,
      ...namedSource(run),
      domains: run.card.domains.map(({ domain }) => domain),
      overall: run.card.overall.total,
      overallWithFailures: run.card.overallWithFailures.total,
    })),
  });
}

/** The document of `awb runs show`. */
export const RUN = z.strictObject({
  schema: z.literal('awb.run/1'),
  ...NAMED.shape,
  own_label: TEXT,
  source_state: z.enum(keysOf(FILE_STATES)),
  ...keyed(FIGURE, 'source_bytes', 'journal_bytes'),
  stored_judgements: z.number(),
  judge_trust: TRUST.nullable(),
  ...CARD.shape,
  ...keyed(z.array(z.string()), 'warnings', 'notices'),
  manifest: z.record(z.string(), z.unknown()).nullable(),
});

export function runDocument(run: ShownRun) {
  const { file } = run;
  return documentOf(RUN, {
    ...run,
    schema: 'awb.run/1',
    ...namedSource(run),
    sourceState: file.state,
    sourceBytes: file.bytes,
    journalBytes: file.journalBytes,
    storedJudgements: run.judgements,
    judgeTrust: trustDocument(run.trust),
    ...cardSource(run.card),
    judgements: run.card.judgements,
  });
}

/** The document of `awb runs remove`. */
export const REMOVAL = z.strictObject({
  schema: z.literal('awb.runs-removed/1'),
  db: z.string(),
  removed: z.boolean(),
  runs: z.array(NAMED),
  ...keyed(FIGURE, 'bytes_before', 'bytes_after'),
});

/** @param bytes of the file before and after; absent if nothing was removed */
export function removalDocument(
  db: string,
  runs: readonly ListedRun[],
  bytes?: { readonly before: number; readonly after: number },
) {
  return documentOf(REMOVAL, {
    schema: 'awb.runs-removed/1',
    db,
    removed: bytes !== undefined,
    runs: runs.map(namedSource),
    bytesBefore: bytes?.before,
    bytesAfter: bytes?.after,
  });
}

function namedSource(run: Omit<ListedRun, 'manifest'>) {
  return { ...run, costs: costsSource(run.costs) };
}
