// The configuration file: settings by flag name in YAML, at the top level or in a section that has a command's name.

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type * as Yaml from 'yaml';
import { codeOf, EXIT, UserError } from '../errors.js';
import { isObject } from '../json.js';
import { parseYaml, type YamlFile } from '../yaml-file.js';
import type { OptionSpec } from './options.js';
import { numberExpected, type Read, readList, readNumber, readTexts } from './value.js';

/** A value in the configuration file: as YAML reads it, and with scalars as they are written (1.10 and 300000000000000001 stay so). */
interface ConfigEntry {
  readonly line: number;
  readonly value: unknown;
  readonly text: string | undefined;
  readonly items: readonly string[] | undefined;
  readonly pairs: readonly (readonly string[])[] | undefined;
  /** The entries of a mapping at the top level: a section. */
  readonly inner: Entries | undefined;
}

/** Reads an option's value from YAML. The types of YAML count: a number in quotes is not a number. */
export function readEntry(option: OptionSpec, entry: ConfigEntry): Read {
  const { value, text } = entry;
  const type = typeof value;
  switch (option.kind) {
    case 'text':
    case 'choice':
      return readTexts(option, [type === 'string' || type === 'number' ? (text ?? '') : '']);
    case 'integer':
    case 'number':
    case 'duration': {
      const isWord = typeof value === 'string' && (option.kind === 'duration' || option.words?.includes(value));
      return type === 'number' || isWord ? readNumber(option, String(value)) : { expected: numberExpected(option) };
    }
    case 'boolean':
      return type === 'boolean' ? { value } : { expected: 'true or false' };
    case 'list':
      if (entry.items !== undefined) return readList(option.check, entry.items);
      return type === 'object' || value === null ? { expected: 'a list' } : readTexts(option, [text ?? '']);
    case 'map':
      return entry.pairs === undefined
        ? { expected: 'a mapping of keys to values' }
        : { value: Object.fromEntries(entry.pairs) };
    case 'json':
      return isObject(value) ? { value } : { expected: 'a mapping' };
    default:
      return option satisfies never;
  }
}

/** Values by the name that stands in the file. */
export type Entries = ReadonlyMap<string, ConfigEntry>;

/** A configuration file as a command reads it. */
export interface ConfigFile {
  /** The path as the user gave it. */
  readonly path: string;
  /** The command's own section, empty where the file has none. It takes precedence over the top level. */
  readonly section: Entries;
  readonly top: Entries;
}

/**
 * Reads the file for a command.
 * @param from where the path was given
 * @throws UserError (2) where it holds no settings, (66) where it cannot be read
 */
export async function readConfig(path: string, from: string, cwd: string, command: string): Promise<ConfigFile> {
  let text: string;
  try {
    text = await readFile(resolve(cwd, path), 'utf8');
  } catch (error) {
    const code = codeOf(error) ?? String(error);
    throw new UserError(`cannot read the configuration file ${path} (${from}): ${code}`, EXIT.inputMissing);
  }
  const file = await parseYaml(text, path, EXIT.usage);
  const root = file.document.contents;
  if (root !== null && !file.yaml.isMap(root)) {
    throw new UserError(`${path}:1: expected settings by name, such as "max-tokens: 32768"`);
  }
  const top = root === null ? new Map<string, ConfigEntry>() : entriesOf(file, root, true);
  return { path, section: sectionOf(path, top, command), top };
}

function entriesOf(file: YamlFile, map: Yaml.YAMLMap, withSections: boolean): Map<string, ConfigEntry> {
  const { yaml, document, lineAt } = file;
  const textOf = (node: unknown) =>
    yaml.isScalar(node) && node.value !== null ? (node.source ?? String(node.value)) : undefined;
  const entries = new Map<string, ConfigEntry>();
  for (const { key, value } of map.items) {
    const node = yaml.isAlias(value) ? value.resolve(document) : value;
    const isMap = yaml.isMap(node);
    entries.set(textOf(key) ?? '', {
      line: lineAt(yaml.isNode(key) ? (key.range?.[0] ?? 0) : 0),
      value: yaml.isNode(node) ? file.plain(node) : null,
      text: textOf(node),
      items: yaml.isSeq(node) ? complete(node.items.map(textOf)) : undefined,
      pairs: isMap ? complete(node.items.map((pair) => complete([textOf(pair.key), textOf(pair.value)]))) : undefined,
      inner: isMap && withSections ? entriesOf(file, node, false) : undefined,
    });
  }
  return entries;
}

/** The parts, when none is missing. */
function complete<T>(parts: readonly (T | undefined)[]): readonly T[] | undefined {
  return parts.every((part): part is T => part !== undefined) ? parts : undefined;
}

function sectionOf(path: string, top: Entries, command: string): Entries {
  const entry = top.get(command);
  if (entry?.inner !== undefined) return entry.inner;
  if (entry === undefined || entry.value === null) return new Map();
  throw new UserError(`${path}:${entry.line}: ${command}: expected settings by name, indented below it`);
}
