// The rows of a block: runs and published results with their figures, and as they are shown.

import { isCovered } from '../../coverage.js';
import { twoDecimals } from '../../figures.js';
import { DOMAINS, type Domain } from '../../types.js';
import type { PublishedRow } from '../published.js';
import { NONE } from '../table.js';
import type { BoardFigure, BoardOptions, BoardRow, BoardRun, Entry, OwnEntry } from './board.js';
import type { AnyColumn, FigureColumn } from './columns.js';
import { domainsOf, meanOf } from './figures.js';

/** @param columns the figures that it is given; @param fewer the domains in which another run has more rows */
export function entryOfRun(
  run: BoardRun,
  name: string,
  columns: readonly FigureColumn[],
  fewer: readonly Domain[],
  options: BoardOptions,
  measure: string | undefined,
): OwnEntry {
  const figures = columns.flatMap((column) => {
    const figure = column.of(run);
    return figure === undefined ? [] : [[column.id, figure] as const];
  });
  return {
    name,
    run,
    published: undefined,
    isComplete: isCovered(run.card, options.minCoverage),
    fewer,
    macroOf: domainsOf(run.card, measure).length,
    figures: new Map(figures),
    mean: meanOf(run.card, measure),
  };
}

/** A published row: figures of the official counting, and no run. */
export function entryOfPublished(published: PublishedRow): Entry {
  const scores = [...published.scores].map(([domain, value]) => [domain, { value }] as const);
  const mean = { value: published.overall };
  const figures: ReadonlyMap<string, BoardFigure> = new Map<string, BoardFigure>([
    ...scores,
    ['overall', mean],
    ['official', mean],
  ]);
  return {
    name: published.model,
    run: undefined,
    published,
    isComplete: true,
    fewer: [],
    macroOf: DOMAINS.length,
    figures,
    mean,
  };
}

/** An entry as the block shows it: a text for its name, then for each column. */
export function rowOf(entry: Entry, columns: readonly AnyColumn[], marked: ReadonlySet<string>): BoardRow {
  const { name, run, isComplete, fewer, figures, macroOf } = entry;
  const textOf = (column: AnyColumn) => {
    if (!column.isFigure) return column.of(entry);
    const figure = figures.get(column.id);
    if (figure === undefined) return NONE;
    return run === undefined || column.textOf === undefined ? twoDecimals(figure.value) : column.textOf(figure, run);
  };
  const texts = [name, ...columns.map(textOf)];
  const hasFewerRows = fewer.length > 0;
  return { name, ...(run === undefined ? {} : { run }), isComplete, hasFewerRows, figures, marked, macroOf, texts };
}

/** Whether its mean is over the seven published domains and no other. */
export function isWholeEntry({ figures }: Entry): boolean {
  return figures.has('overall');
}
