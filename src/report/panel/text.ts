// A panel of judges as people read it: what it rated, how its judges differ, and how far they agree.

import type { Agreement } from '../../agreement.js';
import { FIGURES } from '../../comparison.js';
import { domainName, inTableOrder } from '../../domains.js';
import { counted, signed, twoDecimals } from '../../figures.js';
import type { JoinedPanel, PanelAgreement } from '../../panel.js';
import { oneLine } from '../../printable.js';
import { LEAST_CLUSTERS } from '../../types.js';
import { dimensionName, intervalCell, NONE, type Table } from '../table.js';
import { type Look, terminal, wrapped } from '../terminal.js';

/** Longest name of a judge that is shown whole. */
const NAME_COLUMNS = 40;

const LEFT = { align: 'left' } as const;
const RIGHT = { align: 'right' } as const;

export function panelText(panel: JoinedPanel, look: Look): string {
  const lines = sentencesOf(panel).flatMap((sentence) => wrapped(sentence, look.columns));
  const tables = [judgeTable(panel), agreementTable(panel.agreement)].map((table) => terminal(table, look));
  return `${lines.join('\n')}\n\n${tables.join('\n')}`;
}

function sentencesOf(panel: JoinedPanel): string[] {
  const { judges, combine, quorum, predictions, rated, byFewer, modelCaused, missing, notJudged } = panel;
  const rule = quorum === undefined ? 'each row needs all of them' : `each row needs ${quorum} of them`;
  const others = [
    [modelCaused, 'failed by the world model itself'],
    [missing, 'missing: a judge failed'],
    [notJudged, 'not judged by a judge'],
  ] as const;
  const told = others.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return [
    `panel of ${judges.length} judges, ${combine} of their ratings; ${rule}`,
    `rated: ${rated} of ${counted(predictions, 'prediction')}${told.length === 0 ? '' : `; ${told.join('; ')}`}`,
    ...(quorum === undefined
      ? []
      : [
          `${counted(byFewer, 'prediction')} rated by fewer than all judges; what each judge rates higher or lower than all of them (by domain and dimension, on rows that all judged) is taken out`,
        ]),
    ...withoutOffsets(panel),
  ];
}

/** Domains of which no offset is known. */
function withoutOffsets({ offsets }: JoinedPanel): string[] {
  const bare = [...(offsets ?? [])].filter(([, { rows }]) => rows === 0).map(([domain]) => domainName(domain));
  return bare.length === 0
    ? []
    : [
        `no row of ${bare.join(', ')} was rated by all judges, so their offsets are not known there and no quorum helps`,
      ];
}

function judgeTable({ judges }: JoinedPanel): Table {
  const means = judges.flatMap(({ meanTotal }) => meanTotal ?? []);
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
      judges.map(({ name, rated, failed, meanTotal }) => [
        oneLine(name, NAME_COLUMNS),
        String(rated),
        String(failed),
        meanTotal === undefined ? NONE : twoDecimals(meanTotal),
        meanTotal === undefined ? NONE : signed(meanTotal - centre),
      ]),
    ],
    footnotes: [
      'Total: mean over rows that all judges rated, in points of 0-100; against all: minus the mean of the judges.',
    ],
  };
}

function agreementTable({ figures, domains }: PanelAgreement): Table {
  const rows = FIGURES.map((figure) =>
    alphaCells(
      figure === 'total' ? 'Total' : dimensionName(figure),
      figure === 'total' ? 'interval' : 'ordinal',
      figures[figure],
    ),
  );
  const sorted = domains.toSorted((a, b) => inTableOrder(a.domain, b.domain));
  const all = [...FIGURES.map((figure) => figures[figure]), ...sorted.map(({ total }) => total)];
  const isOpen = all.some((found) => found !== undefined && found.interval === undefined);
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
        ? [sorted.map(({ domain, total }) => alphaCells(`Total, ${domainName(domain)}`, 'interval', total))]
        : []),
    ],
    footnotes: [
      "Krippendorff's alpha between the judges: 1 is perfect, 0 is chance. Rows: rated by two judges or more. Intervals resample trajectories.",
      ...(all.includes(undefined) ? ['-: all ratings are one and the same, which says nothing of agreement.'] : []),
      ...(isOpen ? [`No interval: fewer than ${LEAST_CLUSTERS} trajectories.`] : []),
    ],
  };
}

function alphaCells(name: string, scale: string, found: Agreement | undefined): string[] {
  if (found === undefined) return [name, scale, NONE, NONE, NONE];
  return [name, scale, twoDecimals(found.alpha), intervalCell(found.interval), String(found.units)];
}
