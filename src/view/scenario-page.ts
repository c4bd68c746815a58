// The page of a run on scenarios: what a world model makes of instructions, in one file that asks for nothing and runs nothing.

import { domainName, domainsOfMean, meanName } from '../core/domains.js';
import { groupBy } from '../core/groups.js';
import { printable } from '../core/printable.js';
import { SCENARIO_MEASURES, type ScenarioMeasure } from '../core/scenario-row.js';
import type { ScenarioFigures } from '../stats/scenarios.js';
import { intervalChart } from './charts.js';
import type { ScenarioDocument, ScenarioSample as ShownSample, ScenarioStep as ShownStep } from './documents.js';
import { type Child, html, longText, type Markup, pageOf, type Sha256, table } from './html.js';
import {
  block,
  count,
  type Fact,
  factSpans,
  header,
  type KeyFigure,
  number,
  range,
  underFigure,
  withRange,
} from './parts.js';

/** What each measure is called, and what it says. */
const MEASURES: readonly (readonly [measure: ScenarioMeasure, name: string, says: string])[] = [
  ['followed', 'Followed', 'All that the instruction asks for is in the prediction.'],
  ['leaked', 'Leaked', 'The prediction speaks of the instruction: fewer is better.'],
  [
    'undisturbed',
    'Undisturbed',
    'Of the lines that the world model predicts rightly without the instruction, and that the instruction gives no reason to change, those that are still there.',
  ],
  [
    'twin_false_positives',
    'Twin false positives',
    'Rows that would count as followed although nothing was asked for: so much of what is followed proves nothing.',
  ],
];
const INTERVALS = 'In percent, with 95 % intervals clustered by trajectory.';

export type ScenarioReport = Omit<ScenarioDocument, 'ref' | 'table'> & {
  readonly name: string;
  readonly facts: readonly Fact[];
  readonly warnings: readonly string[];
};

/** @param tool name and version of the program */
export function scenarioPage(report: ScenarioReport, tool: string, sha256: Sha256): string {
  const { name, figures, leftOut } = report;
  const main = [
    scenarioHead(report),
    MEASURES.map(([measure, title, says]) => block(title, `${says} ${INTERVALS}`, domainChart(figures, measure))),
    block('Scenarios', `The same by scenario, over all of its rows alike. ${INTERVALS}`, scenarioMatrix(figures)),
    block(
      'Samples',
      html`Each with the same row without the instruction beside it. What was not followed, or leaked, comes first.${leftOut > 0 && html` Of ${count(leftOut)} more the page has no room for the texts (--inline-limit).`}`,
      html`${sampleFolds(report)}`,
    ),
  ];
  return pageOf({ title: `${name}: scenarios`, main, tool }, sha256);
}

function scenarioHead({ name, facts, warnings, figures: { overall, domains } }: ScenarioReport): Markup {
  const failed = Object.entries(overall.failures).map(
    ([failure, rows], at) => html`${at > 0 && html`, `}${failure} ${count(rows)}`,
  );
  const figures: KeyFigure[] = MEASURES.map(([measure, title]) => [
    title,
    number(overall[measure]),
    underFigure(range(overall[measure])),
  ]);
  const rows: KeyFigure = [
    'Rows',
    count(overall.samples),
    html`${count(overall.trajectories)} trajectories, ${count(Object.keys(domains).length)} domains`,
    failed.length > 0 && html`failed: ${failed}`,
  ];
  const made = [html`<span>what it makes of instructions</span>`, factSpans(facts)];
  return header(name, made, warnings, [...figures, rows]);
}

function domainChart({ overall, domains }: ScenarioFigures, measure: ScenarioMeasure): Markup | undefined {
  const names = Object.keys(domains);
  const lines = [
    ...Object.entries(domains).map(([domain, part]) => ({ name: domainName(domain), estimate: part[measure] })),
    { name: meanName(names, domainsOfMean(names).length), estimate: overall[measure], isSum: true },
  ];
  return intervalChart('Domain', lines, SCENARIO_MEASURES[measure]);
}

/** A line for each scenario with all that is measured of it. */
function scenarioMatrix({ scenarios }: ScenarioFigures): Markup {
  const rows = Object.entries(scenarios).map(([scenario, part]) => ({
    cells: [
      scenario,
      count(part.samples),
      ...MEASURES.map(([measure]) => withRange(number(part[measure]), range(part[measure]))),
    ],
  }));
  const heads = ['Scenario', 'Rows', ...MEASURES.map(([, name]) => name)];
  return table(heads, rows, { look: 'matrix', label: 'Scenarios by measures' });
}

/** Scenario by scenario, in the order of the figures; of each, what went wrong comes first. */
function sampleFolds({ samples, figures: { scenarios } }: ScenarioReport): Child {
  const byScenario = groupBy(samples, ({ scenario }) => scenario);
  return Object.keys(scenarios).map((scenario) => {
    const own = byScenario.get(scenario) ?? [];
    const wrong = own.filter((sample) => !isFine(sample)).length;
    const note = wrong === 0 ? 'all followed, none leaked' : `${wrong} not followed or leaked`;
    const folds = own.toSorted((a, b) => Number(isFine(a)) - Number(isFine(b))).map(sampleFold);
    return (
      own.length > 0 &&
      html`<details><summary>${scenario}<span class="soft">${own.length} rows, ${note}</span></summary>${folds}</details>`
    );
  });
}

function isFine({ measures: { followed, leaked } }: ShownSample): boolean {
  return followed === 100 && leaked === 0;
}

function sampleFold(sample: ShownSample): Markup {
  const { domain, id, turn, instruction, steps, failure } = sample;
  const shown = steps.map((step, index) => stepOf(step, steps.length === 1 ? undefined : html`Step ${index + 1}: `));
  return html`<details class="sample"><summary>${domainName(domain)} ${id}, turn ${turn}${marks(sample)}</summary>${failure !== undefined && html`<p class="bad">${failure}</p>`}<h4>Instruction</h4>${textOf(instruction)}${shown}</details>`;
}

/** What the measures say, in words. */
function marks({ measures }: ShownSample): Child {
  const { followed, leaked, undisturbed, twin_false_positives: taken } = measures;
  const said: (readonly [look: string, words: string] | false)[] = [
    followed === undefined ? ['soft', 'unknown'] : followed === 100 ? ['good', 'followed'] : ['bad', 'not followed'],
    leaked === 100 && ['bad', 'leaked'],
    undisturbed !== undefined && ['soft', `undisturbed ${undisturbed.toFixed(0)} %`],
    taken === 100 && ['soft', 'its twin would count as following'],
  ];
  return said.map((mark) => mark && html` <span class="${mark[0]}">${mark[1]}</span>`);
}

function stepOf({ action, prediction, twin, verdicts }: ShownStep, lead: Child): Markup {
  const said = verdicts.map(({ verifier, met, why }) => {
    const words = verifier === 'never' ? (met ? 'nothing leaked' : 'leaked') : `${verifier} ${met ? 'met' : 'not met'}`;
    return html`<li><span class="${met ? 'good' : 'bad'}">${words}</span>: ${why}</li>`;
  });
  const sides = html`<div class="pair"><div><h4>Without the instruction</h4>${textOf(twin)}</div><div><h4>With the instruction</h4>${textOf(prediction)}</div></div>`;
  return html`<h4>${lead}Action</h4>${textOf(action)}${said.length > 0 && html`<ul class="verdicts">${said}</ul>`}${sides}`;
}

/** A text is shown so far; a reply can be megabytes. */
const MOST_CHARACTERS = 20_000;

function textOf(text: string | undefined): Markup {
  if (text === undefined) return html`<p class="soft">not known</p>`;
  if (printable(text).trim() === '') return html`<p class="soft">empty</p>`;
  const more = text.length - MOST_CHARACTERS;
  return html`<pre class="tall">${longText(text.slice(0, MOST_CHARACTERS))}</pre>${more > 0 && html`<p class="soft">and ${count(more)} more characters</p>`}`;
}
