// The HTML report: one file with its overview, the list of its samples and their texts, that needs no other and no network.

import { domainName } from '../core/domains.js';
import { goodness } from '../core/measures.js';
import { isRated } from '../core/points.js';
import { dimensionName } from '../core/table.js';
import { DIMENSIONS, type JudgedRow } from '../core/types.js';
import { decimalsOf, isLikeScore } from '../report/score-table.js';
import type { FigureData, PageData, SampleData, SideData } from './data.js';
import { type Child, html, type Markup, pageOf, type Sha256, scriptJson } from './html.js';
import { overview } from './overview.js';
import { leadName, leadOf, type Report, type ReportSample } from './report-contents.js';

/** What a page needs of the program. */
interface PageTools {
  /** Name and version of the program. */
  readonly tool: string;
  /** The browser script, which the build makes of `browser/`. */
  readonly script: string;
  readonly sha256: Sha256;
}

/** The page. Texts of models and files are in it as JSON, or escaped. @param texts the JSON of the samples' texts */
export function reportPage(report: Report, texts: string, { tool, script, sha256 }: PageTools): string {
  const { name } = report.run;
  const nav = html`<nav aria-label="Report"><div class="wrap"><b>${name}</b><a href="#overview">Overview</a><a href="#samples">Samples</a></div></nav>`;
  const main = html`<noscript><p>The samples need scripts.</p></noscript><div id="overview">${overview(report)}</div><div id="samples" hidden>${sampleList(report)}</div><div id="sample" hidden></div>`;
  const data = { data: scriptJson(pageData(report)), texts };
  return pageOf({ title: name, nav, main, tool, script, data }, sha256);
}

/** The list of samples: its filters and heads; the rows come from the script. */
function sampleList(report: Report): Child {
  const names = figuresOf(report).map(([name]) => name);
  const heads = [
    ...['Sample', 'Score', ...(report.other === undefined ? [] : ['Change'])],
    ...[leadName(report) === undefined ? 'Ratings' : 'Measures', 'Flags', 'Weakness or failure'],
  ].map((text) => html`<th scope="col"${/^(Score|Change)$/.test(text) && html` class="n"`}>${text}</th>`);
  const legend = names.length > 0 && html`<p class="note">In each row, from left to right: ${names.join(', ')}.</p>`;
  const pages = (found: Child) => html`<div class="status">${found}<span class="pages"></span></div>`;
  return [
    html`<header><h2 tabindex="-1">Samples</h2>${legend}</header>`,
    filters(report),
    html`<p class="keys note"><kbd>j</kbd><kbd>k</kbd> next, previous <kbd>Enter</kbd> open <kbd>/</kbd> search</p>`,
    pages(html`<span id="found" role="status"></span>`),
    html`<table class="list"><thead><tr>${heads}</tr></thead><tbody id="rows"></tbody></table>`,
    pages(html`<span></span>`),
  ];
}

type Options = readonly (readonly [value: string, text: string])[];

/** The fields of the filters. Bands and steps of points are offered only where scores are points of 0 to 100. */
function filters(report: Report): Markup {
  const { run, other, samples } = report;
  const hasPoints = isLikeScore(leadOf(report));
  const same = (names: readonly string[]): Options => names.map((name) => [name, name]);
  const flags = [...new Set(samples.flatMap(({ row }) => [...row.flags, ...(row.failure ? [row.failure.class] : [])]))];
  const fields = [
    select('domain', 'Domain', [['', 'all'], ...same(run.card.domains.map(({ domain }) => domainName(domain)))]),
    select('rating', 'Score', [['', 'all'], ...(hasPoints ? BANDS : []), ['failed', 'failed']]),
    select('flag', 'Flag or failure', [['', 'all'], ['any', 'any flag'], ...same(flags.sort())]),
    other && select('change', 'Change', [...CHANGES, ...(hasPoints ? MOVED : []), ['alone', 'not in both']]),
    select('sort', 'Order', [...ORDERS, ...(other ? CHANGE_ORDERS : [])]),
  ];
  return html`<form class="filters" id="filters" aria-label="Filter samples"><label class="search">Text or key<input type="search" id="filter-text" placeholder="prediction, truth, judge, key" spellcheck="false" autocomplete="off"></label>${fields}<button type="reset">Clear</button></form>`;
}

const BANDS: Options = [
  ['low', 'below 25'],
  ['fair', '25 to 50'],
  ['good', '50 to 75'],
  ['high', '75 and above'],
];
const CHANGES: Options = [
  ['', 'all'],
  ['worse', 'worse'],
  ['same', 'same'],
  ['better', 'better'],
];
const MOVED: Options = [['moved', 'by 25 points or more']];
const ORDERS: Options = [
  ['', 'by domain and turn'],
  ['lowest', 'lowest score first'],
  ['highest', 'highest score first'],
];
const CHANGE_ORDERS: Options = [
  ['worst', 'worst change first'],
  ['best', 'best change first'],
];

function select(name: string, label: string, options: Options): Markup {
  const items = options.map(([value, text]) => html`<option value="${value}">${text}</option>`);
  return html`<label>${label}<select id="filter-${name}">${items}</select></label>`;
}

/** The figures of each sample with their scale's end: ratings, or measures where nothing was rated. */
function figuresOf(report: Report): FigureData[] {
  const { samples, measureOf } = report;
  if (leadName(report) === undefined) return DIMENSIONS.map((dimension) => [dimensionName(dimension), 5]);
  const names = [...new Set(samples.flatMap(({ row }) => Object.keys(row.measures ?? {})))];
  return names.map((name) => [name, isLikeScore(measureOf(name)) ? 100 : null]);
}

/** What the page's script knows of the samples. */
function pageData(report: Report): PageData {
  const { run, other, samples } = report;
  const decimals = decimalsOf(leadOf(report));
  const figures = figuresOf(report);
  const domains = run.card.domains.map(({ domain }) => domain);
  const numbers = new Map([...new Set(samples.map(({ row }) => row.trajectory))].map((name, at) => [name, at + 1]));
  const sideOf = ({ row, points }: Pick<ReportSample, 'row' | 'points'>): SideData => ({
    v: points,
    f: leadName(report) === undefined ? ratingsIn(row) : measuresIn(row, figures),
    x: row.failure?.class,
    y: row.failure?.reason,
  });
  return {
    run: run.name,
    other: other?.name ?? null,
    domains: domains.map(domainName),
    figures,
    decimals: decimals === 1 ? undefined : decimals,
    repeats: samples.some(({ row }) => row.repeat > 0),
    samples: samples.map((sample): SampleData => {
      const { row } = sample;
      return {
        d: domains.indexOf(row.domain),
        t: row.turnIdx,
        r: row.repeat,
        j: row.index === 0 ? undefined : row.index,
        k: row.key,
        g: numbers.get(row.trajectory) ?? 0,
        ...sideOf(sample),
        l: row.flags,
        ...changeOf(report, sample),
        n: sample.note,
        o: sample.other && sideOf(sample.other),
      };
    }),
  };
}

/** With two decimals: those of panels are fractions. */
function ratingsIn(row: JudgedRow): SideData['f'] {
  if (!isRated(row)) return [];
  return DIMENSIONS.map((name) => {
    const { [name]: rating } = row.ratings;
    return rating === undefined ? null : Math.round(rating * 100) / 100;
  });
}

function measuresIn({ measures }: JudgedRow, figures: readonly FigureData[]): SideData['f'] {
  return measures === undefined ? [] : figures.map(([name]) => measures[name] ?? null);
}

/** How far it moved; and how much better that made it, where that is another number. */
function changeOf(report: Report, { points, other, change }: ReportSample): Pick<SampleData, 'b' | 'c'> {
  const measure = leadOf(report);
  if (change === undefined || measure.better === 'larger') return { c: change };
  const [now, before] = [points, other?.points].map((value) =>
    value === undefined ? value : goodness(measure, value),
  );
  return { c: change, b: now === undefined || before === undefined ? null : now - before };
}
