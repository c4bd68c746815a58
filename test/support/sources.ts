// Source files as the rules see them: the imports and exports of each, its casts and their comments.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'vite';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A name that one file imports from another; `*` for all of its names. */
interface Import {
  /** As written: `../types.js`, `node:fs`, `openai`. */
  readonly target: string;
  readonly name: string;
}

export interface SourceFile {
  readonly text: string;
  /** The text with its comments blanked out. */
  readonly code: string;
  readonly imports: readonly Import[];
  /** Names; `*` for everything that another file exports. */
  readonly exports: readonly string[];
  /** Type assertions other than `as const`; explained if a comment is on the line or directly above its statement. */
  readonly casts: readonly { readonly line: number; readonly isExplained: boolean }[];
}

/** By path from the root, such as `src/judge/verdict.ts`. */
export type Sources = ReadonlyMap<string, SourceFile>;

/** The TypeScript and JavaScript files in these folders of the repository. */
export function sourcesIn(...folders: readonly string[]): Sources {
  const paths = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.(?:tsx?|cts|mts|mjs)$/.test(path))
      .map((path) => join(folder, path)),
  );
  return new Map(paths.map((path) => [path, readSource(path, readFileSync(join(ROOT, path), 'utf8'))]));
}

/** The file of an import, if it is one of the project's own; compiled files are mapped to their sources. */
export function targetOf(path: string, target: string): string | undefined {
  if (!target.startsWith('.')) return undefined;
  const file = join(dirname(path), target)
    .replace(/^dist\//, 'src/')
    .replace(/(?<!\.m)\.js$/, '.ts');
  return ['', 'src'].some((folder) => existsSync(join(ROOT, folder, `${file}x`))) ? `${file}x` : file;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** @throws Error if the text is not TypeScript */
export function readSource(path: string, text: string): SourceFile {
  const { program, module, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const lineAt = lineFinder(text);
  const commented = new Set<number>();
  let code = text;
  for (const { start, end } of comments) {
    for (let line = lineAt(start); line <= lineAt(end); line++) commented.add(line);
    code = code.slice(0, start) + code.slice(start, end).replace(/[^\n]/g, ' ') + code.slice(end);
  }
  const casts: SourceFile['casts'][number][] = [];
  walk(program as unknown as Node, [], (node, parents) => {
    if (isCast(node)) casts.push(castOf(node, parents, lineAt, commented));
  });
  const exports = module.staticExports.flatMap(({ entries }) => entries.map((entry) => entry.exportName.name ?? '*'));
  return { text, code, imports: importsOf(module, text), exports, casts };
}

function importsOf(module: ReturnType<typeof parseSync>['module'], text: string): Import[] {
  return [
    ...module.staticImports.flatMap(({ moduleRequest, entries }) => {
      const target = moduleRequest.value;
      return entries.length === 0
        ? [{ target, name: '*' }]
        : entries.map(({ importName }) => ({ target, name: importName.name ?? '*' }));
    }),
    ...module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest, importName }) =>
        moduleRequest === null ? [] : [{ target: moduleRequest.value, name: importName.name ?? '*' }],
      ),
    ),
    ...module.dynamicImports.flatMap(({ moduleRequest: { start, end } }) => {
      const literal = /^(['"`])([^'"`$]+)\1$/.exec(text.slice(start, end));
      return literal?.[2] === undefined ? [] : [{ target: literal[2], name: '*' }];
    }),
  ];
}

/** Line numbers from 1, by offset in UTF-16 units. */
function lineFinder(text: string): (offset: number) => number {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return (offset) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
}

function walk(node: Node, parents: readonly Node[], visit: (node: Node, parents: readonly Node[]) => void): void {
  visit(node, parents);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) walk(child, [...parents, node], visit);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

function isCast(node: Node): boolean {
  if (node.type === 'TSNonNullExpression' || node.type === 'TSTypeAssertion') return true;
  if (node.type !== 'TSAsExpression' || !isNode(node.typeAnnotation)) return false;
  const { typeName } = node.typeAnnotation;
  return !(isNode(typeName) && typeName.name === 'const');
}

/** How far above a cast its comment may be, in lines of the same statement. */
const COMMENT_REACH = 6;

function castOf(
  node: Node,
  parents: readonly Node[],
  lineAt: (offset: number) => number,
  commented: ReadonlySet<number>,
): SourceFile['casts'][number] {
  const line = lineAt(node.end);
  const statement = parents.findLast(({ type }) => /(?:Statement|Declaration|Property|Definition)$/.test(type)) ?? node;
  const first = Math.max(lineAt(statement.start), line - COMMENT_REACH) - 1;
  let isExplained = false;
  for (let at = first; at <= line; at++) isExplained ||= commented.has(at);
  return { line, isExplained };
}
