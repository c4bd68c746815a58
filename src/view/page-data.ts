// What the page's script knows of the samples.

import { domainName } from '../core/domains.js';
import { goodness } from '../core/measures.js';
import { isRated } from '../core/points.js';
import { dimensionName } from '../core/table.js';
import { DIMENSIONS, type JudgedRow } from '../core/types.js';
import { decimalsOf, isLikeScore, leadingMeasure } from '../report/score-table.js';
import type { Report, ReportSample } from './contents.js';
import type { FigureData, PageData, SampleData, SideData } from './data.js';
import { leadOf } from './lead.js';

/** The figures of each sample with their scale's end: ratings, or measures where nothing was rated. */
export function figuresOf({ run, samples, measureOf }: Report): FigureData[] {
  if (leadingMeasure(run.card, measureOf) === undefined)
    return DIMENSIONS.map((dimension) => [dimensionName(dimension), 5]);
  const names = [...new Set(samples.flatMap(({ row }) => Object.keys(row.measures ?? {})))];
  return names.map((name) => [name, isLikeScore(measureOf(name)) ? 100 : null]);
}

/** The data of a page that knows these samples, the first of which has the index `from`. */
export function pageData(
  report: Report,
  from: number,
  samples: readonly ReportSample[],
  links: Pick<PageData, 'pages' | 'chunk' | 'back'>,
): PageData {
  const decimals = decimalsOf(leadOf(report));
  return {
    run: report.run.name,
    other: report.other?.name ?? null,
    domains: report.run.card.domains.map(({ domain }) => domainName(domain)),
    figures: figuresOf(report),
    ...(decimals === 1 ? {} : { decimals }),
    starts: report.starts,
    from,
    total: report.samples.length,
    repeats: report.samples.some(({ row }) => row.repeat > 0),
    samples: samplesData(report, samples),
    ...links,
  };
}

function samplesData(report: Report, samples: readonly ReportSample[]): SampleData[] {
  const domains = report.run.card.domains.map(({ domain }) => domain);
  const trajectories = numbered(report.samples.map(({ row }) => row.trajectory));
  const sideOf = sidesOf(report);
  return samples.map((sample) => ({
    d: domains.indexOf(sample.row.domain),
    t: sample.row.turnIdx,
    r: sample.row.repeat,
    ...(sample.row.index === 0 ? {} : { j: sample.row.index }),
    k: sample.row.key,
    g: trajectories.get(sample.row.trajectory) ?? 0,
    ...sideOf(sample.row, sample.points),
    l: sample.row.flags,
    ...changeOf(report, sample),
    n: sample.note,
    ...(sample.other === undefined ? {} : { o: sideOf(sample.other.row, sample.other.points) }),
  }));
}

/** Numbers from 1 on, in the order in which the names are met. */
function numbered(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map([...new Set(names)].map((name, index) => [name, index + 1]));
}

function sidesOf(report: Report): (row: JudgedRow, points: number | undefined) => SideData {
  const figures = figuresOf(report);
  const hasRatings = leadingMeasure(report.run.card, report.measureOf) === undefined;
  const figuresOfRow = (row: JudgedRow) => {
    if (hasRatings) return isRated(row) ? DIMENSIONS.map((name) => shownRating(row.ratings[name])) : [];
    return row.measures === undefined ? [] : figures.map(([name]) => row.measures?.[name] ?? null);
  };
  return (row, points) => ({
    ...(points === undefined ? {} : { v: points }),
    f: figuresOfRow(row),
    ...(row.failure === undefined ? {} : { x: row.failure.class, y: row.failure.reason }),
  });
}

/** With two decimals: those of panels are fractions. */
function shownRating(rating: number | undefined): number | null {
  return rating === undefined ? null : Math.round(rating * 100) / 100;
}

/** How far it moved; and how much better that made it, where that is another number. */
function changeOf(report: Report, { points, other, change }: ReportSample): Pick<SampleData, 'b' | 'c'> {
  if (change === undefined) return {};
  const measure = leadOf(report);
  if (measure.better === 'larger') return { c: change };
  const [now, before] = [points, other?.points].map((value) =>
    value === undefined ? value : goodness(measure, value),
  );
  return { c: change, b: now === undefined || before === undefined ? null : now - before };
}
