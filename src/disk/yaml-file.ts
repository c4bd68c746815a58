// A YAML file that a user wrote: parsed, and refused with its line where it is none. yaml is loaded when there is one.

import type * as Yaml from 'yaml';
import { type ExitCode, messageOf, UserError } from '../core/errors.js';

interface YamlFile {
  readonly document: Yaml.Document.Parsed;
  /** The 1-based line of the key or the item at a path; where the file ends before it, of the last one there is. */
  lineOf(path: readonly PropertyKey[]): number;
  /** A node, or the whole document, as plain values. @throws UserError for aliases that multiply without end, or hold themselves. */
  plain(node: Pick<Yaml.Node, 'toJS'> | Yaml.Document.Parsed): unknown;
}

/**
 * @param schema `failsafe` leaves scalars as they are written: 1.10 and 300000000000000001 stay so
 * @throws UserError (with the code given) for a text that is not YAML, or that is too deep to be read.
 */
export async function parseYaml(
  text: string,
  path: string,
  exitCode: ExitCode,
  schema: 'core' | 'failsafe' = 'core',
): Promise<YamlFile> {
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
  const document = guarded(() => yaml.parseDocument(text, { lineCounter: lines, prettyErrors: false, schema }));
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
  return { document, lineOf, plain };
}
