// A calibration domain by domain: key figures in a table, and everything else of each domain behind a fold.

import { domainName } from '../../core/domains.js';
import { escapeHtml } from '../../report/html/frame.js';
import type { Calibration, CalibrationPart } from '../../stats/calibration/document.js';
import { DASH, number, range, signed, signedRange } from '../figures.js';
import { canaryChart } from './canaries.js';
import { damageMatrix } from './matrix.js';
import { sightCounts } from './sight.js';
import { stepTable } from './steps.js';

const HEADS = ['Rows', 'Ceiling', 'Floor', 'False penalty', 'Noise', 'Blind to', 'Gullible'];

/** A line for each domain, and one for all. */
export function domainTable({ overall, domains }: Calibration): string {
  const head = HEADS.map((text) => `<th scope="col" class="n">${text}</th>`).join('');
  const lines = Object.entries(domains).map(([domain, part]) => line(domainName(domain), part));
  return `<div class="scroll" tabindex="0" role="region" aria-label="Domains"><table class="matrix"><thead><tr><th scope="col">Domain</th>${head}</tr></thead><tbody>${lines.join('')}${line('All', overall, ' class="sum"')}</tbody></table></div>`;
}

function line(name: string, part: CalibrationPart, sum = ''): string {
  const { ceiling, floor, false_penalty: cost, noise, gullibility: gain } = part;
  const { blind, all } = sightCounts(part.losses);
  const cells = [
    cell(part.rows.toLocaleString('en'), `${part.trajectories.toLocaleString('en')} trajectories`),
    cell(number(ceiling), range(ceiling)),
    cell(number(floor), range(floor)),
    cell(cost === null ? DASH : signed(cost.value), cost === null ? undefined : signedRange(cost)),
    cell(noise === null ? DASH : noise.sd.toFixed(1), undefined),
    cell(all === 0 ? DASH : `${blind} of ${all}`, undefined),
    cell(gain === null ? DASH : signed(gain.value), gain === null ? undefined : signedRange(gain)),
  ];
  return `<tr${sum}><th scope="row">${escapeHtml(name)}</th>${cells.join('')}</tr>`;
}

function cell(text: string, under: string | undefined): string {
  return `<td class="n">${text}${under === undefined ? '' : `<span class="range under">${under}</span>`}</td>`;
}

/** Damages, order and tricks of each domain. */
export function domainFolds({ domains }: Calibration): string {
  const folds = Object.entries(domains).map(([domain, part]) => {
    const parts = [
      ['Damages', damageMatrix(part)],
      ['Known order', stepTable(part)],
      ['Tricks', canaryChart(part)],
    ].filter(([, body]) => body !== '');
    const body = parts.map(([title, markup]) => `<h3>${title}</h3>${markup}`).join('');
    const { blind, all } = sightCounts(part.losses);
    const said = all === 0 ? '' : `<span class="soft">blind to ${blind} of ${all} damages</span>`;
    return `<details><summary>${escapeHtml(domainName(domain))}${said}</summary>${body}</details>`;
  });
  return folds.length === 0 ? '' : `<div class="folds">${folds.join('')}</div>`;
}
