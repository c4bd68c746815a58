// Texts and tables in Markdown, LaTeX and CSV. Hostile texts stay text.

import { printable } from '../core/printable.js';
import { type CellTable, notesBelow, partsOf } from '../core/table.js';

/** Records of RFC 4180, one per line. */
export function csvText(records: readonly (readonly unknown[])[]): string {
  return records.map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}

/**
 * A field, on one line. An apostrophe is put before anything that a spreadsheet would read as a formula. A semicolon also starts a field,
 * since it separates fields in some countries' spreadsheets.
 */
function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  // Fifteen digits of a sum are reliable; a seventeenth shows floating-point rounding.
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
 * Text that GitHub's Markdown shows literally: it ends no table cell, opens no tag, makes no link and mentions no user.
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

/** Text that LaTeX sets literally. A bracket at a cell's start would be read as the argument of the `\\\\` before it. */
export function latexText(text: string): string {
  return text
    .replace(/[\\{}$&#^_~%<>|"'`–≥…]/g, (character) => LATEX[character] ?? `\\${character}`)
    .replace(/^[[*]/, '{$&}');
}
