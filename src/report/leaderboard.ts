// Runs -> a leaderboard: blocks of runs that were judged alike, with what is best and what cannot be told from it.

import { percent, shortDomains } from '../coverage.js';
import { domainName, inTableOrder } from '../domains.js';
import { nearest, UserError } from '../errors.js';
import { oneLine, printable } from '../printable.js';
import {
  DIMENSIONS,
  type Dimension,
  DOMAINS,
  type Domain,
  type DomainScore,
  type Estimate,
  type ScoreCard,
} from '../types.js';
import { PUBLISHED, PUBLISHED_SOURCE, type PublishedRow } from './published.js';
import { type Column, twoDecimals } from './table.js';

/** What a run's figures depend on beside its world model. Runs that differ in any of it never share a block. */
export interface JudgedWith {
  /** `rubric`, `metrics` ... */
  readonly kind: string;
  readonly judge?: string | undefined;
  /** The judge as its server named it. */
  readonly snapshot?: string | undefined;
  readonly rubricPack?: string | undefined;
  readonly rubricFingerprint?: string | undefined;
  /** How replies were read: `strict` or `official`. */
  readonly verdicts?: string | undefined;
  /** What was sent to the judge beside the messages. */
  readonly sampling?: Readonly<Record<string, unknown>> | undefined;
  readonly protocol?: string | undefined;
}

/** A run as the leaderboard takes it. Its texts may be hostile. */
export interface BoardRun {
  /** Unique. */
  readonly id: string;
  /** The SQLite file it stands in, and its number there. */
  readonly db: string;
  readonly number: number;
  readonly label?: string | undefined;
  readonly worldModel?: string | undefined;
  /** The judged file: the run's name where it has neither label nor model. */
  readonly source: string;
  readonly judgedWith: JudgedWith;
  /** A world model that needs no model, and so was asked under no protocol: it stands beside the runs of each. */
  readonly isBaseline: boolean;
  /** When it was judged, in ISO 8601. */
  readonly at: string;
  readonly card: ScoreCard;
}

/** What a column of figures shows: of one domain, or where there is none the mean over domains. */
export interface FigureOf {
  readonly domain?: Domain;
  /** A dimension, `total`, or a text measure. */
  readonly name: string;
}

/**
 * Whether a run cannot be told from the best one in a figure, that is, whether the paired difference on their common rows does
 * not show it worse. Undefined where they have no rows in common.
 */
export type IsTied = (best: BoardRun, other: BoardRun, figure: FigureOf) => boolean | undefined;

export interface BoardOptions {
  /** Of runs under one name, the latest, the best, or all. */
  readonly show: 'latest' | 'best' | 'all';
  /** What names a run: its label (its model where it has none), or its model. */
  readonly per: 'label' | 'model';
  /** A column's id; Overall where absent. Figures fall, texts rise. */
  readonly sort?: string | undefined;
  /** Ids of columns to show behind the name; the usual ones where empty. */
  readonly columns: readonly string[];
  /** Adds the five dimensions, each a mean over domains. */
  readonly dimensions: boolean;
  /** The measure shown of runs that were measured, such as `chrf`. */
  readonly measure: string;
  /** Least coverage of each domain, 0 to 1; runs below it are neither tested nor marked. */
  readonly minCoverage: number;
  readonly withPublished: boolean;
  /** The caller vouches that what was not recorded, judge or protocol, was the same in all runs that lack it. */
  readonly assumeSame: boolean;
}

/** A score or measure of 0-100; a published one is a value alone. */
export type Figure = Pick<Estimate, 'value'> & Partial<Estimate>;

export interface BoardColumn extends Column {
  readonly id: string;
  readonly isFigure: boolean;
}

export interface BoardRow {
  readonly name: string;
  /** Absent for a published row. */
  readonly run?: BoardRun;
  /** Whether every domain reaches the least coverage. */
  readonly isComplete: boolean;
  /** By column id; a figure that the row lacks is absent. */
  readonly figures: ReadonlyMap<string, Figure>;
  /** Ids of the columns in which it is best, or cannot be told from the best. */
  readonly marked: ReadonlySet<string>;
  /** Domains behind the row's mean. */
  readonly macroOf: number;
  /** One for each column of the block, the name first. */
  readonly texts: readonly string[];
}

/** Runs that may be compared with each other. */
export interface Block {
  readonly title: string;
  readonly judgedWith: JudgedWith;
  /** Judged as the published rows were. */
  readonly isOfficial: boolean;
  /** Of a block of measured runs: which measure it shows. */
  readonly measure?: string;
  readonly columns: readonly BoardColumn[];
  readonly rows: readonly BoardRow[];
  /** What a mark says, where there are marks. */
  readonly markNote?: string;
  readonly notes: readonly string[];
}

export interface Leaderboard {
  readonly blocks: readonly Block[];
}

/** What stands where there is no figure. */
const NONE = '-';
/** Longest name that is shown whole. */
const NAME_COLUMNS = 100;

/**
 * The leaderboard of runs: a block for each way of judging, the official one first, then by size. Within a block, runs with the
 * published Overall come first, the others follow by the number of their domains, and incomplete ones last.
 * @throws UserError (2) for an unknown column or measure.
 */
export function leaderboard(runs: readonly BoardRun[], options: BoardOptions, isTied: IsTied): Leaderboard {
  requireColumns(runs, options);
  requireMeasure(runs, options.measure);
  const groups = groupsOf(runs, options);
  const titles = titlesOf(groups, options);
  const blocks = groups.map((group, index) => blockOf(group, titles[index] as string, options, isTied));
  return { blocks };
}

// Blocks: who may stand beside whom.

interface Group {
  readonly judgedWith: JudgedWith;
  readonly runs: readonly BoardRun[];
  readonly isRecorded: boolean;
}

const OFFICIAL: JudgedWith = {
  kind: 'rubric',
  judge: PUBLISHED_SOURCE.judge,
  rubricPack: 'official',
  verdicts: 'official',
  protocol: 'history',
};

/** Judged as the published rows were; sampling is left out, since newer APIs refuse what the official script sends. */
function isOfficial({ kind, judge, snapshot, rubricPack, verdicts, protocol }: JudgedWith): boolean {
  const asked = { kind, judge: snapshot ?? judge, rubricPack, verdicts, protocol };
  return canonical(asked) === canonical(OFFICIAL);
}

function groupsOf(runs: readonly BoardRun[], options: BoardOptions): Group[] {
  const groups = new Map<string, Group & { readonly runs: BoardRun[] }>();
  const add = (run: BoardRun) => {
    const key = canonical([run.judgedWith, isRecorded(run) || options.assumeSame ? '' : run.id]);
    const group = groups.get(key) ?? { judgedWith: run.judgedWith, runs: [], isRecorded: isRecorded(run) };
    groups.set(key, group);
    group.runs.push(run);
  };
  for (const run of runs.filter((each) => !each.isBaseline)) add(run);
  const ofModels = [...groups.values()];
  for (const run of runs.filter((each) => each.isBaseline)) {
    const own = canonical(run.judgedWith);
    const alike = ofModels.filter(({ judgedWith }) => canonical({ ...judgedWith, protocol: undefined }) === own);
    if (alike.length === 0) add(run);
    for (const group of alike) group.runs.push(run);
  }
  const found: Group[] = [...groups.values()];
  if (options.withPublished && !found.some(({ judgedWith }) => isOfficial(judgedWith))) {
    found.push({ judgedWith: OFFICIAL, runs: [], isRecorded: true });
  }
  const rank = ({ judgedWith }: Group) => (isOfficial(judgedWith) ? 0 : isMeasured(judgedWith) ? 2 : 1);
  return found.sort((a, b) => rank(a) - rank(b) || b.runs.length - a.runs.length);
}

function isMeasured({ kind }: JudgedWith): boolean {
  return kind === 'metrics';
}

/** The official script's files do not say who judged them, and its predictions not under which protocol they were made. */
function isRecorded({ judgedWith, isBaseline }: BoardRun): boolean {
  const knowsJudge = isMeasured(judgedWith) || judgedWith.judge !== undefined;
  return knowsJudge && (judgedWith.protocol !== undefined || isBaseline);
}

/** JSON with sorted keys, and without what is undefined. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** What each block was judged with; the judge's sampling is named where nothing else tells two blocks apart. */
function titlesOf(groups: readonly Group[], options: BoardOptions): string[] {
  const short = groups.map((group) => titleOf(group, options, false));
  return groups.map((group, index) =>
    short.filter((title) => title === short[index]).length > 1
      ? titleOf(group, options, true)
      : (short[index] as string),
  );
}

function titleOf({ judgedWith, runs, isRecorded }: Group, options: BoardOptions, withSampling: boolean): string {
  const { judge, snapshot, rubricPack, rubricFingerprint, verdicts, sampling, protocol } = judgedWith;
  const name = (text: string) => oneLine(text, 60);
  const judgeText = snapshot === undefined || snapshot === judge ? judge : `${judge} (${snapshot})`;
  const parts = isMeasured(judgedWith)
    ? [`Text measure ${name(options.measure)}, no judge`]
    : [
        judgeText === undefined ? 'Judge not recorded' : `Judge ${name(judgeText)}`,
        rubricPack && `rubric pack ${name(rubricPack)} ${printable(rubricFingerprint ?? '').slice(0, 8)}`.trim(),
        verdicts && `verdicts ${name(verdicts)}`,
      ];
  if (withSampling && sampling !== undefined) parts.push(`sampling ${name(canonical(sampling))}`);
  if (protocol !== undefined) parts.push(`protocol ${name(protocol)}`);
  else if (!isRecorded) parts.push('protocol not recorded');
  if (!isRecorded && !options.assumeSame) parts.push(...runs.map((run) => nameOf(run, 'label')));
  return parts.filter((part) => part !== undefined).join(', ');
}

// Columns: what can be shown of a run.

interface FigureColumn extends BoardColumn {
  readonly isFigure: true;
  readonly figure: FigureOf;
  /** Means over domains are comparable only over the same domains. */
  readonly isMean: boolean;
  of(card: ScoreCard): Figure | undefined;
  /** The figure as the row shows it, where that is more than its value. */
  textOf?(figure: Figure, card: ScoreCard): string;
}

interface TextColumn extends BoardColumn {
  readonly isFigure: false;
  of(row: TextSource): string;
}

type AnyColumn = FigureColumn | TextColumn;

interface TextSource {
  readonly run: BoardRun | undefined;
  readonly mean: Figure | undefined;
}

const SHORT_NAMES: Readonly<Record<Domain, string>> = { terminal: 'Term.' };

function figureColumn(
  id: string,
  heading: string,
  figure: FigureOf,
  of: FigureColumn['of'],
  more: Partial<FigureColumn> = {},
): FigureColumn {
  return { id, heading, short: heading, align: 'right', isFigure: true, isMean: true, figure, of, ...more };
}

function textColumn(id: string, heading: string, align: Column['align'], of: TextColumn['of']): TextColumn {
  return { id, heading, short: heading, align, isFigure: false, of };
}

const TEXT_COLUMNS: readonly TextColumn[] = [
  textColumn('interval', '95 %', 'right', ({ mean }) => intervalText(mean)),
  textColumn('coverage', 'Coverage', 'right', ({ run }) =>
    run === undefined ? 'published' : percent(run.card.coverage),
  ),
  textColumn('rows', 'Rows', 'right', ({ run }) =>
    run === undefined ? String(PUBLISHED_SOURCE.rows) : `${run.card.valid}/${run.card.chosen}`,
  ),
  textColumn('model', 'World model', 'left', ({ run }) => shown(run?.worldModel)),
  textColumn('judge', 'Judge', 'left', ({ run }) =>
    run === undefined ? PUBLISHED_SOURCE.judge : shown(run.judgedWith.snapshot ?? run.judgedWith.judge),
  ),
  textColumn('rubrics', 'Rubric pack', 'left', ({ run }) =>
    run === undefined ? 'official' : shown(run.judgedWith.rubricPack),
  ),
  textColumn('date', 'Date', 'left', ({ run }) => shown(run?.at.slice(0, 10))),
];

/** Ids with a meaning of their own: a domain of such a name is known as `domain:NAME`. */
const MEANS = ['overall', 'macro', 'failures', ...DIMENSIONS];
const RESERVED = [...MEANS, 'name', ...TEXT_COLUMNS.map(({ id }) => id)];

function domainColumn(domain: Domain, measure: string | undefined): FigureColumn {
  const name = measure ?? 'total';
  const figures = (score: DomainScore | undefined) => (measure === undefined ? score?.scores : score?.measures);
  const heading = Object.hasOwn(SHORT_NAMES, domain) ? (SHORT_NAMES[domain] as string) : domainName(domain);
  const of = (card: ScoreCard) => ownFigure(figures(card.domains.find((score) => score.domain === domain)) ?? {}, name);
  return figureColumn(domainId(domain), heading, { domain, name }, of, { isMean: false });
}

function domainId(domain: Domain): string {
  return RESERVED.includes(domain) ? `domain:${domain}` : domain;
}

function ownFigure(figures: Readonly<Record<string, Estimate>>, name: string): Estimate | undefined {
  return Object.hasOwn(figures, name) ? figures[name] : undefined;
}

function meanOf(card: ScoreCard, measure: string | undefined): Estimate | undefined {
  return measure === undefined ? card.overall.total : ownFigure(card.overallMeasures, measure);
}

/** The domains behind a run's mean. */
function domainsOf(card: ScoreCard, measure: string | undefined): readonly Domain[] {
  return card.domains
    .filter(({ scores, measures }) =>
      measure === undefined ? scores.total !== undefined : Object.hasOwn(measures, measure),
    )
    .map(({ domain }) => domain);
}

/** The published Overall is of the seven domains and no other. */
function isWhole(card: ScoreCard, measure: string | undefined): boolean {
  const domains = domainsOf(card, measure);
  return domains.length === DOMAINS.length && DOMAINS.every((domain) => domains.includes(domain));
}

function meanColumns(measure: string | undefined): FigureColumn[] {
  const name = measure ?? 'total';
  const overall = (card: ScoreCard) => (isWhole(card, measure) ? meanOf(card, measure) : undefined);
  const macro = (card: ScoreCard) => (isWhole(card, measure) ? undefined : meanOf(card, measure));
  const macroText = (figure: Figure, card: ScoreCard) =>
    `macro of ${domainsOf(card, measure).length}: ${twoDecimals(figure.value)}`;
  const means = [
    figureColumn('overall', measure === undefined ? 'Overall' : 'Mean', { name }, overall),
    figureColumn('macro', 'Fewer domains', { name }, macro, { textOf: macroText }),
  ];
  if (measure !== undefined) return means;
  const dimensions = DIMENSIONS.map((dimension: Dimension) =>
    figureColumn(
      dimension,
      dimension[0]?.toUpperCase() + dimension.slice(1),
      { name: dimension },
      (card) => card.overall[dimension],
    ),
  );
  const failures = figureColumn(
    'failures',
    'With failures',
    { name: 'total' },
    (card) => card.overallWithFailures.total,
    { short: 'w.fail' },
  );
  return [...means, failures, ...dimensions];
}

/** The block's columns behind the name. */
function columnsOf(
  runs: readonly BoardRun[],
  hasPublished: boolean,
  options: BoardOptions,
  measure: string | undefined,
) {
  const having = new Set(runs.flatMap((run) => domainsOf(run.card, measure)));
  const domains = [...new Set([...DOMAINS, ...having])]
    .sort(inTableOrder)
    .map((domain) => domainColumn(domain, measure));
  const known: AnyColumn[] = [...domains, ...meanColumns(measure), ...TEXT_COLUMNS];
  const byId = new Map(known.map((column) => [column.id, column]));
  if (options.columns.length > 0) return options.columns.flatMap((id) => byId.get(id) ?? []);
  const cards = runs.map((run) => run.card);
  const showsDomain = (column: FigureColumn) => hasPublished || cards.some((card) => column.of(card) !== undefined);
  const shows: Readonly<Record<string, boolean>> = {
    overall: hasPublished || cards.some((card) => isWhole(card, measure)),
    macro: cards.some((card) => !isWhole(card, measure) && meanOf(card, measure) !== undefined),
    failures: cards.some(failuresMatter),
    ...Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, options.dimensions])),
    interval: true,
    coverage: true,
    rows: true,
  };
  return [...domains.filter(showsDomain), ...known.filter(({ id }) => shows[id] === true)];
}

function failuresMatter({ overall, overallWithFailures }: ScoreCard): boolean {
  return Math.abs((overall.total?.value ?? 0) - (overallWithFailures.total?.value ?? 0)) >= 0.005;
}

/** @throws UserError (2) that lists the columns there are. */
function requireColumns(runs: readonly BoardRun[], { columns, sort }: BoardOptions): void {
  const domains = runs.flatMap(({ card }) => card.domains.map(({ domain }) => domainId(domain)));
  const known = [...new Set([...DOMAINS, ...domains, ...RESERVED])];
  for (const id of [...columns, ...(sort === undefined ? [] : [sort])]) {
    if (known.includes(id)) continue;
    const near = nearest(id, known);
    const advice = near === undefined ? '' : `did you mean "${near}"? `;
    throw new UserError(`unknown column "${id}"; ${advice}The columns are ${known.join(', ')}`);
  }
}

/** @throws UserError (2) where runs were measured, and none of them by this measure. */
function requireMeasure(runs: readonly BoardRun[], measure: string): void {
  const measured = runs.filter(({ judgedWith }) => isMeasured(judgedWith));
  const known = [...new Set(measured.flatMap(({ card }) => Object.keys(card.overallMeasures)))];
  if (known.length === 0 || known.includes(measure)) return;
  throw new UserError(`unknown measure "${measure}"; the runs have ${known.join(', ')}`);
}

// Rows: which runs are shown, in which order, and which of them are marked.

/** A row before it is known which columns are marked. */
interface Entry {
  readonly name: string;
  readonly run: BoardRun | undefined;
  readonly published: PublishedRow | undefined;
  readonly isComplete: boolean;
  readonly macroOf: number;
  readonly figures: ReadonlyMap<string, Figure>;
  readonly mean: Figure | undefined;
}

function blockOf(group: Group, title: string, options: BoardOptions, isTied: IsTied): Block {
  const official = isOfficial(group.judgedWith);
  const measure = isMeasured(group.judgedWith) ? options.measure : undefined;
  const runs = chosenRuns(group.runs, options, measure);
  const published = official && options.withPublished ? PUBLISHED : [];
  const columns = columnsOf(runs, published.length > 0, options, measure);
  const figures: readonly FigureColumn[] = [...columnsById(runs, measure).values()];
  const entries = [
    ...runs.map((run) => entryOfRun(run, figures, options, measure)),
    ...published.map(entryOfPublished),
  ].sort(orderOf(options, measure, runs));
  const { marks, untested } = marksOf(entries, columns.filter(isFigureColumn), measure, isTied);
  const rows = entries.map((entry) => rowOf(entry, columns, marks.get(entry) ?? new Set()));
  const hasMarks = rows.some((row) => row.marked.size > 0);
  const judged = { judgedWith: group.judgedWith, isOfficial: official };
  return {
    title,
    ...judged,
    ...(measure === undefined ? {} : { measure }),
    columns: [{ id: 'name', heading: 'Run', short: 'Run', align: 'left', isFigure: false }, ...columns],
    rows,
    ...(hasMarks ? { markNote: MARK_NOTE } : {}),
    notes: notesOf({ entries, untested, columns, group, options, measure }),
  };
}

const MARK_NOTE =
  'the best of a column, and what cannot be told from it: the 95 % interval of the paired difference on common rows (failures of the model at rating 1) does not lie below 0.';

function isFigureColumn(column: AnyColumn): column is FigureColumn {
  return column.isFigure;
}

/** Every column of figures that a block can have, for sorting by one that is not shown. */
function columnsById(runs: readonly BoardRun[], measure: string | undefined): ReadonlyMap<string, FigureColumn> {
  const domains = new Set([...DOMAINS, ...runs.flatMap((run) => domainsOf(run.card, measure))]);
  const columns = [...[...domains].map((domain) => domainColumn(domain, measure)), ...meanColumns(measure)];
  return new Map(columns.map((column) => [column.id, column]));
}

function nameOf(run: BoardRun, per: BoardOptions['per']): string {
  const names = per === 'label' ? [run.label, run.worldModel] : [run.worldModel, run.label];
  const name = names.map((text) => oneLine(text ?? '', NAME_COLUMNS)).find((text) => text !== '');
  return name ?? oneLine(run.source.split(/[/\\]/).slice(-2).join('/'), NAME_COLUMNS);
}

/** One run for each name, or all. Names are compared as they are, not as they are shown. */
function chosenRuns(runs: readonly BoardRun[], options: BoardOptions, measure: string | undefined): BoardRun[] {
  if (options.show === 'all') return [...runs];
  const byName = new Map<string, BoardRun>();
  const value = (run: BoardRun) => meanOf(run.card, measure)?.value ?? Number.NEGATIVE_INFINITY;
  const isBetter = (a: BoardRun, b: BoardRun) => {
    const [complete, otherComplete] = [a, b].map((run) => isCovered(run, options));
    if (complete !== otherComplete) return complete === true;
    const domains = domainsOf(a.card, measure).length - domainsOf(b.card, measure).length;
    return domains === 0 ? value(a) > value(b) : domains > 0;
  };
  const isLater = (a: BoardRun, b: BoardRun) => (a.at === b.at ? a.number > b.number : a.at > b.at);
  for (const run of runs) {
    const name = keyOfName(run, options.per);
    const before = byName.get(name);
    const wins = before === undefined || (options.show === 'best' ? isBetter(run, before) : isLater(run, before));
    if (wins) byName.set(name, run);
  }
  return [...byName.values()];
}

function keyOfName({ label, worldModel, source }: BoardRun, per: BoardOptions['per']): string {
  return (per === 'label' ? (label ?? worldModel) : (worldModel ?? label)) ?? `file ${source}`;
}

function entryOfRun(
  run: BoardRun,
  columns: readonly FigureColumn[],
  options: BoardOptions,
  measure: string | undefined,
): Entry {
  const figures = columns.flatMap((column) => {
    const figure = column.of(run.card);
    return figure === undefined ? [] : [[column.id, figure] as const];
  });
  return {
    name: nameOf(run, options.per),
    run,
    published: undefined,
    isComplete: isCovered(run, options),
    macroOf: domainsOf(run.card, measure).length,
    figures: new Map(figures),
    mean: meanOf(run.card, measure),
  };
}

function entryOfPublished(published: PublishedRow): Entry {
  const scores = [...published.scores].map(([domain, value]) => [domain, { value }] as const);
  const mean = { value: published.overall };
  const figures: ReadonlyMap<string, Figure> = new Map<string, Figure>([...scores, ['overall', mean]]);
  return {
    name: published.model,
    run: undefined,
    published,
    isComplete: true,
    macroOf: DOMAINS.length,
    figures,
    mean,
  };
}

/** Whether the run and each of its domains reach the least coverage. */
function isCovered({ card }: BoardRun, { minCoverage }: BoardOptions): boolean {
  return card.coverage >= minCoverage && shortDomains(card, minCoverage).length === 0;
}

function orderOf({ sort }: BoardOptions, measure: string | undefined, runs: readonly BoardRun[]) {
  const text = TEXT_COLUMNS.find(({ id }) => id === sort);
  const isFigure = sort !== undefined && sort !== 'overall' && columnsById(runs, measure).has(sort);
  const byName = (a: Entry, b: Entry) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1);
  const fallen = (a: Figure | undefined, b: Figure | undefined) =>
    (b?.value ?? Number.NEGATIVE_INFINITY) - (a?.value ?? Number.NEGATIVE_INFINITY) || 0;
  const byMean = (a: Entry, b: Entry) =>
    Number(b.isComplete) - Number(a.isComplete) ||
    Number(isWholeEntry(b)) - Number(isWholeEntry(a)) ||
    b.macroOf - a.macroOf ||
    fallen(a.mean, b.mean) ||
    byName(a, b);
  return (a: Entry, b: Entry) => {
    if (sort === 'name') return byName(a, b);
    if (text !== undefined) {
      const [first, second] = [text.of(a), text.of(b)];
      return first === second ? byMean(a, b) : first < second ? -1 : 1;
    }
    return (isFigure ? fallen(a.figures.get(sort), b.figures.get(sort)) : 0) || byMean(a, b);
  };
}

/** Marks the best run of each column and its ties; published rows and incomplete runs are left out. */
function marksOf(
  entries: readonly Entry[],
  columns: readonly FigureColumn[],
  measure: string | undefined,
  isTied: IsTied,
) {
  const marks = new Map<Entry, Set<string>>();
  const untested = new Set<Entry>();
  const tested = entries.filter((entry) => entry.run !== undefined && entry.isComplete);
  for (const { id, figure, isMean } of columns) {
    // A mean over fewer domains is another quantity: where there are runs with Overall, they are compared with each other.
    const comparable = isMean && id !== 'macro' && tested.some(isWholeEntry) ? tested.filter(isWholeEntry) : tested;
    const having = comparable.filter((entry) => entry.figures.has(id));
    if (having.length < 2 || (isMean && !haveSameDomains(having, measure))) continue;
    const figureIn = (entry: Entry) => entry.figures.get(id)?.value as number;
    const best = having.reduce((a, b) => (figureIn(b) > figureIn(a) ? b : a));
    for (const entry of having) {
      const tied = entry === best || isTied(best.run as BoardRun, entry.run as BoardRun, figure);
      if (tied === undefined) untested.add(entry);
      if (tied) marks.set(entry, (marks.get(entry) ?? new Set()).add(id));
    }
  }
  return { marks, untested };
}

function isWholeEntry({ figures }: Entry): boolean {
  return figures.has('overall');
}

function haveSameDomains(entries: readonly Entry[], measure: string | undefined): boolean {
  const sets = entries.map(({ run }) => canonical([...domainsOf((run as BoardRun).card, measure)].sort()));
  return new Set(sets).size === 1;
}

function rowOf(entry: Entry, columns: readonly AnyColumn[], marked: ReadonlySet<string>): BoardRow {
  const { name, run, isComplete, figures, macroOf } = entry;
  const textOf = (column: AnyColumn) => {
    if (!column.isFigure) return column.of(entry);
    const figure = figures.get(column.id);
    if (figure === undefined) return NONE;
    return run === undefined || column.textOf === undefined
      ? twoDecimals(figure.value)
      : column.textOf(figure, run.card);
  };
  const texts = [name, ...columns.map(textOf)];
  return { name, ...(run === undefined ? {} : { run }), isComplete, figures, marked, macroOf, texts };
}

// Notes: what a reader must know to read a block rightly.

interface NoteSource {
  readonly entries: readonly Entry[];
  readonly untested: ReadonlySet<Entry>;
  readonly columns: readonly AnyColumn[];
  readonly group: Group;
  readonly options: BoardOptions;
  readonly measure: string | undefined;
}

function notesOf(source: NoteSource): string[] {
  const { entries, untested, columns, group, options, measure } = source;
  const shows = (id: string) => columns.some((column) => column.id === id);
  const runs = entries.filter((entry) => entry.run !== undefined);
  const incomplete = runs.filter((entry) => !entry.isComplete);
  const mean = measure === undefined ? 'Overall' : 'Mean';
  const whole = shows('overall')
    ? `${mean}: mean of the seven domains${measure === undefined ? ', as published' : ''}. `
    : '';
  return [
    ...(measure === undefined
      ? []
      : [`${oneLine(measure, 20)}: text measure of prediction against ground truth, 0-100; it is no rating.`]),
    ...(shows('interval') && runs.length > 0
      ? [`${whole}95 %: interval of the mean over domains, clustered by trajectory.`]
      : []),
    ...(shows('coverage') && runs.length > 0
      ? [
          'Coverage: share of the chosen rows that have a judgement, or fail by the model; rows: those rated, of those chosen.',
        ]
      : []),
    ...(shows('macro') && runs.some((entry) => entry.figures.has('macro'))
      ? ['macro of K: mean of K domains; Overall needs all seven and no other.']
      : []),
    ...(shows('failures') ? ['With failures (w.fail): empty, overflowed and refused predictions at rating 1.'] : []),
    ...(incomplete.length === 0
      ? []
      : [
          `A domain's coverage is below ${percent(options.minCoverage)}, so the run is neither tested nor marked: ${incomplete.map((entry) => shortOf(entry, options)).join('; ')}.`,
        ]),
    ...(untested.size === 0 ? [] : [`Too little in common with the best to be tested: ${namesOf([...untested])}.`]),
    ...(group.isRecorded ? [] : [unrecordedNote(options.assumeSame)]),
    ...selectionNotes(source),
    ...publishedNotes(entries),
  ];
}

function shortOf({ name, run }: Entry, { minCoverage }: BoardOptions): string {
  const short = run === undefined ? [] : shortDomains(run.card, minCoverage);
  return `${name} (${short.map(({ domain, coverage }) => `${domainName(domain)} ${percent(coverage)}`).join(', ')})`;
}

function unrecordedNote(assumed: boolean): string {
  return assumed
    ? 'Not everything was recorded of how these runs came about; --assume-same takes it to be the same in all of them.'
    : 'Not everything was recorded of how this run came about, so it stands alone; --assume-same puts such runs together.';
}

function selectionNotes({ entries, group, options }: NoteSource): string[] {
  const chosen = entries.flatMap(({ run }) => (run === undefined ? [] : [run.card.chosen]));
  if (entries.some((entry) => entry.published !== undefined)) chosen.push(PUBLISHED_SOURCE.rows);
  const [least, most] = [Math.min(...chosen), Math.max(...chosen)];
  const notes = least < most ? [`Figures are over different numbers of rows: ${least} to ${most}.`] : [];
  const names = new Set(group.runs.map((run) => keyOfName(run, options.per)));
  if (options.show === 'best' && names.size < group.runs.length) {
    notes.push(
      `The best of up to ${mostOfOneName(group.runs, options)} runs each: such a choice lifts a score above its true value.`,
    );
  }
  return notes;
}

function mostOfOneName(runs: readonly BoardRun[], { per }: BoardOptions): number {
  const counts = new Map<string, number>();
  for (const run of runs) counts.set(keyOfName(run, per), (counts.get(keyOfName(run, per)) ?? 0) + 1);
  return Math.max(...counts.values());
}

function publishedNotes(entries: readonly Entry[]): string[] {
  const rows = entries.flatMap(({ published }) => published ?? []);
  if (rows.length === 0) return [];
  const odd = rows.flatMap(({ model, scores, overall }) => {
    const mean = [...scores.values()].reduce((sum, score) => sum + score, 0) / scores.size;
    const [is, would] = [twoDecimals(overall), twoDecimals(mean)];
    return is === would ? [] : [`${model}: its Overall is published as ${is}, the mean of its columns is ${would}.`];
  });
  return [`published: ${PUBLISHED_SOURCE.text}, judge ${PUBLISHED_SOURCE.judge}; neither tested nor marked.`, ...odd];
}

function namesOf(entries: readonly Entry[]): string {
  return entries.map((entry) => entry.name).join(', ');
}

// Figures as text.

function intervalText(figure: Figure | undefined): string {
  if (figure?.low === undefined || figure.high === undefined) return NONE;
  return `${twoDecimals(figure.low)}–${twoDecimals(figure.high)}`;
}

function shown(text: string | undefined): string {
  return oneLine(text ?? '', NAME_COLUMNS) || NONE;
}
