// How large the benchmark's rows are: tables with histograms in text, and JSON.

import type { DataStats, RowStats, SizeName } from '../benchmark/survey.js';
import { domainName } from '../core/domains.js';
import { grouped } from '../core/figures.js';
import { present } from '../core/present.js';
import { type Look, terminal } from '../core/terminal.js';

/** From the fewest to the most; in front of them what stands for none. */
const BLOCKS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII = [' ', '.', ':', '-', '=', '+', '*', '#', '@'];

const TITLES: readonly (readonly [size: SizeName, title: string])[] = [
  ['turn', 'Turn'],
  ['context_tokens', 'Prompt tokens'],
  ['truth_tokens', 'Truth tokens'],
];

interface ShownStats {
  readonly stats: DataStats;
  /** How tokens were counted, such as `characters / 4`. */
  readonly tokens: string;
  readonly folder: string;
}

export function statsText({ stats, tokens, folder }: ShownStats, look: Look, blocks: boolean): string {
  const tables = [
    rowsTable(stats),
    ...TITLES.map(([size, title]) => sizeTable(stats, size, title, blocks ? BLOCKS : ASCII)),
  ];
  const note = `Tokens are ${tokens}. Histograms: rows by size, on a logarithmic scale; the tallest bar of each is its largest bin.`;
  const texts = tables.map((table, index) =>
    terminal({ ...table, footnotes: index === tables.length - 1 ? [note] : [] }, look),
  );
  return `${folder}\n\n${texts.join('\n')}`;
}

const RIGHT = { align: 'right' } as const;
const LEFT = { align: 'left' } as const;

/** As wide as the title of the widest table, so that the columns of all stand in one line. */
function firstColumn(title: string) {
  const width = Math.max(...TITLES.map(([, each]) => each.length));
  return { heading: title.padEnd(width), short: title, ...LEFT };
}

function rowsTable({ domains, all }: DataStats) {
  const cells = (name: string, { rows, trajectories }: RowStats) => [
    name,
    grouped(rows),
    grouped(trajectories),
    (rows / trajectories).toFixed(1),
  ];
  return {
    columns: [
      firstColumn('Domain'),
      { heading: 'Rows', short: 'Rows', ...RIGHT },
      { heading: 'Trajectories', short: 'Traj.', ...RIGHT },
      { heading: 'Rows each', short: 'Each', ...RIGHT },
    ],
    groups: [Object.entries(domains).map(([domain, own]) => cells(domainName(domain), own)), [cells('All', all)]],
  };
}

function sizeTable(
  { domains, all, bin_edges: edges }: DataStats,
  size: SizeName,
  title: string,
  levels: readonly string[],
) {
  const cells = (name: string, { median, p90, max, bins }: RowStats[SizeName]) => [
    name,
    grouped(Math.round(median)),
    grouped(Math.round(p90)),
    grouped(max),
    histogram(bins, levels),
  ];
  const scale = scaleText(edges[size]);
  return {
    columns: [
      firstColumn(title),
      { heading: 'Median', short: 'Median', ...RIGHT },
      { heading: 'p90', short: 'p90', ...RIGHT },
      { heading: 'Longest', short: 'Max', ...RIGHT },
      { heading: scale, short: scale, ...LEFT },
    ],
    groups: [
      Object.entries(domains).map(([domain, own]) => cells(domainName(domain), own[size])),
      [cells('All', all[size])],
    ],
  };
}

/** A column a bin. What is there at all is seen. */
function histogram(bins: readonly number[], levels: readonly string[]): string {
  const most = Math.max(...bins, 1);
  return bins.map((count) => present(levels[Math.ceil((count / most) * (levels.length - 1))])).join('');
}

/** The ends of a scale, as far apart as the bins between them are wide. */
function scaleText(edges: readonly number[]): string {
  const [from, to] = [grouped(Math.round(present(edges[0]))), grouped(Math.round(present(edges.at(-1))))];
  return from + to.padStart(edges.length - 1 - from.length);
}
