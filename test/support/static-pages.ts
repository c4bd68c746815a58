// The documents in a static page.

import { readFile } from 'node:fs/promises';
import type { Row } from './judging.js';

/** By their names; `run` and `samples` without a name belong to the first run, and `texts` to all its rows. */
export async function documentsIn(path: string): Promise<Row> {
  const page = await readFile(path, 'utf8');
  const elements = page.matchAll(/<script type="application\/json" id="([^"]*)">(.*?)<\/script>/gs);
  const documents: Row = Object.fromEntries(
    Array.from(elements, ([, name, json]) => [name as string, JSON.parse(json as string)]),
  );
  const [{ ref = '' } = {}] = documents.index?.runs ?? [];
  const texts = Object.entries(documents).filter(([name]) => name.startsWith(`texts/${ref}/`));
  // Each row with its texts instead of their numbers.
  const shown = texts.flatMap(([, { strings, rows }]) =>
    Object.entries(rows as Row).map(([id, row]): [string, Row] => [id, withTexts(row, strings)]),
  );
  return {
    ...documents,
    ...Object.fromEntries(['run', 'samples'].map((kind) => [kind, documents[`${kind}/${ref}`]])),
    texts: Object.fromEntries(shown),
  };
}

function withTexts(row: Row, strings: readonly string[]): Row {
  const textOf = (value: unknown) => (typeof value === 'number' ? strings[value] : value);
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      name === 'history' ? (value as unknown[]).map(textOf) : textOf(value),
    ]),
  );
}
