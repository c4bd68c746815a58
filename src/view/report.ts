// The HTML report: one file that needs no other and no network, or, where texts are many, pages of texts beside it.

import { escapeHtml, pageHead, type Sha256, scriptJson } from '../report/html/frame.js';
import type { Report } from './contents.js';
import type { PageData } from './data.js';
import { overview } from './overview.js';
import { pageData } from './page-data.js';
import { sampleList } from './samples.js';

/** What a page is given to run, and to name in its policy. */
export interface PageScript {
  /** The browser script, which the build makes of `browser/`. */
  readonly script: string;
  readonly sha256: Sha256;
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
  page: PageScript,
): Generator<string> {
  yield pageHead(report.run.name, page.sha256, page);
  yield navigation(report, '');
  yield `<main class="wrap" id="main" tabindex="-1"><noscript><p>The samples need scripts.</p></noscript><div id="overview">${overview(report)}</div>`;
  yield `<div id="samples" hidden>${sampleList(report)}</div><div id="sample" hidden></div></main>`;
  yield `<footer class="wrap">${escapeHtml(report.tool)}</footer>`;
  const pages = 'pages' in chunks ? chunks.pages : null;
  yield dataBlock(pageData(report, 0, report.samples, { pages, chunk: null, back: '' }));
  for (const [index, json] of 'inline' in chunks ? chunks.inline.entries() : []) yield textsBlock(index, json);
  yield foot(page);
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
  page: PageScript,
): string {
  const from = report.starts[chunk] ?? 0;
  const samples = report.samples.slice(from, report.starts[chunk + 1]);
  const data = pageData(report, from, samples, { pages: links.own, chunk, back: links.back });
  return [
    pageHead(`${report.run.name}, texts ${chunk + 1}`, page.sha256, page),
    navigation(report, links.back),
    '<main class="wrap" id="main" tabindex="-1"><div id="sample"></div></main>',
    `<footer class="wrap">${escapeHtml(report.tool)}</footer>`,
    dataBlock(data),
    textsBlock(chunk, json),
    foot(page),
  ].join('');
}

function navigation(report: Report, back: string): string {
  const links = [
    ['#overview', 'Overview'],
    ['#samples', 'Samples'],
  ].map(([href, text]) => `<a href="${escapeHtml(`${back}${href}`)}">${text}</a>`);
  return `<nav aria-label="Report"><div class="wrap"><b>${escapeHtml(report.run.name)}</b>${links.join('')}</div></nav>`;
}

function dataBlock(data: PageData): string {
  return `<script type="application/json" id="data">${scriptJson(data)}</script>`;
}

function textsBlock(index: number, json: string): string {
  return `<script type="application/json" id="texts-${index}">${json}</script>`;
}

function foot({ script }: PageScript): string {
  return `<script>${script}</script></body></html>\n`;
}
