// Prints the sizes of src next to their limits. The limits are a ratchet: lower them after a change that removes code.
// node scripts/sizes.mjs exits with 1 if a size is too large. Lines of code are lines that are neither blank nor comment.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const MOST = { lines: 43493, files: 311, loose: 2, modules: 114 };

const SRC = new URL('../src/', import.meta.url).pathname;
const files = readdirSync(SRC, { recursive: true })
  .filter((name) => /\.(?:ts|tsx|cts|css)$/.test(name))
  .map((name) => join(SRC, name));

/** Only a comment at the start of a line counts as one: later in a line it may be part of a string, such as `shards/*`. */
function linesOfCode(text) {
  let isComment = false;
  return text.split('\n').filter((line) => {
    const code = line.trim();
    isComment ||= code.startsWith('/*');
    const counts = !isComment && code !== '' && !code.startsWith('//');
    if (code.includes('*/')) isComment = false;
    return counts;
  }).length;
}

/** The modules of src that a file loads at startup; type-only and dynamic imports do not count. */
function loadedBy(file, found = new Set()) {
  if (found.has(file)) return found;
  found.add(file);
  const imports = /^(?:import|export) (?!type\b)(?:[^'";]*? from )?'(\.[^']+)';/gms;
  for (const [statement, target] of readFileSync(file, 'utf8').matchAll(imports)) {
    const names = /\{([\s\S]*)\}/.exec(statement)?.[1];
    if (names?.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type '))) continue;
    const path = resolve(dirname(file), target.replace(/\.js$/, '.ts'));
    if (existsSync(path)) loadedBy(path, found);
  }
  return found;
}

const sizes = {
  lines: files.reduce((sum, file) => sum + linesOfCode(readFileSync(file, 'utf8')), 0),
  files: files.length,
  loose: files.filter((file) => !relative(SRC, file).includes('/')).length,
  modules: loadedBy(join(SRC, 'cli/infer.ts'), loadedBy(join(SRC, 'bin.ts'))).size,
};
const WHAT = {
  lines: 'lines of code in src',
  files: 'files in src',
  loose: 'loose files in src',
  modules: 'own modules that awb infer loads',
};
for (const [name, size] of Object.entries(sizes)) {
  const verdict = size > MOST[name] ? '  TOO LARGE' : '';
  console.log(`${WHAT[name].padEnd(34)}${String(size).padStart(7)} of ${MOST[name]}${verdict}`);
}
process.exitCode = Object.entries(sizes).some(([name, size]) => size > MOST[name]) ? 1 : 0;
