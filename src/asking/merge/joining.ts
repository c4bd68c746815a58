// One run out of its parts: a journal and an output made aside, which take their places together once they are whole.

import { basename, dirname, join } from 'node:path';
import { EXIT, UserError } from '../../errors.js';
import { counted } from '../../figures.js';
import { replaceFile } from '../../run/files.js';
import { pathsOf } from '../../run/folder.js';
import type { JournalRecord } from '../../run/journal-record.js';
import type { Manifest } from '../../run/manifest.js';
import { writeManifest } from '../../run/manifest-file.js';
import type { Domain, Io } from '../../types.js';
import type { RowState } from '../row-summary.js';
import { openRun, type Run } from '../run.js';
import { runStage } from '../stage.js';
import { type Stage, type StageJob, summaryOf } from '../stage-contract.js';
import { type Join, joinJournals } from './journals.js';
import type { Part } from './parts.js';
import { unasked } from './unasked.js';

type Output<J extends StageJob> = Pick<
  Stage<J>,
  'rows' | 'isStale' | 'isDone' | 'compose' | 'outputForm' | 'absent' | 'between' | 'beside'
>;

/** How runs of a kind are put together. */
export interface MergedKind<J extends StageJob> {
  stateOf(record: JournalRecord): RowState;
  /** Whether a record stands against another of its row that is not done. @throws TypeError for what no run writes */
  isDone(record: JournalRecord): boolean;
  stageOf(run: Run): Output<J> | Promise<Output<J>>;
  /** How many of these records are of what is not there. */
  astray?(ids: Iterable<string>): number;
  /** What the manifest says of what the rows were made of; that of the parts where it is absent. */
  readonly data?: Manifest['data'];
  readonly predictions?: Manifest | undefined;
}

/** A run that is to be put together. */
export interface Joining {
  /** Of its files. */
  readonly name: string;
  /** What the parts are merged into, and the folder in it where that is made. */
  readonly dir: string;
  readonly aside: string;
  readonly manifest: Manifest;
  /** That of the folder before, if it has such a run. */
  readonly own: Part | undefined;
  readonly parts: readonly Part[];
  readonly io: Io;
}

/** A run that has been put together. */
export interface JoinedRun {
  readonly name: string;
  readonly own: Part | undefined;
  readonly parts: readonly Part[];
  readonly join: Join;
  readonly manifest: Manifest;
  readonly isWhole: boolean;
  readonly reasons: Readonly<Record<string, string>>;
  /** Rows that no part has, by domain. */
  readonly missing: ReadonlyMap<Domain, number>;
  /** Shards that nobody has run, and how many of their rows are not there. */
  readonly lacking: readonly { readonly shard: string; readonly rows: number }[];
  /** Judgements of predictions that are not there. */
  readonly astray: number;
  /** Whether a row is missing, by the id of its record. */
  lacks(id: string): boolean;
}

/** @throws UserError: 65 where two parts have different predictions or judgements of a row, 74 where there is no room */
export async function joinRun<J extends StageJob>(
  { name, dir, aside, manifest, own, parts, io }: Joining,
  kind: MergedKind<J>,
): Promise<JoinedRun> {
  const all = [...(own === undefined ? [] : [own]), ...parts];
  const journals = all.map((part) => ({ name: part.name, path: part.journalPath, isOwn: part === own }));
  const join = await joinJournals(journals, (record) => kind.isDone(record), io.stop);
  requireNoConflict(name, join);
  const paths = pathsOf({ dir: aside, name });
  const remedy = 'nothing was merged; make room, and run the same command again';
  await replaceFile(paths.journalPath, join.lines(), { remedy });
  await writeManifest(paths.manifestPath, manifest);
  const run = await openRun({
    kind: manifest.kind,
    dir: aside,
    name,
    fresh: false,
    // For reading alone: the folder that counts is locked already.
    dryRun: true,
    identity: () => manifest.identity,
    stateOf: (record) => kind.stateOf(record),
    pricing: () => manifest.price,
  });
  try {
    const { label, meta, settings, endpoints, price, data } = manifest;
    const stage = unasked({
      io,
      run,
      ...(await kind.stageOf(run)),
      manifest: {
        ...{ label, meta, settings, endpoints, price },
        data: kind.data ?? data,
        predictions: kind.predictions,
      },
    });
    const result = await runStage(stage, []);
    return {
      ...{ name, own, parts, join, reasons: result.reasons },
      manifest: inPlace(result.manifest, aside, dir),
      isWhole: result.exitCode === EXIT.done,
      ...missingIn(stage),
      lacking: [],
      astray: kind.astray?.(run.journal.ids()) ?? 0,
    };
  } finally {
    await run.close();
  }
}

/** The manifest with its files, and those that it was made of, where they will be. */
function inPlace({ output, beside, ...manifest }: Manifest, aside: string, dir: string): Manifest {
  const placeOf = (file: string) => (dirname(file) === aside ? join(dir, basename(file)) : file);
  const moved = (file: NonNullable<Manifest['output']>) => ({ ...file, file: placeOf(file.file) });
  const { data, settings } = manifest;
  // Those of a part, which its settings name, are not what the whole was made of.
  const predictions = typeof data.predictions === 'string' ? { predictions: placeOf(data.predictions) } : {};
  return {
    ...manifest,
    data: { ...data, ...predictions },
    settings: { ...settings, ...('predictions' in settings ? predictions : {}) },
    ...(output && { output: moved(output) }),
    ...(beside && { beside: moved(beside) }),
  };
}

function missingIn<J extends StageJob>(stage: Stage<J>): Pick<JoinedRun, 'missing' | 'lacks'> {
  const missing = new Map<Domain, number>();
  const ids = new Set<string>();
  for (const job of stage.rows) {
    if (summaryOf(stage, job) !== undefined) continue;
    missing.set(job.domain, (missing.get(job.domain) ?? 0) + 1);
    ids.add(job.id);
  }
  for (const [domain, rows] of Object.entries(stage.absent)) missing.set(domain, (missing.get(domain) ?? 0) + rows);
  return { missing, lacks: (id) => ids.has(id) };
}

function requireNoConflict(name: string, { conflicts, conflicting }: Join): void {
  if (conflicting === 0) return;
  const more = conflicting - conflicts.length;
  throw new UserError(
    [
      `${counted(conflicting, 'row')} of ${name}.jsonl ${conflicting === 1 ? 'has' : 'have'} different records in two parts; nothing was merged:`,
      ...conflicts.map(({ id, parts }) => `  ${id} in ${parts.join(' and in ')}`),
      ...(more > 0 ? [`  ... and ${more} more`] : []),
      'Leave one of the two parts out; or merge the one to be believed first, and the other one into the same folder after it: what stands there is kept.',
    ].join('\n'),
    EXIT.badData,
  );
}
