// A run of a SQLite file -> all that is listed and shown of it, and how it is stored again once it is removed.

import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { journalBeside } from '../benchmark/judged-path.js';
import { codeOf, present, UserError } from '../core/errors.js';
import { canonicalJson, isObject } from '../core/json.js';
import { shellLine } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { sha256Of, sizeOf } from '../disk/files.js';
import { askedWord } from '../judge/modes.js';
import type { JudgedFileState, ListedRun, ShownRun } from '../report/stored-runs.js';
import { trustText } from '../report/trust.js';
import { worldModelManifest } from '../run/made-with.js';
import type { Manifest } from '../run/manifest.js';
import { programName } from '../settings/command.js';
import { shownPath } from '../settings/shown-path.js';
import type { StoredRun } from '../store/runs.js';
import { type KnownRun, manifestOf, wordsFor } from './databases.js';
import { type Note, type ReadRun, readStoredRun, warningsOn } from './read-run.js';
import { rolloutOf } from './rollout.js';
import { isGiven } from './scored.js';

/** Looks at all of a run: its rows, its manifest and its judged file. What is wrong with the manifest is noted. */
export async function shownRun(known: KnownRun, note: Note, io: Io): Promise<ShownRun> {
  let manifest: Manifest | undefined;
  try {
    manifest = manifestOf(known);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    note(error.message);
  }
  const run = readStoredRun(known, manifest);
  const [listed] = listedRuns([known]);
  return {
    ...present(listed),
    trust: run.trust,
    facts: factsOf(known.run, run, manifest),
    shownSource: shownPath(known.run.source, io),
    file: await judgedFileState(known.run),
    judgements: run.rows.length,
    ownLabel: run.made.label,
    warnings: warningsOn(run),
    notices: [...(manifest?.predictions?.notices ?? []), ...(manifest?.notices ?? [])],
    manifest,
    rollout: rolloutOf(run.rows, run.card),
  };
}

/** What made a run, the world model's part first. A checked manifest may lack fields, and what nobody recorded is left out. */
function factsOf(run: StoredRun, { made, trust }: ReadRun, manifest: Partial<Manifest> | undefined): ShownRun['facts'] {
  const { identity, data, startedAt, endedAt } = worldModelManifest(manifest) ?? {};
  const { rubricPack, rubricFingerprint } = run;
  const facts = {
    'world model': run.worldModel,
    protocol: run.protocol,
    'system prompt': textOf(identity?.system_prompt),
    sampling: fieldsText(identity?.sampling),
    data: textOf(data?.dir),
    predicted: spanText(startedAt, endedAt),
    mode: run.kind,
    [askedWord(made.mode)]: made.judgeName ?? run.judgeModel,
    calibration: trust && trustText(trust).replace(/^judge: /, ''),
    rubrics: joined([rubricPack, rubricFingerprint && `fingerprint ${rubricFingerprint.slice(0, 12)}`]),
    verdicts: joined([made.verdicts, ...made.versions]),
    method: fieldsText(made.method),
    'judge sampling': made.judge === undefined ? undefined : fieldsText(made.sampling),
    'left out': joined(made.dropped),
    judged: spanText(run.startedAt, run.endedAt),
    scored: `${timeText(run.scoredAt)} by awb ${run.toolVersion}`,
  };
  const meta = Object.entries(run.meta).map(([name, value]) => [`meta ${name}`, textOf(value) ?? canonicalJson(value)]);
  return [...Object.entries(facts), ...meta].flatMap(([name = '', text]) => (text === undefined ? [] : [[name, text]]));
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function joined(parts: readonly (string | undefined)[]): string | undefined {
  const known = parts.filter((part) => part !== undefined && part !== '');
  return known.length === 0 ? undefined : known.join(', ');
}

/** `temperature 0.6, top_p 0.95`. */
function fieldsText(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  return joined(Object.entries(value).map(([name, field]) => `${name} ${textOf(field) ?? canonicalJson(field)}`));
}

function spanText(from: string | undefined, to: string | undefined): string | undefined {
  if (from === undefined) return to && `until ${timeText(to)}`;
  return to === undefined ? timeText(from) : `${timeText(from)} to ${timeText(to)}`;
}

/** `2026-01-31 12:00:00 UTC`; a text that is no such time as it is. */
function timeText(text: string): string {
  const found = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/.exec(text);
  return found === null ? text : `${found[1]} ${found[2]} UTC`;
}

/** The runs as a list shows them. */
export function listedRuns(known: readonly KnownRun[]): ListedRun[] {
  const bytes = new Map([...new Set(known.map(({ store }) => store))].map((store) => [store, store.bytesByRun()]));
  return known.map(({ run, store, db, path }) => ({
    ...run,
    db,
    path,
    isLabelGiven: isGiven(run),
    isSourceThere: existsSync(run.source),
    bytes: Math.round(bytes.get(store)?.get(run.id) ?? 0),
  }));
}

/** Looks at the judged file of a run, and reads it whole for its hash. */
async function judgedFileState({ source, sourceSha256 }: StoredRun): Promise<JudgedFileState> {
  const journalBytes = await sizeOf(journalBeside(source));
  try {
    const found = await stat(source);
    // Anything else (a FIFO, a device) could hang or never end.
    if (!found.isFile()) return { state: 'unreadable', reason: 'it is not a regular file', journalBytes };
    const isSame = (await sha256Of(source)) === sourceSha256;
    return { state: isSame ? 'same' : 'changed', bytes: found.size, journalBytes };
  } catch (error) {
    const reason = codeOf(error);
    if (reason === undefined) throw error;
    const isGone = reason === 'ENOENT' || reason === 'ENOTDIR';
    return isGone ? { state: 'missing', journalBytes } : { state: 'unreadable', reason, journalBytes };
  }
}

/** The command line that scores a run's judged file again, to be pasted; undefined where the file is not there any more. */
export function wayBack({ source, path, label, isLabelGiven, isSourceThere }: ListedRun, io: Io): string | undefined {
  if (!isSourceThere) return undefined;
  const named = isLabelGiven && label !== undefined ? ['--label', label] : [];
  return `${programName(io)} ${shellLine(['score', shownPath(source, io), ...wordsFor(path, io), ...named])}`;
}
