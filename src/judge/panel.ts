// A panel: several judgings of the same predictions, read and checked against each other, joined, and written as one judged file.

import { existsSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, relative, resolve } from 'node:path';
import { readJudged } from '../benchmark/judged.js';
import { judgedFilesOf, manifestBeside } from '../benchmark/judged-path.js';
import { openToRead, readAgain, type Span, spanOf } from '../benchmark/line-file.js';
import { stampOf } from '../benchmark/predictions.js';
import { withMembers } from '../benchmark/row-text.js';
import { addUsage, sumOf } from '../core/costs.js';
import { badData, cannotCreate, identityDiffers, inputMissing, present, UserError } from '../core/errors.js';
import { countBy, groupBy } from '../core/groups.js';
import { differencesOf, fingerprintOf, type Identity } from '../core/identity.js';
import { isObject, type JsonObject, parseObject } from '../core/json.js';
import { JUDGEMENT_KEYS, judgementMembers, remarksIn } from '../core/judged-row.js';
import { isUnasked, type JudgementRecord, type NoJudgement, rated, unrated } from '../core/judgement.js';
import { countedRating, isModelCaused, isRated, ratingToPoints } from '../core/points.js';
import { readPredictionRow } from '../core/prediction.js';
import { printable, shownPath } from '../core/printable.js';
import { rowId } from '../core/row-id.js';
import { DIMENSIONS, type Flag, type Io, type JudgedRow, type Measures, type Ratings } from '../core/types.js';
import { writeLines } from '../disk/files.js';
import { madeWith } from '../run/made-with.js';
import { changeSince, type Manifest, readManifest, writeManifest } from '../run/manifest.js';
import { setAside } from '../run/run.js';
import { toolVersion } from '../settings/command.js';
import {
  combinedRating,
  type Offsets,
  offsetsOf,
  type PanelDocument,
  type PanelJudge,
  type PanelRule,
  panelAgreement,
  totalOf,
} from '../stats/agreement/panel.js';
import { mean } from '../stats/clusters.js';
import { ratesDimensions } from './modes.js';

/** A judgement, and the place of its line in the judged file; `stamp` changes whenever the judged prediction changes. */
type PlacedRow = Span & { readonly row: JudgedRow; readonly line: number; readonly stamp: string };

/** One judging of a panel. */
type Member = Awaited<ReturnType<typeof readMember>> & { readonly name: string };

/**
 * Reads the judgings of a panel.
 * @throws UserError: 66 and 65 for a file or its manifest, 2 for fewer than two or one that would count twice, 78 if they are not judgings
 * of the same predictions under the same rubrics.
 */
export async function readMembers(files: readonly string[], io: Io): Promise<readonly Member[]> {
  const members: Member[] = [];
  const note = (text: string) => io.stderr.write(`note: ${printable(text)}\n`);
  for (const file of judgedFilesOf(files, io, note)) {
    const member = await readMember(file, io);
    const change = changeSince(member.manifest, member.shown, member.sha256);
    if (change !== undefined) note(change);
    const twin = members.find(({ begun }) => begun === member.begun);
    if (twin !== undefined) {
      throw new UserError(
        `${twin.shown} and ${member.shown} contain the same judging, which would count twice; leave one out`,
      );
    }
    // Judges with the same name are numbered.
    const before = members.filter(({ judge }) => judge === member.judge).length;
    members.push({ ...member, name: before === 0 ? member.judge : `${member.judge} (${before + 1})` });
  }
  const [first, ...others] = members;
  if (first === undefined || others.length === 0) {
    throw new UserError('a panel needs at least two judges; name two or more judged files');
  }
  for (const other of others) requireAlike(first, other);
  return members;
}

async function readMember(path: string, io: Io) {
  const shown = shownPath(path, io);
  const placed: PlacedRow[] = [];
  const { sha256 } = await readJudged(path, io.stop, (row, fields, line) => {
    const { gen = '', failure } = readPredictionRow(fields) ?? {};
    placed.push({ row, ...spanOf(line), line: line.number, stamp: stampOf(gen, failure) });
  });
  const manifest = await readManifest(manifestBeside(path));
  if (manifest === undefined) {
    throw inputMissing(
      `${shown} has no manifest next to it, so it is unknown who judged what in it; a panel takes files written by awb judge`,
    );
  }
  const made = madeWith(manifest);
  if (manifest.identity.members !== undefined || !ratesDimensions(made.mode)) {
    throw badData(`${shown} is not an ordinary judging by rubrics (mode ${made.mode}); a panel joins only those`);
  }
  const predictions = groupBy(placed, ({ row }) => rowId(row.key, row.repeat));
  /** Identifies the judging, wherever its file lies. */
  const begun = `${manifest.fingerprint} ${manifest.startedAt}`;
  return { path, shown, judge: made.judgeName ?? basename(path), begun, sha256, manifest, made, predictions };
}

/** @throws UserError (78) with the fields that differ, or with rows whose predictions differ. */
function requireAlike(first: Member, other: Member): void {
  const shared = ({ manifest: { identity }, made }: Member) => ({
    mode: made.mode,
    rubrics: identity.rubrics,
    // Where the files lie makes no difference.
    predictions: {
      begun: made.predictedAt,
      run: isObject(identity.predictions) ? identity.predictions.run : undefined,
    },
  });
  const changed = Array.from(first.predictions, ([id, [own]]) => ({ own, theirs: other.predictions.get(id)?.[0] }));
  const rows = changed.flatMap(({ own, theirs }) =>
    theirs === undefined || own.stamp === theirs.stamp
      ? []
      : [`the prediction of ${first.shown}:${own.line} differs from that of ${other.shown}:${theirs.line}`],
  );
  const faults = [
    ...differencesOf(shared(first), shared(other), [`in ${first.shown}`, `in ${other.shown}`]),
    ...rows.slice(0, 1),
  ];
  if (faults.length === 0) return;
  const what = 'a panel joins judgings of the same predictions under the same rubrics, but these differ:';
  const remedy = 'Run the awb judge commands again with the same --predictions and --rubrics.';
  throw identityDiffers([what, ...faults.map((line) => `  ${line}`), remedy].join('\n'));
}

/** What one judge gave one prediction, as the panel's row shows it. */
type Voice =
  | { readonly status: 'ok'; readonly ratings: Ratings; readonly measures?: Measures }
  | ({ readonly status: 'failed' } & NoJudgement)
  | { readonly status: 'absent' };

/** A prediction, and each member's lines for it. */
type Case = ReturnType<typeof caseOf>;

type Joined = ReturnType<typeof joinMembers>;
/** The number of draws for the intervals; the seed is fixed, so that a panel is the same each time. */
const RESAMPLING = { draws: 2000, seed: 1 };

/** The panel's predictions, in the order of the first member, followed by those that only others have; and the panel's result. */
export function joinMembers(members: readonly Member[], rule: PanelRule) {
  const ids = new Set(members.flatMap(({ predictions }) => [...predictions.keys()]));
  const cases = [...ids].map((id) => caseOf(members.map(({ predictions }) => predictions.get(id) ?? [])));
  // Failures caused by the model say nothing about the judges.
  const rateable = cases.filter(({ caused }) => caused === undefined);
  const offsets = offsetsOf(rateable);
  const rows = cases.map((one) => ({ ...one, ...outcomeOf(one, members, rule, offsets) }));
  const ratings = rows.flatMap(({ rating }) => rating ?? []);
  const failed = rows.flatMap(({ failure }) => failure ?? []);
  const caused = cases.length - rateable.length;
  const whole = rateable.filter(({ given }) => given.every((own) => own !== undefined));
  const judges = members.map(({ name, shown }, judge): PanelJudge => {
    const count = (status: Voice['status']) => cases.filter(({ voices }) => voices[judge]?.status === status).length;
    const totals = whole.flatMap(({ given }) => totalOf(given[judge]) ?? []);
    return {
      name,
      file: shown,
      rated: count('ok'),
      failed: count('failed'),
      absent: count('absent'),
      mean_total: totals.length === 0 ? null : ratingToPoints(mean(totals)),
    };
  });
  const panel: PanelDocument = {
    judges,
    combine: rule.combine,
    quorum: rule.quorum ?? null,
    predictions: rows.length,
    rated: ratings.length,
    by_fewer: ratings.filter(({ judges: count }) => count < members.length).length,
    model_caused: caused,
    missing: failed.length - caused,
    not_judged: rows.length - ratings.length - failed.length,
    offsets: rule.quorum === undefined ? null : offsets,
    agreement: panelAgreement(rateable, RESAMPLING),
  };
  return { rows, panel };
}

function caseOf(lines: readonly (readonly PlacedRow[])[]) {
  const { domain, trajectory } = present(lines.find((rows) => rows.length > 0)?.[0]).row;
  const voices = lines.map((placed) => voiceOf(placed.map(({ row }) => row)));
  const given = voices.map((voice) => (voice.status === 'ok' ? voice.ratings : undefined));
  /** The failure that the world model caused, whichever judge met it: it belongs to the prediction, and counts for all judges. */
  const caused = voices.filter((voice) => voice.status === 'failed').find((voice) => isModelCaused(voice.class));
  return { domain, trajectory, voices, given, lines, caused };
}

/** The mean of a judge's judgements of a prediction; a failure caused by the model counts as rating 1. */
function voiceOf(rows: readonly JudgedRow[]): Voice {
  if (rows.length === 0) return { status: 'absent' };
  const ratings: Ratings = {};
  for (const dimension of rows.some(isRated) ? DIMENSIONS : []) {
    const values = rows.flatMap((row) => countedRating(row, dimension) ?? []);
    if (values.length > 0) ratings[dimension] = mean(values);
  }
  if (Object.keys(ratings).length > 0) {
    const measures = meanMeasures(rows);
    return { status: 'ok', ratings, ...(Object.keys(measures).length > 0 && { measures }) };
  }
  const failures = rows.flatMap(({ failure }) => failure ?? []);
  const failure = failures.find(({ class: cause }) => isModelCaused(cause)) ?? failures[0];
  return { status: 'failed', ...(failure ?? { class: 'unreadable', reason: 'the row contains no rating of 1 to 5' }) };
}

/** The mean of each measure over those that have it. */
function meanMeasures(all: readonly { readonly measures?: Measures | undefined }[]): Measures {
  const measures = all.map(({ measures = {} }) => measures);
  return byName(mean, measures);
}

/**
 * The panel's result for a prediction; neither rating nor failure if it gets no row: some judge has no judgement of it, and too few others
 * rated it.
 */
function outcomeOf(one: Case, members: readonly Member[], rule: PanelRule, offsets: Offsets) {
  const rating = one.caused === undefined ? combinedRating(one, rule, offsets) : undefined;
  if (rating !== undefined) {
    return { rating: { ...rating, measures: meanMeasures(one.voices.filter((voice) => voice.status === 'ok')) } };
  }
  return { failure: failureOf(one, members) };
}

function failureOf({ caused, voices, given }: Case, members: readonly Member[]): NoJudgement | undefined {
  if (caused === undefined && voices.some(({ status }) => status === 'absent')) return undefined;
  const failed = caused ?? voices.find((voice) => voice.status === 'failed');
  if (failed === undefined) return { class: 'unreadable', reason: 'no dimension was rated by enough judges' };
  const { class: failure, reason } = failed;
  // If there is no prediction, no judge was asked.
  if (caused !== undefined || isUnasked(failure)) return { class: failure, reason };
  const judges = `${given.filter((ratings) => ratings !== undefined).length} of ${members.length} judges rated it`;
  return { class: failure, reason: `${judges}; ${present(members[voices.indexOf(failed)]).name}: ${reason}` };
}

/**
 * Writes the panel's judged file and its manifest, replacing only an earlier state of the same panel.
 * @returns whether the panel has a rating, or a failure of the world model, for every chosen prediction
 * @throws UserError: 2 if the file is one of its own judgings, 78 for another panel or judging, 73 for a file of unknown origin; 74, 66, or
 * 65 if a member was changed meanwhile.
 */
export async function writePanel(
  path: string,
  members: readonly Member[],
  joined: Joined,
  { io, fresh, settings }: { readonly io: Io; readonly fresh: boolean; readonly settings: Manifest['settings'] },
): Promise<boolean> {
  const identity = panelIdentity(path, members, joined.panel);
  await requireFree(path, io, fresh, members, identity);
  const handles: FileHandle[] = [];
  try {
    for (const member of members) handles.push(await openToRead(member.path, 'a panel reads it twice'));
    const lines = async function* () {
      for (const row of joined.rows) {
        if (row.rating === undefined && row.failure === undefined) continue;
        const texts: (string | undefined)[] = [];
        for (const [at, [first]] of row.lines.entries()) {
          if (first === undefined) texts.push(undefined);
          else texts.push(await readAgain(present(handles[at]), first, `${present(members[at]).shown}:${first.line}`));
        }
        yield lineOf(row, members, texts, joined.panel);
      }
    };
    const output = await writeLines(path, lines(), 'fix that, or choose another file with --output');
    const manifest = panelManifest(path, identity, members, joined, settings, output);
    await writeManifest(manifestBeside(path), manifest);
    return manifest.state === 'complete';
  } finally {
    for (const handle of handles) await handle.close();
  }
}

/** What a panel's ratings depend on: the predictions, who judged them and how, and how the judgings were joined. */
function panelIdentity(path: string, members: readonly Member[], panel: PanelDocument): Identity {
  const { combine, quorum, offsets } = panel;
  const first = present(members[0]);
  const { predictions, rubrics, verdicts, reading } = first.manifest.identity;
  const how = quorum === null ? combine : `${combine}, quorum ${quorum}`;
  const identities = members.map(({ manifest }) => manifest.identity);
  const isOneReading = identities.every((own) => own.verdicts === verdicts && own.reading === reading);
  return {
    mode: first.made.mode,
    // The path of the predictions is relative to the judged file.
    predictions:
      isObject(predictions) && typeof predictions.file === 'string'
        ? { ...predictions, file: relative(dirname(path), resolve(dirname(first.path), predictions.file)) }
        : predictions,
    judge: `panel of ${members.length} (${how}): ${members.map(({ name }) => name).join(', ')}`,
    members: identities.map(({ judge, snapshot, verdicts, reading, sampling }) => {
      return { judge, snapshot, verdicts, reading, sampling };
    }),
    combine,
    quorum: quorum ?? undefined,
    offsets: offsets ?? undefined,
    rubrics,
    ...(isOneReading && { verdicts, reading }),
  };
}

async function requireFree(path: string, io: Io, fresh: boolean, members: readonly Member[], identity: Identity) {
  const shown = shownPath(path, io);
  if (members.some((member) => member.path === path)) {
    throw new UserError(`--output names ${shown}, one of the panel's own judgings; choose another file`);
  }
  const files = [path, manifestBeside(path)].filter((file) => existsSync(file));
  if (files.length === 0) return;
  if (fresh) return setAside(dirname(path), files);
  const remedy = 'choose another file with --output, or add --fresh to move the old one aside';
  const stored = await readManifest(manifestBeside(path));
  if (stored === undefined) {
    throw cannotCreate(`${shown} already exists, and its origin is unknown (it has no manifest); ${remedy}`);
  }
  // The judges' offsets follow from the rows, and more rows may have been judged since.
  const differences = differencesOf({ ...stored.identity, offsets: undefined }, { ...identity, offsets: undefined });
  if (differences.length === 0) return;
  throw identityDiffers(
    [`${shown} contains another judging; ${remedy}:`, ...differences.map((line) => `  ${line}`)].join('\n'),
  );
}

/** @param texts each member's first line for the prediction */
function lineOf(
  row: Joined['rows'][number],
  members: readonly Member[],
  texts: readonly (string | undefined)[],
  { offsets }: PanelDocument,
): string {
  const fields = texts.map((text): JsonObject => (text === undefined ? {} : (parseObject(text) ?? {})));
  const at = texts.findIndex((text) => text !== undefined);
  const { gen = '', awb = {} } = readPredictionRow(present(fields[at])) ?? {};
  const { key, trajectory, repeat, flags } = present(row.lines[at]?.[0]).row;
  // Flags of later versions are kept unchanged.
  const prediction = { key, trajectory, repeat, gen, awb, flags: flags as Flag[] };
  const { domain, rating, failure, voices } = row;
  const panel = voices.map((voice, judge) => {
    const taken = voice.status === 'ok' ? offsets?.[domain]?.judges[judge] : undefined;
    return { judge: present(members[judge]).name, ...voice, ...(taken && { offsets: taken }) };
  });
  const { rubricPack: name, rubricFingerprint: fingerprint } = present(members[0]).made;
  const rubrics = name === undefined || fingerprint === undefined ? {} : { rubrics: { name, fingerprint } };
  const asked = { ...rubrics, panel };
  const lineWith = (record: JudgementRecord) =>
    withMembers(present(texts[at]), JUDGEMENT_KEYS, judgementMembers(prediction, record, 0));
  if (rating === undefined) return lineWith(unrated(present(failure), asked));
  const { ratings, total, measures } = rating;
  /** The judges' remarks, each with the judge's name. */
  const said = (kind: 'strengths' | 'weaknesses') =>
    fields.flatMap((own, judge) => remarksIn(own)[kind].map((remark) => `${present(members[judge]).name}: ${remark}`));
  const remarks = { strengths: said('strengths'), weaknesses: said('weaknesses') };
  const record = rated({ status: 'ok', ratings, total, ...remarks }, asked);
  return lineWith(Object.keys(measures).length === 0 ? record : { ...record, measures });
}

/** It starts with the first of its judgings and ends with the last: joining itself counts as no time. */
function panelManifest(
  path: string,
  identity: Identity,
  members: readonly Member[],
  { rows, panel }: Joined,
  settings: Manifest['settings'],
  output: { readonly bytes: number; readonly sha256: string },
): Manifest {
  const all = <Key extends keyof Manifest>(key: Key) => members.map(({ manifest }) => manifest[key]);
  const { label, meta, predictions } = present(members[0]).manifest;
  const chosen = byName((counts) => Math.max(...counts), all('chosen'));
  const sum = Object.values(chosen).reduce((total, count) => total + count, 0);
  const chosenRows = Math.max(rows.length, sum);
  const tokens = {};
  for (const used of all('tokens')) addUsage(tokens, used);
  const costs = all('costs').map((own) => own ?? {});
  const ended = all('endedAt').flatMap((at) => at ?? []);
  const isWhole = panel.missing + panel.not_judged === 0 && chosenRows === rows.length;
  return {
    schema: 'awb.manifest/1',
    kind: 'judge',
    tool: { name: 'agentworldbench', version: toolVersion() },
    ...(label !== undefined && { label }),
    meta,
    identity,
    fingerprint: fingerprintOf(identity),
    settings,
    endpoints: [...new Set(all('endpoints').flat())],
    servedModels: [...new Set(all('servedModels').flat())],
    data: { judgings: members.map(({ path: file, sha256 }) => ({ file: relative(dirname(path), file), sha256 })) },
    ...(predictions && { predictions }),
    chosen,
    counts: {
      chosen: chosenRows,
      ok: panel.rated,
      failed: panel.model_caused + panel.missing,
      notDone: panel.not_judged,
      absent: chosenRows - rows.length,
      failures: countBy(rows.flatMap(({ failure }) => failure?.class ?? [])),
      flags: {},
    },
    tokens,
    costs: byName(costOf, costs),
    panel: { judges: panel.judges, by_fewer: panel.by_fewer, agreement: panel.agreement },
    notices: [],
    startedAt: present(all('startedAt').sort()[0]),
    endedAt: ended.sort().at(-1),
    state: isWhole ? 'complete' : 'incomplete',
    process: { pid: process.pid, host: hostname() },
    output: { file: path, form: fingerprintOf({ rows: rows.length, file: basename(path) }), ...output },
  };
}

function costOf(costs: readonly NonNullable<Manifest['costs']>[string][]) {
  const { unpriced, ...cost } = sumOf(costs.map((each) => ({ ...each, unpriced: each.unpriced ?? 0 })));
  return { ...cost, ...(unpriced > 0 && { unpriced }) };
}

/** The values that several records have under each name, joined. */
function byName<T, R>(join: (own: readonly T[]) => R, records: readonly Readonly<Record<string, T>>[]) {
  const entries = groupBy(records.flatMap(Object.entries<T>), ([name]) => name);
  return Object.fromEntries(Array.from(entries, ([name, own]) => [name, join(own.map(([, value]) => value))]));
}
