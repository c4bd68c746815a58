// A stored run as people read it: what made it, where it lies, its scores, and what has to be known of it.

import { bytesText, counted } from '../../figures.js';
import type { MeasureLookup } from '../../measures.js';
import { oneLine, printable, widthOf } from '../../printable.js';
import { cardTables, countLines } from '../score-text.js';
import { bold, type Look, wrapped } from '../terminal.js';
import type { ShownRun } from './shown-run.js';

/** Longest text of a fact that is shown whole. */
const MOST_COLUMNS = 1000;

export function runText(run: ShownRun, measureOf: MeasureLookup, look: Look): string {
  const facts = [
    ['label', labelText(run)],
    ...run.facts,
    ['judged file', fileText(run)],
    ['stored', storedText(run)],
  ] as const;
  const blocks = [
    `${bold(`run ${run.id} of ${printable(run.db)}`, look)}\n`,
    factLines(facts, look),
    ...cardTables(run, { measureOf, look, byDomain: true }),
    `${countLines(run.card).join('\n')}\n`,
    sentences('warning', run.warnings, look),
    sentences('note', run.notices, look),
  ];
  return blocks.filter((block) => block !== '').join('\n');
}

function labelText({ label, isLabelGiven, ownLabel }: ShownRun): string {
  if (label === undefined) return 'none';
  if (!isLabelGiven) return label;
  return ownLabel === undefined ? `${label} (given here)` : `${label} (given here; its manifest says ${ownLabel})`;
}

function fileText({ shownSource, file }: ShownRun): string {
  const parts = {
    same: 'as it was scored',
    changed: 'not the bytes that were scored: awb score stores it anew',
    missing: 'not there any more',
    unreadable: `cannot be read (${file.state === 'unreadable' ? file.reason : ''})`,
  };
  const size = 'bytes' in file ? `, ${bytesText(file.bytes)}` : '';
  const journal = file.journalBytes === undefined ? '' : `; its journal has ${bytesText(file.journalBytes)}`;
  return `${shownSource}${size}, ${parts[file.state]}${journal}`;
}

function storedText({ judgements, bytes }: ShownRun): string {
  return `${counted(judgements, 'judgement')}, about ${bytesText(bytes)}`;
}

/** Names in a column, and beside them their texts in lines within the terminal's width. */
function factLines(facts: readonly (readonly [string, string])[], look: Look): string {
  const names = facts.map(([name]) => oneLine(name, 24));
  const indent = Math.max(...names.map(widthOf)) + 2;
  const lines = facts.flatMap(([, text], index) => {
    const name = names[index] ?? '';
    const [first = '', ...more] = wrapped(oneLine(text, MOST_COLUMNS), look.columns - indent);
    return [name + ' '.repeat(indent - widthOf(name)) + first, ...more.map((line) => ' '.repeat(indent) + line)];
  });
  return `${lines.join('\n')}\n`;
}

function sentences(heading: string, texts: readonly string[], look: Look): string {
  return texts
    .flatMap((text) =>
      wrapped(`${heading}: ${oneLine(text, MOST_COLUMNS)}`, look.columns, 2).map((line) => `${line}\n`),
    )
    .join('');
}
