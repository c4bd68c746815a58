// The page on which people rate predictions by keyboard: one file that needs no other and no network.

import type { RatingDimension, RatingPageData } from './data.js';
import { type Child, html, type Markup, pageOf, scriptJson } from './html.js';
import type { PageTools } from './report.js';

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

/** @param texts the JSON of the samples' texts, in their order; @param heading what is rated, as readers see it */
export function ratingPage(
  heading: string,
  data: RatingPageData,
  texts: string,
  { tool, script, sha256 }: PageTools,
): string {
  const nav = html`<nav aria-label="Progress"><div class="wrap"><b>${heading}</b><span id="progress" role="status"></span><button type="button" id="save">Save ratings</button></div></nav>`;
  const main = html`<noscript><p>Rating needs scripts.</p></noscript><div id="intro" hidden>${intro(heading, data)}</div><div id="sample" hidden></div>`;
  const panel = html`<div id="panel" class="panel" hidden></div>`;
  return pageOf({ title: heading, nav, main, panel, tool, script, data: { data: scriptJson(data), texts } }, sha256);
}

function intro(heading: string, { samples, run }: RatingPageData): Markup {
  const facts = (title: string, look: string, lines: readonly (readonly [name: Child, text: string])[]) =>
    html`<section class="block"><h2>${title}</h2><dl class="${look}">${lines.map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}</dl></section>`;
  const levels = LEVELS.map((text, at) => [at + 1, text] as const);
  const questions = RATING_QUESTIONS.map(([, name, text]) => [name, text] as const);
  const keys = KEYS.map(([names, does]) => [names.map((name) => html`<kbd>${name}</kbd>`), does] as const);
  const hidden = run === null && html` Which run a prediction is of is hidden.`;
  return html`<header><h1>${heading}</h1><p class="by"><span><b>${samples.length}</b> samples</span></p></header>
<p>You rate what a world model predicted against what the real environment answered. What the judge says is shown when you are done with a sample, and not before.${hidden}</p>
<form id="begin"><label for="rater">Your name, as the file will have it</label>
<div class="tools"><input type="text" id="rater" autocomplete="off" spellcheck="false" required maxlength="80"><button type="submit">Begin</button></div></form>
<p class="note" id="kept"></p>
<div class="pair">${facts('Ratings', 'facts', levels)}${facts('Dimensions', 'facts', questions)}${facts('Keys', 'facts keys', keys)}</div>`;
}
