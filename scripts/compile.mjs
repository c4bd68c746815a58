// Compiles the program into dist, and joins the modules of each browser script into one plain script there, which pages hold
// inline. Files without a source are removed from dist.

import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The entry module of each script: the app, and the page on which people rate. Its styles are written next to it. */
const SCRIPTS = {
  'view/app.js': 'view/app/main.tsx',
  'view/rate.js': 'view/app/rate.tsx',
};

// Tests compile as well, and need the same scripts: without this, vite marks every element with its source location.
process.env.NODE_ENV = 'production';
const projects = ['tsconfig.json', 'src/view/app/tsconfig.json'];
const codes = await Promise.all(projects.map(tsc));
if (codes.some((code) => code !== 0)) process.exit(1);
for (const [script, entry] of Object.entries(SCRIPTS)) await joinBrowserScript(script, entry);
clearDist();

/** What it prints goes to stderr. */
function tsc(project) {
  return new Promise((done) => {
    spawn(process.execPath, ['node_modules/typescript/bin/tsc', '-p', project], { cwd: root, stdio: ['ignore', 2, 2] })
      .on('error', () => done(1))
      .on('close', (code) => done(code ?? 1));
  });
}

/** @throws Error if the script could close the element that contains it */
async function joinBrowserScript(script, entry) {
  const [outDir, file, cssFileName] = [join(root, 'dist', dirname(script)), basename(script), basename(script, '.js')];
  await build({
    configFile: false,
    root,
    logLevel: 'error',
    build: {
      outDir,
      emptyOutDir: false,
      minify: true,
      target: 'es2022',
      lib: { entry: `src/${entry}`, formats: ['iife'], name: 'page', fileName: () => file, cssFileName },
    },
  });
  if (/<(?:!--|\/?script)/i.test(readFileSync(join(outDir, file), 'utf8'))) {
    throw new Error(`${script} contains text that opens or closes a script element`);
  }
}

function clearDist() {
  const isMade = (path) => path in SCRIPTS || existsSync(join(root, 'src', path.replace(/js$/, 'ts')));
  const paths = readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' });
  for (const path of paths.map((name) => name.replaceAll('\\', '/'))) {
    if (/\.c?js$/.test(path) && !isMade(path)) rmSync(join(root, 'dist', path));
  }
}
