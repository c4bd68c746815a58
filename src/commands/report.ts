// awb report: a judged run -> an HTML page with its scores, its charts and every sample; against another run, where one is named.

import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { openDataset } from '../bench/dataset.js';
import { readCosts, readJudged } from '../bench/judged.js';
import { openJudgedTexts, type RowTexts } from '../bench/report-rows.js';
import { EXIT, type ExitCode, interruption, UserError } from '../errors.js';
import { countedPoints, isRated } from '../points.js';
import { oneLine, printable } from '../printable.js';
import {
  type Report,
  type ReportBin,
  type ReportChange,
  type ReportRun,
  type ReportSample,
  type ReportUsage,
  type SampleTexts,
  type TextsChunk,
  textsChunk,
} from '../report/page/report.js';
import { recordId } from '../run/journal-record.js';
import type { MadeWith } from '../run/made-with.js';
import { type Pages, pagesAt, type Written } from '../runs/report-files.js';
import {
  coverageWarning,
  notesOn,
  type ReadRun,
  RUN_OPTIONS,
  ratingWarning,
  readRuns,
  sharedBy,
} from '../runs/runs.js';
import { clusteredEstimate } from '../score/clusters.js';
import { compareRuns } from '../score/compare.js';
import { defineCommand } from '../settings/command.js';
import { shownPath } from '../settings/shown-path.js';
import { toolVersion } from '../settings/version.js';
import type { Estimate, Io, JudgedRow } from '../types.js';

/** What `report` needs of its settings; paths may be relative to the working folder. */
export interface ReportSettings {
  readonly run: string;
  readonly compare?: string | undefined;
  readonly db: readonly string[];
  readonly dataDir?: string | undefined;
  readonly output: string;
  readonly inlineLimit: number;
  readonly json: boolean;
  readonly quiet: boolean;
}

export const command = defineCommand({
  description:
    'Writes an HTML page about a judged run: scores and charts, and every sample with its prediction beside the ground truth. It needs no network and no server: open the file.',
  examples: [
    { line: 'awb report --run out/judged.jsonl -o report.html', does: 'a judged file' },
    {
      line: 'awb report --run step-200 --compare step-100 -o report.html',
      does: 'a checkpoint against another',
    },
  ],
  options: {
    run: {
      kind: 'text',
      value: 'RUN',
      required: true,
      help: "a run's label or id in --db, or the path of a judged.jsonl",
    },
    compare: { kind: 'text', value: 'RUN', help: 'another run, to show what changed against it' },
    db: RUN_OPTIONS.db,
    'data-dir': { kind: 'text', value: 'DIR', help: 'folder of *_test.jsonl files, for lean rows' },
    output: { kind: 'text', value: 'FILE', short: 'o', default: 'report.html', help: 'the page to write' },
    'inline-limit': {
      kind: 'number',
      min: 0,
      default: 64,
      help: 'megabytes of texts up to which they are part of the page; more become pages beside it',
    },
  },
  run: (settings, io) => report(settings, io),
});

/** Texts of one chunk, in characters: what the page parses when one of its samples is looked at. */
const CHUNK_CHARACTERS = 1_000_000;
/** Parts of about equal size that turns and context lengths are cut into. */
const BINS = 6;

/**
 * Writes the report.
 * @returns 0, or the code of an interruption.
 * @throws UserError: 2 for an unknown run, 66 and 65 for the input, 74 where the page cannot be written.
 */
export async function report(settings: ReportSettings, io: Io): Promise<ExitCode> {
  const output = resolve(io.cwd, settings.output);
  const run = await readFromFile(settings.run, settings, io);
  const other = settings.compare === undefined ? undefined : await readFromFile(settings.compare, settings, io);
  const pages = pagesAt(output, settings.inlineLimit * 1_000_000);
  try {
    const gathered = await withTexts(run, other, settings, io, (own, others) => gather(own, others, pages, io));
    if (gathered === undefined) return interruption(io.stop);
    const written = await pages.write(describe(run, other, gathered, await usageOf(run)));
    io.stdout.write(
      settings.json ? `${JSON.stringify(documentOf(run, other, output, written))}\n` : page(io, output, written),
    );
    return EXIT.done;
  } finally {
    await pages.discard();
  }
}

/** A run read from its judged file, whatever it was named by: the SQLite file holds no texts. */
async function readFromFile(name: string, settings: ReportSettings, io: Io): Promise<ReadRun> {
  const [named] = (await readRuns([name], settings, io)) as [ReadRun];
  if (!existsSync(named.source)) {
    throw new UserError(
      `the judged file of "${named.name}", ${named.source}, is not there, and the SQLite file holds no texts; move it back, or name it where it is now: --run NEW/${basename(named.source)}`,
      EXIT.inputMissing,
    );
  }
  if (named.source === resolve(io.cwd, name)) return { ...named, name: shareable(named) };
  const { rows, sha256 } = await readJudged(named.source, io.stop);
  if (sha256 === named.sha256) return { ...named, rows };
  if (!settings.quiet) {
    const path = printable(named.source);
    io.stderr.write(
      `note: ${path} has changed since it was scored; the report shows it as it is now, and awb score --predictions ${path} brings the SQLite file up to date\n`,
    );
  }
  const [now] = (await readRuns([named.source], settings, io)) as [ReadRun];
  return { ...now, name: named.name };
}

/** A page is handed on: where a run has no label, its file is named without the folders above its own. */
function shareable({ name, source }: ReadRun): string {
  return basename(name) === basename(source) ? join(basename(dirname(source)), basename(source)) : name;
}

/** A run with its texts by record id; undefined for a row that the file no longer holds. */
type RunWithTexts = ReadRun & { read(id: string): Promise<RowTexts | undefined> };

/** Does something with the texts of one or two runs open. */
async function withTexts<T>(
  run: ReadRun,
  other: ReadRun | undefined,
  settings: ReportSettings,
  io: Io,
  action: (run: RunWithTexts, other: RunWithTexts | undefined) => Promise<T>,
): Promise<T> {
  const opened: { close(): Promise<void> }[] = [];
  try {
    const { dataDir } = settings;
    const data = dataDir === undefined ? undefined : await openDataset(resolve(io.cwd, dataDir), io.stop);
    if (data !== undefined) opened.push(data);
    const withItsTexts = async (each: ReadRun): Promise<RunWithTexts> => {
      const file = await openJudgedTexts(each.source, data, io.stop);
      opened.push(file);
      const refs = new Map(file.refs.map((ref) => [recordId(ref.key, ref.repeat, ref.index), ref]));
      const read = async (id: string) => {
        const ref = refs.get(id);
        return ref === undefined ? undefined : file.read(ref);
      };
      return { ...each, read };
    };
    return await action(await withItsTexts(run), other && (await withItsTexts(other)));
  } finally {
    for (const each of opened) await each.close();
  }
}

interface Gathered {
  readonly samples: readonly ReportSample[];
  readonly starts: readonly number[];
  /** Characters put to the world model, by record id. */
  readonly contexts: ReadonlyMap<string, number>;
}

/** Reads the texts of every sample, one at a time, and hands them on in chunks; undefined where the user stopped it. */
async function gather(
  run: RunWithTexts,
  other: RunWithTexts | undefined,
  pages: Pages,
  io: Io,
): Promise<Gathered | undefined> {
  const partner = partnersIn(other);
  const samples: ReportSample[] = [];
  const starts: number[] = [];
  const contexts = new Map<string, number>();
  let chunk: TextsChunk | undefined;
  for (const row of inReadingOrder(run)) {
    if (io.stop.aborted) return undefined;
    const id = recordId(row.key, row.repeat, row.index);
    const texts = await run.read(id);
    if (texts === undefined) throw changed(run);
    const pair = partner(row);
    const otherTexts = pair === undefined ? undefined : await other?.read(recordId(pair.key, pair.repeat, pair.index));
    if (chunk === undefined || chunk.size > CHUNK_CHARACTERS) {
      if (chunk !== undefined) await pages.add(chunk.json());
      chunk = textsChunk();
      starts.push(samples.length);
    }
    chunk.add({ ...texts, ...(otherTexts === undefined ? {} : { other: otherTexts }) } satisfies SampleTexts);
    contexts.set(id, contextLength(texts));
    samples.push(sampleOf(row, pair, texts));
  }
  if (chunk !== undefined) await pages.add(chunk.json());
  return { samples, starts, contexts };
}

function changed({ source }: ReadRun): UserError {
  return new UserError(`${source} was changed while it was being read; run the same command again`, EXIT.badData);
}

/** By domain as the scores have them, then trajectory by trajectory and turn by turn. */
function inReadingOrder({ rows, card }: ReadRun): JudgedRow[] {
  const domains = new Map(card.domains.map(({ domain }, place) => [domain, place]));
  const trajectories = new Map<string, number>();
  for (const { trajectory } of rows) {
    if (!trajectories.has(trajectory)) trajectories.set(trajectory, trajectories.size);
  }
  const placeOf = (row: JudgedRow) => [
    domains.get(row.domain) ?? 0,
    trajectories.get(row.trajectory) ?? 0,
    row.turnIdx,
    row.repeat,
    row.index,
  ];
  return rows
    .map((row) => ({ row, place: placeOf(row) }))
    .sort((a, b) => a.place.map((value, at) => value - (b.place[at] as number)).find((apart) => apart !== 0) ?? 0)
    .map(({ row }) => row);
}

/** The other run's row for a row: of the same repeat and judgement, or else of the same repeat, or else its first. */
function partnersIn(other: ReadRun | undefined): (row: JudgedRow) => JudgedRow | undefined {
  const rows = new Map<string, JudgedRow>();
  for (const row of other?.rows ?? []) {
    rows.set(recordId(row.key, row.repeat, row.index), row);
    if (!rows.has(row.key)) rows.set(row.key, row);
  }
  return ({ key, repeat, index }) =>
    rows.get(recordId(key, repeat, index)) ?? rows.get(recordId(key, repeat)) ?? rows.get(key);
}

function contextLength({ systemPrompt, history, action }: RowTexts): number {
  return history.reduce(
    (sum, turn) => sum + turn.action.length + turn.observation.length,
    systemPrompt.length + action.length,
  );
}

function sampleOf(row: JudgedRow, other: JudgedRow | undefined, texts: RowTexts): ReportSample {
  const [points, otherPoints] = [pointsOf(row), other && pointsOf(other)];
  const [value, otherValue] = [row, other].map((each) => each && (countedPoints(each, 'total') ?? pointsOf(each)));
  return {
    row,
    ...(points === undefined ? {} : { points }),
    ...(other === undefined
      ? {}
      : { other: { row: other, ...(otherPoints === undefined ? {} : { points: otherPoints }) } }),
    ...(value === undefined || otherValue === undefined ? {} : { change: value - otherValue }),
    note: oneLine(row.failure?.reason ?? texts.weaknesses[0] ?? '', 200),
  };
}

/** A row's score of 0-100: of its ratings, or where there are none its chrF. */
function pointsOf(row: JudgedRow): number | undefined {
  if (row.failed === undefined) return row.measures?.chrf ?? Object.values(row.measures ?? {})[0];
  return isRated(row) ? countedPoints(row, 'total') : undefined;
}

function describe(run: ReadRun, other: ReadRun | undefined, gathered: Gathered, usage: readonly ReportUsage[]): Report {
  const { samples, starts, contexts } = gathered;
  const change = other === undefined ? undefined : changeBetween(other, run);
  return {
    run: reportRun(run),
    ...(other === undefined ? {} : { other: reportRun(other) }),
    ...(change === undefined ? {} : { change }),
    warnings: warningsOf(run, other, change),
    turns: binsOf(samples, (row) => row.turnIdx),
    contexts: binsOf(samples, (row) => contexts.get(recordId(row.key, row.repeat, row.index)) ?? 0),
    usage,
    ...(run.manifest === undefined ? {} : { manifest: JSON.stringify(run.manifest, null, 2) }),
    samples,
    starts,
    tool: `awb ${toolVersion()}`,
  };
}

function reportRun({ name, made, card, source }: ReadRun): ReportRun {
  return { name, card, facts: [...factsOf(made), ['file', basename(source)]] };
}

/** What made a run, as far as its manifest tells. */
function factsOf(made: MadeWith): (readonly [string, string])[] {
  const facts: (readonly [string, string | undefined])[] = [
    ['world model', made.worldModel],
    ['judge', made.judgeName],
    ['rubrics', made.rubricPack],
    ['verdicts', made.verdicts],
    ['protocol', made.protocol],
    ['judged', made.startedAt?.slice(0, 10)],
    // What the user said of the checkpoint: its step, its recipe, its cost.
    ...Object.entries(made.meta),
  ];
  return facts.filter((fact): fact is readonly [string, string] => fact[1] !== undefined);
}

function warningsOf(run: ReadRun, other: ReadRun | undefined, change: ReportChange | undefined): string[] {
  const warnings: string[] = [];
  for (const each of other === undefined ? [run] : [run, other]) {
    warnings.push(...coverageWarning(each), ...ratingWarning(each));
  }
  if (other === undefined) return warnings;
  if (change === undefined) warnings.push('No row is rated in both runs, so nothing is compared.');
  return [...warnings, ...notesOn(sharedBy(other, run), [])];
}

/** How `run` differs from `base`; undefined where no row is rated in both. */
function changeBetween(base: ReadRun, run: ReadRun): ReportChange | undefined {
  const sideOf = ({ rows, chosen }: ReadRun) => ({ rows, ...(chosen === undefined ? {} : { chosen }) });
  const compared = compareRuns(sideOf(base), sideOf(run), { draws: 0, moved: 0 });
  if (compared.status !== 'ok' || compared.overall.total === undefined) return undefined;
  return {
    domains: compared.domains.flatMap(({ domain, figures: { total } }) =>
      total === undefined ? [] : [{ domain, ...total }],
    ),
    overall: compared.overall.total,
  };
}

/** Scores over parts of the rows by some quantity, each part with about as many rows, one value never in two of them. */
function binsOf(samples: readonly ReportSample[], quantity: (row: JudgedRow) => number): ReportBin[] {
  const scored = samples
    .flatMap(({ row, points }) => (points === undefined ? [] : [{ points, row, at: quantity(row) }]))
    .sort((a, b) => a.at - b.at);
  const bins: (typeof scored)[] = [];
  let from = 0;
  while (from < scored.length) {
    const size = (scored.length - from) / (BINS - bins.length);
    let to = Math.min(scored.length, from + Math.max(1, Math.round(size)));
    while (to < scored.length && scored[to]?.at === scored[to - 1]?.at) to++;
    bins.push(scored.slice(from, to));
    from = to;
  }
  return bins.map((bin) => {
    const [first, last] = [bin[0]?.at as number, bin.at(-1)?.at as number];
    const name = first === last ? inWords(first) : `${inWords(first)} to ${inWords(last)}`;
    return { name, estimate: meanScore(bin) };
  });
}

/** The mean over samples, clustered by trajectory. */
function meanScore(bin: readonly { readonly points: number; readonly row: JudgedRow }[]): Estimate {
  const observations = bin.map(({ points, row }) => ({ value: points, cluster: row.trajectory }));
  return clusteredEstimate(observations, 'score');
}

function inWords(quantity: number): string {
  return quantity < 1000 ? String(quantity) : `${(quantity / 1000).toFixed(quantity < 10_000 ? 1 : 0)}k`;
}

async function usageOf({ source, manifest }: ReadRun): Promise<ReportUsage[]> {
  const costs = [...(await readCosts(source.replace(/(\.jsonl)?$/, '.journal.jsonl'))).values()];
  const calls = costs.reduce((sum, { attempts }) => sum + attempts, 0);
  const seconds = costs.reduce((sum, { ms }) => sum + ms, 0) / 1000;
  const stages: ReportUsage[] = [
    { stage: 'infer', usage: manifest?.predictions?.tokens ?? {} },
    { stage: 'judge', usage: manifest?.tokens ?? {}, ...(calls === 0 ? {} : { calls, seconds }) },
  ];
  return stages.filter(({ usage, calls: asked }) => Object.keys(usage).length > 0 || asked !== undefined);
}

function page(io: Io, output: string, { samples, bytes, texts }: Written): string {
  const shown = (path: string) => shownPath(path, io);
  const lines = [`written: ${shown(output)} (${samples} samples, ${(bytes / 1e6).toFixed(1)} MB)`];
  if (texts !== undefined)
    lines.push(`texts: ${texts.pages} pages in ${shown(texts.folder)}, which the page links to: keep both together`);
  return `${lines.join('\n')}\n`;
}

function documentOf(run: ReadRun, other: ReadRun | undefined, output: string, { samples, bytes, texts }: Written) {
  const described = (each: ReadRun) => ({ name: each.name, source: each.source });
  return {
    schema: 'awb.report/1',
    output,
    texts: texts?.folder ?? null,
    pages: texts?.pages ?? 0,
    samples,
    bytes,
    run: described(run),
    compare: other === undefined ? null : described(other),
  };
}
