// Fields of a suite's file, each with the line on which it stands; what is wrong with them is collected, so that a user mends it all at once.

import type * as Yaml from 'yaml';
import { nearest } from '../../errors.js';
import type { YamlFile } from '../../yaml-file.js';

/** A value, and where it stands: by the line of its key, or its own in a list. */
export interface Field {
  readonly line: number;
  readonly node: Yaml.Node | null;
}

export type Fields = ReadonlyMap<string, Field>;

/** What is wrong in a file, as `file:line: what; remedy`. */
export class FieldReader {
  readonly faults: { readonly line: number; readonly text: string }[] = [];

  constructor(
    readonly path: string,
    private readonly file: YamlFile,
  ) {}

  fault(line: number, what: string): undefined {
    this.faults.push({ line, text: `${this.path}:${line}: ${what}` });
    return undefined;
  }

  root(): Field {
    return { line: 1, node: this.file.document.contents };
  }

  isMap({ node }: Field): boolean {
    return this.file.yaml.isMap(this.#resolved(node));
  }

  /** The fields of a mapping that may have these keys. `what` is named where it is none. */
  fields(field: Field, what: string, keys: readonly string[]): Fields | undefined {
    const { yaml } = this.file;
    const node = this.#resolved(field.node);
    if (!yaml.isMap(node)) return this.fault(field.line, `${what} has to be a mapping with ${listed(keys)}`);
    const found = new Map<string, Field>();
    for (const { key, value } of node.items) {
      const name = yaml.isScalar(key) ? String(key.value) : '';
      const line = this.#lineOf(key) ?? field.line;
      if (keys.includes(name)) found.set(name, { line, node: yaml.isNode(value) ? value : null });
      else this.unknown(line, `key "${name}"`, name, keys);
    }
    return found;
  }

  /** Says that a name is none of those that are known, and which of them is near. */
  unknown(line: number, what: string, name: string, known: readonly string[]): undefined {
    const near = nearest(name, known);
    const hint = near === undefined ? `; known are ${known.join(', ')}` : `; did you mean "${near}"?`;
    return this.fault(line, `unknown ${what}${hint}`);
  }

  items(field: Field, what: string): Field[] | undefined {
    const { yaml } = this.file;
    const node = this.#resolved(field.node);
    if (!yaml.isSeq(node) || node.items.length === 0) return this.fault(field.line, `${what} has to be a list`);
    return node.items.map((item) => ({
      line: this.#lineOf(item) ?? field.line,
      node: yaml.isNode(item) ? item : null,
    }));
  }

  /** A text that says something. A number is not one: YAML would have changed how it is written. */
  text(field: Field, what: string): string | undefined {
    const value = this.value(field);
    if (typeof value === 'string' && value.trim() !== '') return value;
    const given = typeof value === 'string' || value === null ? 'is empty; write it' : 'is no text; put it in quotes';
    return this.fault(field.line, `${what} ${given}`);
  }

  /** One text or a list of them. */
  texts(field: Field, what: string): string[] | undefined {
    if (!this.file.yaml.isSeq(this.#resolved(field.node))) {
      const text = this.text(field, what);
      return text === undefined ? undefined : [text];
    }
    const texts = (this.items(field, what) ?? []).map((item) => this.text(item, what));
    return texts.every((text) => text !== undefined) && texts.length > 0 ? texts : undefined;
  }

  /** As plain data: null where nothing stands. */
  value({ node }: Field): unknown {
    return node === null ? null : this.file.plain(node);
  }

  /** What an alias stands for. */
  #resolved(node: Yaml.Node | null): Yaml.Node | null {
    return this.file.yaml.isAlias(node) ? (node.resolve(this.file.document) ?? null) : node;
  }

  #lineOf(node: unknown): number | undefined {
    const { yaml, lineAt } = this.file;
    return yaml.isNode(node) && node.range ? lineAt(node.range[0]) : undefined;
  }
}

/** `a, b and c`. */
function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
