// What a run on scenarios comes to as tables: by domain, and by scenario.

import type { EstimateDocument } from '../../core/document.js';
import { domainName, domainsOfMean, meanName } from '../../core/domains.js';
import { oneLine } from '../../core/printable.js';
import type { ScenarioMeasure } from '../../core/scenario-row.js';
import { type Column, NONE, type Table, withoutIntervalNote } from '../../core/table.js';
import { pointsText } from '../../report/trust.js';
import type { ScenarioFigures, ScenarioPart } from '../../stats/scenarios.js';

/** Longest name of a scenario that a table shows whole. */
const NAME_COLUMNS = 28;

/** The measures in the order of the columns, and what they are called there. */
const SHOWN = [
  ['followed', 'Followed', 'Foll.'],
  ['leaked', 'Leaked', 'Leak.'],
  ['undisturbed', 'Undisturbed', 'Undist.'],
] as const satisfies readonly (readonly [ScenarioMeasure, string, string])[];

function right(heading: string, short = heading): Column {
  return { heading, short, align: 'right' };
}

/** A row for each domain, and the mean of the domains. */
export function domainTable({ domains, overall }: ScenarioFigures): Table {
  const names = Object.keys(domains);
  return {
    columns: columnsUnder('Domain'),
    groups: [
      Object.entries(domains).map(([domain, part]) => lineOf(domainName(domain), part)),
      [lineOf(meanName(names, domainsOfMean(names).length), overall)],
    ],
    footnotes: [],
    legend: [
      'Rows: of the benchmark under a scenario, or steps of the suite itself. Followed: all that was asked for is there. Leaked: the prediction speaks of the instruction. Undisturbed: what should not change, as near to the truth as without the instruction. Twin: how often the same row without the instruction would count as followed. All in percent, with 95 % intervals clustered by trajectory.',
      ...withoutIntervalNote(
        [...Object.values(domains), overall].flatMap((part) => [
          ...SHOWN.map(([measure]) => part[measure]),
          part.twin_false_positives,
        ]),
      ),
    ],
  };
}

/** A row for each scenario. */
export function scenarioTable({ scenarios }: ScenarioFigures): Table {
  return {
    columns: columnsUnder('Scenario'),
    groups: [Object.entries(scenarios).map(([name, part]) => lineOf(oneLine(name, NAME_COLUMNS), part))],
    footnotes: [],
  };
}

function columnsUnder(first: string): Column[] {
  return [
    { heading: first, short: first, align: 'left' },
    right('Rows'),
    ...SHOWN.flatMap(([, heading, short]) => [right(heading, short), right('95 %')]),
    right('Twin'),
  ];
}

function lineOf(name: string, part: ScenarioPart): string[] {
  return [
    name,
    String(part.samples),
    ...SHOWN.flatMap(([measure]) => [points(part[measure]), interval(part[measure] ?? {})]),
    points(part.twin_false_positives),
  ];
}

function points(estimate: EstimateDocument | null): string {
  return estimate === null ? NONE : pointsText(estimate.value);
}

/** Its ends without decimals, so that the table keeps its width; an end that rounds to 0 or 100 need not be there. */
function interval({ low, high }: Partial<EstimateDocument>): string {
  return low == null || high == null ? NONE : `${low.toFixed(0)}–${high.toFixed(0)}`;
}
