// A YAML file that a user wrote: parsed, and refused with its line where it is none. yaml is loaded when there is one.

import type * as Yaml from 'yaml';
import { type ExitCode, messageOf, UserError } from '../core/errors.js';

interface YamlFile {
  readonly yaml: typeof Yaml;
  readonly document: Yaml.Document.Parsed;
  /** The 1-based line of an offset into the text. */
  lineAt(offset: number): number;
  /** The line of the key or the item at a path; where the file ends before it, of the last one there is. */
  lineOf(path: readonly PropertyKey[]): number;
  /** A node, or the whole document, as plain values. @throws UserError for aliases that multiply without end, or hold themselves. */
  plain(node: Pick<Yaml.Node, 'toJS'> | Yaml.Document.Parsed): unknown;
}

/** @throws UserError (with the code given) for a text that is not YAML, or that is too deep to be read. */
export async function parseYaml(text: string, path: string, exitCode: ExitCode): Promise<YamlFile> {
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  const refuse = (where: string, reason: string) => new UserError(`${where}: not YAML: ${reason}`, exitCode);
  const lineAt = (offset: number) => lines.linePos(offset).line;
  const guarded = <T>(read: () => T): T => {
    try {
      return read();
    } catch (error) {
      // Aliases of aliases grow beyond all bounds, and nesting beyond the stack; yaml throws errors of several kinds.
      throw refuse(path, messageOf(error));
    }
  };
  const document = guarded(() => yaml.parseDocument(text, { lineCounter: lines, prettyErrors: false }));
  const [broken] = document.errors;
  if (broken !== undefined) {
    const where = `${path}:${lineAt(broken.pos[0])}`;
    if (broken.code !== 'DUPLICATE_KEY') throw refuse(where, broken.message);
    throw new UserError(`${where}: this key stands twice; leave one of them out`, exitCode);
  }
  const plain: YamlFile['plain'] = (node) =>
    guarded(() => {
      const value = node instanceof yaml.Document ? node.toJS() : node.toJS(document);
      try {
        JSON.stringify(value);
      } catch {
        throw new Error('an alias stands for what holds it');
      }
      return value;
    });
  const lineOf: YamlFile['lineOf'] = (path) => {
    let node: unknown = document.contents;
    let line = 1;
    for (const step of path) {
      if (yaml.isAlias(node)) node = node.resolve(document);
      const isStep = ({ key }: Yaml.Pair) => yaml.isScalar(key) && String(key.value) === String(step);
      const pair = yaml.isMap(node) ? node.items.find(isStep) : undefined;
      const place = yaml.isSeq(node) ? node.items[Number(step)] : pair?.key;
      if (!yaml.isNode(place) || !place.range) break;
      line = lineAt(place.range[0]);
      node = pair === undefined ? place : pair.value;
    }
    return line;
  };
  return { yaml, document, lineAt, lineOf, plain };
}

/** An entry of a mapping, by its key. */
export interface YamlEntry {
  readonly key: string;
  readonly line: number;
  readonly value: unknown;
  /** The same as texts, with scalars as they are written (1.10 and 300000000000000001 stay so): a text, a list of them, or pairs. */
  readonly written: Text | readonly (Text | readonly Text[])[];
  /** The entries of a mapping in it. */
  readonly entries: readonly YamlEntry[] | undefined;
}

/** Undefined for what is no scalar, and for null. */
type Text = string | undefined;

/** The entries of a mapping, and of those in it so many levels deep: an alias may lead into itself. @throws as `plain` */
export function entriesOf(file: YamlFile, map: Yaml.YAMLMap, levels: number): YamlEntry[] {
  const { yaml, document, lineAt, plain } = file;
  const textOf = (node: unknown): Text =>
    yaml.isScalar(node) && node.value !== null ? (node.source ?? String(node.value)) : undefined;
  return map.items.map(({ key, value }) => {
    const node = yaml.isAlias(value) ? value.resolve(document) : value;
    const isMap = yaml.isMap(node);
    const pairs = isMap ? node.items.map((pair) => [textOf(pair.key), textOf(pair.value)]) : undefined;
    return {
      key: textOf(key) ?? '',
      line: lineAt(yaml.isNode(key) ? (key.range?.[0] ?? 0) : 0),
      value: yaml.isNode(node) ? plain(node) : null,
      written: pairs ?? (yaml.isSeq(node) ? node.items.map(textOf) : textOf(node)),
      entries: isMap && levels > 1 ? entriesOf(file, node, levels - 1) : undefined,
    };
  });
}
