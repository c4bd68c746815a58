// `awb data stats`: how large the benchmark's rows are, by domain, as tables with histograms in text or as JSON.

import { resolve } from 'node:path';
import { type DataStats, type RowStats, type SizeName, statsOf } from '../benchmark/survey.js';
import { domainName } from '../core/domains.js';
import { badData, EXIT, type ExitCode, present } from '../core/errors.js';
import { counted, grouped } from '../core/figures.js';
import type { Column, Table } from '../core/table.js';
import { hasBlocks, type Look, terminal } from '../core/terminal.js';
import type { Io } from '../core/types.js';
import { SURVEY_OPTIONS, surveyData } from '../infer/chosen-rows.js';
import { showLoading } from '../serve/loading.js';
import { defineCommand, type Settings } from '../settings/command.js';
import { shownPath } from '../settings/shown-path.js';

/** From the fewest to the most; in front of them what stands for none. */
const BLOCKS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII = [' ', '.', ':', '-', '=', '+', '*', '#', '@'];

const TITLES: readonly (readonly [size: SizeName, title: string])[] = [
  ['turn', 'Turn'],
  ['context_tokens', 'Prompt tokens'],
  ['truth_tokens', 'Truth tokens'],
];

export const command = defineCommand({
  description:
    'Shows how many rows, trajectories and turns a copy of the benchmark has by domain, and how large prompts and ground truths are: median, 90th percentile, longest, and a histogram.',
  examples: {
    'awb data stats': 'of what lies in the folder data',
    'awb data stats my-rows --json | jq .all.context_tokens.max': 'the longest prompt',
  },
  options: SURVEY_OPTIONS,
  operands: ['data-dir'],
  run: stats,
});

async function stats(settings: Settings<typeof SURVEY_OPTIONS>, io: Io): Promise<ExitCode> {
  const folder = resolve(io.cwd, settings.dataDir);
  const loading = showLoading(io.stderr, settings.quiet);
  const { survey, tokens } = await surveyData(settings, io, (text) => loading.step('stats', text)).finally(() =>
    loading.finish(),
  );
  const { rows, unusable } = survey;
  const next = `awb data check lists ${unusable.length === 1 ? 'it' : 'them'}`;
  if (rows.length === 0) {
    throw badData(`no usable row in ${shownPath(folder, io)}; ${next}`);
  }
  if (unusable.length > 0 && !settings.quiet) {
    io.stderr.write(
      `${counted(unusable.length, 'line')} cannot be used and ${unusable.length === 1 ? 'is' : 'are'} left out; ${next}\n`,
    );
  }
  const look = { columns: io.stdout.columns, color: settings.color && io.stdout.isTTY };
  const stats = statsOf(survey);
  io.stdout.write(
    settings.json
      ? `${JSON.stringify({ schema: 'awb.data-stats/1', folder, tokens, ...stats }, null, 2)}\n`
      : `${shownPath(folder, io)}\n\n${statsText(stats, tokens, look, hasBlocks(io.env) ? BLOCKS : ASCII)}`,
  );
  return EXIT.done;
}

function statsText(
  { domains, all, bin_edges: edges }: DataStats,
  tokens: string,
  look: Look,
  levels: readonly string[],
): string {
  const rowsTable = tableOf(
    [first('Domain'), right('Rows'), right('Trajectories', 'Traj.'), right('Rows each', 'Each')],
    ({ rows, trajectories }: RowStats) => [grouped(rows), grouped(trajectories), (rows / trajectories).toFixed(1)],
  );
  const sizeTables = TITLES.map(([size, title]) => {
    const scale = scaleText(edges[size]);
    return tableOf(
      [
        first(title),
        right('Median'),
        right('p90'),
        right('Longest', 'Max'),
        { heading: scale, short: scale, align: 'left' },
      ],
      ({ [size]: { median, p90, max, bins } }) => [
        ...[Math.round(median), Math.round(p90), max].map(grouped),
        histogram(bins, levels),
      ],
    );
  });
  const note = `Tokens are ${tokens}. Histograms: rows by size, on a logarithmic scale; the tallest bar of each is its largest bin.`;
  const tables = [rowsTable, ...sizeTables];
  return tables
    .map((table, at) => terminal({ ...table, footnotes: at === tables.length - 1 ? [note] : [] }, look))
    .join('\n');

  /** A row for each domain, and one for all. */
  function tableOf(columns: readonly Column[], cellsOf: (stats: RowStats) => readonly string[]): Table {
    const rows = Object.entries(domains).map(([domain, own]) => [domainName(domain), ...cellsOf(own)]);
    return { columns, groups: [rows, [['All', ...cellsOf(all)]]], footnotes: [] };
  }
}

/** As wide as the title of the widest table, so that the columns of all stand in one line. */
function first(title: string): Column {
  const width = Math.max(...TITLES.map(([, each]) => each.length));
  return { heading: title.padEnd(width), short: title, align: 'left' };
}

function right(heading: string, short = heading): Column {
  return { heading, short, align: 'right' };
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
