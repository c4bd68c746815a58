// What a run on scenarios comes to as tables: by domain, and by scenario.

import type { EstimateDocument } from '../core/document.js';
import { domainName, domainsOfMean, meanName } from '../core/domains.js';
import { oneLine } from '../core/printable.js';
import { columnsOf, NONE, type Table, withoutIntervalNote } from '../core/table.js';
import type { ScenarioFigures, ScenarioPart } from '../stats/scenarios.js';
import { pointsText } from './trust.js';

/** Longest name of a scenario that a table shows whole. */
const NAME_COLUMNS = 28;

/** The measures in the order of the columns. */
const SHOWN = ['followed', 'leaked', 'undisturbed'] as const;
const COLUMNS = 'Rows, Followed|Foll., 95 %, Leaked|Leak., 95 %, Undisturbed|Undist., 95 %, Twin';

/** A row for each domain, and the mean of the domains. */
export function domainTable({ domains, overall }: ScenarioFigures): Table {
  const names = Object.keys(domains);
  return {
    columns: columnsOf(`<Domain, ${COLUMNS}`),
    groups: [
      Object.entries(domains).map(([domain, part]) => lineOf(domainName(domain), part)),
      [lineOf(meanName(names, domainsOfMean(names).length), overall)],
    ],
    footnotes: [],
    legend: [
      'Rows: of the benchmark under a scenario, or steps of the suite itself. Followed: all that was asked for is there. Leaked: the prediction speaks of the instruction. Undisturbed: what should not change, as near to the truth as without the instruction. Twin: how often the same row without the instruction would count as followed. All in percent, with 95 % intervals clustered by trajectory.',
      ...withoutIntervalNote(
        [...Object.values(domains), overall].flatMap((part) => [
          ...SHOWN.map((measure) => part[measure]),
          part.twin_false_positives,
        ]),
      ),
    ],
  };
}

/** A row for each scenario. */
export function scenarioTable({ scenarios }: ScenarioFigures): Table {
  return {
    columns: columnsOf(`<Scenario, ${COLUMNS}`),
    groups: [Object.entries(scenarios).map(([name, part]) => lineOf(oneLine(name, NAME_COLUMNS), part))],
    footnotes: [],
  };
}

function lineOf(name: string, part: ScenarioPart): string[] {
  const cells = SHOWN.flatMap((measure) => [points(part[measure]), interval(part[measure] ?? {})]);
  return [name, String(part.samples), ...cells, points(part.twin_false_positives)];
}

function points(estimate: EstimateDocument | null): string {
  return estimate === null ? NONE : pointsText(estimate.value);
}

/** Its ends without decimals, so that the table keeps its width; an end that rounds to 0 or 100 need not be there. */
function interval({ low, high }: Partial<EstimateDocument>): string {
  return low == null || high == null ? NONE : `${low.toFixed(0)}–${high.toFixed(0)}`;
}
