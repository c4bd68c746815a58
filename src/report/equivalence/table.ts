// Decision equivalence as a table: the three raw figures, and what they come to.

import { domainName, meanName } from '../../domains.js';
import type { Equivalence, EquivalenceCard } from '../../equivalence.js';
import { twoDecimals } from '../../figures.js';
import { type Column, intervalCell, NONE, type Table } from '../table.js';
import { EQUIVALENCE_NOTES, missingNotes, missingText } from './words.js';

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
  return {
    columns: COLUMNS,
    groups: [
      domains.map((own) => rowOf(domainName(own.domain), own)),
      [
        rowOf(
          meanName(
            domains.map(({ domain }) => domain),
            macroOf,
          ),
          overall,
        ),
      ],
    ],
    footnotes: missingNotes([...domains, overall]),
    legend: EQUIVALENCE_NOTES,
  };
}

function rowOf(name: string, { rows, predicted, ceiling, floor, found }: Equivalence): string[] {
  const raw = [predicted, ceiling, floor].map(twoDecimals);
  if (typeof found === 'string') return [name, String(rows), ...raw, missingText(found) ?? NONE, NONE];
  return [name, String(rows), ...raw, twoDecimals(found.value), intervalCell(found.interval)];
}
