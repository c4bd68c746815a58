// awb merge: joins the folders of a run's parts, such as shards from several machines, into the folder of one run.

import { relative, resolve } from 'node:path';
import { z } from 'zod';
import { type Dataset, openDataset, type RowRef } from '../benchmark/dataset.js';
import { openPredictions, type PredictionFile } from '../benchmark/predictions.js';
import { chooseRows, inInputOrder } from '../benchmark/selection.js';
import { closing, EXIT, type ExitCode, identityDiffers, UserError } from '../core/errors.js';
import { countBy } from '../core/groups.js';
import { asObject, type JsonObject } from '../core/json.js';
import { isUnasked } from '../core/judgement.js';
import { counted, printable, shownPath } from '../core/printable.js';
import { rowId } from '../core/row-id.js';
import type { Io } from '../core/types.js';
import { replaceFile } from '../disk/files.js';
import { requireData } from '../infer/chosen-rows.js';
import { type InferJob, inferOutput, predictionState } from '../infer/inferring.js';
import { likelihoodOutput } from '../infer/likelihood.js';
import { planRollout, recordedRows } from '../infer/rollout/plan.js';
import { isDoneTurn, rolloutOutput, type TurnJob, turnJobsOf } from '../infer/rollout/rolling-out.js';
import { isDone, judgementState } from '../judge/asking.js';
import { absentFrom, type JudgeJob, judgeOutput } from '../judge/judging.js';
import { asSeen } from '../judge/opening.js';
import { withRun } from '../run/command.js';
import type { JournalRecord } from '../run/journal.js';
import { madeWith } from '../run/made-with.js';
import { type Manifest, readManifest, writeManifest } from '../run/manifest.js';
import { lockRun, pathsOf, type RowState, type Run, stampKeyOf } from '../run/run.js';
import { concludeRun } from '../run/stage.js';
import { type StageJob, type StageOutput, summaryOf } from '../run/stage-contract.js';
import { defineCommand, type OptionTable, option, type Settings } from '../settings/command.js';
import { findParts, joinJournals, mergedManifest, ownRun, type Part, sharedIdentity } from './merge/parts.js';

const MERGE_OPTIONS = {
  runs: option.list('OUT', 'output folders of the parts: predictions, judgings, likelihoods', { required: true }),
  'output-dir': option.text('DIR', 'folder of the complete run; parts can be added later', { required: true }),
  'data-dir': option.text('DIR', "folder of *_test.jsonl files (default: the parts' own)"),
} as const satisfies OptionTable;

export const command = defineCommand({
  description:
    'Joins the output folders of the parts of one run, both predictions and judgings, into one folder with the files that an unsharded run would have written. Every later command reads it, and the unsharded awb infer fills in missing rows.',
  examples: {
    'awb merge out/part-* --output-dir out/whole': 'eight shards, inferred and judged',
    'awb merge out/part-3 --output-dir out/whole': 'add a late part',
  },
  options: MERGE_OPTIONS,
  operands: ['runs'],
  run: merge,
});

async function merge(settings: Settings<typeof MERGE_OPTIONS>, io: Io): Promise<ExitCode> {
  const { runs, notes } = await mergeRuns(settings, io);
  const isWhole = runs.every(({ manifest }) => manifest.state === 'complete');
  const exitCode = isWhole ? EXIT.done : EXIT.incomplete;
  const document = { schema: 'awb.merge/1', exit_code: exitCode, runs: runs.map(documentOf), notes };
  const lines = [...runs.flatMap((run) => linesOf(run, io)), ...notes.map((note) => `note: ${printable(note)}`)];
  io.stdout.write(`${settings.json ? JSON.stringify(document) : lines.join('\n')}\n`);
  return exitCode;
}

function documentOf({ name, parts, join, manifest, missing, reasons }: JoinedRun) {
  return {
    run: name,
    kind: manifest.kind,
    state: manifest.state,
    output: manifest.output?.file,
    fingerprint: manifest.fingerprint,
    chosen: manifest.chosen,
    counts: manifest.counts,
    reasons,
    missing,
    parts: parts.flatMap(({ dir, isOwn, manifest: { settings, state } }, at) => {
      const shard = typeof settings.shard === 'string' ? { shard: settings.shard } : {};
      return isOwn ? [] : { dir, ...shard, state, rows: join.rows[at] };
    }),
    duplicates: { identical: join.identical, recovered: join.recovered },
    damages: join.damages,
  };
}

function linesOf({ name, parts: all, join, manifest, missing, reasons }: JoinedRun, io: Io): string[] {
  const parts = all.filter(({ isOwn }) => !isOwn);
  const { counts, output, kind } = manifest;
  // If the parts have several labels, the first is used.
  const [label, ...labels] = new Set(all.flatMap((part) => part.manifest.label ?? []));
  const several = (count: number, what: string) => count > 0 && `${counted(count, 'row')} in several parts ${what}`;
  const isLacking = Object.keys(missing).length > 0;
  const lines = [
    counts.failed > 0 && `failed: ${listed(counts.failures)}`,
    ...Object.entries(reasons).map(([failure, reason]) => `  ${failure}, for example: ${reason}`),
    isLacking && `missing: ${listed(missing)}`,
    labels.length > 0 && `labelled ${label}; other parts: ${labels.join(', ')}`,
    ...parts.map(
      ({ name, manifest: { state } }) =>
        !['complete', 'incomplete'].includes(state) && `${name} is ${state}: its rows so far are merged`,
    ),
    several(join.identical, 'have the same record: it counts once'),
    several(join.recovered, 'failed in one of them: the other record counts'),
    ...join.damages,
    output !== undefined && `written: ${shownPath(output.file, io)}`,
    isLacking && kind !== 'judge' && "next: run the parts' command without --shard into this folder, for missing rows",
  ];
  const done = `${name}: ${counts.ok} of ${counts.chosen} done, from ${counted(parts.length, 'part')}`;
  return [done, ...lines.flatMap((line) => (line === false ? [] : `  ${printable(line)}`))];
}

function listed(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

/** A merged run. */
type JoinedRun = Awaited<ReturnType<typeof mergeRuns>>['runs'][number];

/** A run to be merged: its name and parts. If the output folder already has this run, that is the first part. */
type Joining = Readonly<{ name: string; parts: readonly Part[] }>;

/**
 * Merges the runs of the parts into one folder, predictions before judgings. `notes` say what was left out.
 * @throws UserError: 2, 66 and 65 for the parts, 78 if they are parts of different runs, 73 and 74 for the folder, 130 or 143 once the
 * user has interrupted
 */
async function mergeRuns(settings: Settings<typeof MERGE_OPTIONS>, io: Io) {
  const dir = resolve(io.cwd, settings.outputDir);
  const { runs, notes } = await findParts(settings.runs, dir, io);
  const releases = [await lockRun({ dir, name: 'merge' })];
  let data: { readonly dir: string; readonly dataset: Dataset } | undefined;
  const joined: Awaited<ReturnType<typeof joinRun>>[] = [];
  try {
    for (const name of runs.keys()) releases.push(await lockRun({ dir, name }));
    for (const [name, parts] of runs) {
      const joining = { name, parts: [...(await ownRun(dir, name, io)), ...parts] };
      const first = parts.find(({ isBegun }) => isBegun);
      if (first === undefined) continue;
      joined.push(await (first.manifest.kind === 'judge' ? joinJudging(joining) : joinPredictions(joining)));
    }
    return { runs: joined, notes };
  } finally {
    await data?.dataset.close();
    for (const release of releases) release();
  }

  /** Opens the data once. @param recorded the folder in a part's manifest */
  async function dataAt(recorded: unknown) {
    const named = settings.dataDir ?? (typeof recorded === 'string' ? recorded : 'data');
    await requireData(named, io);
    data ??= { dir: resolve(io.cwd, named), dataset: await openDataset(resolve(io.cwd, named), io.stop) };
    return data;
  }

  async function joinPredictions(joining: Joining) {
    const begun = begunIn(joining);
    const identity = sharedIdentity(begun.map(({ name, manifest }) => ({ name, identity: manifest.identity })));
    const begunAs = mergedManifest(joining.parts, identity);
    const { dir: from, dataset } = await dataAt(begunAs.data.dir);
    const { fingerprint } = dataset;
    if (identity.data !== fingerprint) {
      throw identityDiffers(`the rows in ${from} differ from those of the parts; give the parts' data with --data-dir`);
    }
    const manifest = { ...begunAs, data: { dir: from, rows: dataset.rows.length, fingerprint } };
    const parts = begun.map((part) => settingsIn(part.manifest));
    const rows = { settings: mostOf(parts), dataset, chosen: wholeChoice(dataset, parts) };
    return identity.rollout === undefined
      ? joinRun(joining, manifest, mergedRows(manifest, rows))
      : joinRun(joining, manifest, mergedRollout(asObject(identity.rollout), rows, io.stop));
  }

  async function joinJudging(joining: Joining) {
    const { name } = joining;
    const begun = begunIn(joining);
    const whole = await wholePredictions(name, begun);
    // A part that asked no judge has no snapshot.
    const { snapshot } = begun.find((part) => part.manifest.identity.snapshot !== undefined)?.manifest.identity ?? {};
    const identity = sharedIdentity(
      begun.map(({ name, manifest }) => {
        const predictions = { ...asObject(manifest.identity.predictions), file: relative(dir, whole.path) };
        const asked = snapshot !== undefined && { snapshot: manifest.identity.snapshot ?? snapshot };
        return { name, identity: { ...manifest.identity, predictions, ...asked } };
      }),
    );
    const { run } = asObject(identity.predictions);
    if (run !== whole.manifest?.fingerprint) {
      throw identityDiffers(
        `${name}.jsonl of the parts was not made from ${shownPath(whole.path, io)}; merge the predictions that were judged`,
      );
    }
    const isLean = whole.manifest !== undefined && settingsIn(whole.manifest).lean;
    const { dataset } = isLean ? await dataAt(whole.manifest?.data.dir) : {};
    const most = mostOf(begun.map((part) => settingsIn(part.manifest)));
    const file = await openPredictions(whole.path, dataset, io.stop);
    return closing(await asSeen(file, whole.path, most, io.stop), async (predictions) => {
      const begunAs = mergedManifest(joining.parts, identity);
      const manifest = {
        ...begunAs,
        // The parts' predictions are replaced by the merged ones.
        settings: { ...begunAs.settings, ...('predictions' in begunAs.settings && { predictions: whole.path }) },
        data: { predictions: whole.path, rows: predictions.refs.length },
        predictions: whole.manifest,
      };
      return joinRun(joining, manifest, mergedJudging(manifest, most, predictions));
    });
  }

  /** The complete predictions: merged before the judging, or one file that all parts have judged. */
  async function wholePredictions(name: string, begun: readonly Part[]) {
    const merged = joined.find(({ manifest }) => manifest.kind === 'infer');
    if (merged !== undefined) {
      return { path: pathsOf({ dir, name: 'predictions' }).outputPath, manifest: merged.manifest };
    }
    const judged = begun.map(({ dir, manifest: { identity } }) => {
      const { file } = asObject(identity.predictions);
      return resolve(dir, typeof file === 'string' ? file : 'predictions.jsonl');
    });
    const [path = '', ...others] = new Set(judged);
    if (others.length > 0) {
      throw new UserError(`${name}.jsonl judges several files of predictions; name their folders as well`);
    }
    // The official script writes no manifest.
    const beside = await readManifest(path.replace(/\.jsonl$/i, '.manifest.json'));
    return { path, manifest: beside?.kind === 'judge' ? beside.predictions : beside };
  }

  /**
   * Joins the journals and writes the output from them, as for any run.
   * @param whole the manifest without its counts
   * @throws UserError: as `joinJournals`, 74 if the disk is full
   */
  async function joinRun<J extends StageJob>({ name, parts }: Joining, whole: Manifest, kind: MergedKind<J>) {
    const begunAs = { ...whole, settings: { ...whole.settings, 'output-dir': settings.outputDir } };
    const join = await joinJournals(parts, kind.isDone, io.stop);
    const paths = pathsOf({ dir, name });
    // First a manifest without output: if the merge is cut off here, the next command repeats it.
    await writeManifest(paths.manifestPath, { ...begunAs, state: 'running' });
    const remedy = 'make room, and run the same command again';
    await replaceFile(paths.journalPath, join.lines(), { remedy });
    await writeManifest(paths.manifestPath, begunAs);
    const opening = {
      ...{ kind: begunAs.kind, dir, name, fresh: false },
      // Read only, since the folder is already locked.
      dryRun: true,
      identity: () => begunAs.identity,
      stateOf: kind.stateOf,
      pricing: () => begunAs.price,
    };
    return withRun(opening, async (run) => {
      const output: StageOutput<J> = { io, run, manifest: begunAs, ...(await kind.outputOf(run)) };
      const { manifest, reasons } = await concludeRun(output);
      const lost = output.rows.filter((job) => summaryOf(output, job) === undefined);
      const missing = countBy(lost, ({ domain }) => domain);
      for (const [domain, rows] of Object.entries(output.absent)) missing[domain] = (missing[domain] ?? 0) + rows;
      return {
        ...{ name, parts, join, manifest, reasons },
        /** Rows that no part has, by domain. */
        missing,
      };
    });
  }
}

/** The parts that have rows. */
const begunIn = ({ parts }: Joining) => parts.filter(({ isBegun }) => isBegun);

// How each kind of run reads a joined journal: which records count, which rows the run has, and how its own command writes the output.

const TEXTS = z.array(z.string()).catch([]);
const COUNT = z.int().optional().catch(undefined);
const FLAG = z.boolean().catch(false);

/** The settings read from a run's manifest. Missing ones get their defaults. */
const SETTINGS = z.object({
  domains: TEXTS,
  ids: TEXTS,
  limit: COUNT,
  sample: COUNT,
  'sample-seed': z.int().catch(0),
  repeats: z.int().catch(1),
  lean: FLAG,
  'skip-invalid': FLAG,
  'judge-repeats': z.int().catch(1),
  'judge-sees': z.enum(['history', 'rollout']).catch('history'),
});

type PartSettings = z.infer<typeof SETTINGS>;

function settingsIn({ settings }: Pick<Manifest, 'settings'>): PartSettings {
  return SETTINGS.parse(settings);
}

/** The settings of a merged run: the most repeats of any part, and lean if all parts are. */
function mostOf(parts: readonly PartSettings[]) {
  return {
    domains: parts.some(({ domains }) => domains.length === 0) ? [] : parts.flatMap(({ domains }) => domains),
    repeats: Math.max(...parts.map(({ repeats }) => repeats)),
    judgeRepeats: Math.max(...parts.map((part) => part['judge-repeats'])),
    lean: parts.every(({ lean }) => lean),
    skipInvalid: parts.some((part) => part['skip-invalid']),
    judgeSees: parts.some((part) => part['judge-sees'] === 'rollout') ? ('rollout' as const) : ('history' as const),
  };
}

/** The rows that the parts would choose without --shard, in input order. @throws UserError as `chooseRows` */
function wholeChoice(dataset: Dataset, parts: readonly PartSettings[]): RowRef[] {
  return inInputOrder(
    new Set(parts.flatMap((part) => chooseRows(dataset.rows, { ...part, sampleSeed: part['sample-seed'] }))),
  );
}

/** How runs of a kind are merged. */
interface MergedKind<J extends StageJob> {
  readonly stateOf: (record: JournalRecord) => RowState;
  /** Whether a record is done, and so wins over one of the same row that is not. @throws TypeError for a record that no run writes */
  readonly isDone: (record: JournalRecord) => boolean;
  readonly outputOf: (run: Run) => Promise<Omit<StageOutput<J>, 'io' | 'run' | 'manifest'>>;
}

type MergedRows = Readonly<{ settings: ReturnType<typeof mostOf>; dataset: Dataset; chosen: readonly RowRef[] }>;

/** Predictions of single rows, or measures of their truths. */
function mergedRows(manifest: Manifest, rows: MergedRows): MergedKind<InferJob> {
  const mark = madeWith(manifest).dropped.join(' ');
  const [stateOf, outputOf] =
    manifest.kind === 'likelihood' ? [judgementState, likelihoodOutput] : [predictionState, inferOutput];
  return {
    stateOf,
    isDone: (record) => stateOf(record).status === 'ok' && (record.log[stampKeyOf('infer')] ?? '') === mark,
    outputOf: async (run) => outputOf(rows, run.journal),
  };
}

/** Predictions of a rollout, and its file of turns. */
function mergedRollout({ from }: JsonObject, rows: MergedRows, stop: AbortSignal): MergedKind<TurnJob> {
  const { settings, dataset } = rows;
  return {
    stateOf: predictionState,
    isDone: (record) => isDoneTurn(predictionState(record)),
    async outputOf(run) {
      const recorded = recordedRows(dataset, run.journal.ids());
      const plan = await planRollout(rows, recorded, typeof from === 'number' ? from : 0, stop);
      const order = { order: 'file', sampleSeed: 0, repeats: settings.repeats } as const;
      const jobs = turnJobsOf(dataset, plan, order, run.journal.ids());
      return rolloutOutput({ settings, dataset }, jobs, run);
    },
  };
}

/**
 * Judgements, each of a prediction in the complete file.
 * @param manifest of the merged run; its `predictions` are the manifest of that file
 */
function mergedJudging(
  manifest: Manifest,
  { judgeRepeats }: Pick<MergedRows['settings'], 'judgeRepeats'>,
  predictions: PredictionFile,
): MergedKind<JudgeJob> {
  const mark = madeWith(manifest).dropped.join(' ');
  const { refs } = predictions;
  const stamps = new Map(refs.map(({ key, repeat, stamp }) => [rowId(key, repeat), stamp]));
  const predictionOf = (id: string) => id.split('#', 2).join('#');
  /**
   * Whether a judgement is of the current prediction, by a judge asked in accordance with the run's identity. The stamp of what was
   * shown next to the prediction (a reference, a simulated history) follows a plus; the judge command checks it.
   */
  const holds = (recorded: string, stamp: string | undefined, failure: string | undefined) => {
    const [made = '', ...asked] = recorded.split(' ');
    const isOfThis = made.split('+')[0] === stamp?.split('+')[0];
    return isOfThis && (isUnasked(failure) || asked.join(' ') === mark);
  };
  return {
    stateOf: judgementState,
    isDone(record) {
      const state = judgementState(record);
      const { [stampKeyOf('judge')]: stamp } = record.log;
      return (
        isDone(state) && typeof stamp === 'string' && holds(stamp, stamps.get(predictionOf(record.id)), state.class)
      );
    },
    async outputOf({ journal }) {
      const output = judgeOutput(predictions, refs, judgeRepeats, journal.ids(), (job) => {
        const summary = journal.summaryOf(job.id);
        return summary !== undefined && isDone(summary) && holds(summary.stamp, job.stamp, summary.class);
      });
      const stampOf = (job: JudgeJob, failure: string | undefined, _mark: string, recorded: string) =>
        holds(recorded, job.stamp, failure) ? recorded : undefined;
      return { ...output, stampOf, absent: absentFrom(manifest.predictions, refs) };
    },
  };
}
