// The configuration file: settings by flag name in YAML, at the top level or in a section that has a command's name.

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { codeOf, EXIT, UserError } from '../core/errors.js';
import { isObject } from '../core/json.js';
import { entriesOf, parseYaml, type YamlEntry } from '../disk/yaml-file.js';
import type { OptionSpec } from './options.js';
import { numberExpected, type Read, readList, readNumber, readTexts } from './value.js';

/** Reads an option's value from YAML. The types of YAML count: a number in quotes is not a number. */
export function readEntry(option: OptionSpec, { value, written }: YamlEntry): Read {
  const text = typeof written === 'string' ? written : '';
  const type = typeof value;
  switch (option.kind) {
    case 'text':
    case 'choice':
      return readTexts(option, [type === 'string' || type === 'number' ? text : '']);
    case 'integer':
    case 'number':
    case 'duration': {
      const isWord = typeof value === 'string' && (option.kind === 'duration' || option.words?.includes(value));
      return type === 'number' || isWord ? readNumber(option, String(value)) : { expected: numberExpected(option) };
    }
    case 'boolean':
      return type === 'boolean' ? { value } : { expected: 'true or false' };
    case 'list':
      if (type !== 'object') return readTexts(option, [text]);
      return Array.isArray(value) && isListOf(isText, written)
        ? readList(option.check, written)
        : { expected: 'a list' };
    case 'map':
      return isObject(value) && isListOf(isPair, written)
        ? { value: Object.fromEntries(written) }
        : { expected: 'a mapping of keys to values' };
    case 'json':
      return isObject(value) ? { value } : { expected: 'a mapping' };
    default:
      return option satisfies never;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isPair = (value: unknown): value is readonly [string, string] => isListOf(isText, value);

function isListOf<T>(is: (item: unknown) => item is T, value: unknown): value is readonly T[] {
  return Array.isArray(value) && value.every(is);
}

/** Values by the name that stands in the file. */
export type Entries = ReadonlyMap<string, YamlEntry>;

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
  const top = byKey(root === null ? [] : entriesOf(file, root, LEVELS));
  return { path, section: sectionOf(path, top, command), top };
}

/** Settings, and those in a section. */
const LEVELS = 2;

function byKey(entries: readonly YamlEntry[]): Entries {
  return new Map(entries.map((entry) => [entry.key, entry]));
}

function sectionOf(path: string, top: Entries, command: string): Entries {
  const entry = top.get(command);
  if (entry?.entries !== undefined) return byKey(entry.entries);
  if (entry === undefined || entry.value === null) return new Map();
  throw new UserError(`${path}:${entry.line}: ${command}: expected settings by name, indented below it`);
}
