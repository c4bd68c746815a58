// Texts and tables in Markdown, LaTeX and CSV: whatever a text holds, it stays text.

import { printable } from '../core/printable.js';
import { type CellTable, notesBelow, partsOf } from '../core/table.js';

/** Records of RFC 4180, one a line. */
export function csvText(records: readonly (readonly unknown[])[]): string {
  return records.map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}

/**
 * A field, on one line. An apostrophe stands before what a spreadsheet would take for the start of a formula. A semicolon
 * starts a field too, since it separates fields in some countries' spreadsheets.
 */
function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  // Fifteen digits are all that a sum of rows is sure of; a seventeenth shows how floating point rounds.
  if (typeof value === 'number') return String(Number(value.toPrecision(15)));
  if (typeof value !== 'string') return String(value);
  const safe = printable(value).replace(/(^|;)(?=\s*[=+\-@＝＋－＠])/g, "$1'");
  return /[",;]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A table in GitHub's Markdown, strong cells in bold and its notes as a list, ending in an empty line. */
export function markdownTable(table: CellTable): string {
  const { columns, groups } = table;
  const notes = notesBelow(table);
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const shown = groups
    .flat()
    .map((cells) =>
      line(
        cells.map(partsOf).map(({ text, isStrong }) => (isStrong ? `**${markdownText(text)}**` : markdownText(text))),
      ),
    );
  return [
    line(columns.map(({ heading }) => markdownText(heading))),
    line(columns.map(({ align }) => (align === 'right' ? '--:' : ':--'))),
    ...shown,
    '',
    ...notes.map((note) => `- ${markdownText(note)}`),
    ...(notes.length === 0 ? [] : ['']),
  ].join('\n');
}

/**
 * Text that GitHub's Markdown shows as it is: no table cell ends, no tag opens, no address becomes a link, nobody is mentioned.
 */
export function markdownText(text: string): string {
  return text
    .replace(/[\\`*_[\]<>&|~#$]|:(?=\/\/)/g, '\\$&')
    .replace(/@/g, '@<!-- -->')
    .replace(/(www)\./gi, '$1\\.');
}

const LATEX: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
  '<': '\\textless{}',
  '>': '\\textgreater{}',
  '|': '\\textbar{}',
  // \textquotedbl is unknown in the default encoding, OT1.
  '"': '{\\char34}',
  "'": "{'}",
  '`': '{`}',
  '–': '--',
  '≥': '\\ensuremath{\\geq}',
  '…': '\\ldots{}',
};

/** Text that LaTeX sets as it is. A bracket at a cell's start would be read as the argument of the `\\\\` before it. */
export function latexText(text: string): string {
  return text
    .replace(/[\\{}$&#^_~%<>|"'`–≥…]/g, (character) => LATEX[character] ?? `\\${character}`)
    .replace(/^[[*]/, '{$&}');
}
