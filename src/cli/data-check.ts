// `awb data check`: a copy of the benchmark beside its release, and beside what was fetched, as a table with remarks or as JSON.

import { resolve } from 'node:path';
import { sizeText } from '../benchmark/hub/client.js';
import { checkSource, type SourceCheck } from '../benchmark/hub/dataset.js';
import { checkRows, type DataCheck, type Place } from '../benchmark/survey.js';
import { domainName, RELEASED } from '../core/domains.js';
import { EXIT, type ExitCode } from '../core/errors.js';
import { counted, grouped } from '../core/figures.js';
import { oneLine, printable } from '../core/printable.js';
import { NONE, type Table } from '../core/table.js';
import { type Look, terminal, wrapped } from '../core/terminal.js';
import type { Io } from '../core/types.js';
import { SURVEY_OPTIONS, surveyData } from '../infer/chosen-rows.js';
import { showLoading } from '../serve/loading.js';
import { defineCommand, type Settings } from '../settings/command.js';
import { shownPath } from '../settings/shown-path.js';

const MOST_SHOWN = 10;
/** Of a commit, as people write it. */
const COMMIT_DIGITS = 12;
const LABEL_COLUMNS = 12;

export const command = defineCommand({
  description:
    'Checks a copy of the benchmark: rows by domain beside the release, unusable lines, duplicates, contexts that are too long, and files that changed since they were fetched. Exit code 0: as released; 3: it differs; 65: lines cannot be used.',
  examples: {
    'awb data check': 'what lies in the folder data',
    'awb data check my-rows --json | jq .differences': 'what differs from the release',
  },
  options: SURVEY_OPTIONS,
  operands: ['data-dir'],
  run: check,
});

async function check(settings: Settings<typeof SURVEY_OPTIONS>, io: Io): Promise<ExitCode> {
  const folder = resolve(io.cwd, settings.dataDir);
  const loading = showLoading(io.stderr, settings.quiet);
  try {
    const { survey, tokens } = await surveyData(settings, io, (text) => loading.step('check', text));
    let bytes = 0;
    const source = await checkSource(folder, io.stop, (read) => {
      bytes += read;
      loading.step('check', `comparing with what was fetched: ${sizeText(bytes)}`);
    });
    loading.finish();
    const found = checkRows(survey, RELEASED);
    const differences = differencesIn(found, source);
    // Where infer would refuse it, and where its scores are not those of the benchmark.
    const isUnusable = found.unusable.length > 0;
    const status = isUnusable ? 'unusable' : differences.length > 0 ? 'differs' : 'as-released';
    if (settings.json) {
      const { longest, beyond_context, ...counts } = found;
      const of = { schema: 'awb.data-check/1', folder, status, differences, ...counts, tokens };
      const lengths = { model_context: RELEASED.contextTokens, longest, beyond_context };
      io.stdout.write(`${JSON.stringify({ ...of, ...lengths, source }, null, 2)}\n`);
    } else {
      const look = { columns: io.stdout.columns, color: settings.color && io.stdout.isTTY };
      const remarks = [
        ['release', releaseLines(found, differences)] as const,
        ['source', [sourceLine(source)]] as const,
        ['unusable', unusableLines(found)] as const,
        ['duplicates', duplicateLines(found)] as const,
        ['context', contextLines(found)] as const,
      ].flatMap(([label, lines]) => remark(label, lines, look));
      const title = `${shownPath(folder, io)}: ${counted(found.files.length, 'file')}`;
      io.stdout.write(`${title}\n\n${terminal(checkTable(found, tokens), look)}\n${remarks.join('\n')}\n`);
    }
    return isUnusable ? EXIT.badData : differences.length > 0 ? EXIT.incomplete : EXIT.done;
  } finally {
    loading.finish();
  }
}

/** What differs from the release, a sentence each. */
function differencesIn({ domains, equal_rows: equal }: DataCheck, source: SourceCheck): string[] {
  return [
    ...Object.entries(domains).flatMap(([domain, own]) => countDifference(domainName(domain), own) ?? []),
    ...sourceDifferences(source),
    // Of files that are as they were fetched, equal rows are those of the release.
    ...(equal.length > 0 && source.status !== 'as-fetched'
      ? [`${counted(equal.length, 'row')} ${equal.length === 1 ? 'equals' : 'equal'} an earlier one`]
      : []),
  ];
}

function countDifference(name: string, { rows, released }: DataCheck['domains'][string]): string | undefined {
  if (released === null) return `${name}: the release has no such domain`;
  if (rows === released) return undefined;
  const missing = released - rows;
  const count = counted(Math.abs(missing), 'row', 'rows', grouped);
  if (missing < 0) return `${name}: ${count} too many`;
  return `${name}: ${count} ${missing === 1 ? 'is' : 'are'} missing`;
}

function sourceDifferences(source: SourceCheck): string[] {
  if (source.status === 'none') return [];
  if (source.status === 'damaged') return ['awb-source.json cannot be read; awb data fetch makes it anew'];
  return [
    ...source.files
      .filter(({ state }) => state !== 'same')
      .map(({ name, state }) => `${name} ${state === 'missing' ? 'is missing' : 'changed since it was fetched'}`),
    ...source.strangers.map((name) => `${name} was not fetched`),
  ];
}

/** Lines behind a label; the further ones stand below the first. */
function remark(label: string, lines: readonly string[], { columns }: Look): string[] {
  return lines.flatMap((line, at) =>
    wrapped((at === 0 ? label : '').padEnd(LABEL_COLUMNS) + line, columns, LABEL_COLUMNS),
  );
}

function checkTable(check: DataCheck, tokens: string): Table {
  const heading = (name: string, short = name) => ({ heading: name, short, align: 'right' }) as const;
  return {
    columns: [
      { heading: 'Domain', short: 'Domain', align: 'left' },
      heading('Rows'),
      heading('Released'),
      heading('Trajectories', 'Traj.'),
      heading('Median tokens', 'Median'),
      heading('Longest', 'Max'),
    ],
    groups: [
      Object.entries(check.domains).map(([domain, { rows, released, trajectories, context_tokens: context }]) => [
        domainName(domain),
        grouped(rows),
        released === null ? NONE : grouped(released),
        grouped(trajectories),
        tokenText(context.median),
        tokenText(context.max),
      ]),
      [['All', grouped(check.rows), grouped(check.released), grouped(check.trajectories), '', '']],
    ],
    footnotes: [`Prompt tokens of a row: ${tokens}.`],
  };
}

function tokenText(tokens: number | null): string {
  return tokens === null ? NONE : grouped(Math.round(tokens));
}

function releaseLines({ unusable }: DataCheck, differences: readonly string[]): string[] {
  if (differences.length > 0) return listed(differences, (difference) => oneLine(difference, 200));
  return [unusable.length > 0 ? 'its rows, beside unusable lines' : 'the rows of the release, all of them'];
}

function sourceLine(source: SourceCheck): string {
  if (source.status === 'none') return 'not known (no awb-source.json: these files were not fetched by awb)';
  if (source.status === 'damaged') return 'not known (awb-source.json cannot be read)';
  const { repository, commit, files } = source;
  const state = source.status === 'as-fetched' ? `${counted(files.length, 'file')} as fetched` : 'not as fetched';
  return printable(`${repository} at commit ${commit.slice(0, COMMIT_DIGITS)}, ${state}`);
}

function unusableLines({ unusable }: DataCheck): string[] {
  if (unusable.length === 0) return ['none'];
  return [
    `${counted(unusable.length, 'line')}; infer takes the others with --skip-invalid`,
    ...listed(unusable, ({ file, line, reason }) => oneLine(`${file}:${line}: ${reason}`, 200)),
  ];
}

function duplicateLines({ equal_rows: equal, same_turn: sameTurn }: DataCheck): string[] {
  const equals = listed(equal, (row) => `${placeText(row)} equals ${placeText(row.equals)}`);
  const same = `${counted(sameTurn.length, 'row')} with domain, id and turn of another, but other text`;
  return [...(equal.length === 0 ? ['none'] : equals), ...(sameTurn.length === 0 ? [] : [same])];
}

function contextLines({ longest, beyond_context: beyond }: DataCheck): string[] {
  const most = grouped(RELEASED.contextTokens);
  const shown = (row: DataCheck['longest'][number]) => `${placeText(row)}: ${grouped(row.context_tokens)} tokens`;
  if (beyond.length > 0) {
    return [`${counted(beyond.length, 'row')} beyond the model's ${most} tokens`, ...listed(beyond, shown)];
  }
  return [`no row beyond the model's ${most} tokens; the longest:`, ...listed(longest, shown)];
}

function placeText({ file, line }: Place): string {
  return printable(`${file}:${line}`);
}

function listed<Entry>(entries: readonly Entry[], show: (entry: Entry) => string): string[] {
  const shown = entries.slice(0, MOST_SHOWN).map(show);
  return entries.length > shown.length ? [...shown, `... and ${grouped(entries.length - shown.length)} more`] : shown;
}
