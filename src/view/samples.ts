// The list of a report's samples: its filters and heads; the rows come from the script.

import { domainName } from '../core/domains.js';
import { escapeHtml } from '../report/html/frame.js';
import { isLikeScore, leadingMeasure } from '../report/score-table.js';
import type { Report } from './contents.js';
import { leadOf } from './lead.js';
import { figuresOf } from './page-data.js';

export function sampleList(report: Report): string {
  const names = figuresOf(report).map(([name]) => name);
  const legend = `<p class="note">In each row, from left to right: ${escapeHtml(names.join(', '))}.</p>`;
  const head = headsOf(report).map(
    (text) => `<th scope="col"${/^(Score|Change)$/.test(text) ? ' class="n"' : ''}>${text}</th>`,
  );
  return [
    '<header><h2 tabindex="-1">Samples</h2>',
    names.length === 0 ? '' : legend,
    '</header>',
    `<form class="filters" id="filters" aria-label="Filter samples">${SEARCH}${filtersOf(report).join('')}<button type="reset">Clear</button></form>`,
    `<p class="keys note">${['j', 'k'].map((key) => `<kbd>${key}</kbd>`).join('')} next, previous <kbd>Enter</kbd> open <kbd>/</kbd> search</p>`,
    '<div class="status"><span id="found" role="status"></span><span class="pages"></span></div>',
    `<table class="list"><thead><tr>${head.join('')}</tr></thead><tbody id="rows"></tbody></table>`,
    '<div class="status"><span></span><span class="pages"></span></div>',
  ].join('');
}

function headsOf({ run, other, measureOf }: Report): string[] {
  const figures = leadingMeasure(run.card, measureOf) === undefined ? 'Ratings' : 'Measures';
  return ['Sample', 'Score', ...(other === undefined ? [] : ['Change']), figures, 'Flags', 'Weakness or failure'];
}

const SEARCH =
  '<label class="search">Text or key<input type="search" id="filter-text" placeholder="prediction, truth, judge, key" spellcheck="false" autocomplete="off"></label>';

type Options = readonly (readonly [value: string, text: string])[];

/** The fields of the filters. Bands and steps of points are offered only where scores are points of 0 to 100. */
function filtersOf(report: Report): string[] {
  const { run, other, samples } = report;
  const hasPoints = isLikeScore(leadOf(report));
  const domains = run.card.domains.map(({ domain }) => domainName(domain));
  const flags = [...new Set(samples.flatMap(({ row }) => [...row.flags, ...(row.failure ? [row.failure.class] : [])]))];
  const same = (names: readonly string[]): Options => names.map((name) => [name, name]);
  const hasOther = other !== undefined;
  return [
    select('domain', 'Domain', [['', 'all'], ...same(domains)]),
    select('rating', 'Score', [['', 'all'], ...(hasPoints ? BANDS : []), ['failed', 'failed']]),
    select('flag', 'Flag or failure', [['', 'all'], ['any', 'any flag'], ...same(flags.sort())]),
    ...(hasOther ? [select('change', 'Change', changes(hasPoints))] : []),
    select('sort', 'Order', [...ORDERS, ...(hasOther ? CHANGE_ORDERS : [])]),
  ];
}

const BANDS: Options = [
  ['low', 'below 25'],
  ['fair', '25 to 50'],
  ['good', '50 to 75'],
  ['high', '75 and above'],
];

function changes(hasPoints: boolean): Options {
  return [
    ['', 'all'],
    ['worse', 'worse'],
    ['same', 'same'],
    ['better', 'better'],
    ...(hasPoints ? ([['moved', 'by 25 points or more']] as const) : []),
    ['alone', 'not in both'],
  ];
}

const ORDERS: Options = [
  ['', 'by domain and turn'],
  ['lowest', 'lowest score first'],
  ['highest', 'highest score first'],
];
const CHANGE_ORDERS: Options = [
  ['worst', 'worst change first'],
  ['best', 'best change first'],
];

function select(name: string, label: string, options: Options): string {
  const items = options.map(([value, text]) => `<option value="${escapeHtml(value)}">${escapeHtml(text)}</option>`);
  return `<label>${label}<select id="filter-${name}">${items.join('')}</select></label>`;
}
