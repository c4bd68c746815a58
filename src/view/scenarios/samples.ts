// The samples of a run on scenarios: instruction, what was predicted with it and without it, and what the verifiers say.

import { domainName } from '../../core/domains.js';
import { groupBy } from '../../core/groups.js';
import { printable } from '../../core/printable.js';
import { escapeHtml, escapeText } from '../../report/html/frame.js';
import type { ScenarioReport, ShownSample, ShownStep } from './contents.js';

/** A text is shown so far; a reply can be megabytes. */
const MOST_CHARACTERS = 20_000;

/** Scenario by scenario, in the order of the figures; of each, what went wrong comes first. */
export function sampleFolds({ samples, figures: { scenarios } }: Pick<ScenarioReport, 'samples' | 'figures'>): string {
  const byScenario = groupBy(samples, ({ scenario }) => scenario);
  return Object.keys(scenarios)
    .map((scenario) => {
      const own = byScenario.get(scenario) ?? [];
      if (own.length === 0) return '';
      const wrong = own.filter((sample) => !isFine(sample)).length;
      const note = wrong === 0 ? 'all followed, none leaked' : `${wrong} not followed or leaked`;
      const folds = own.toSorted((a, b) => Number(isFine(a)) - Number(isFine(b))).map(sampleFold);
      return `<details><summary>${escapeHtml(scenario)}<span class="soft">${own.length} rows, ${note}</span></summary>${folds.join('')}</details>`;
    })
    .join('');
}

function isFine({ measures: { followed, leaked } }: ShownSample): boolean {
  return followed === 100 && leaked === 0;
}

function sampleFold(sample: ShownSample): string {
  const { domain, id, turn, instruction, steps, failure } = sample;
  const name = `${escapeHtml(domainName(domain))} ${escapeHtml(id)}, turn ${turn}`;
  return [
    `<details class="sample"><summary>${name} ${marks(sample)}</summary>`,
    failure === undefined ? '' : `<p class="bad">${escapeHtml(failure)}</p>`,
    `<h4>Instruction</h4>${textOf(instruction)}`,
    ...steps.map((step, index) => stepOf(step, steps.length === 1 ? '' : `Step ${index + 1}: `)),
    '</details>',
  ].join('');
}

/** What the measures say, in words. */
function marks({ measures }: ShownSample): string {
  const { followed, leaked, undisturbed, twin_false_positives: taken } = measures;
  const found = [
    followed === undefined ? ['soft', 'unknown'] : followed === 100 ? ['good', 'followed'] : ['bad', 'not followed'],
    ...(leaked === 100 ? [['bad', 'leaked']] : []),
    ...(undisturbed === undefined ? [] : [['soft', `undisturbed ${undisturbed.toFixed(0)} %`]]),
    ...(taken === 100 ? [['soft', 'its twin would count as following']] : []),
  ];
  return found.map(([look, words]) => `<span class="${look}">${words}</span>`).join(' ');
}

function stepOf({ action, prediction, twin, verdicts }: ShownStep, lead: string): string {
  const said = verdicts.map(
    ({ verifier, met, why }) =>
      `<li><span class="${met ? 'good' : 'bad'}">${verdictWords(verifier, met)}</span>: ${escapeHtml(why)}</li>`,
  );
  return [
    `<h4>${lead}Action</h4>${textOf(action)}`,
    said.length === 0 ? '' : `<ul class="verdicts">${said.join('')}</ul>`,
    `<div class="pair"><div><h4>Without the instruction</h4>${textOf(twin)}</div>`,
    `<div><h4>With the instruction</h4>${textOf(prediction)}</div></div>`,
  ].join('');
}

function verdictWords(verifier: string, met: boolean): string {
  if (verifier === 'never') return met ? 'nothing leaked' : 'leaked';
  return `${escapeHtml(verifier)} ${met ? 'met' : 'not met'}`;
}

function textOf(text: string | undefined): string {
  if (text === undefined) return '<p class="soft">not known</p>';
  if (printable(text).trim() === '') return '<p class="soft">empty</p>';
  const more = text.length - MOST_CHARACTERS;
  const rest = more > 0 ? `<p class="soft">and ${more.toLocaleString('en')} more characters</p>` : '';
  return `<pre class="tall">${escapeText(text.slice(0, MOST_CHARACTERS))}</pre>${rest}`;
}
