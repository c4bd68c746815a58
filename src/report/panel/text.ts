// A panel of judges as people read it: what it rated, how its judges differ, and how far they agree.

import { domainName, inTableOrder } from '../../core/domains.js';
import { counted, signed, twoDecimals } from '../../core/figures.js';
import { oneLine } from '../../core/printable.js';
import { dimensionName, intervalCell, NONE, type Table } from '../../core/table.js';
import { type Look, terminal, wrapped } from '../../core/terminal.js';
import { DIMENSIONS, LEAST_CLUSTERS } from '../../core/types.js';
import type { Alpha } from '../../stats/agreement/coefficients.js';
import type { PanelAgreement, PanelDocument } from '../../stats/agreement/panel.js';

/** Longest name of a judge that is shown whole. */
const NAME_COLUMNS = 40;

const LEFT = { align: 'left' } as const;
const RIGHT = { align: 'right' } as const;

export function panelText(panel: PanelDocument, look: Look): string {
  const lines = sentencesOf(panel).flatMap((sentence) => wrapped(sentence, look.columns));
  const tables = [judgeTable(panel), agreementTable(panel.agreement)].map((table) => terminal(table, look));
  return `${lines.join('\n')}\n\n${tables.join('\n')}`;
}

function sentencesOf(panel: PanelDocument): string[] {
  const { judges, combine, quorum, predictions, rated } = panel;
  const rule = quorum === null ? 'each row needs all of them' : `each row needs ${quorum} of them`;
  const others = [
    [panel.model_caused, 'failed by the world model itself'],
    [panel.missing, 'missing: a judge failed'],
    [panel.not_judged, 'not judged by a judge'],
  ] as const;
  const told = others.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return [
    `panel of ${judges.length} judges, ${combine} of their ratings; ${rule}`,
    `rated: ${rated} of ${counted(predictions, 'prediction')}${told.length === 0 ? '' : `; ${told.join('; ')}`}`,
    ...(quorum === null
      ? []
      : [
          `${counted(panel.by_fewer, 'prediction')} rated by fewer than all judges; what each judge rates higher or lower than all of them (by domain and dimension, on rows that all judged) is taken out`,
        ]),
    ...withoutOffsets(panel),
  ];
}

/** Domains of which no offset is known. */
function withoutOffsets({ offsets }: PanelDocument): string[] {
  const bare = Object.entries(offsets ?? {}).flatMap(([domain, { rows }]) => (rows === 0 ? [domainName(domain)] : []));
  return bare.length === 0
    ? []
    : [
        `no row of ${bare.join(', ')} was rated by all judges, so their offsets are not known there and no quorum helps`,
      ];
}

function judgeTable({ judges }: PanelDocument): Table {
  const means = judges.flatMap(({ mean_total }) => mean_total ?? []);
  const centre = means.reduce((sum, value) => sum + value, 0) / means.length;
  return {
    columns: [
      { heading: 'Judge', short: 'Judge', ...LEFT },
      { heading: 'Rated', short: 'Rated', ...RIGHT },
      { heading: 'Failed', short: 'Failed', ...RIGHT },
      { heading: 'Total', short: 'Total', ...RIGHT },
      { heading: 'Against all', short: 'Agst.', ...RIGHT },
    ],
    groups: [
      judges.map(({ name, rated, failed, mean_total: total }) => [
        oneLine(name, NAME_COLUMNS),
        String(rated),
        String(failed),
        total === null ? NONE : twoDecimals(total),
        total === null ? NONE : signed(total - centre),
      ]),
    ],
    footnotes: [
      'Total: mean over rows that all judges rated, in points of 0-100; against all: minus the mean of the judges.',
    ],
  };
}

function agreementTable({ all, domains }: PanelAgreement): Table {
  const rows = [
    ...DIMENSIONS.map((name) => alphaCells(dimensionName(name), 'ordinal', all[name])),
    alphaCells('Total', 'interval', all.total_score),
  ];
  const sorted = Object.entries(domains).sort(([a], [b]) => inTableOrder(a, b));
  const alphas = [...Object.values(all), ...sorted.map(([, { total_score }]) => total_score)];
  const isOpen = alphas.some((found) => found !== null && found.low === null);
  return {
    columns: [
      { heading: 'Agreement', short: 'Agreement', ...LEFT },
      { heading: 'Scale', short: 'Scale', ...LEFT },
      { heading: 'Alpha', short: 'Alpha', ...RIGHT },
      { heading: '95 % interval', short: '95 %', ...RIGHT },
      { heading: 'Rows', short: 'Rows', ...RIGHT },
    ],
    groups: [
      rows,
      ...(sorted.length > 1
        ? [sorted.map(([domain, found]) => alphaCells(`Total, ${domainName(domain)}`, 'interval', found.total_score))]
        : []),
    ],
    footnotes: [
      "Krippendorff's alpha between the judges: 1 is perfect, 0 is chance. Rows: rated by two judges or more. Intervals resample trajectories.",
      ...(alphas.includes(null) ? ['-: all ratings are one and the same, which says nothing of agreement.'] : []),
      ...(isOpen ? [`No interval: fewer than ${LEAST_CLUSTERS} trajectories.`] : []),
    ],
  };
}

function alphaCells(name: string, scale: string, found: Alpha | null): string[] {
  if (found === null) return [name, scale, NONE, NONE, NONE];
  return [name, scale, twoDecimals(found.alpha), intervalCell(found), String(found.predictions)];
}
