// The HTML report: one file that needs no other and no network, or, where texts are many, pages of texts beside it.

import { percent } from '../../coverage.js';
import { domainName } from '../../domains.js';
import { isRated } from '../../points.js';
import { printable } from '../../printable.js';
import { DIMENSIONS, type Estimate, type JudgedRow, type ScoreCard, type Usage } from '../../types.js';
import { difference } from '../difference/difference.js';
import { leastText, overallName } from '../score-table.js';
import {
  type ChangeLine,
  changeChart,
  count,
  domainLines,
  figureMatrix,
  intervalChart,
  leadingMeasure,
  number,
  range,
  ratingChart,
  samplesHref,
  signed,
  signedRange,
  tallyTable,
} from './charts.js';
import { escapeHtml, pageHead, type Sha256 } from './frame.js';
import { SCRIPT } from './script.js';

/** A run as the report shows it. */
export interface ReportRun {
  /** What the run is called: its label, or the name of its file. */
  readonly name: string;
  /** What made it, by heading: world model, judge, rubric pack ... */
  readonly facts: readonly (readonly [string, string])[];
  readonly card: ScoreCard;
}

/** How two runs differ on the rows of both, in points of 0-100; absent where nothing could be compared. */
export interface ReportChange {
  readonly domains: readonly (Omit<ChangeLine, 'name'> & { readonly domain: string })[];
  readonly overall: Omit<ChangeLine, 'name'>;
}

/** A figure over a part of the rows. */
export interface ReportBin {
  readonly name: string;
  readonly estimate: Estimate;
}

/** What a stage used: tokens as the servers counted them, and hours in calls. */
export interface ReportUsage {
  readonly stage: string;
  readonly usage: Usage;
  readonly calls?: number;
  readonly seconds?: number;
}

/** One judged row in the list. */
export interface ReportSample {
  readonly row: JudgedRow;
  /** Points of 0-100; absent where the row has no score. */
  readonly points?: number;
  /** Of the other run's row, where it has one. */
  readonly other?: { readonly row: JudgedRow; readonly points?: number };
  /** Points of this row minus those of the other run's; absent unless both have some. */
  readonly change?: number;
  /** One line that says why, such as the judge's first weakness. */
  readonly note: string;
}

export interface Report {
  readonly run: ReportRun;
  readonly other?: ReportRun;
  readonly change?: ReportChange;
  /** What a reader must know before believing the figures, one sentence each. */
  readonly warnings: readonly string[];
  /** Score by turn position and by the length of what was put to the world model. */
  readonly turns: readonly ReportBin[];
  readonly contexts: readonly ReportBin[];
  readonly usage: readonly ReportUsage[];
  /** The manifest as it stands on the disk. */
  readonly manifest?: string;
  /** In the order in which they are shown; a chunk of texts holds those of a stretch of them. */
  readonly samples: readonly ReportSample[];
  /** Index of the first sample of each chunk, the first being 0. */
  readonly starts: readonly number[];
  /** Name and version of the program. */
  readonly tool: string;
}

/** One side of a sample's texts: a prediction and what the judge said of it. */
export interface SideTexts {
  /** Empty where there is none. */
  readonly prediction: string;
  readonly strengths: readonly string[];
  readonly weaknesses: readonly string[];
  readonly judgeReply?: string;
  readonly judgeReasoning?: string;
}

/** The texts of a sample. */
export interface SampleTexts extends SideTexts {
  readonly truth: string;
  readonly action: string;
  readonly history: readonly { readonly action: string; readonly observation: string }[];
  readonly systemPrompt: string;
  readonly other?: SideTexts;
}

/** Texts of consecutive samples as the page's JSON: each different text once, since turns of one trajectory share their history. */
export interface TextsChunk {
  add(texts: SampleTexts): void;
  /** Characters so far, without what JSON adds. */
  readonly size: number;
  /** JSON that can stand inside a script element. */
  json(): string;
}

export function textsChunk(): TextsChunk {
  const places = new Map<string, number>();
  const rows: object[] = [];
  let size = 0;
  const placeOf = (text: string) => {
    const known = places.get(text);
    if (known !== undefined) return known;
    size += text.length;
    places.set(text, places.size);
    return places.size - 1;
  };
  const sideOf = (truth: string, side: SideTexts) => ({
    ...(side.prediction === ''
      ? {}
      : { prediction: placeOf(side.prediction), steps: difference(truth, side.prediction) }),
    strengths: side.strengths,
    weaknesses: side.weaknesses,
    ...(side.judgeReply === undefined ? {} : { reply: placeOf(side.judgeReply) }),
    ...(side.judgeReasoning === undefined ? {} : { thoughts: placeOf(side.judgeReasoning) }),
  });
  return {
    add(texts) {
      rows.push({
        ...sideOf(texts.truth, texts),
        truth: placeOf(texts.truth),
        action: placeOf(texts.action),
        history: texts.history.flatMap(({ action, observation }) => [placeOf(action), placeOf(observation)]),
        ...(texts.systemPrompt === '' ? {} : { system: placeOf(texts.systemPrompt) }),
        ...(texts.other === undefined ? {} : { other: sideOf(texts.truth, texts.other) }),
      });
    },
    get size() {
      return size;
    },
    json: () => scriptJson({ strings: [...places.keys()], rows }),
  };
}

/** JSON without `<`: nothing in it can end the script element that it stands in. */
function scriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}

/**
 * The report's page, in pieces. Texts of models and files are in it as JSON, or escaped; a policy allows the page's own style and
 * script by their hashes, and no request.
 * @param chunks the JSON of every chunk of texts, or where the pages of texts lie: the start of their address, to which number and
 * `.html` are added
 */
export function* reportPage(
  report: Report,
  chunks: { readonly inline: readonly string[] } | { readonly pages: string },
  sha256: Sha256,
): Generator<string> {
  yield pageHead(report.run.name, sha256, SCRIPT);
  yield navigation(report, '');
  yield `<main class="wrap" id="main" tabindex="-1"><noscript><p>The samples need scripts.</p></noscript><div id="overview">${overview(report)}</div>`;
  yield `<div id="samples" hidden>${sampleList(report)}</div><div id="sample" hidden></div></main>`;
  yield `<footer class="wrap">${escapeHtml(report.tool)}</footer>`;
  const pages = 'pages' in chunks ? chunks.pages : null;
  yield dataBlock(scriptJson({ ...pageData(report, 0, report.samples), pages, chunk: null, back: '' }));
  for (const [index, json] of 'inline' in chunks ? chunks.inline.entries() : []) yield textsBlock(index, json);
  yield foot();
}

/**
 * The page of one chunk of texts, for reports too large for one file.
 * @param back the address of the report, seen from the page; @param own the start of the pages' addresses, seen from each other
 */
export function textsPage(
  report: Report,
  chunk: number,
  json: string,
  links: { readonly back: string; readonly own: string },
  sha256: Sha256,
): string {
  const from = report.starts[chunk] ?? 0;
  const samples = report.samples.slice(from, report.starts[chunk + 1]);
  const data = { ...pageData(report, from, samples), pages: links.own, chunk, back: links.back };
  return [
    pageHead(`${report.run.name}, texts ${chunk + 1}`, sha256, SCRIPT),
    navigation(report, links.back),
    '<main class="wrap" id="main" tabindex="-1"><div id="sample"></div></main>',
    `<footer class="wrap">${escapeHtml(report.tool)}</footer>`,
    dataBlock(scriptJson(data)),
    textsBlock(chunk, json),
    foot(),
  ].join('');
}

function navigation(report: Report, back: string): string {
  const links = [
    ['#overview', 'Overview'],
    ['#samples', 'Samples'],
  ].map(([href, text]) => `<a href="${escapeHtml(`${back}${href}`)}">${text}</a>`);
  return `<nav aria-label="Report"><div class="wrap"><b>${escapeHtml(report.run.name)}</b>${links.join('')}</div></nav>`;
}

function dataBlock(json: string): string {
  return `<script type="application/json" id="data">${json}</script>`;
}

function textsBlock(index: number, json: string): string {
  return `<script type="application/json" id="texts-${index}">${json}</script>`;
}

function foot(): string {
  return `<script>${SCRIPT}</script></body></html>\n`;
}

function overview(report: Report): string {
  const { run, other } = report;
  const by = run.facts.map(([name, text]) => `<span>${escapeHtml(name)} <b>${escapeHtml(text)}</b></span>`);
  return [
    `<header><h1>${escapeHtml(run.name)}</h1><p class="by">${by.join('')}</p>`,
    other === undefined
      ? ''
      : `<p class="by"><span>compared with <b>${escapeHtml(other.name)}</b></span>${factsApart(run, other)}</p>`,
    warnings(report.warnings),
    keyFigures(report),
    '</header>',
    scores(report),
    changes(report),
    block('Dimensions', 'Each figure on a scale of 0 to 100, its 95 % interval below it.', figureMatrix(run.card)),
    ratings(report),
    partsOfRun(report),
    troubles(report),
    spent(report.usage),
    manifestBlock(report.manifest),
  ].join('');
}

/** What is said of the other run: only where it is not what is said of this one. */
function factsApart(run: ReportRun, other: ReportRun): string {
  const own = new Map(run.facts);
  return other.facts
    .filter(([name, text]) => own.get(name) !== text)
    .map(([name, text]) => `<span>${escapeHtml(name)} <b>${escapeHtml(text)}</b></span>`)
    .join('');
}

function warnings(sentences: readonly string[]): string {
  if (sentences.length === 0) return '';
  return `<div class="warn" role="note">${sentences.map((text) => `<p>${escapeHtml(text)}</p>`).join('')}</div>`;
}

function keyFigures(report: Report): string {
  const { card } = report.run;
  const lines = domainLines(card, undefined);
  const sum = lines.at(-1);
  const name = overallName(card);
  const failed = card.domains.reduce((all, domain) => all + (domain.failures['not-judged'] ?? 0), card.failed);
  const tokens = report.usage.reduce(
    (all, { usage }) => all + (usage.promptTokens ?? 0) + (usage.completionTokens ?? 0),
    0,
  );
  const change = report.change?.overall.difference;
  const boxes: (readonly [string, string, string])[] = [
    [
      name === 'Overall' ? name : `Score (${name})`,
      number(sum?.estimate),
      `${underFigure(range(sum?.estimate))}${withFailures(card)}`,
    ],
    ...(change === undefined ? [] : [['Change', signed(change.value), underFigure(signedRange(change))] as const]),
    [
      'Coverage',
      percent(card.coverage).replace('%', '<small>%</small>'),
      escapeHtml(leastText(card) ?? 'of every domain'),
    ],
    ['Valid rows', count(card.valid), `of ${card.chosen.toLocaleString('en')} chosen`],
    [
      'Failed or missing',
      count(failed),
      failed === 0 ? 'none' : `${((failed / Math.max(1, card.chosen)) * 100).toFixed(1)} % of the rows`,
    ],
    ...(tokens === 0
      ? []
      : [['Tokens', inShort(tokens), report.usage.map(({ stage }) => escapeHtml(stage)).join(' and ')] as const]),
  ];
  const items = boxes.map(
    ([title, figure, under]) =>
      `<div><dt>${escapeHtml(title)}</dt><dd class="big">${figure}</dd><dd class="under">${under}</dd></div>`,
  );
  return `<dl class="key">${items.join('')}</dl>`;
}

function underFigure(interval: string | undefined): string {
  return interval === undefined ? 'no interval' : `95 %: ${interval}`;
}

/** What leaderboards rank by, where it is another figure: the model's failures at rating 1. */
function withFailures({ overall, overallWithFailures }: ScoreCard): string {
  const [official, counted] = [overall.total?.value, overallWithFailures.total?.value];
  if (official === undefined || counted === undefined || Math.abs(official - counted) < 0.05) return '';
  return `<br>with failures: ${counted.toFixed(1)}`;
}

function inShort(tokens: number): string {
  if (tokens < 10_000) return count(tokens);
  const [size, unit] = tokens < 1e6 ? [tokens / 1e3, 'k'] : tokens < 1e9 ? [tokens / 1e6, 'M'] : [tokens / 1e9, 'G'];
  return `${size.toFixed(1)} <small>${unit}</small>`;
}

function block(title: string, note: string, body: string): string {
  return `<section class="block"><h2>${title}</h2><p class="note">${note}</p>${body}</section>`;
}

function legend(run: ReportRun, other: ReportRun): string {
  const key = (kind: string, name: string) =>
    `<li><svg class="line" aria-hidden="true"><g class="${kind}"><line class="reach" x1="0" x2="100%" y1="50%" y2="50%"/><circle class="dot" cx="50%" cy="50%" r="4"/></g></svg>${escapeHtml(name)}</li>`;
  return `<ul class="legend">${key('own', run.name)}${key('other', other.name)}</ul>`;
}

function scores({ run, other }: Report): string {
  const lines = domainLines(run.card, other?.card);
  const key = other === undefined ? '' : legend(run, other);
  return block(
    `${escapeHtml(leadingMeasure(run.card) ?? 'Scores')} by domain`,
    'Dots are scores, lines their 95 % intervals, clustered by trajectory: turns of one trajectory are not independent.',
    `${key}${intervalChart('Domain', lines, other?.name)}`,
  );
}

function changes({ change, other }: Report): string {
  if (change === undefined || other === undefined) return '';
  const lines = change.domains.map(({ domain, ...line }) => {
    const name = domainName(domain);
    return { ...line, name, href: samplesHref({ domain: name, change: 'worse', sort: 'worst' }) };
  });
  return block(
    `Change against ${escapeHtml(other.name)}`,
    'Paired row by row, in points of 0 to 100, with failures that the model caused at rating 1. Where the line crosses 0 the data do not show that there is a difference.',
    changeChart([...lines, { ...change.overall, name: 'All domains', isSum: true }]),
  );
}

function ratings({ run, samples }: Report): string {
  if (leadingMeasure(run.card) !== undefined) return '';
  const rows = samples.map(({ row }) => row);
  return block('Ratings', 'How often the judge gave each rating from 1 to 5, over valid rows.', ratingChart(rows));
}

function partsOfRun({ turns, contexts }: Report): string {
  const part = (title: string, note: string, first: string, bins: readonly ReportBin[]) =>
    bins.length < 2 ? '' : block(title, note, intervalChart(first, bins));
  const parts = [
    part('Score by turn', 'Position of the predicted turn in its trajectory; mean over samples.', 'Turn', turns),
    part(
      'Score by context length',
      'Characters put to the world model: system prompt, history and action; mean over samples.',
      'Characters',
      contexts,
    ),
  ].join('');
  return parts === '' ? '' : `<div class="pair">${parts}</div>`;
}

function troubles({ run: { card } }: Report): string {
  const failures = tallyTable(
    'Failure',
    card,
    (domain) => domain.failures,
    (name) => name !== 'not-judged' && name !== 'unstated',
  );
  const flags = tallyTable(
    'Flag',
    card,
    (domain) => domain.flags,
    () => true,
  );
  const none = (what: string) => `<p class="soft">No ${what}.</p>`;
  return [
    block(
      'Failures',
      'Rows without a score, by cause. Empty, refused and planted predictions are the model’s doing; the others are missing data.',
      failures ?? none('failures'),
    ),
    block('Flags', 'What is odd about a prediction without making it a failure.', flags ?? none('flags')),
  ].join('');
}

function spent(stages: readonly ReportUsage[]): string {
  if (stages.length === 0) return '';
  const heads = ['Prompt tokens', 'Cached', 'Completion tokens', 'Reasoning', 'Calls', 'Hours in calls'];
  const rows = stages.map(({ stage, usage, calls, seconds }) => {
    const cells = [
      count(usage.promptTokens),
      count(usage.cachedTokens),
      count(usage.completionTokens),
      count(usage.reasoningTokens),
      count(calls),
      seconds === undefined ? '–' : (seconds / 3600).toFixed(2),
    ];
    return `<tr><th scope="row">${escapeHtml(stage)}</th>${cells.map((cell) => `<td class="n">${cell}</td>`).join('')}</tr>`;
  });
  const head = heads.map((text) => `<th scope="col" class="n">${text}</th>`).join('');
  return block(
    'Tokens and time',
    'As the servers counted; cached tokens are part of the prompt’s, reasoning tokens of the completion’s.',
    `<div class="scroll"><table><thead><tr><th scope="col">Stage</th>${head}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`,
  );
}

function manifestBlock(manifest: string | undefined): string {
  if (manifest === undefined) return '';
  const lines = printable(manifest, { multiline: true }).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<div class="folds"><details><summary>Manifest<span class="soft">what made this run</span></summary><pre class="tall" tabindex="0">${lines}</pre></details></div>`;
}

function sampleList(report: Report): string {
  const { run, other, samples } = report;
  const domains = run.card.domains.map(({ domain }) => domainName(domain));
  const flags = [...new Set(samples.flatMap(({ row }) => [...row.flags, ...(row.failure ? [row.failure.class] : [])]))];
  const fields = [
    '<label class="search">Text or key<input type="search" id="filter-text" placeholder="prediction, truth, judge, key" spellcheck="false" autocomplete="off"></label>',
    select('domain', 'Domain', [['', 'all'], ...domains.map((name) => [name, name] as const)]),
    select('rating', 'Score', [
      ['', 'all'],
      ['low', 'below 25'],
      ['fair', '25 to 50'],
      ['good', '50 to 75'],
      ['high', '75 and above'],
      ['failed', 'failed'],
    ]),
    select('flag', 'Flag or failure', [
      ['', 'all'],
      ['any', 'any flag'],
      ...flags.sort().map((name) => [name, name] as const),
    ]),
    ...(other === undefined
      ? []
      : [
          select('change', 'Change', [
            ['', 'all'],
            ['worse', 'worse'],
            ['same', 'same'],
            ['better', 'better'],
            ['moved', 'by 25 points or more'],
            ['alone', 'not in both'],
          ]),
        ]),
    select('sort', 'Order', [
      ['', 'by domain and turn'],
      ['lowest', 'lowest score first'],
      ['highest', 'highest score first'],
      ...(other === undefined
        ? []
        : ([
            ['worst', 'worst change first'],
            ['best', 'best change first'],
          ] as const)),
    ]),
  ];
  const heads = [
    'Sample',
    'Score',
    ...(other === undefined ? [] : ['Change']),
    leadingMeasure(run.card) === undefined ? 'Ratings' : 'Measures',
    'Flags',
    'Weakness or failure',
  ];
  const head = heads.map((text) => `<th scope="col"${/^(Score|Change)$/.test(text) ? ' class="n"' : ''}>${text}</th>`);
  const legend = figuresOf(report)
    .map(([name]) => name)
    .join(', ');
  return [
    '<header><h2 tabindex="-1">Samples</h2>',
    legend === '' ? '' : `<p class="note">In each row, from left to right: ${escapeHtml(legend)}.</p>`,
    '</header>',
    `<form class="filters" id="filters" aria-label="Filter samples">${fields.join('')}<button type="reset">Clear</button></form>`,
    `<p class="keys note">${['j', 'k'].map((key) => `<kbd>${key}</kbd>`).join('')} next, previous <kbd>Enter</kbd> open <kbd>/</kbd> search</p>`,
    '<div class="status"><span id="found" role="status"></span><span class="pages"></span></div>',
    `<table class="list"><thead><tr>${head.join('')}</tr></thead><tbody id="rows"></tbody></table>`,
    '<div class="status"><span></span><span class="pages"></span></div>',
  ].join('');
}

function select(name: string, label: string, options: readonly (readonly [string, string])[]): string {
  const items = options.map(([value, text]) => `<option value="${escapeHtml(value)}">${escapeHtml(text)}</option>`);
  return `<label>${label}<select id="filter-${name}">${items.join('')}</select></label>`;
}

/** The figures of each sample with their scale's end: ratings, or measures where nothing was rated. */
function figuresOf({ run, samples }: Report): (readonly [string, number])[] {
  if (leadingMeasure(run.card) === undefined) {
    return DIMENSIONS.map((name) => [`${name.charAt(0).toUpperCase()}${name.slice(1)}`, 5]);
  }
  return [...new Set(samples.flatMap(({ row }) => Object.keys(row.measures ?? {})))].map((name) => [name, 100]);
}

/** What the script knows of the samples; names are short, since there are thousands. */
function pageData(report: Report, from: number, samples: readonly ReportSample[]) {
  const domains = report.run.card.domains.map(({ domain }) => domain);
  const figures = figuresOf(report);
  const hasRatings = leadingMeasure(report.run.card) === undefined;
  const figuresOfRow = (row: JudgedRow) => {
    if (hasRatings) return isRated(row) ? DIMENSIONS.map((name) => row.ratings[name] ?? null) : [];
    return row.measures === undefined ? [] : figures.map(([name]) => row.measures?.[name] ?? null);
  };
  const trajectories = new Map<string, number>();
  for (const { row } of report.samples) {
    if (!trajectories.has(row.trajectory)) trajectories.set(row.trajectory, trajectories.size + 1);
  }
  const sideOf = (row: JudgedRow, points: number | undefined) => ({
    ...(points === undefined ? {} : { v: points }),
    f: figuresOfRow(row),
    ...(row.failure === undefined ? {} : { x: row.failure.class, y: row.failure.reason }),
  });
  return {
    run: report.run.name,
    other: report.other?.name ?? null,
    domains: domains.map(domainName),
    figures,
    starts: report.starts,
    from,
    total: report.samples.length,
    repeats: report.samples.some(({ row }) => row.repeat > 0),
    samples: samples.map(({ row, points, other, change, note }) => ({
      d: domains.indexOf(row.domain),
      t: row.turnIdx,
      r: row.repeat,
      k: row.key,
      g: trajectories.get(row.trajectory),
      ...sideOf(row, points),
      l: row.flags,
      ...(change === undefined ? {} : { c: change }),
      n: note,
      ...(other === undefined ? {} : { o: sideOf(other.row, other.points) }),
    })),
  };
}
