// The page of a run on scenarios: what a world model makes of instructions, in one file that asks for nothing and runs nothing.

import type { EstimateDocument } from '../../core/document.js';
import { domainName, domainsOfMean, meanName } from '../../core/domains.js';
import { SCENARIO_MEASURES, type ScenarioMeasure } from '../../core/scenario-row.js';
import { block, escapeHtml, pageHead, type Sha256 } from '../../report/html/frame.js';
import type { ScenarioFigures, ScenarioPart } from '../../stats/scenarios.js';
import { type ChartLine, intervalChart } from '../charts.js';
import { count, DASH, number, range } from '../figures.js';
import type { ScenarioReport } from './contents.js';
import { sampleFolds } from './samples.js';

/** What each measure is called, and what it says. */
const WORDS: Readonly<Record<ScenarioMeasure, readonly [name: string, says: string]>> = {
  followed: ['Followed', 'All that the instruction asks for is in the prediction.'],
  leaked: ['Leaked', 'The prediction speaks of the instruction: fewer is better.'],
  undisturbed: [
    'Undisturbed',
    'Of the lines that the world model predicts rightly without the instruction, and that the instruction gives no reason to change, those that are still there.',
  ],
  twin_false_positives: [
    'Twin false positives',
    'Rows that would count as followed although nothing was asked for: so much of what is followed proves nothing.',
  ],
};
const MEASURES = ['followed', 'leaked', 'undisturbed', 'twin_false_positives'] as const;

const STYLE = `
details.sample > summary { font-weight: 400; }
details.sample h4 { margin-top: 0.75rem; }
.verdicts { margin: 0.5rem 0; padding-left: 1.1rem; }
.verdicts li { overflow-wrap: anywhere; }
`;

/** The page. All its texts may be hostile. */
export function scenarioPage(report: ScenarioReport, sha256: Sha256): string {
  const { name, figures, tool, leftOut } = report;
  const rest = leftOut === 0 ? '' : ` Of ${count(leftOut)} more the page has no room for the texts (--inline-limit).`;
  return [
    pageHead(`${name}: scenarios`, sha256, { style: STYLE }),
    `<main class="wrap" id="main" tabindex="-1">${headOf(report)}`,
    ...MEASURES.map((measure) =>
      block(WORDS[measure][0], `${WORDS[measure][1]} ${INTERVALS}`, domainChart(figures, measure)),
    ),
    block('Scenarios', `The same by scenario, over all of its rows alike. ${INTERVALS}`, scenarioMatrix(figures)),
    block(
      'Samples',
      `Each with the same row without the instruction beside it. What was not followed, or leaked, comes first.${rest}`,
      sampleFolds(report),
    ),
    `</main><footer class="wrap">${escapeHtml(tool)}</footer></body></html>\n`,
  ].join('\n');
}

const INTERVALS = 'In percent, with 95 % intervals clustered by trajectory.';

function headOf({ name, facts, warnings, figures: { overall, domains } }: ScenarioReport): string {
  const spans = facts.map(([fact, text]) => `<span>${escapeHtml(fact)} <b>${escapeHtml(text)}</b></span>`);
  const said = warnings.map((text) => `<p>${escapeHtml(text)}</p>`).join('');
  const boxes = MEASURES.map(
    (measure) =>
      `<div><dt>${WORDS[measure][0]}</dt><dd class="big">${number(overall[measure])}</dd><dd class="under">${under(overall, measure)}</dd></div>`,
  );
  const failed = Object.entries(overall.failures).map(([failure, rows]) => `${escapeHtml(failure)} ${count(rows)}`);
  const rows = `${count(overall.trajectories)} trajectories, ${count(Object.keys(domains).length)} domains${failed.length === 0 ? '' : `<br>failed: ${failed.join(', ')}`}`;
  return [
    `<header><h1>${escapeHtml(name)}</h1><p class="by"><span>what it makes of instructions</span>${spans.join('')}</p>`,
    said === '' ? '' : `<div class="warn" role="note">${said}</div>`,
    `<dl class="key">${boxes.join('')}<div><dt>Rows</dt><dd class="big">${count(overall.samples)}</dd><dd class="under">${rows}</dd></div></dl>`,
    '</header>',
  ].join('');
}

function under(part: ScenarioPart, measure: ScenarioMeasure): string {
  const interval = range(part[measure]);
  return interval === undefined ? 'no interval' : `95 %: ${interval}`;
}

function domainChart({ overall, domains }: ScenarioFigures, measure: ScenarioMeasure): string {
  const names = Object.keys(domains);
  const lines: ChartLine[] = [
    ...Object.entries(domains).map(([domain, part]) => ({ name: domainName(domain), estimate: part[measure] })),
    { name: meanName(names, domainsOfMean(names).length), estimate: overall[measure], isSum: true },
  ];
  return intervalChart('Domain', lines, SCENARIO_MEASURES[measure]);
}

/** A line for each scenario with all that is measured of it. */
function scenarioMatrix({ scenarios }: ScenarioFigures): string {
  const head = ['Rows', ...MEASURES.map((measure) => WORDS[measure][0])].map(
    (name) => `<th scope="col" class="n">${name}</th>`,
  );
  const lines = Object.entries(scenarios).map(([scenario, part]) => {
    const cells = MEASURES.map((measure) => cell(part[measure]));
    return `<tr><th scope="row">${escapeHtml(scenario)}</th><td class="n">${count(part.samples)}</td>${cells.join('')}</tr>`;
  });
  return `<div class="scroll" tabindex="0" role="region" aria-label="Scenarios by measures"><table class="matrix"><thead><tr><th scope="col">Scenario</th>${head.join('')}</tr></thead><tbody>${lines.join('')}</tbody></table></div>`;
}

function cell(estimate: EstimateDocument | null): string {
  if (estimate === null) return `<td class="n">${DASH}</td>`;
  return `<td class="n">${number(estimate)}<span class="range under">${range(estimate) ?? 'no interval'}</span></td>`;
}
