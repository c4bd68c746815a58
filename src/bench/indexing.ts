// Open data files -> columns of their rows.

import type { BadLine, DataPiece } from './data-piece.js';
import { type OpenFile, readPieces, type Sharing } from './pieces.js';
import { ColumnsBuilder, type RowColumns } from './row-columns.js';

interface IndexedRows {
  readonly columns: RowColumns;
  /** Lines that are not usable rows, with the numbers of their files. */
  readonly bad: readonly (BadLine & { readonly file: number })[];
}

/**
 * Indexes the rows of files, one behind the other. What comes out does not depend on the sharing.
 * @param hint ends the error about a file that cannot be read
 * @throws UserError: 66 where a file cannot be read, 1 where a thread runs out of memory, 130 or 143 once `stop` is aborted.
 */
export async function indexRows(
  files: readonly OpenFile[],
  hint: string,
  stop?: AbortSignal,
  sharing?: Sharing,
): Promise<IndexedRows> {
  const columns = new ColumnsBuilder();
  const bad: (BadLine & { readonly file: number })[] = [];
  let ended = 0;
  const endFilesBefore = (file: number) => {
    for (; ended < file; ended++) columns.endFile();
  };
  const take = async (file: number, found: DataPiece, linesBefore: number) => {
    endFilesBefore(file);
    columns.addPiece(found.columns, linesBefore);
    for (const line of found.bad) bad.push({ ...line, file, line: line.line + linesBefore });
  };
  await readPieces('data', files, take, { hint, stop, sharing });
  endFilesBefore(files.length);
  return { columns: columns.columns(), bad };
}
