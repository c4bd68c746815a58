// The page on which people rate predictions by keyboard: one file that needs no other and no network.

import { escapeHtml, pageHead, scriptJson } from '../../report/html/frame.js';
import type { PageScript } from '../report.js';
import type { RatingDimension, RatingPageData } from './data.js';
import { RATING_STYLE } from './style.js';

/** The five dimensions as a person is asked for them, in the words of the rubric. */
export const RATING_QUESTIONS: readonly RatingDimension[] = [
  ['format', 'Format', 'Is it written as this environment writes, with nothing around it?'],
  ['factuality', 'Factuality', 'Is what happened right: effect, success or failure, values, every determined detail?'],
  ['consistency', 'Consistency', 'Does it agree with the history and with itself?'],
  ['realism', 'Realism', 'Would the real thing produce it: wording, amounts, side effects?'],
  ['quality', 'Quality', 'Taken as a whole, could an agent act on it as on the real answer?'],
];

const LEVELS = [
  'wrong throughout, missing, or no observation',
  'some of it is right, the main thing is not',
  'the main thing is right, with faults that an agent would stumble over',
  'small faults that change nothing for the agent',
  'no fault except in what could not be known',
];

const KEYS: readonly (readonly [keys: readonly string[], does: string])[] = [
  [['1', '2', '3', '4', '5'], 'rate, and on to the next dimension'],
  [['↑', '↓'], 'dimension'],
  [['←', '→'], 'sample'],
  [['u'], 'undo'],
  [['c'], 'comment'],
  [['Enter'], 'done with this sample; then the next one'],
  [['s'], 'save the file'],
];

/**
 * The page. Texts of models are in it as JSON; a policy allows the page's own style and script by their hashes, and no request.
 * @param texts the JSON of the samples' texts, in their order
 * @param heading what is rated, as readers see it
 */
export function ratingPage(
  heading: string,
  data: RatingPageData,
  texts: string,
  tool: string,
  { script, sha256 }: PageScript,
): string {
  return [
    pageHead(heading, sha256, { script, style: RATING_STYLE }),
    `<nav aria-label="Progress"><div class="wrap"><b>${escapeHtml(heading)}</b><span id="progress" role="status"></span>`,
    '<button type="button" id="save">Save ratings</button></div></nav>',
    '<main class="wrap" id="main" tabindex="-1"><noscript><p>Rating needs scripts.</p></noscript>',
    `<div id="intro" hidden>${intro(heading, data)}</div>`,
    '<div id="sample" hidden></div></main>',
    '<div id="panel" class="panel" hidden></div>',
    `<footer class="wrap">${escapeHtml(tool)}</footer>`,
    `<script type="application/json" id="data">${scriptJson(data)}</script>`,
    `<script type="application/json" id="texts-0">${texts}</script>`,
    `<script>${script}</script></body></html>\n`,
  ].join('');
}

function intro(heading: string, { samples, run }: RatingPageData): string {
  const levels = LEVELS.map((text, at) => `<dt>${at + 1}</dt><dd>${text}</dd>`);
  const questions = RATING_QUESTIONS.map(([, name, text]) => `<dt>${name}</dt><dd>${text}</dd>`);
  const keys = KEYS.map(
    ([names, does]) => `<dt>${names.map((name) => `<kbd>${name}</kbd>`).join('')}</dt><dd>${does}</dd>`,
  );
  const hidden = run === null ? ' Which run a prediction is of is hidden.' : '';
  return [
    `<header><h1>${escapeHtml(heading)}</h1><p class="by"><span><b>${samples.length}</b> samples</span></p></header>`,
    `<p>You rate what a world model predicted against what the real environment answered. What the judge says is shown when you are done with a sample, and not before.${hidden}</p>`,
    '<form id="begin"><label for="rater">Your name, as the file will have it</label>',
    '<div class="tools"><input type="text" id="rater" autocomplete="off" spellcheck="false" required maxlength="80"><button type="submit">Begin</button></div></form>',
    '<p class="note" id="kept"></p>',
    `<div class="pair"><section class="block"><h2>Ratings</h2><dl class="facts">${levels.join('')}</dl></section>`,
    `<section class="block"><h2>Dimensions</h2><dl class="facts">${questions.join('')}</dl></section>`,
    `<section class="block"><h2>Keys</h2><dl class="facts keys">${keys.join('')}</dl></section></div>`,
  ].join('');
}
