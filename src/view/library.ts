// The viewer's contents: the runs in SQLite files and folders, searched again whenever they change, and each document by name.

import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { manifestBeside } from '../benchmark/judged-path.js';
import { inputMissing, messageOf } from '../core/errors.js';
import { groupBy, heldIn } from '../core/groups.js';
import { fingerprintOf } from '../core/identity.js';
import { shownPath, withShownPaths } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { isForcedPartner } from '../results/comparability.js';
import { judgedAt, type KnownRun, latestOf, manifestOf } from '../results/databases.js';
import { type ReadRun, readJudgedRun, readStoredRun, storedSummary } from '../results/read-run.js';
import { type Readings, type RunStatus, readStatuses } from '../results/status.js';
import { madeWith } from '../run/made-with.js';
import { readManifest } from '../run/manifest.js';
import type { StoredCalibration } from '../store/runs.js';
import { openExistingStore, withStore } from '../store/store.js';
import { compareDocument } from './compare-document.js';
import type {
  DocumentName,
  Index,
  ListedEpisodes,
  ListedRun,
  RunDocument,
  SampleList,
  Shown,
  TrajectoryTexts,
} from './documents.js';
import { listedRun, NOT_SCORED, REF_DIGITS, refOf, unreadRun } from './listed-run.js';
import { MOST_BYTES, type OpenedRun, openRun } from './opened-run.js';
import { judgeCalibration, storedBoard } from './result-documents.js';
import { episodesPage } from './scenario-document.js';

/** A run that can be viewed. */
interface ViewedRun {
  /** May be incomplete: an unscored judged file is listed before it is read. */
  listed: ListedRun;
  /** The judged file. */
  readonly source: string;
  /** Why it cannot be read, if known. */
  failure?: string;
  /** Reads the run with its rows, once. */
  open(): Promise<OpenedRun>;
}

/** Contents of a SQLite file or a folder. */
interface Source {
  readonly stored: readonly StoredPlace[];
  /** Judged files. */
  readonly files: readonly string[];
  readonly work: readonly RunStatus[];
  readonly episodes: readonly (ListedEpisodes & { readonly path: string })[];
  readonly calibrations: readonly StoredCalibration[];
}
type StoredPlace = Pick<KnownRun, 'run' | 'db' | 'path'>;
const NOTHING: Source = { stored: [], files: [], work: [], episodes: [], calibrations: [] };

interface LibraryOptions {
  readonly io: Io;
  /** Name and version of the program. */
  readonly tool: string;
  /** Folder of the data, for lean rows. */
  readonly dataDir?: string | undefined;
}

/** Depth to which folders are searched for runs. */
const DEEPEST = 3;
const DATABASE = /\.(sqlite3?|db)$/i;
const JUDGED = /^(judged|scenarios)(\.(?!.*recheck-|.*journal).+)?\.jsonl$/;
const EPISODES = 'episodes_test.jsonl';
/** Files of a folder that show whether something has changed. */
const TOLD_BY = /\.(jsonl|manifest\.json)$/;

/**
 * The runs in SQLite files, judged files and folders of runs, which may also contain SQLite files. Read-only.
 * @param places absolute paths
 */
export function openLibrary(places: readonly string[], options: LibraryOptions) {
  const { io, tool } = options;
  const sources = new Map<string, { readonly stamp: string; readonly source: Source; readonly reason?: string }>();
  /** Positions up to which journals were read. */
  const readings: Readings = new Map();
  /** Runs by place and time of change, so that each is read once. */
  let known = new Map<string, ViewedRun>();
  let runs: ReadonlyMap<string, ViewedRun> = new Map();

  let looking: Promise<Index> | undefined;
  /** The current contents. Concurrent calls share one result. */
  function index(): Promise<Index> {
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  /** Reads what has changed. What cannot be read is listed with its reason, and hides nothing else. */
  async function look(): Promise<Index> {
    const paths = (await Promise.all(places.map((place) => sourcesBelow(place, io)))).flat();
    for (const path of sources.keys()) if (!paths.includes(path)) sources.delete(path);
    for (const path of paths) {
      const stamp = await stampOf(path);
      const last = sources.get(path);
      // A run's pace changes over time, and a process that dies changes no file.
      const isAtWork = last?.source.work.some(({ state }) => state === 'running');
      if (last?.stamp === stamp && !isAtWork) continue;
      sources.set(path, { stamp, ...(await attempt(() => readSource(path, io, readings), NOTHING, io)) });
    }
    const all = [...sources.values()].map(({ source }) => source);
    const calibrations = all.flatMap((source) => source.calibrations);
    const unread = [...sources].flatMap(([path, { reason }]) =>
      reason === undefined ? [] : [{ place: path, reason }],
    );
    const found = new Map<string, ViewedRun>();
    const before = known;
    known = new Map();
    const keep = async (key: string, place: string, make: () => Promise<ViewedRun>) => {
      const { source: run, reason } = await attempt(async () => before.get(key) ?? make(), undefined, io);
      if (reason !== undefined) unread.push({ place, reason });
      if (run === undefined) return;
      known.set(key, run);
      if (!found.has(run.listed.ref)) found.set(run.listed.ref, run);
    };
    const stored = latestOf(all.flatMap((source) => source.stored));
    for (const one of stored) {
      const { run, path } = one;
      await keep(`${path} ${run.id} ${run.scoredAt} ${run.label}`, path, async () =>
        storedRun(one, calibrations, options),
      );
    }
    const scored = new Set(stored.map(({ run }) => run.source));
    for (const path of all.flatMap((source) => source.files)) {
      if (!scored.has(path))
        await keep(`${path} ${await stampOf(path)}`, path, () => judgedRun(path, calibrations, options));
    }
    runs = found;
    readAhead();
    for (const { source, failure } of found.values())
      if (failure !== undefined) unread.push({ place: source, reason: failure });
    return {
      tool,
      isLive: true,
      scoresOnly: false,
      runs: [...found.values()].map(({ listed }) => listed).sort((a, b) => (a.date < b.date ? 1 : -1)),
      episodes: all.flatMap((source) => source.episodes.map(({ path: _, ...listed }) => listed)),
      work: all.flatMap((source) => source.work),
      unread: unread.map(({ place, reason }) => ({ place: shownPath(place, io), reason })),
    };
  }

  let isReading = false;
  /** Reads unscored judged files one after another, to fill the list. */
  async function readAhead(): Promise<void> {
    if (isReading) return;
    isReading = true;
    for (const run of runs.values()) {
      if (run.listed.state !== NOT_SCORED || run.failure !== undefined) continue;
      const { reason } = await attempt<OpenedRun | undefined>(run.open, undefined, io);
      if (reason !== undefined) run.failure = reason;
    }
    isReading = false;
  }

  /** A document by name; undefined if there is none. @throws UserError (66, 65) for what can no longer be read */
  async function document(name: string): Promise<unknown> {
    const [kind = '', ref = '', other = ''] = name.split('/');
    if (kind === 'index') return index();
    if (kind === 'leaderboard') return storedBoard(databases(), io);
    if (kind === 'episodes') return episodesOf(ref);
    if (!RUN_DOCUMENTS.includes(kind)) return undefined;
    const opened = await run(ref).open();
    if (kind === 'samples') return opened.samples();
    if (kind === 'texts') return textsOf(opened, Number(other));
    if (kind === 'compare') return compareDocument(opened.run, (await run(other).open()).run);
    if (kind === 'calibration') return judgeCalibration(databases(), opened.run.made.judgeKey);
    if (kind === 'panel') return opened.panel();
    return pageOf(opened);
  }

  async function pageOf(opened: OpenedRun, scoresOnly = false): Promise<RunDocument> {
    const { made } = opened.run;
    const isCalibrated = [...sources.values()].some(({ source: { calibrations } }) =>
      calibrations.some(({ judgeKey }) => judgeKey === made.judgeKey),
    );
    return opened.page({
      ...{ isCalibrated, scoresOnly },
      forced: made.rollout === undefined ? undefined : await forcedPartner(opened.run),
    });
  }

  /** Texts stay open: a lean run's are in the benchmark, which is slow to open. */
  const reading = new Map<OpenedRun, ReturnType<OpenedRun['openTexts']>>();

  async function textsOf(opened: OpenedRun, place: number): Promise<TrajectoryTexts> {
    const texts = heldIn(reading, opened, opened.openTexts);
    // The next try may succeed.
    texts.catch(() => reading.delete(opened));
    return (await texts).of(place);
  }

  /** @throws UserError (66) if they no longer exist */
  async function episodesOf(ref: string): Promise<Shown> {
    const found = [...sources.values()].flatMap(({ source }) => source.episodes).find((one) => one.ref === ref);
    if (found === undefined) throw inputMissing('These episodes no longer exist. Go back to the list of runs.');
    return { page: await episodesPage(found.path, MOST_BYTES, io.stop) };
  }

  /** A run that predicted a rollout's rows with true histories. */
  async function forcedPartner(rollout: ReadRun): Promise<ReadRun | undefined> {
    for (const { listed, open } of runs.values()) {
      if (listed.worldModel !== rollout.made.worldModel) continue;
      const { source: other } = await attempt<OpenedRun | undefined>(open, undefined, io);
      if (other !== undefined && isForcedPartner(rollout, other.run)) return other.run;
    }
    return undefined;
  }

  /** The SQLite files with runs or calibrations. */
  function databases(): string[] {
    return [...sources].flatMap(([path, { source }]) =>
      source.stored.length + source.calibrations.length > 0 ? [path] : [],
    );
  }

  /** @throws UserError (66) if the run no longer exists */
  function run(ref: string): ViewedRun {
    const found = runs.get(ref);
    if (found === undefined) throw inputMissing('This run no longer exists. Go back to the list of runs.');
    return found;
  }

  return {
    index,
    document,
    /** All documents for a bundle, which has no server. */
    async *documents({
      scoresOnly,
    }: {
      readonly scoresOnly: boolean;
    }): AsyncGenerator<readonly [DocumentName, unknown]> {
      await index();
      for (const { open } of runs.values()) {
        const { source: opened } = await attempt<OpenedRun | undefined>(open, undefined, io);
        if (opened === undefined) continue;
        const { ref } = opened;
        const { source: page } = await attempt<RunDocument | undefined>(
          () => pageOf(opened, scoresOnly),
          undefined,
          io,
        );
        if (page !== undefined) yield [`run/${ref}`, page];
        if (opened.run.made.mode === 'scenarios') continue;
        const list = opened.samples();
        yield [`samples/${ref}`, scoresOnly ? withoutTexts(list) : list];
        if (scoresOnly) continue;
        const { source: texts, reason: why } = await attempt(opened.openTexts, undefined, io);
        for (const place of list.trajectories.keys()) {
          const { source, reason = why } = await attempt(async () => texts?.of(place), undefined, io);
          yield [`texts/${ref}/${place}`, source ?? { strings: [], rows: {}, missing: reason }];
        }
        await texts?.close();
      }
      for (const { ref } of scoresOnly ? [] : (await index()).episodes) {
        const { source } = await attempt(() => episodesOf(ref), undefined, io);
        if (source !== undefined) yield [`episodes/${ref}`, source];
      }
      for (const name of resultNames([...runs.values()].map(({ listed }) => listed))) {
        const { source } = await attempt(() => document(name), undefined, io);
        if (source !== undefined) yield [name, source];
      }
      yield ['index', { ...(await index()), isLive: false, scoresOnly }];
    },
    run,
    async close(): Promise<void> {
      for (const texts of await Promise.allSettled(reading.values())) {
        if (texts.status === 'fulfilled') await texts.value.close();
      }
    },
  };
}

/** A run's documents, by the first part of their names. */
const RUN_DOCUMENTS: readonly string[] = ['run', 'samples', 'texts', 'compare', 'calibration', 'panel'];

/** Up to this many runs that were judged alike, a bundle compares each pair. */
const MOST_COMPARED = 8;

/** Further documents of a bundle, if they exist. */
function resultNames(listed: readonly ListedRun[]): DocumentName[] {
  const newest = listed.toSorted((a, b) => (a.date < b.date ? 1 : -1));
  const pairs = [...groupBy(newest, ({ judgedAlike }) => judgedAlike).values()].flatMap((all) => {
    const alike = all.slice(0, MOST_COMPARED);
    return alike.flatMap(({ ref }) => alike.flatMap((other) => (other.ref === ref ? [] : [[ref, other.ref] as const])));
  });
  return [
    'leaderboard',
    ...listed.flatMap(({ ref }) => [`calibration/${ref}` as const, `panel/${ref}` as const]),
    ...pairs.map(([base, candidate]) => `compare/${base}/${candidate}` as const),
  ];
}

/** The list without sentences of judges and models. */
function withoutTexts(list: SampleList): SampleList {
  const samples = list.samples.map((sample) => ({ ...sample, n: undefined, u: undefined, y: undefined }));
  return { ...list, samples };
}

/** The value, or the reason why there is none, with file names as the user knows them. */
async function attempt<T>(action: () => Promise<T>, otherwise: T, io: Io): Promise<{ source: T; reason?: string }> {
  try {
    return { source: await action() };
  } catch (error) {
    return { source: otherwise, reason: withShownPaths(messageOf(error), io) };
  }
}

/** SQLite files and judged files by their own path, and all folders with parts of runs. @throws UserError (66) */
async function sourcesBelow(place: string, io: Io, depth = 0): Promise<string[]> {
  const found = statSync(place, { throwIfNoEntry: false });
  if (found === undefined && depth === 0) {
    throw inputMissing(`there is no ${shownPath(place, io)}; name SQLite files of awb score, or folders of runs`);
  }
  if (!found?.isDirectory()) return [place];
  const entries = await readdir(place, { withFileTypes: true }).catch(() => []);
  const below = entries.filter(({ name }) => !/^(\.|before-|node_modules$)/.test(name));
  const inside = below.filter((entry) => (entry.isDirectory() && depth < DEEPEST) || DATABASE.test(entry.name));
  const further = await Promise.all(inside.map(({ name }) => sourcesBelow(join(place, name), io, depth + 1)));
  return [...(below.some(({ name }) => TOLD_BY.test(name)) ? [place] : []), ...further.flat()];
}

/** A stamp that changes whenever the contents do. */
async function stampOf(path: string): Promise<string> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return `${found?.mtimeMs} ${found?.size} ${found?.ino}`;
  const names = (await readdir(path)).filter((name) => TOLD_BY.test(name)).sort();
  return names.map((name) => `${name} ${statSync(join(path, name), { throwIfNoEntry: false })?.mtimeMs}`).join();
}

/** @throws UserError: 65 for damaged files, 66 for missing ones */
async function readSource(path: string, io: Io, readings: Readings): Promise<Source> {
  if (path.endsWith('.jsonl')) return { ...NOTHING, files: [path] };
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return readDatabase(path, io);
  const names = await readdir(path);
  const files = names.filter((name) => JUDGED.test(name)).map((name) => join(path, name));
  const manifests = names.filter((name) => name.endsWith('.manifest.json'));
  const read = await Promise.all(manifests.map((name) => readManifest(join(path, name))));
  // Journals are only read for unfinished runs.
  const isAtWork = read.some((manifest) => manifest?.state !== undefined && manifest.state !== 'complete');
  const statuses = isAtWork ? await readStatuses(path, shownPath(path, io), Date.now(), readings) : [];
  const work = typeof statuses === 'string' ? [] : statuses.filter(({ state }) => state !== 'complete');
  const episodes = names.includes(EPISODES) ? [await listedEpisodes(join(path, EPISODES), io)] : [];
  return { ...NOTHING, files, work, episodes };
}

async function listedEpisodes(path: string, io: Io): Promise<Source['episodes'][number]> {
  const { fingerprint, startedAt = '', endedAt, label } = (await readManifest(manifestBeside(path))) ?? {};
  const ref = fingerprintOf({ fingerprint: fingerprint ?? path, startedAt }).slice(0, REF_DIGITS);
  return { path, ref, name: label ?? shownPath(path, io), date: endedAt ?? startedAt };
}

function readDatabase(path: string, io: Io): Source {
  return withStore(path, openExistingStore, (store) => {
    const db = shownPath(path, io);
    const stored = store.runs().map((run) => ({ run, db, path }));
    return { ...NOTHING, stored, calibrations: store.calibrations() };
  });
}

function storedRun(one: StoredPlace, calibrations: readonly StoredCalibration[], options: LibraryOptions): ViewedRun {
  const manifest = manifestOf(one);
  let opened: OpenedRun | undefined;
  return {
    listed: listedRun(storedSummary({ ...one, calibrations }, manifest), judgedAt(one.run)),
    source: one.run.source,
    async open() {
      opened ??= withStore(one.path, openExistingStore, (store) => {
        const run = readStoredRun({ ...one, store, calibrations }, manifest);
        return openRun(run, { ...options, spent: store.spent(one.run.id) });
      });
      return opened;
    },
  };
}

async function judgedRun(
  path: string,
  calibrations: readonly StoredCalibration[],
  options: LibraryOptions,
): Promise<ViewedRun> {
  const { io } = options;
  const manifest = await readManifest(manifestBeside(path));
  const made = madeWith(manifest);
  const { size = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
  // A file without a manifest is identified by its bytes once it is read.
  const ref = refOf({ made, manifest, sha256: fingerprintOf({ size }) });
  const name = made.label ?? made.worldModel ?? shownPath(path, io);
  const date = made.endedAt ?? made.startedAt ?? '';
  let opening: Promise<OpenedRun> | undefined;
  const viewed: ViewedRun = {
    listed: unreadRun(ref, name, made, date),
    source: path,
    open: () => {
      opening ??= readJudgedRun(path, calibrations, () => undefined, io).then((run) => {
        viewed.listed = { ...listedRun(run, date), ref };
        return openRun(run, { ...options, ref });
      });
      return opening;
    },
  };
  return viewed;
}
