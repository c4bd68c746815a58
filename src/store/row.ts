// Rows of the SQLite file whose values are checked as they are taken: one of another type than was stored is damage.

import { isObject } from '../json.js';
import type { Sqlite, Values } from './sqlite.js';

/** What SQLite itself does not notice: a column holds what was never written there. */
export class DamagedValue extends Error {
  constructor(column: string) {
    super(`column ${column}`);
    this.name = 'DamagedValue';
  }
}

/** Its methods throw DamagedValue. */
export class Row {
  constructor(private readonly values: Values) {}

  text(column: string): string {
    const value = this.values[column];
    if (typeof value !== 'string') throw new DamagedValue(column);
    return value;
  }

  number(column: string): number {
    const value = this.values[column];
    if (typeof value !== 'number') throw new DamagedValue(column);
    return value;
  }

  /** Undefined where the column holds none. */
  textIn(column: string): string | undefined {
    return this.values[column] === null ? undefined : this.text(column);
  }

  numberIn(column: string): number | undefined {
    return this.values[column] === null ? undefined : this.number(column);
  }

  /** A JSON object, whose values are checked one by one. */
  object<T>(column: string, isValue: (value: unknown) => value is T): Record<string, T> {
    const value = this.#json(column);
    if (!isObject(value)) throw new DamagedValue(column);
    const entries = Object.entries(value).map(([name, inner]): [string, T] => {
      if (!isValue(inner)) throw new DamagedValue(column);
      return [name, inner];
    });
    return Object.fromEntries(entries);
  }

  /** A JSON list of texts. */
  texts(column: string): string[] {
    const value = this.#json(column);
    if (!Array.isArray(value) || value.some((entry) => typeof entry !== 'string')) throw new DamagedValue(column);
    return value;
  }

  #json(column: string): unknown {
    const text = this.text(column);
    // Most rows have no flags.
    if (text === '[]') return [];
    try {
      return JSON.parse(text);
    } catch {
      throw new DamagedValue(column);
    }
  }
}

/** All rows of a query. */
export function rowsOf(database: Sqlite, sql: string): Row[] {
  return database
    .prepare(sql)
    .all()
    .map((values) => new Row(values));
}

const ROWS_AT_ONCE = 4096;

/** The rows of a run in the order of their key, some thousands at a time: as SQLite gives them they take ten times the memory. */
export function* rowsOfRun(
  database: Sqlite,
  table: string,
  columns: readonly string[],
  key: readonly string[],
  runId: number,
): Generator<Row> {
  const order = key.join(', ');
  const from = `SELECT ${columns.join(', ')} FROM ${table} WHERE run_id = ?`;
  const first = database.prepare(`${from} ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`);
  const next = database.prepare(
    `${from} AND (${order}) > (${key.map(() => '?').join(', ')}) ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`,
  );
  const ends = new Set<string>();
  let page = first.all(runId);
  for (;;) {
    for (const values of page) yield new Row(values);
    if (page.length < ROWS_AT_ONCE) return;
    const end = key.map((column) => page.at(-1)?.[column]);
    // In a damaged file the order may lead in a circle.
    if (ends.has(String(end))) throw new DamagedValue(order);
    ends.add(String(end));
    page = next.all(runId, end);
  }
}

/** An insertion into a table, whose values are given by the names of their columns. */
export function insert(database: Sqlite, table: string, columns: readonly string[]): ReturnType<Sqlite['prepare']> {
  const names = columns.map((column) => `"${column}"`).join(', ');
  const slots = columns.map((column) => `@${column}`).join(', ');
  return database.prepare(`INSERT INTO ${table} (${names}) VALUES (${slots})`);
}
