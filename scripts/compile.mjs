// Compiles the program into dist, and the modules of the report's browser script into one plain script there, which pages hold inline.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

const root = fileURLToPath(new URL('..', import.meta.url));
const BROWSER = 'report/page/browser';
const IMPORT = /^import\s[^;]*\sfrom '([^']+)';\n/gm;
const EXPORT = /^export (?:\{\};\n)?/gm;

const modules = mkdtempSync(join(tmpdir(), 'awb-browser-'));
try {
  const codes = await Promise.all([
    tsc('tsconfig.json'),
    tsc(`src/${BROWSER}/tsconfig.json`, '--noEmit', 'false', '--outDir', modules),
  ]);
  if (codes.every((code) => code === 0)) {
    writeFileSync(join(root, `dist/${BROWSER}.js`), scriptOf(join(modules, BROWSER, 'page.js')));
  } else {
    process.exitCode = 1;
  }
} finally {
  rmSync(modules, { recursive: true });
}

/** What it prints goes to stderr. */
function tsc(project, ...options) {
  const args = ['node_modules/typescript/bin/tsc', '-p', project, ...options];
  return new Promise((done) => {
    spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 2, 2] })
      .on('error', () => done(1))
      .on('close', (code) => done(code ?? 1));
  });
}

/**
 * A module with those that it imports as one script, each behind what it needs. They share one scope: it is an error here if two of
 * them declare one name, if one imports under another name, or if the text could end the element that it stands in.
 */
function scriptOf(entry) {
  const texts = new Map();
  const add = (path) => {
    if (texts.has(path)) return;
    texts.set(path, '');
    const text = readFileSync(path, 'utf8');
    for (const [statement, from] of text.matchAll(IMPORT)) {
      if (/ as /.test(statement)) throw new Error(`${path} renames what it imports: ${statement.trim()}`);
      add(join(dirname(path), from));
    }
    // Behind what it imports, wherever that was first asked for.
    texts.delete(path);
    texts.set(path, text.replace(IMPORT, '').replace(EXPORT, ''));
  };
  add(entry);
  const script = `(() => {\n'use strict';\n${[...texts.values()].join('')}})();\n`;
  new Script(script);
  if (/<(?:!--|\/?script)/i.test(script))
    throw new Error('the browser script holds text that ends or opens a script element');
  return script;
}
