// What compare and gate share: runs named by label, number or judged file, what two of them were made with, and files to write.

import { createReadStream, existsSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { readJudged } from '../bench/judged.js';
import { LEAST_COVERAGE, percent, shortDomains } from '../coverage.js';
import { IDENTITIES, type Identity } from '../decision.js';
import { domainName } from '../domains.js';
import { EXIT, nearest, throwIfStopped, UserError } from '../errors.js';
import { counted } from '../figures.js';
import { canonicalJson, isObject, parseObject } from '../json.js';
import { splitLines } from '../lines.js';
import { impossibleFigures, isModelCaused } from '../points.js';
import { oneLine, printable } from '../printable.js';
import type { ShownRun } from '../report/comparison/page.js';
import { replaceFile } from '../run/files.js';
import { type MadeWith, madeWith } from '../run/made-with.js';
import { checkedManifest, type Manifest } from '../run/manifest.js';
import { changeSince, readManifest } from '../run/manifest-file.js';
import { aggregate } from '../score/aggregate.js';
import type { OptionTable } from '../settings/options.js';
import { shownPath } from '../settings/shown-path.js';
import type { StoredRun } from '../store/records.js';
import { openExistingStore, type StoreReader } from '../store/store.js';
import type { Domain, Io, JudgedRow, ScoreCard } from '../types.js';
import { DEFAULT_DB, judgedFileOf, requireDatabase } from './paths.js';

/** How a command names its two runs. */
export const RUN_OPTIONS = {
  db: {
    kind: 'list',
    value: 'FILE',
    default: [DEFAULT_DB],
    group: 'Runs',
    help: 'SQLite files of awb score, for runs named by label or number',
  },
  'allow-different': {
    kind: 'list',
    value: 'A,B',
    group: 'Runs',
    check: (text) => ((IDENTITIES as readonly string[]).includes(text) ? undefined : `any of ${IDENTITIES.join(', ')}`),
    help: `what the runs need not share: ${IDENTITIES.join(', ')}`,
  },
} as const satisfies OptionTable;

/** A run with its rows. Its texts may be hostile. */
export interface ReadRun {
  /** Its label, its model, or its file, on one line. */
  readonly name: string;
  /** The judged file; it need not be there any more. */
  readonly source: string;
  /** SHA-256 hex of the judged file's bytes, as they were when the rows were read from it. */
  readonly sha256: string;
  readonly rows: readonly JudgedRow[];
  /** Rows, times repeats, that the run chose, by domain. */
  readonly chosen?: ReadonlyMap<Domain, number>;
  readonly manifest: Partial<Manifest> | undefined;
  readonly made: MadeWith;
  readonly card: ScoreCard;
}

/** A found run whose rows have not been read yet. */
type FoundRun =
  | { readonly path: string }
  | { readonly store: StoreReader; readonly run: StoredRun; readonly db: string };

/**
 * Reads runs by their names: a label or number in one of the SQLite files (of several with one label, the one scored last), or the
 * path of a judged file or of a folder with a judged.jsonl.
 * @throws UserError: 2 for an unknown run, with a list of the known ones; 66 and 65 for files.
 */
export async function readRuns(
  names: readonly string[],
  { db, quiet }: { readonly db: readonly string[]; readonly quiet: boolean },
  io: Io,
): Promise<ReadRun[]> {
  const stores: StoreReader[] = [];
  try {
    const known: { store: StoreReader; run: StoredRun; db: string }[] = [];
    if (names.some((name) => !isFileName(name))) {
      for (const path of new Set(db.map((file) => resolve(io.cwd, file)))) {
        const unknown = names.find((name) => !isFileName(name) && fileOf(name, io) === undefined);
        if (!existsSync(path) && unknown === undefined) continue;
        requireDatabase(path, io, unknown && `"${shown(unknown)}" is no judged file, and `);
        const store = openExistingStore(path);
        stores.push(store);
        for (const run of store.runs()) known.push({ store, run, db: shownPath(path, io) });
      }
    }
    const note = (text: string) => {
      if (!quiet) io.stderr.write(`note: ${text}\n`);
    };
    const runs: ReadRun[] = [];
    for (const name of names) {
      runs.push(await readRun(findRun(name, known, note, io), note, io));
      await heedStop(io);
    }
    return runs;
  } finally {
    for (const store of stores) store.close();
  }
}

/** Lets in the signals that came while the program was reckoning. @throws UserError (130 or 143) where the user has interrupted it. */
export async function heedStop(io: Io): Promise<void> {
  await new Promise((done) => setImmediate(done));
  throwIfStopped(io.stop);
}

function isFileName(name: string): boolean {
  return /\.jsonl$/i.test(name);
}

/** The judged file of this path, where there is one. */
function fileOf(name: string, io: Io): string | undefined {
  const path = judgedFileOf(name, io);
  return existsSync(path) && statSync(path).isFile() ? path : undefined;
}

function findRun(
  name: string,
  known: readonly { readonly store: StoreReader; readonly run: StoredRun; readonly db: string }[],
  note: (text: string) => void,
  io: Io,
): FoundRun {
  if (isFileName(name)) return { path: resolve(io.cwd, name) };
  const labelled = known
    .filter(({ run }) => run.label === name)
    .sort((a, b) => (a.run.scoredAt < b.run.scoredAt ? 1 : -1));
  const found = labelled[0] ?? known.find(({ run }) => String(run.id) === name);
  if (found !== undefined) {
    if (labelled.length > 1) {
      const which = `number ${found.run.id} of ${found.db}`;
      note(`${labelled.length} runs are labelled ${shown(name)}; the one scored last is taken, ${which}`);
    }
    return found;
  }
  const path = fileOf(name, io);
  if (path !== undefined) return { path };
  throw new UserError(`there is no run or judged file "${shown(name)}"; ${listOf(name, known)}`);
}

const MOST_LISTED = 40;

function listOf(name: string, known: readonly { readonly run: StoredRun; readonly db: string }[]): string {
  if (known.length === 0) return 'and the SQLite file holds no runs; awb score RUN adds one';
  const near = nearest(
    name,
    known.flatMap(({ run }) => run.label ?? []),
  );
  const listed = known.slice(0, MOST_LISTED).map(({ run, db }) => {
    const label = run.label ?? run.worldModel;
    return `  ${run.id}${label === undefined ? '' : `: ${shown(label)}`} (${db})`;
  });
  const left = known.length - listed.length;
  const advice = near === undefined ? 'the runs are' : `did you mean "${shown(near)}"? The runs are`;
  return [advice, ...listed, ...(left > 0 ? [`  and ${left} more`] : [])].join('\n');
}

function shown(text: string): string {
  return oneLine(text, 80);
}

async function readRun(found: FoundRun, note: (text: string) => void, io: Io): Promise<ReadRun> {
  if ('store' in found) {
    const { run, store } = found;
    const manifest = manifestOf(run, found.db);
    const rows = store.judgements(run.id);
    const chosen = new Map(run.card.domains.map((domain) => [domain.domain, domain.chosen]));
    return {
      name: oneLine(run.label ?? run.worldModel ?? basename(run.source), 80),
      source: run.source,
      sha256: run.sourceSha256,
      rows,
      chosen,
      manifest,
      made: madeWith(manifest),
      // From the rows, whatever version scored them.
      card: aggregate(rows, chosen),
    };
  }
  const { path } = found;
  const { rows, sha256, warnings } = await readJudged(path, io.stop);
  for (const warning of warnings) note(printable(warning));
  const manifest = await readManifest(path.replace(/(\.jsonl)?$/i, '.manifest.json'));
  const change = changeSince(manifest, shownPath(path, io), sha256);
  if (change !== undefined) note(printable(change));
  const made = madeWith(manifest);
  const { chosen, label } = made;
  const name = oneLine(label ?? shownPath(path, io), 80);
  const card = aggregate(rows, chosen);
  return { name, source: path, sha256, rows, ...(chosen === undefined ? {} : { chosen }), manifest, made, card };
}

/** The manifest that a SQLite file holds of a run. @throws UserError (65) where it is damaged. */
export function manifestOf({ id, manifest }: StoredRun, db: string): Manifest | undefined {
  if (manifest === undefined) return undefined;
  const place = `the manifest of run ${id} in ${db}`;
  const value = parseObject(manifest);
  if (value === undefined) {
    throw new UserError(`${place} is not a JSON object; score the run's judged file again`, EXIT.badData);
  }
  return checkedManifest(value, place);
}

/** What each of two runs was made with, in words, and whether it is the same. */
export interface Shared {
  readonly state: 'equal' | 'different' | 'unknown';
  readonly base: string;
  readonly candidate: string;
}

/**
 * What two runs share. Files of the official script do not say what they were made with, which is `unknown`; so is the
 * protocol of a baseline, which was asked under none, and goes for equal. The data are equal where the rows are.
 */
export function sharedBy(base: ReadRun, candidate: ReadRun): Readonly<Record<Identity, Shared>> {
  const compare = (name: Identity): Shared => {
    const [a, b] = [base.made.shares[name], candidate.made.shares[name]];
    const state =
      a === undefined || b === undefined ? 'unknown' : canonicalJson(a) === canonicalJson(b) ? 'equal' : 'different';
    return { state, base: wordsOf(a, b), candidate: wordsOf(b, a) };
  };
  const protocol = compare('protocol');
  const isAnyBaseline = [base, candidate].some(({ made }) => made.baseline !== undefined);
  return {
    judge: compare('judge'),
    rubric: compare('rubric'),
    protocol: isAnyBaseline ? { ...protocol, state: 'equal' } : protocol,
    data: haveSameRows(base, candidate)
      ? { state: 'equal', base: 'the same rows', candidate: 'the same rows' }
      : compare('data'),
  };
}

function haveSameRows(base: ReadRun, candidate: ReadRun): boolean {
  const [a, b] = [base, candidate].map(({ rows }) => new Set(rows.map((row) => row.key))) as [Set<string>, Set<string>];
  return a.size === b.size && [...a].every((key) => b.has(key));
}

/** A value in words; of two objects, the fields in which it differs from the other. */
function wordsOf(value: unknown, other: unknown): string {
  if (!isObject(value)) return oneLine(fieldText(value), 24);
  const others = new Map(Object.entries(isObject(other) ? other : {}));
  const fields = Object.entries(value).filter(([name, field]) => fieldText(field) !== fieldText(others.get(name)));
  return oneLine(fields.map(([name, field]) => `${name} ${fieldText(field)}`).join(', '), 200);
}

function fieldText(value: unknown): string {
  if (value === undefined) return 'not recorded';
  return typeof value === 'string' ? value : canonicalJson(value);
}

/** What a reader has to know of how two runs were made: what differs though it was allowed to, and what nobody recorded. */
export function notesOn(shared: Readonly<Record<Identity, Shared>>, comparedAnyway: readonly Identity[]): string[] {
  const of = (state: Shared['state']) => IDENTITIES.filter((name) => shared[name].state === state);
  const different = of('different').map((name) => {
    const { base, candidate } = shared[name];
    const allowed = comparedAnyway.includes(name) ? ', and are compared all the same' : '';
    return `NOT THE SAME: the runs differ in their ${name} (${base}; ${candidate})${allowed}.`;
  });
  const unknown = of('unknown');
  if (unknown.length === 0) return different;
  return [...different, `Not recorded, and so not checked: whether the runs have the same ${unknown.join(', ')}.`];
}

/** What `awb score` says of a run of which too much is missing, for whoever compares it all the same. */
export function coverageWarning({ name, card }: ReadRun): string[] {
  const short = shortDomains(card);
  if (short.length === 0) return [];
  const listed = short.map(({ domain, coverage }) => `${domainName(domain)} ${percent(coverage)}`).join(', ');
  return [
    `INCOMPLETE: ${name} has a coverage below ${percent(LEAST_COVERAGE)} (${listed}); its scores must not be compared with others.`,
  ];
}

/** How many rows have ratings that no judge can have meant. */
export function impossibleRows({ rows }: ReadRun): number {
  return rows.filter((row) => impossibleFigures(row).length > 0).length;
}

/** What is left out of a run because no judge can have meant it. */
export function ratingWarning(run: ReadRun): string[] {
  const rows = impossibleRows(run);
  if (rows === 0) return [];
  return [
    `LEFT OUT: ${counted(rows, 'row')} of ${run.name} with ratings outside 1 to 5, which no judge can have meant; awb score names their lines.`,
  ];
}

/**
 * What was wrong with rows, as their judge said: the first weakness of the worst repeat of each, or why it failed, by key.
 * Empty, with the reason, where the judged file is gone or was changed since.
 */
export async function weaknessesOf(
  run: ReadRun,
  keys: readonly string[],
  io: Io,
): Promise<{ readonly byKey: ReadonlyMap<string, string>; readonly why?: string }> {
  const byKey = new Map<string, string>();
  if (keys.length === 0) return { byKey };
  const name = join(basename(dirname(run.source)), basename(run.source));
  if (!existsSync(run.source)) return { byKey, why: `${name} is not there any more` };
  const file = await readJudged(run.source, io.stop);
  if (file.sha256 !== run.sha256) return { byKey, why: `${name} has changed since it was scored` };
  const worst = new Map<string, JudgedRow>();
  for (const row of file.rows) {
    const before = worst.get(row.key);
    // Of a row that counts for nothing there is nothing to say.
    if (row.failure !== undefined && !isModelCaused(row.failure.class)) continue;
    if (keys.includes(row.key) && (before === undefined || row.total < before.total)) worst.set(row.key, row);
  }
  let place = 0;
  // Rows stand in the order of the file's lines.
  for await (const line of splitLines(createReadStream(run.source, { highWaterMark: 1 << 20 }))) {
    const row = file.rows[place++];
    if (row === undefined || worst.get(row.key) !== row) continue;
    const said = row.failure
      ? `${row.failure.class}: ${row.failure.reason}`
      : weaknessIn(Buffer.from(line.bytes).toString());
    if (said !== undefined) byKey.set(row.key, oneLine(said, 400));
  }
  return { byKey };
}

/** The official script writes whatever the judge gave: a list, a text, or something else. */
function weaknessIn(text: string): string | undefined {
  const { weaknesses } = JSON.parse(text) as Readonly<Record<string, unknown>>;
  return [weaknesses].flat().find((one): one is string => typeof one === 'string' && one.trim() !== '');
}

/** Whether one judged file stands on both sides: what is held against itself never falls behind. */
export function isOneRun(base: ReadRun, candidate: ReadRun): boolean {
  return base.source === candidate.source && base.sha256 === candidate.sha256;
}

/** Two names, and the same bytes behind them. */
export function sameBytesNote(base: ReadRun, candidate: ReadRun): string[] {
  return base.sha256 === candidate.sha256
    ? ['ONE AND THE SAME: base and candidate are the same judged file, byte by byte.']
    : [];
}

/** Two runs that no row can be compared of. */
export function nothingToCompare(base: ReadRun, candidate: ReadRun, reason: string): UserError {
  const measured = [base, candidate].some(({ made }) => made.mode === 'metrics');
  const hint = measured
    ? 'text measures are no ratings, and awb leaderboard compares those'
    : 'name two runs over the same data';
  return new UserError(`${oneLine(`${candidate.name} against ${base.name}`, 200)}: ${reason}; ${hint}`, EXIT.badData);
}

/** What is shown of a run, whatever its manifest holds. */
export function shownRun({ name, source, made }: ReadRun): ShownRun {
  return { name, source, judge: made.judgeName, rubricPack: made.rubricPack };
}

/** @throws UserError (74) that names the flag. */
export async function writeText(path: string, text: string, flag: string, io: Io): Promise<void> {
  await replaceFile(resolve(io.cwd, path), [text], { name: path, remedy: `name another file with ${flag}` });
}
