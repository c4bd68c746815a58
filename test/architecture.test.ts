// The rules of the house, checked on every source file: floors, doors, sizes, casts, exports, and the tests that mirror them.

import { describe, expect, test } from 'vitest';
import { readSource, type SourceFile, type Sources, sourcesIn, targetOf } from './support/sources.js';

/** Data in, data out: no disk, network, clock or chance. */
const PURE_ROOMS = ['infer', 'judge', 'calibrate', 'simulate', 'billing', 'score', 'report'];
/** What several pages share, and what each of them may stand on beside the rooms and the ground floor. */
const WORKINGS: Readonly<Record<string, readonly string[]>> = {
  settings: [],
  asking: ['settings'],
  runs: ['settings'],
  environment: ['settings'],
  watch: ['settings'],
};
/** The pages: they may use everything but one another. */
const PAGES = 'commands';
/** Files on the top floor of src that are not ground floor. */
const ENTRANCES = ['launch.cts', 'bin.ts', 'cli.ts', 'hang-up.ts'];
/** Where each package may come in: folders (with a slash) and files. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  openai: ['model/'],
  undici: ['model/'],
  'p-limit': ['model/'],
  'better-sqlite3': ['store/'],
  'cli-table3': ['report/'],
  jsonrepair: ['judge/'],
  'node-llama-cpp': ['serve/runtime.ts'],
  commander: ['settings/command-line.ts'],
  '@pnpm/tabtab': ['commands/completion.ts'],
  yaml: ['yaml-file.ts', 'settings/', 'bench/scenarios/'],
  '@pydantic/genai-prices': ['prices/'],
  '@huggingface/tokenizers': ['tokens/'],
  ws: ['environment/socket.ts'],
  '@modelcontextprotocol/sdk': ['environment/mcp.ts'],
};
const IMPURE =
  /(?<![.\w])(?:process\s*[.[]|console\s*\.|fetch\s*\(|set(?:Timeout|Interval|Immediate)\s*\(|performance\s*\.|Date\s*\.\s*now|new Date\b\s*(?:\(\s*\)|[^\s(])|Math\s*\.\s*random|crypto\s*\.)/;
/** What runs in a reader's browser, which has a clock. */
const IN_BROWSER = 'report/page/browser/';
const ENDS_PROCESS = /(?<![.\w])process\s*\.\s*(?:exit|exitCode|abort|on|once|addListener)\b/;

const MOST_LINES = { file: 450, medianFile: 130, function: 60 };

/** Tests of the whole program, which mirror no single file, and those of them that take long. */
const PROGRAM_TESTS = /^test\/(?:program|long)\//;

/** Breaches of the rules by the files of src, one sentence each. Paths are below src, such as `judge/verdict.ts`. */
function breaches(sources: Sources): string[] {
  const found = [...sources].flatMap(([path, source]) => [
    ...formBreaches(path, source),
    ...sizeBreaches(path, source),
    ...source.imports.flatMap(({ target }) => importBreach(path, target) ?? []),
  ]);
  return [...new Set([...found, ...cycleBreaches(sources)])];
}

function formBreaches(path: string, { text, code, exports, casts }: SourceFile): string[] {
  const found: string[] = [];
  if (!/^(?:#!.*\n)?\/\/ \S/.test(text)) found.push(`${path} does not open with a comment line`);
  if (/(?:^|\/)(?:utils?|helpers?|common|misc|index)(?:\/|\.ts$)/.test(path))
    found.push(`${path} is a drawer, not a room`);
  if (exports.includes('*')) found.push(`${path} is a barrel`);
  if (isPure(path) && !path.startsWith(IN_BROWSER) && IMPURE.test(code))
    found.push(`${path} is pure but uses "${IMPURE.exec(code)?.[0]}"`);
  if (path !== 'bin.ts' && ENDS_PROCESS.test(code)) found.push(`${path} touches the process's end or signals`);
  for (const { line, isExplained } of casts) {
    if (!isExplained) found.push(`${path}:${line} casts and does not say why it may`);
  }
  return found;
}

function sizeBreaches(path: string, { lines, functions }: SourceFile): string[] {
  return [
    ...(lines > MOST_LINES.file ? [`${path} has ${lines} lines, ${MOST_LINES.file} are the most`] : []),
    ...functions
      .filter((found) => found.lines > MOST_LINES.function)
      .map(
        (found) => `${path}:${found.line} ${found.name} has ${found.lines} lines, ${MOST_LINES.function} are the most`,
      ),
  ];
}

function roomOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.indexOf('/')) : '';
}

function isPure(path: string): boolean {
  const room = roomOf(path);
  return room === '' ? !ENTRANCES.includes(path) : PURE_ROOMS.includes(room);
}

function importBreach(path: string, target: string): string | undefined {
  // A hash is a function of its bytes.
  if (target === 'node:crypto') return undefined;
  if (target.startsWith('node:')) return isPure(path) ? `${path} is pure but imports ${target}` : undefined;
  const file = targetOf(path, target);
  if (file !== undefined) return mayImport(path, file) ? undefined : `${path} imports from ${file}`;
  const name = target.split('/', target.startsWith('@') ? 2 : 1).join('/');
  const doors = DOORS[name] ?? [];
  return doors.some((door) => path === door || (door.endsWith('/') && path.startsWith(door)))
    ? undefined
    : `${path} is no door for ${name}`;
}

function mayImport(path: string, file: string): boolean {
  const [from, to] = [roomOf(path), roomOf(file)];
  if (ENTRANCES.includes(file)) return path === (file === 'bin.ts' ? 'launch.cts' : 'bin.ts');
  if (to === '') return true;
  if (path === 'cli.ts') return to === PAGES || to === 'settings';
  if (from === PAGES) return to !== PAGES;
  if (to === PAGES || from === '') return false;
  const below = WORKINGS[from];
  return to === from || (below !== undefined && (below.includes(to) || !(to in WORKINGS)));
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

/** Names that a file of src exports and no other file of the repository takes. Paths are those of the repository. */
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

/** Tests that stand elsewhere than what they test: `test/judge/verdict.test.ts`, or `verdict.attacks.test.ts`, is of `src/judge/verdict.ts`. */
function strayTests(paths: readonly string[]): string[] {
  const mirrored = (path: string) => path.replace(/^test\//, 'src/').replace(/(?:\.[\w-]+)?\.test\.ts$/, '.ts');
  return paths
    .filter((path) => path.endsWith('.test.ts') && !PROGRAM_TESTS.test(path))
    .filter(
      (path) =>
        !paths.includes(mirrored(path)) && !paths.includes(path.replace(/^test\//, 'src/').replace('.test.ts', '.ts')),
    )
    .map((path) => `${path} mirrors no file of src`);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

describe('the house keeps its rules', () => {
  const everything = sourcesIn('src', 'test', 'bench');
  const house: Sources = new Map(
    [...everything].flatMap(([path, source]) => (path.startsWith('src/') ? [[path.slice('src/'.length), source]] : [])),
  );

  test('of floors, doors, forms and sizes', () => {
    expect(house.has('types.ts')).toBe(true);
    expect(breaches(house)).toEqual([]);
  });

  test('of the median of its files', () => {
    expect(median([...house.values()].map(({ lines }) => lines))).toBeLessThanOrEqual(MOST_LINES.medianFile);
  });

  test('of exports', () => {
    expect(deadExports(everything)).toEqual([]);
  });

  test('of its tests', () => {
    const paths = [...everything.keys()].map((path) => path.replace(/\.cts$/, '.ts'));
    expect(strayTests([...paths, 'src/architecture.ts'])).toEqual([]);
  });
});

function house(...files: readonly (readonly [path: string, text: string])[]): Sources {
  return new Map(files.map(([path, text]) => [path, readSource(path, text)]));
}

describe('the rules bite', () => {
  const file = (path: string, code: string) => house([path, `// What it is for.\n${code}\n`]);

  test.each([
    ['a room that imports another', 'judge/a.ts', "import { b } from '../model/b.js';"],
    ['a room that imports a type of another', 'judge/a.ts', "import type { B } from '../score/b.js';"],
    ['a room that re-exports from another', 'run/a.ts', "export { b } from '../store/b.js';"],
    ['a room that imports a command', 'run/a.ts', "import { b } from '../commands/b.js';"],
    ['a room that imports another lazily', 'run/a.ts', "const b = await import('../store/b.js');"],
    ['an import over several lines', 'judge/a.ts', "import {\n  b,\n} from '../model/b.js';"],
    ['a ground floor that imports a room', 'reply.ts', "import { b } from './judge/b.js';"],
    ['a program that imports a room past its commands', 'cli.ts', "import { b } from './model/b.js';"],
    ['a room that imports a working', 'run/a.ts', "import { b } from '../settings/b.js';"],
    ['a working that imports a command', 'asking/a.ts', "import { b } from '../commands/b.js';"],
    ['a working that imports one beside it', 'asking/a.ts', "import { b } from '../runs/b.js';"],
    ['a command that imports another', 'commands/a.ts', "import type { B } from './b.js';"],
    ['a command that imports the program', 'commands/a.ts', "import { main } from '../cli.js';"],
    ['a pure room that reads files', 'score/a.ts', "import { readFileSync } from 'node:fs';"],
    ['a ground floor that reads files', 'reply.ts', "import type { Stats } from 'node:fs';"],
    ['a pure room that reads the clock', 'judge/a.ts', 'const at = Date.now();'],
    ['a pure room that makes a date of now', 'report/a.ts', 'const at = new Date();'],
    ['a pure room that draws lots', 'infer/a.ts', 'const x = Math.random();'],
    ['a pure room that reads the environment', 'judge/a.ts', 'const key = process.env.KEY;'],
    ['a pure room that prints', 'report/a.ts', "console.log('x');"],
    ['a pure room that calls out', 'infer/a.ts', "await fetch('http://x');"],
    ['a package through another door', 'commands/a.ts', "import OpenAI from 'openai';"],
    ["a package's subpath through another door", 'run/a.ts', "import type { X } from 'openai/resources';"],
    ['a package that nobody knows', 'model/a.ts', "import _ from 'lodash';"],
    ['an engine beside its file', 'serve/slots.ts', "import { getLlama } from 'node-llama-cpp';"],
    ['a command that ends the process', 'commands/a.ts', 'process.exit(1);'],
    ['a room that takes signals', 'run/a.ts', "process.on('SIGINT', stop);"],
    ['a program that sets the exit code', 'cli.ts', 'process.exitCode = 1;'],
    ['a drawer', 'judge/utils.ts', ''],
    ['a folder of drawers', 'utils/strings.ts', ''],
    ['a barrel', 'judge/index.ts', ''],
    ['a file that passes everything on', 'judge/all.ts', "export * from './verdict.js';"],
    ['a cast that says nothing', 'judge/a.ts', 'const c = 1;\nconst a = b as string;'],
    ['a cast whose comment is far away', 'judge/a.ts', `// why\n\nconst c = 1;\nconst a = b as string;`],
    ['a function of two thoughts', 'judge/a.ts', `function a() {\n${'  b();\n'.repeat(59)}}`],
    ['a file that imports itself', 'judge/a.ts', "import { a } from './a.js';"],
  ])('on %s', (_, path, code) => {
    expect(breaches(file(path, code))).toHaveLength(1);
  });

  test('on a file without its opening comment', () => {
    expect(breaches(house(['judge/a.ts', "import { b } from './b.js';\n"]))).toHaveLength(1);
  });

  test('on an export that nobody takes', () => {
    const files = house(
      ['src/a.ts', 'export const taken = 1; export type Free = 1;'],
      ['src/b.ts', "import { taken } from './a.js';"],
    );
    expect(deadExports(files)).toEqual(['src/a.ts exports Free to nobody']);
  });

  test('on a test that stands elsewhere than its file', () => {
    const paths = ['src/judge/a.ts', 'test/judge/a.test.ts', 'test/judge/a.attacks.test.ts', 'test/a.test.ts'];
    expect(strayTests(paths)).toEqual(['test/a.test.ts mirrors no file of src']);
  });

  test('on a cycle through three files', () => {
    const cycle = ['a', 'b', 'c'].map((name, i) => [`judge/${name}.ts`, `// x\nimport './${'bca'[i]}.js';`] as const);
    expect(breaches(house(...cycle))).toEqual(['cycle: judge/a.ts -> judge/b.ts -> judge/c.ts -> judge/a.ts']);
  });
});

test.each([
  ['commands/a.ts', "import { b } from '../model/b.js';\nimport { c } from '../judge/c.js';"],
  ['commands/a.ts', "import { b } from '../asking/b.js';\nimport { c } from '../runs/c.js';"],
  ['asking/a.ts', "import { b } from '../settings/b.js';\nimport { c } from '../model/c.js';"],
  ['judge/a.ts', "import type { B } from '../types.js';\nimport { c } from './c.js';"],
  ['judge/a.ts', "// import { b } from '../model/b.js';\n/** never `process.exit()` or `Date.now()` */"],
  ['report/a.ts', 'const day = new Date(ms).toISOString(); const { process } = manifest; manifest.process.pid;'],
  ['judge/a.ts', 'const a = b as const; const c = d as string; // true of every d'],
  ['bin.ts', "import('./cli.js');\nprocess.on('SIGINT', stop);"],
  ['cli.ts', "const load = () => import('./commands/infer.js');"],
  ['store/a.ts', "import Database from 'better-sqlite3';\nimport { join } from 'node:path';"],
])('%s may hold %j', (path, code) => {
  expect(breaches(house([path, `// What it is for.\n${code}\n`]))).toEqual([]);
});
