// The page of a calibration: what a judge can and cannot see, in one file that asks for nothing and runs nothing.

import { EQUIVALENT_POINTS } from '../../core/calibration.js';
import { block, escapeHtml, pageHead, type Sha256 } from '../../report/html/frame.js';
import type { CalibrationDocument } from '../../stats/calibration/document.js';
import { canaryChart } from './canaries.js';
import { domainFolds, domainTable } from './domains.js';
import { doseCurves } from './dose-curves.js';
import { calibrationHead } from './head.js';
import { damageMatrix } from './matrix.js';
import { scoreChart } from './scores.js';
import { stepTable } from './steps.js';

/**
 * The page. Names of judges, domains and variants may be hostile.
 * @param tool name and version of the program
 */
export function calibrationPage(calibration: CalibrationDocument, tool: string, sha256: Sha256): string {
  const { overall } = calibration;
  const section = (title: string, note: string, body: string) => (body === '' ? '' : block(title, note, body));
  return [
    pageHead(`${calibration.judge_model}: calibration`, sha256),
    `<main class="wrap" id="main" tabindex="-1">${calibrationHead(calibration)}`,
    section(
      'Points lost by dose',
      `How many points a prediction loses against the truth as more of what is determined is damaged. Vertical lines are 95 % intervals, clustered by trajectory; up to the dashed line, at ${EQUIVALENT_POINTS} points, a loss counts as none.`,
      doseCurves(calibration),
    ),
    section('Damages', MATRIX_NOTE, damageMatrix(overall)),
    section(
      'Known order',
      'Pairs of which the first is better by construction, as the judge rates them on the same rows. Inverted: the share of rows in which it rates the worse one higher. p is one-sided, adjusted over all steps (Holm). An order is kept or inverted where the rows show it, else undecided.',
      stepTable(overall),
    ),
    section(
      'Tricks',
      'Points that a trick buys on top of the same bad prediction. Where the line lies to the right of 0, the judge can be talked round.',
      canaryChart(overall),
    ),
    section('Scores', 'What the judge gives to every kind of prediction, from 0 to 100.', scoreChart(overall)),
    section('Domains', DOMAINS_NOTE, domainTable(calibration)),
    domainFolds(calibration),
    `</main><footer class="wrap">${escapeHtml(tool)}</footer></body></html>\n`,
  ].join('\n');
}

const MATRIX_NOTE = `Points that each damage costs in all and by dimension, its 95 % interval below. Seen: the interval lies above ${EQUIVALENT_POINTS} points; blind: below; undecided: it holds ${EQUIVALENT_POINTS}. In colour: the dimension moved, its interval does not hold 0. Bold: it lost more than each other one, by the intervals of the paired differences; where none is bold, no dimension alone is to blame.`;

const DOMAINS_NOTE =
  'The same figures domain by domain. Intervals of a domain are wide where it has few trajectories; without enough of them there is none.';
