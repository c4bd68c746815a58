// How often something happened, by domain.

import { domainName } from '../core/domains.js';
import type { DomainScore, ScoreCard } from '../core/types.js';
import { escapeHtml } from '../report/html/frame.js';
import { heading, samplesHref } from './charts.js';
import { count } from './figures.js';

/** Counts by name and domain: failures by class, or flags; undefined where nothing was counted. */
export function tallyTable(
  first: string,
  card: ScoreCard,
  tallyOf: (domain: DomainScore) => Readonly<Record<string, number>>,
  canLink: (name: string) => boolean,
): string | undefined {
  const sums = new Map<string, number>();
  for (const domain of card.domains) {
    for (const [name, times] of Object.entries(tallyOf(domain))) sums.set(name, (sums.get(name) ?? 0) + times);
  }
  const names = [...sums].filter(([, times]) => times > 0).sort((a, b) => b[1] - a[1]);
  if (names.length === 0) return undefined;
  const head = [...card.domains.map(({ domain }) => escapeHtml(domainName(domain))), 'All'];
  const rows = names.map(([name, sum]) => {
    const cells = [...card.domains.map((domain) => count(tallyOf(domain)[name] ?? 0)), `<b>${count(sum)}</b>`];
    const href = canLink(name) ? samplesHref({ flag: name }) : undefined;
    return `<tr><th scope="row">${heading(name, href)}</th>${cells.map((cell) => `<td class="n">${cell}</td>`).join('')}</tr>`;
  });
  return `<div class="scroll"><table><thead><tr><th scope="col">${first}</th>${head.map((name) => `<th scope="col" class="n">${name}</th>`).join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}
