// The agreement of a judge with people, and of a panel's judges with each other: sentences, tables, and their text for a terminal.

import { domainName, inTableOrder } from '../core/domains.js';
import { counted, intervalText, oneLine, signed, twoDecimals } from '../core/printable.js';
import { columnsOf, dimensionName, intervalCell, NONE, type Table } from '../core/table.js';
import { blocksText, bold, type Look, terminal, wrapped } from '../core/terminal.js';
import { DIMENSIONS, LEAST_CLUSTERS } from '../core/types.js';
import type { Alpha } from '../stats/agreement/coefficients.js';
import type { PanelAgreement, PanelDocument } from '../stats/agreement/panel.js';
import type { FigureAgreement, PeopleAgreement } from '../stats/agreement/people.js';

/** For fewer trajectories, a bootstrap's interval is too narrow. */
const ENOUGH_CLUSTERS = 30;

/** A report on agreement: who rated what, its tables, and how to read them. Its texts may be hostile. */
export interface Agreement {
  readonly sentences: readonly string[];
  readonly tables: readonly Table[];
  readonly notes: readonly string[];
}

/** How a judge agrees with people. */
export function agreementOfPeople(found: PeopleAgreement): Agreement {
  const { predictions, trajectories, raters, domains } = found;
  const of = `${counted(predictions, 'prediction')} of ${counted(trajectories, 'trajectory', 'trajectories')}`;
  const byRater = Object.entries(raters).map(([name, count]) => `${oneLine(name, 40)} ${count}`);
  const headline = `${counted(byRater.length, 'person', 'people')} rated ${of}.`;
  return {
    sentences: [headline, `By rater: ${byRater.join(', ')}.`],
    tables: [figureTable(found), ...(Object.keys(domains).length === 0 ? [] : [domainTable(found)])],
    notes: notesOn(found),
  };
}

/** How judges agree, as text that ends in a line feed. */
export function agreementText({ sentences, tables, notes }: Agreement, look: Look): string {
  const text = (line: string) => wrapped(line, look.columns);
  const [headline = [], ...others] = sentences.map(text);
  return blocksText([
    [...headline.map((line) => bold(line, look)), ...others.flat()],
    ...tables.map((table) => [terminal(table, look).trimEnd()]),
    notes.flatMap(text),
  ]);
}

function figureTable(found: PeopleAgreement): Table {
  return {
    columns: columnsOf('<Figure, Judge, 95 %, People, 95 %, Bias, 95 %'),
    groups: [
      DIMENSIONS.map((name) => [dimensionName(name), ...cellsOf(found.dimensions[name])]),
      [['Total', ...cellsOf(found.total)]],
    ],
    footnotes: [
      "Judge: agreement of the judge with each person. People: with each other, the ceiling for a judge. Dimensions: kappa with quadratic weights; total: Krippendorff's interval alpha. 1 is perfect agreement, 0 is chance.",
      'Bias: judge minus people, in points of 0-100; a prediction counts once for each person who rated it.',
    ],
  };
}

function domainTable({ domains }: PeopleAgreement): Table {
  return {
    columns: columnsOf('<Total in, Rows, Judge, 95 %, People, 95 %, Bias, 95 %'),
    groups: [
      Object.entries(domains).map(([domain, { predictions, total }]) => [
        domainName(domain),
        String(predictions),
        ...cellsOf(total),
      ]),
    ],
  };
}

function cellsOf({ judge, people, bias }: FigureAgreement): string[] {
  const biasCells = bias === null ? [NONE, NONE] : [signed(bias.value), intervalText(bias, signed) ?? NONE];
  return [...coefficientCells(judge), ...coefficientCells(people), ...biasCells];
}

function coefficientCells(found: FigureAgreement['judge']): string[] {
  if (found === null) return [NONE, NONE];
  return [twoDecimals('kappa' in found ? found.kappa : found.alpha), intervalText(found) ?? NONE];
}

function notesOn({ too_few_trajectories: few }: PeopleAgreement): string[] {
  const scarce = Object.entries(few).map(([domain, trajectories]) => `${domainName(domain)} (${trajectories})`);
  return [
    `${NONE} under People: no two people rated the same predictions. ${NONE} under either: all ratings are equal, so chance agreement is undefined.`,
    `95 %: for kappa and alpha by resampling trajectories, too narrow for fewer than ${ENOUGH_CLUSTERS}; for the bias clustered by trajectory. No interval: fewer than ${LEAST_CLUSTERS} trajectories.`,
    ...(scarce.length === 0 ? [] : [`Fewer than ${LEAST_CLUSTERS} trajectories, so no line: ${scarce.join(', ')}.`]),
  ];
}

/** Longest name of a judge that is not shortened. */
const NAME_COLUMNS = 40;

/** A panel of judges: what it rated, how its judges differ, and how far they agree. */
export function agreementOfPanel(panel: PanelDocument): Agreement {
  return { sentences: sentencesOf(panel), tables: [judgeTable(panel), agreementTable(panel.agreement)], notes: [] };
}

function sentencesOf(panel: PanelDocument): string[] {
  const { judges, combine, quorum, predictions, rated } = panel;
  const rule = quorum === null ? 'each row needs all of them' : `each row needs ${quorum} of them`;
  const others = {
    'failed by the world model itself': panel.model_caused,
    'missing: a judge failed': panel.missing,
    'not judged by every judge': panel.not_judged,
  };
  const told = Object.entries(others).flatMap(([what, count]) => (count > 0 ? [`; ${count} ${what}`] : []));
  const bare = Object.entries(panel.offsets ?? {}).flatMap(([domain, { rows }]) =>
    rows === 0 ? domainName(domain) : [],
  );
  const fewer = `${counted(panel.by_fewer, 'prediction')} rated by fewer than all judges; the offset of each judge from all of them (by domain and dimension, on rows that all judged) is removed`;
  const unknown = `no row of ${bare.join(', ')} was rated by all judges, so their offsets there are unknown and a quorum does not help`;
  return [
    `panel of ${judges.length} judges, ${combine} of their ratings; ${rule}`,
    `rated: ${rated} of ${counted(predictions, 'prediction')}${told.join('')}`,
    ...(quorum === null ? [] : [fewer]),
    ...(bare.length === 0 ? [] : [unknown]),
  ];
}

function judgeTable({ judges }: PanelDocument): Table {
  const means = judges.flatMap(({ mean_total }) => mean_total ?? []);
  const centre = means.reduce((sum, value) => sum + value, 0) / means.length;
  return {
    columns: columnsOf('<Judge, Rated, Failed, Total, Against all|Agst.'),
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
  return {
    columns: columnsOf('<Agreement, <Scale, Alpha, 95 % interval|95 %, Rows'),
    groups: [
      rows,
      ...(sorted.length > 1
        ? [sorted.map(([domain, found]) => alphaCells(`Total, ${domainName(domain)}`, 'interval', found.total_score))]
        : []),
    ],
    footnotes: [
      `Krippendorff's alpha between the judges: 1 is perfect, 0 is chance; ${NONE} if all ratings are equal. Rows: rated by two judges or more. Intervals resample trajectories; they need at least ${LEAST_CLUSTERS}.`,
    ],
  };
}

function alphaCells(name: string, scale: string, found: Alpha | null): string[] {
  if (found === null) return [name, scale, NONE, NONE, NONE];
  return [name, scale, twoDecimals(found.alpha), intervalCell(found), String(found.predictions)];
}
