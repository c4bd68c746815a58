// awb data: fetches the benchmark from the Hugging Face Hub, checks it against its release, and shows how large its rows are.

import { join, resolve } from 'node:path';
import { downloadText, progressText } from '../benchmark/hub/client.js';
import { checkSource, type FileState, fetchDataset, type SourceCheck } from '../benchmark/hub/dataset.js';
import { checkRows, type DataCheck, type DataStats, type Place, type RowStats, statsOf } from '../benchmark/survey.js';
import { domainName, RELEASED } from '../core/domains.js';
import { badData, EXIT, present } from '../core/errors.js';
import { keysOf } from '../core/groups.js';
import { bytesText, counted, grouped, oneLine, printable, shellLine, shownPath } from '../core/printable.js';
import { columnsOf, NONE, type Table } from '../core/table.js';
import { hasBlocks, type Look, lookOf, terminal, wrapped } from '../core/terminal.js';
import { showLoading } from '../serve/loading.js';
import { defineCommand, type OptionTable, option, programName } from '../settings/command.js';

/** A file's state in words. */
const STATES: Readonly<Record<FileState, string>> = {
  fetched: 'fetched',
  unchanged: 'unchanged',
  replaced: 'fetched, replacing another',
};

const isRevision = (text: string) => /^[\w./-]+$/.test(text) && !text.includes('..');

export const fetch = defineCommand({
  description:
    'Downloads AgentWorldBench (402 MB) from the Hugging Face Hub and checks every file. The same command resumes an interrupted download, and checks existing files. HF_ENDPOINT names a mirror; HF_TOKEN is sent to the hub.',
  examples: {
    'awb data fetch': 'into the folder data, where awb infer looks for it',
    'HF_ENDPOINT=https://hf-mirror.com awb data fetch': 'from a mirror',
    'awb data fetch --revision main --output-dir data-new': 'the newest rows, into another folder',
  },
  options: {
    'output-dir': option.text('DIR', 'folder for the files', { default: 'data' }),
    revision: option.text('REV', 'commit, branch or tag; main is the newest', {
      default: RELEASED.commit,
      check: (text) => (isRevision(text) ? undefined : 'a commit, branch or tag, such as main'),
    }),
    replace: option.flag('replace existing *_test.jsonl files that differ; the old ones are moved aside'),
  },
  async run({ outputDir, revision, replace, json, ...settings }, io) {
    const folder = resolve(io.cwd, outputDir);
    const shown = shownPath(folder, io);
    const { repository } = RELEASED;
    const loading = showLoading(io.stderr, settings.quiet);
    const { source, files, fetchedBytes, aside, strangers } = await fetchDataset({
      ...{ repository, revision, folder, replace },
      env: io.env,
      signal: io.stop,
      beforeDownload: ({ files, bytes, aside }) => {
        if (aside !== undefined) loading.say(`replaced files are kept in ${shownPath(join(folder, aside), io)}`);
        loading.say(downloadText({ name: `${counted(files, 'file')} of ${repository}`, bytes }, shown));
      },
      onProgress: (progress) => loading.step('fetch', progressText(progress)),
      now: () => new Date(),
    }).finally(() => loading.finish());
    if (json) {
      const document = {
        ...{ schema: 'awb.data-fetch/1', folder, ...source },
        files: files.map(({ file: { name, bytes }, state, sha256 = null }) => ({ name, bytes, sha256, state })),
        ...{ fetched_bytes: fetchedBytes, aside: aside ?? null, strangers },
      };
      io.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
      return EXIT.done;
    }
    const table = {
      columns: columnsOf('<File, Size, <'),
      groups: [files.map(({ file, state }) => [printable(file.name), bytesText(file.bytes), STATES[state]])],
    };
    const lines = [
      `${shown}: ${printable(source.repository)} at commit ${source.commit}`,
      fetchedBytes > 0
        ? `${bytesText(fetchedBytes)} fetched; every file is checked`
        : 'every file is there and checked; nothing was fetched',
      ...(aside === undefined ? [] : [`replaced files are kept in ${shownPath(join(folder, aside), io)}`]),
      ...strangers.map((name) => `not part of the benchmark, but read with it: ${printable(name)}`),
      `next: ${programName(io)} ${shellLine(['data', 'check', ...(outputDir === 'data' ? [] : [outputDir])])}`,
    ];
    io.stdout.write(`${terminal(table, lookOf(settings, io))}\n${lines.join('\n')}\n`);
    return EXIT.done;
  },
});

/** Options of commands that survey a folder of rows as infer would ask them. */
// biome-ignore format: a table with one line per option
const SURVEY_OPTIONS = {
  'data-dir': option.text('DIR', 'folder of *_test.jsonl files', { default: 'data' }),
  tokenizer: option.text('FILE', "count tokens by a model's tokenizer.json, or the one in this folder (default: characters / 4)"),
} as const satisfies OptionTable;

/** Loaded only to survey rows; fetching does not need it. */
const rowsOfInfer = () => import('../infer/chosen-rows.js');

export const check = defineCommand({
  description:
    'Checks a copy of the benchmark against its release: rows by domain, unusable lines, duplicates, contexts that are too long, and files changed since they were fetched. Exit code 0: as released; 3: it differs; 65: it has unusable lines.',
  examples: {
    'awb data check': 'the folder data',
    'awb data check my-rows --json | jq .differences': 'what differs from the release',
  },
  options: SURVEY_OPTIONS,
  operands: ['data-dir'],
  async run(settings, io) {
    const folder = resolve(io.cwd, settings.dataDir);
    const loading = showLoading(io.stderr, settings.quiet);
    const survey = async () => {
      const { surveyData } = await rowsOfInfer();
      const { survey, tokens } = await surveyData(settings, io, (text) => loading.step('check', text));
      let bytes = 0;
      const source = await checkSource(folder, io.stop, (read) => {
        bytes += read;
        loading.step('check', `comparing with the fetched files: ${bytesText(bytes)}`);
      });
      return { found: checkRows(survey, RELEASED), tokens, source };
    };
    const { found, tokens, source } = await survey().finally(() => loading.finish());
    const differences = differencesIn(found, source);
    // Unusable: infer would refuse it. Different: its scores are not those of the benchmark.
    const isUnusable = found.unusable.length > 0;
    const status = isUnusable ? 'unusable' : differences.length > 0 ? 'differs' : 'as-released';
    if (settings.json) {
      const { longest, beyond_context, ...counts } = found;
      const of = { schema: 'awb.data-check/1', folder, status, differences, ...counts, tokens };
      const lengths = { model_context: RELEASED.contextTokens, longest, beyond_context };
      io.stdout.write(`${JSON.stringify({ ...of, ...lengths, source }, null, 2)}\n`);
    } else {
      const look = lookOf(settings, io);
      const title = `${shownPath(folder, io)}: ${counted(found.files.length, 'file')}`;
      const remarks = Object.entries(remarksOn(found, source, differences)).flatMap(([label, lines]) =>
        // Further lines go below the first.
        lines.flatMap((line, at) =>
          wrapped((at === 0 ? label : '').padEnd(LABEL_COLUMNS) + line, look.columns, LABEL_COLUMNS),
        ),
      );
      io.stdout.write(`${title}\n\n${terminal(checkTable(found, tokens), look)}\n${remarks.join('\n')}\n`);
    }
    return isUnusable ? EXIT.badData : differences.length > 0 ? EXIT.incomplete : EXIT.done;
  },
});

const LABEL_COLUMNS = 12;
const MOST_SHOWN = 10;
/** Digits of an abbreviated commit. */
const COMMIT_DIGITS = 12;

/** The differences from the release, one sentence each. */
function differencesIn({ domains, equal_rows: equal }: DataCheck, source: SourceCheck): string[] {
  const counts = Object.entries(domains).flatMap(([domain, { rows, released }]) => {
    if (released === null) return `${domainName(domain)}: the release has no such domain`;
    return rows === released
      ? []
      : `${domainName(domain)}: ${grouped(rows)} rows; the release has ${grouped(released)}`;
  });
  if (source.status !== 'none') {
    const changed = source.files.filter(({ state }) => state !== 'same');
    counts.push(
      ...changed.map(
        ({ name, state }) => `${name} ${state === 'missing' ? 'is missing' : 'changed since it was fetched'}`,
      ),
      ...source.strangers.map((name) => `${name} was not fetched`),
    );
  }
  // In files unchanged since they were fetched, equal rows are part of the release.
  if (equal.length > 0 && source.status !== 'as-fetched') {
    counts.push(`${counted(equal.length, 'row')} identical to an earlier row`);
  }
  return counts;
}

function checkTable(check: DataCheck, tokens: string): Table {
  const tokenText = (count: number | null) => (count === null ? NONE : grouped(Math.round(count)));
  const rows = Object.entries(check.domains).map(
    ([domain, { rows, released, trajectories, context_tokens: context }]) => [
      ...[domainName(domain), grouped(rows), released === null ? NONE : grouped(released), grouped(trajectories)],
      ...[tokenText(context.median), tokenText(context.max)],
    ],
  );
  const all = ['All', grouped(check.rows), grouped(check.released), grouped(check.trajectories), '', ''];
  return {
    columns: columnsOf('<Domain, Rows, Released, Trajectories|Traj., Median tokens|Median, Longest|Max'),
    groups: [rows, [all]],
    footnotes: [`Prompt tokens of a row: ${tokens}.`],
  };
}

/** The remarks below the table, by label. */
function remarksOn(found: DataCheck, source: SourceCheck, differences: readonly string[]) {
  const { unusable, equal_rows: equal, longest, beyond_context: beyond } = found;
  const place = ({ file, line }: Place) => printable(`${file}:${line}`);
  const tokensOf = (row: DataCheck['longest'][number]) => `${place(row)}: ${grouped(row.context_tokens)} tokens`;
  const most = `the model's ${grouped(RELEASED.contextTokens)} tokens`;
  const whole = unusable.length > 0 ? 'all its rows, plus unusable lines' : 'exactly the rows of the release';
  return {
    release: differences.length === 0 ? [whole] : listed(differences, (difference) => oneLine(difference, 200)),
    source: [sourceText(source)],
    unusable:
      unusable.length === 0
        ? ['none']
        : [
            `${counted(unusable.length, 'line')}; --skip-invalid makes infer skip them`,
            ...listed(unusable, ({ file, line, reason }) => oneLine(`${file}:${line}: ${reason}`, 200)),
          ],
    duplicates: equal.length === 0 ? ['none'] : listed(equal, (row) => `${place(row)} equals ${place(row.equals)}`),
    context:
      beyond.length > 0
        ? [`${counted(beyond.length, 'row')} longer than ${most}`, ...listed(beyond, tokensOf)]
        : [`no row is longer than ${most}; the longest:`, ...listed(longest, tokensOf)],
  };
}

function sourceText(source: SourceCheck): string {
  if (source.status === 'none') return 'unknown (no readable awb-source.json of awb data fetch)';
  const { repository, commit, files } = source;
  const state = source.status === 'as-fetched' ? `${counted(files.length, 'file')} as fetched` : 'not as fetched';
  return printable(`${repository} at commit ${commit.slice(0, COMMIT_DIGITS)}, ${state}`);
}

function listed<Entry>(entries: readonly Entry[], show: (entry: Entry) => string): string[] {
  const shown = entries.slice(0, MOST_SHOWN).map(show);
  return entries.length > shown.length ? [...shown, `... and ${grouped(entries.length - shown.length)} more`] : shown;
}

export const stats = defineCommand({
  description:
    'Shows how many rows, trajectories and turns a copy of the benchmark has by domain, and how large prompts and ground truths are: median, 90th percentile, longest and a histogram.',
  examples: {
    'awb data stats': 'the folder data',
    'awb data stats my-rows --json | jq .all.context_tokens.max': 'the longest prompt',
  },
  options: SURVEY_OPTIONS,
  operands: ['data-dir'],
  async run(settings, io) {
    const folder = resolve(io.cwd, settings.dataDir);
    const loading = showLoading(io.stderr, settings.quiet);
    const { surveyData } = await rowsOfInfer();
    const { survey, tokens } = await surveyData(settings, io, (text) => loading.step('stats', text)).finally(() =>
      loading.finish(),
    );
    const { rows, unusable } = survey;
    const next = 'awb data check names every unusable line';
    if (rows.length === 0) throw badData(`no usable row in ${shownPath(folder, io)}; ${next}`);
    if (unusable.length > 0 && !settings.quiet) {
      io.stderr.write(`${counted(unusable.length, 'unusable line')} left out; ${next}\n`);
    }
    const stats = statsOf(survey);
    const levels = hasBlocks(io.env) ? BLOCKS : ASCII;
    io.stdout.write(
      settings.json
        ? `${JSON.stringify({ schema: 'awb.data-stats/1', folder, tokens, ...stats }, null, 2)}\n`
        : `${shownPath(folder, io)}\n\n${statsText(stats, tokens, lookOf(settings, io), levels)}`,
    );
    return EXIT.done;
  },
});

/** Bars from the fewest to the most, after the one for none. */
const BLOCKS = ' ▁▂▃▄▅▆▇█';
const ASCII = ' .:-=+*#@';

const TITLES = { turn: 'Turn', context_tokens: 'Prompt tokens', truth_tokens: 'Truth tokens' } as const;

function statsText({ domains, all, bin_edges: edges }: DataStats, tokens: string, look: Look, levels: string): string {
  const note = `Tokens are ${tokens}. Histograms: rows by size, on a logarithmic scale; the tallest bar of each is its largest bin.`;
  /** A row for each domain, and one for all. */
  const table = (title: string, columns: string, cellsOf: (stats: RowStats) => string[], footnotes: string[] = []) => {
    const rows = Object.entries(domains).map(([domain, own]) => [domainName(domain), ...cellsOf(own)]);
    const groups = [rows, [['All', ...cellsOf(all)]]];
    return terminal({ columns: columnsOf(`<${title}, ${columns}`), groups, footnotes }, look);
  };
  const counts = ({ rows, trajectories }: RowStats) => [
    grouped(rows),
    grouped(trajectories),
    (rows / trajectories).toFixed(1),
  ];
  const sizes = keysOf(TITLES).map((size, at, { length }) => {
    const cells = ({ [size]: { median, p90, max, bins } }: RowStats) => [
      ...[Math.round(median), Math.round(p90), max].map(grouped),
      histogram(bins, levels),
    ];
    const columns = `Median, p90, Longest|Max, <${scaleText(edges[size])}`;
    return table(TITLES[size], columns, cells, at === length - 1 ? [note] : []);
  });
  return [table('Domain', 'Rows, Trajectories|Traj., Rows each|Each', counts), ...sizes].join('\n');
}

/** One column per bin. A bin that is not empty always shows a bar. */
function histogram(bins: readonly number[], levels: string): string {
  const most = Math.max(...bins, 1);
  return bins.map((count) => levels.charAt(Math.ceil((count / most) * (levels.length - 1)))).join('');
}

/** The ends of a scale, spaced to the width of its bins. */
function scaleText(edges: readonly number[]): string {
  const [from, to] = [grouped(Math.round(present(edges[0]))), grouped(Math.round(present(edges.at(-1))))];
  return from + to.padStart(edges.length - 1 - from.length);
}
