// CSV read as RFC 4180 has it: cells between commas, quoted where they hold commas, quotes or line ends.

/** A record, and the line of the file on which it begins. */
export interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
}

/** A cell with what stands behind it: quoted, or up to the next comma or line end. */
const CELL = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|\r|$)/y;

/**
 * The records of a text, without empty lines. A byte order mark is dropped.
 * @throws CsvError for a quote that is never closed, or one inside of an unquoted cell.
 */
export function csvRecords(text: string): CsvRecord[] {
  const records: CsvRecord[] = [];
  let cells: string[] = [];
  let [line, start] = [1, 1];
  CELL.lastIndex = text.startsWith('\ufeff') ? 1 : 0;
  while (CELL.lastIndex < text.length) {
    const found = CELL.exec(text);
    if (found === null)
      throw new CsvError('a quote is not closed, or stands inside of a cell that is not quoted', line);
    const [whole, quoted, plain, end] = found;
    cells.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'));
    line += lineEndsIn(whole);
    if (end === ',' && CELL.lastIndex < text.length) continue;
    if (end === ',') cells.push('');
    if (cells.length > 1 || cells[0] !== '' || quoted !== undefined) records.push({ line: start, cells });
    cells = [];
    start = line;
  }
  return records;
}

/** A text that is no CSV. */
export class CsvError extends Error {
  constructor(
    reason: string,
    readonly line: number,
  ) {
    super(reason);
    this.name = 'CsvError';
  }
}

function lineEndsIn(text: string): number {
  return text.match(/\r\n|\r|\n/g)?.length ?? 0;
}
