// Decision equivalence as a table: the three raw figures, and what they come to; and its words, alike in the terminal and on the page.

import { domainName, meanName } from '../core/domains.js';
import type { Equivalence, EquivalenceCard } from '../core/equivalence.js';
import { twoDecimals } from '../core/figures.js';
import { type Column, intervalCell, NONE, type Table } from '../core/table.js';
import { LEAST_CLUSTERS } from '../core/types.js';

const COLUMNS: readonly Column[] = [
  { heading: 'Domain', short: 'Domain', align: 'left' },
  { heading: 'Rows', short: 'Rows', align: 'right' },
  { heading: 'Predicted', short: 'Pred.', align: 'right' },
  { heading: 'Ceiling', short: 'Ceil.', align: 'right' },
  { heading: 'Floor', short: 'Floor', align: 'right' },
  { heading: 'Decision eq.', short: 'Dec. eq.', align: 'right' },
  { heading: '95 % interval', short: '95 %', align: 'right' },
];

export function equivalenceTable({ domains, overall, macroOf }: EquivalenceCard): Table {
  const names = domains.map(({ domain }) => domain);
  const mean = meanName(names, macroOf);
  return {
    columns: COLUMNS,
    groups: [domains.map((own) => rowOf(domainName(own.domain), own)), [rowOf(mean, overall)]],
    footnotes: missingNotes([...domains, overall]),
    legend: EQUIVALENCE_NOTES,
  };
}

function rowOf(name: string, { rows, predicted, ceiling, floor, found }: Equivalence): string[] {
  const raw = [predicted, ceiling, floor].map(twoDecimals);
  if (typeof found === 'string') return [name, String(rows), ...raw, missingText(found) ?? NONE, NONE];
  return [name, String(rows), ...raw, twoDecimals(found.value), intervalCell(found.interval)];
}

/** What a reader must know of it. */
const EQUIVALENCE_NOTES = [
  'Decision eq.: (predicted - floor) / (ceiling - floor), of 100. It tells how far an agent does after the predicted observation what it does after the true one, and is the part of transfer that needs no training.',
  'Predicted: how often the agent acts alike after the prediction and after the truth. Ceiling: after the truth, asked twice. Floor: after the observation of another row.',
] as const;

/** Why some have none, a sentence for each reason that occurs. */
function missingNotes(all: readonly Equivalence[]): string[] {
  const has = (reason: Equivalence['found']) => all.some(({ found }) => found === reason);
  return [
    ...(has('does not look')
      ? [
          'None: the interval of ceiling minus floor holds 0, or lies below it. What it is shown is not seen to matter to the agent, so it tells nothing of predictions.',
        ]
      : []),
    ...(has('few')
      ? [`Too few: fewer than ${LEAST_CLUSTERS} trajectories (for the mean of domains: in any of them).`]
      : []),
  ];
}

/** What stands in place of a figure. */
function missingText(found: Equivalence['found']): string | undefined {
  if (found === 'few') return 'too few';
  return found === 'does not look' ? 'none' : undefined;
}
