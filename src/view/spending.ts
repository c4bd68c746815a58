// What a run took, as a report shows it: tokens, calls, hours and dollars of world model and judge by domain; and of one sample in a line.

import type { Cost, Spent } from '../core/costs.js';
import { domainName } from '../core/domains.js';
import { costCell, dollars } from '../core/money.js';
import type { AskedNames } from '../report/costs.js';
import { escapeHtml } from '../report/html/frame.js';
import type { ReportSpending, SpendingLine } from './contents.js';
import { count, DASH } from './figures.js';

const HEADS = ['Prompt tokens', 'Cached', 'Output tokens', 'Reasoning', 'Calls', 'Hours in calls', 'Cost'];

/** A part for each that was asked: a line for each domain, and their sum. */
export function spendingTable(spending: readonly ReportSpending[], names: AskedNames): string {
  const head = HEADS.map((text) => `<th scope="col" class="n">${text}</th>`).join('');
  const parts = spending.map(({ asked, domains, total }) => {
    const lines = [...domains].map(([domain, line]) => lineOf(escapeHtml(domainName(domain)), line));
    const group = `<tr class="group"><th colspan="${HEADS.length + 1}" scope="rowgroup">${names[asked]}</th></tr>`;
    return `<tbody>${group}${lines.join('')}${lineOf('All', total, ' class="sum"')}</tbody>`;
  });
  const notes = spending.flatMap(({ asked, price, total }) => {
    const left =
      total.cost.unpriced === 0 || total.cost.usd === undefined
        ? ''
        : `; the cost of ${count(total.cost.unpriced)} rows is not known`;
    return price === undefined || total.cost.usd === undefined
      ? []
      : [`${names[asked]}: price of ${escapeHtml(price.model)} by ${escapeHtml(price.source)}${left}.`];
  });
  const note = notes.length === 0 ? '' : `<p class="note">${notes.join(' ')}</p>`;
  return `<div class="scroll"><table><thead><tr><th scope="col">Domain</th>${head}</tr></thead>${parts.join('')}</table></div>${note}`;
}

function lineOf(name: string, { cost, calls, seconds }: SpendingLine, sum = ''): string {
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = cost.usage;
  const cells = [
    ...[promptTokens, cachedTokens, completionTokens, reasoningTokens, calls].map(count),
    seconds === undefined ? DASH : (seconds / 3600).toFixed(2),
    costIn(cost),
  ];
  return `<tr${sum}><th scope="row">${name}</th>${cells.map((cell) => `<td class="n">${cell}</td>`).join('')}</tr>`;
}

function costIn(cost: Cost): string {
  return cost.usd === undefined && cost.unpriced > 0 ? DASH : costCell(cost);
}

/** What one sample took, such as `prediction 19,000 + 280 tokens, $0.034`; undefined where nobody knows, or nobody was asked. */
export function spentText(what: string, { log, usd }: Spent = {}): string | undefined {
  const { promptTokens, completionTokens, reasoningTokens = 0 } = log?.usage ?? {};
  if (promptTokens === undefined || completionTokens === undefined) return undefined;
  const [prompt, output, thought] = [promptTokens, completionTokens, reasoningTokens].map((n) =>
    n.toLocaleString('en'),
  );
  const thinking = reasoningTokens === 0 ? '' : ` (${thought} thinking)`;
  return `${what} ${prompt} + ${output} tokens${thinking}${usd === undefined ? '' : `, ${dollars(usd)}`}`;
}
