// A YAML file written by a user: parsed, and refused with its line if it is invalid. yaml is loaded only when needed.

import type * as Yaml from 'yaml';
import { type ExitCode, messageOf, UserError } from '../core/errors.js';

interface YamlFile {
  readonly document: Yaml.Document.Parsed;
  /** The 1-based line of the key or the item at a path; if the file ends before it, of the last existing one. */
  lineOf(path: readonly PropertyKey[]): number;
  /** A node, or the whole document, as plain values. @throws UserError for aliases that multiply endlessly, or contain themselves. */
  plain(node: Pick<Yaml.Node, 'toJS'> | Yaml.Document.Parsed): unknown;
}

/**
 * @param schema `failsafe` keeps scalars as written, such as 1.10 and 300000000000000001
 * @throws UserError (with the given code) for text that is not YAML, or is nested too deeply.
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
      // Aliases of aliases grow without bounds, and nesting may exceed the stack; yaml throws errors of several kinds.
      throw refuse(path, messageOf(error));
    }
  };
  const document = guarded(() => yaml.parseDocument(text, { lineCounter: lines, prettyErrors: false, schema }));
  const [broken] = document.errors;
  if (broken !== undefined) {
    const where = `${path}:${lineAt(broken.pos[0])}`;
    if (broken.code !== 'DUPLICATE_KEY') throw refuse(where, broken.message);
    throw new UserError(`${where}: this key appears twice; remove one of them`, exitCode);
  }
  const plain: YamlFile['plain'] = (node) =>
    guarded(() => {
      const value = node instanceof yaml.Document ? node.toJS() : node.toJS(document);
      try {
        JSON.stringify(value);
      } catch {
        throw new Error('an alias refers to a node that contains it');
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
