// A copy of the benchmark beside its release: as a table with remarks, as JSON, and what it comes to.

import type { SourceCheck } from '../benchmark/hub/dataset.js';
import type { DataCheck, Place } from '../benchmark/survey.js';
import { domainName } from '../core/domains.js';
import { counted, grouped } from '../core/figures.js';
import { oneLine, printable } from '../core/printable.js';
import { RELEASED } from '../core/released.js';
import { NONE, type Table } from '../core/table.js';
import { type Look, terminal, wrapped } from '../core/terminal.js';

/** A copy that was checked, and how its tokens were counted. */
interface CheckedData {
  readonly check: DataCheck;
  readonly source: SourceCheck;
  /** Such as `characters / 4`. */
  readonly tokens: string;
}

type CopyStatus = 'as-released' | 'differs' | 'unusable';

const MOST_SHOWN = 10;
/** Of a commit, as people write it. */
const COMMIT_DIGITS = 12;
const LABEL_COLUMNS = 12;

/** What a copy comes to: `unusable` where infer would refuse it, `differs` where its scores are not those of the benchmark. */
export function statusOf(checked: CheckedData): CopyStatus {
  if (checked.check.unusable.length > 0) return 'unusable';
  return differencesIn(checked).length > 0 ? 'differs' : 'as-released';
}

/** What differs from the release, a sentence each. */
function differencesIn({ check, source }: CheckedData): string[] {
  const { domains, equal_rows: equal } = check;
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

/** The document of `--json`. */
export function checkDocument(checked: CheckedData, folder: string) {
  const { longest, beyond_context, ...counts } = checked.check;
  return {
    schema: 'awb.data-check/1',
    folder,
    status: statusOf(checked),
    differences: differencesIn(checked),
    ...counts,
    tokens: checked.tokens,
    model_context: RELEASED.contextTokens,
    longest,
    beyond_context,
    source: checked.source,
  };
}

export function checkText(checked: CheckedData, folder: string, look: Look): string {
  const remarks = [
    remark('release', releaseLines(checked)),
    remark('source', [sourceLine(checked.source)]),
    remark('unusable', unusableLines(checked.check)),
    remark('duplicates', duplicateLines(checked.check)),
    remark('context', contextLines(checked)),
  ].flatMap((lines) => lines.flatMap((line) => wrapped(line, look.columns, LABEL_COLUMNS)));
  return `${folder}: ${counted(checked.check.files.length, 'file')}\n\n${terminal(checkTable(checked), look)}\n${remarks.join('\n')}\n`;
}

/** Lines behind a label; the further ones stand below the first. */
function remark(label: string, [first = '', ...others]: readonly string[]): string[] {
  return [label.padEnd(LABEL_COLUMNS) + first, ...others.map((line) => ' '.repeat(LABEL_COLUMNS) + line)];
}

function checkTable({ check, tokens }: CheckedData): Table {
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

function releaseLines(checked: CheckedData): string[] {
  const differences = differencesIn(checked).map((difference) => oneLine(difference, 200));
  if (differences.length > 0) return listed(differences, (difference) => difference);
  return [
    checked.check.unusable.length > 0 ? 'its rows, beside unusable lines' : 'the rows of the release, all of them',
  ];
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

function contextLines({ check: { longest, beyond_context: beyond } }: CheckedData): string[] {
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
