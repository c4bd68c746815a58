// Decision equivalence on a report's page.

import { domainName, meanName } from '../core/domains.js';
import type { Equivalence, EquivalenceCard } from '../core/equivalence.js';
import { intervalText } from '../core/figures.js';
import { block, escapeHtml } from '../report/html/frame.js';
import { EQUIVALENCE_NOTES, missingNotes, missingText } from '../report/score-table.js';
import { count, DASH } from './figures.js';

const HEADS = ['Rows', 'Predicted', 'Ceiling', 'Floor', 'Decision equivalence'];

/** A line for each domain and one for their mean; nothing for a run of another kind. */
export function equivalenceBlock(card: EquivalenceCard | undefined): string {
  if (card === undefined) return '';
  const { domains, overall, macroOf } = card;
  const head = HEADS.map((text) => `<th scope="col" class="n">${text}</th>`).join('');
  const lines = domains.map((own) => lineOf(domainName(own.domain), own));
  const mean = meanName(
    domains.map(({ domain }) => domain),
    macroOf,
  );
  const notes = missingNotes([...domains, overall]);
  const note = notes.length === 0 ? '' : `<p class="note">${escapeHtml(notes.join(' '))}</p>`;
  return block(
    'Decision equivalence',
    escapeHtml(EQUIVALENCE_NOTES.join(' ')),
    `<div class="scroll"><table><thead><tr><th scope="col">Domain</th>${head}</tr></thead><tbody>${lines.join('')}${lineOf(mean, overall, ' class="sum"')}</tbody></table></div>${note}`,
  );
}

function lineOf(name: string, { rows, predicted, ceiling, floor, found }: Equivalence, sum = ''): string {
  const cells = [count(rows), ...[predicted, ceiling, floor].map((value) => value.toFixed(1)), cellOf(found)];
  return `<tr${sum}><th scope="row">${escapeHtml(name)}</th>${cells.map((cell) => `<td class="n">${cell}</td>`).join('')}</tr>`;
}

function cellOf(found: Equivalence['found']): string {
  if (typeof found === 'string') return missingText(found) ?? DASH;
  const interval = found.interval && intervalText(found.interval, (value) => value.toFixed(1));
  return `${found.value.toFixed(1)}${interval === undefined ? '' : `<br><small>${interval}</small>`}`;
}
