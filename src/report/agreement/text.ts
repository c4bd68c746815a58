// A judge held against people, for a terminal.

import { domainName } from '../../core/domains.js';
import { counted, intervalText, signed, twoDecimals } from '../../core/figures.js';
import { oneLine } from '../../core/printable.js';
import { type Column, dimensionName, NONE, type Table } from '../../core/table.js';
import { bold, type Look, terminal, wrapped } from '../../core/terminal.js';
import { DIMENSIONS, LEAST_CLUSTERS } from '../../core/types.js';
import type { FigureAgreement, PeopleAgreement } from '../../stats/agreement/people.js';

/** Below this many trajectories a bootstrap's interval is too narrow. */
const ENOUGH_CLUSTERS = 30;

const column = (heading: string): Column => ({ heading, short: heading, align: 'right' });
const FIGURE_COLUMNS = ['Judge', '95 %', 'People', '95 %', 'Bias', '95 %'].map(column);

/** What the agreement comes to: a headline, its tables, and how to read them. It ends in a line feed. */
export function agreementText(found: PeopleAgreement, look: Look): string {
  const text = (line: string) => wrapped(line, look.columns);
  const blocks = [
    [...text(headlineOf(found)).map((line) => bold(line, look)), ...text(ratersOf(found))].join('\n'),
    terminal(figureTable(found), look).trimEnd(),
    ...(Object.keys(found.domains).length === 0 ? [] : [terminal(domainTable(found), look).trimEnd()]),
    notesOn(found).flatMap(text).join('\n'),
  ];
  return `${blocks.join('\n\n')}\n`;
}

function headlineOf({ predictions, trajectories, raters }: PeopleAgreement): string {
  const of = `${counted(predictions, 'prediction')} of ${counted(trajectories, 'trajectory', 'trajectories')}`;
  return `${counted(Object.keys(raters).length, 'person', 'people')} rated ${of}.`;
}

function ratersOf({ raters }: PeopleAgreement): string {
  return `By rater: ${Object.entries(raters)
    .map(([name, count]) => `${oneLine(name, 40)} ${count}`)
    .join(', ')}.`;
}

function figureTable(found: PeopleAgreement): Table {
  return {
    columns: [{ heading: 'Figure', short: 'Figure', align: 'left' }, ...FIGURE_COLUMNS],
    groups: [
      DIMENSIONS.map((name) => [dimensionName(name), ...cellsOf(found.dimensions[name])]),
      [['Total', ...cellsOf(found.total)]],
    ],
    footnotes: [
      'Judge: the judge against each person. People: people against each other, the ceiling for a judge. Of a dimension it is kappa with quadratic weights, of the total interval alpha (Krippendorff): 1 is perfect agreement, 0 what chance gives.',
      'Bias: judge minus people, in points of 0-100; a prediction counts once for each person who rated it.',
    ],
  };
}

function domainTable({ domains }: PeopleAgreement): Table {
  return {
    columns: [{ heading: 'Total in', short: 'Total in', align: 'left' }, column('Rows'), ...FIGURE_COLUMNS],
    groups: [
      Object.entries(domains).map(([domain, { predictions, total }]) => [
        domainName(domain),
        String(predictions),
        ...cellsOf(total),
      ]),
    ],
    footnotes: [],
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

function notesOn(found: PeopleAgreement): string[] {
  const figures = [...DIMENSIONS.map((name) => found.dimensions[name]), found.total];
  const hasCeiling = figures.some(({ people }) => people !== null);
  const isFlat = figures.some(({ judge, bias }) => judge === null && bias !== null);
  const scarce = Object.entries(found.too_few_trajectories).map(
    ([domain, trajectories]) => `${domainName(domain)} (${trajectories})`,
  );
  return [
    ...(hasCeiling ? [] : ['No ceiling: two people have to rate the same predictions, and not all alike.']),
    ...(isFlat ? [`${NONE} under Judge: all ratings are the same one, so that nothing says what chance gives.`] : []),
    intervalNote(found.trajectories),
    ...(scarce.length === 0 ? [] : [`Fewer than ${LEAST_CLUSTERS} trajectories, so no line: ${scarce.join(', ')}.`]),
  ];
}

function intervalNote(trajectories: number): string {
  if (trajectories < LEAST_CLUSTERS) return `No interval: fewer than ${LEAST_CLUSTERS} trajectories.`;
  const how = '95 %: of kappa and alpha by drawing trajectories again, of the bias clustered by trajectory.';
  return trajectories < ENOUGH_CLUSTERS
    ? `${how} Of fewer than ${ENOUGH_CLUSTERS} trajectories the former are too narrow.`
    : how;
}
