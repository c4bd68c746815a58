// Rules for every source file: modules import each other in one direction, no cycles, one place per package, explained casts, no dead
// exports.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSource, type SourceFile, type Sources, sourcesIn, targetOf } from './support/sources.js';

/** Where each package may be imported: folders (with a slash) and files below src. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  openai: ['model/'],
  undici: ['model/'],
  'p-limit': ['run/', 'simulate/'],
  'better-sqlite3': ['disk/sqlite.ts'],
  'cli-table3': ['core/terminal.ts'],
  jsonrepair: ['judge/'],
  'node-llama-cpp': ['serve/'],
  commander: ['settings/command-line.ts'],
  re2js: ['simulate/scenarios/forms.ts'],
  // Schemas of documents and files are defined where these are produced and read.
  zod: ['*'],
  yaml: ['disk/yaml-file.ts', 'settings/'],
  '@pydantic/genai-prices': ['model/prices/'],
  '@huggingface/tokenizers': ['model/tokens/'],
  ws: ['simulate/environment/http.ts'],
  '@modelcontextprotocol/sdk': ['simulate/environment/mcp.ts'],
  hono: ['view/server.ts'],
  '@hono/node-server': ['view/server.ts'],
  preact: ['view/app/'],
};
/** The modules that each module may import, from the table in docs/architecture.md; undefined if it may import all. */
const MODULES: ReadonlyMap<string, readonly string[] | undefined> = new Map(
  Array.from(
    readFileSync(join(import.meta.dirname, '../docs/architecture.md'), 'utf8').matchAll(
      /^\| `(\w+)` \|.*\| ([\w -]+) \|$/gm,
    ),
    ([, module = '', imports = '']) => [module, imports === 'all' ? undefined : imports.split(' ')],
  ),
);
const ENDS_PROCESS = /(?<![.\w])process\s*\.\s*(?:exit|exitCode|abort|on|once|addListener)\b/;

/** Violations of the rules by the files of src, one sentence each. Paths are below src, such as `judge/verdict.ts`. */
function breaches(sources: Sources): string[] {
  const found = [...sources].flatMap(([path, source]) => [
    ...formBreaches(path, source),
    ...source.imports.flatMap(({ target }) => importBreach(path, target) ?? []),
  ]);
  return [...new Set([...found, ...cycleBreaches(sources)])];
}

function formBreaches(path: string, { text, code, exports, casts }: SourceFile): string[] {
  const found: string[] = [];
  if (!/^(?:#!.*\n)?\/\/ \S/.test(text)) found.push(`${path} does not open with a comment line`);
  if (exports.includes('*')) found.push(`${path} is a barrel`);
  if (path !== 'bin.ts' && ENDS_PROCESS.test(code)) found.push(`${path} touches the process's end or signals`);
  for (const { line, isExplained } of casts) {
    if (!isExplained) found.push(`${path}:${line} casts and does not say why it may`);
  }
  return found;
}

function importBreach(path: string, target: string): string | undefined {
  if (target.startsWith('node:')) return undefined;
  const file = targetOf(path, target);
  if (file !== undefined) return moduleBreach(path, file);
  const name = target.split('/', target.startsWith('@') ? 2 : 1).join('/');
  const doors = DOORS[name] ?? [];
  return doors.some((door) => door === '*' || path === door || (door.endsWith('/') && path.startsWith(door)))
    ? undefined
    : `${path} is no door for ${name}`;
}

function moduleBreach(path: string, file: string): string | undefined {
  const [from = '', to = ''] = [path, file].map((each) => each.split('/', 1)[0]);
  if (!path.includes('/') || from === to || !MODULES.has(from)) return undefined;
  const may = MODULES.get(from);
  return may === undefined || may.includes(to)
    ? undefined
    : `${path} imports ${file}, and ${from} may not import ${to}`;
}

function cycleBreaches(sources: Sources): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) found.push(`cycle: ${[...trail.slice(trail.indexOf(path)), path].join(' -> ')}`);
    if (trail.includes(path) || done.has(path)) return;
    for (const { target } of sources.get(path)?.imports ?? []) {
      const file = targetOf(path, target);
      if (file !== undefined) visit(file, [...trail, path]);
    }
    done.add(path);
  };
  for (const path of sources.keys()) visit(path, []);
  return found;
}

/** Names that a file of src exports and no other file of the repository imports. Paths are from the repository's root. */
function deadExports(sources: Sources): string[] {
  const taken = new Set<string>();
  for (const [path, { imports }] of sources) {
    for (const { target, name } of imports) taken.add(`${targetOf(path, target)} ${name}`);
  }
  return [...sources].flatMap(([path, { exports }]) =>
    path.startsWith('src/') && !taken.has(`${path} *`)
      ? exports.filter((name) => !taken.has(`${path} ${name}`)).map((name) => `${path} exports ${name} to nobody`)
      : [],
  );
}

describe('the sources follow their rules', () => {
  const everything = sourcesIn('src', 'test', 'bench');
  const src: Sources = new Map(
    [...everything].flatMap(([path, source]) => (path.startsWith('src/') ? [[path.slice('src/'.length), source]] : [])),
  );

  test('awb data fetch loads nothing from infer and run', () => {
    const targets = src.get('cli/data.ts')?.text.match(/(?<=^import (?!type).*')[^']+(?=';$)/gm) ?? [];
    expect(targets.length).toBeGreaterThan(10);
    expect(targets.filter((target) => /^\.\.\/(?:infer|run)\//.test(target))).toEqual([]);
  });

  test('on form, packages and cycles', () => {
    expect(src.has('cli.ts')).toBe(true);
    expect(MODULES.size).toBeGreaterThan(10);
    expect([...src.keys()].filter((path) => !path.includes('/'))).toEqual(['bin.ts', 'cli.ts']);
    expect(breaches(src)).toEqual([]);
  });

  test('on exports', () => {
    expect(deadExports(everything)).toEqual([]);
  });
});

function sources(...files: readonly (readonly [path: string, text: string])[]): Sources {
  return new Map(files.map(([path, text]) => [path, readSource(path, text)]));
}

describe('the rules are effective', () => {
  test.each([
    ['a module that another may not import', 'core/a.ts', "import type { A } from '../model/a.js';"],
    ['a package imported in the wrong place', 'cli/a.ts', "import OpenAI from 'openai';"],
    ["a package's subpath imported in the wrong place", 'run/a.ts', "import type { X } from 'openai/resources';"],
    ['an unknown package', 'model/a.ts', "import _ from 'lodash';"],
    ['a command that ends the process', 'cli/a.ts', 'process.exit(1);'],
    ['a barrel', 'judge/all.ts', "export * from './verdict.js';"],
    ['a cast without an explanation', 'judge/a.ts', 'const c = 1;\nconst a = b as string;'],
    ['a file that imports itself', 'judge/a.ts', "import { a } from './a.js';"],
  ])('on %s', (_, path, code) => {
    expect(breaches(sources([path, `// What it is for.\n${code}\n`]))).toHaveLength(1);
  });

  test('on a file without its opening comment', () => {
    expect(breaches(sources(['judge/a.ts', "import { b } from './b.js';\n"]))).toHaveLength(1);
  });

  test('on an export that no file imports', () => {
    const files = sources(
      ['src/a.ts', 'export const taken = 1; export type Free = 1;'],
      ['src/b.ts', "import { taken } from './a.js';"],
    );
    expect(deadExports(files)).toEqual(['src/a.ts exports Free to nobody']);
  });

  test('on a cycle through three files', () => {
    const cycle = ['a', 'b', 'c'].map((name, i) => [`judge/${name}.ts`, `// x\nimport './${'bca'[i]}.js';`] as const);
    expect(breaches(sources(...cycle))).toEqual(['cycle: judge/a.ts -> judge/b.ts -> judge/c.ts -> judge/a.ts']);
  });
});
