// Compiles the program into dist, and joins the modules of each browser script into one plain script there, which pages hold
// inline. What has no source any more leaves dist.

import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The scripts by the modules that they begin with: the app, and the page on which people rate. Styles stand next to them. */
const SCRIPTS = {
  'view/app.js': 'view/app/main.tsx',
  'view/rate.js': 'view/app/rate.tsx',
};

// Tests compile, too, and a page has the same script there: without it vite marks every element with its place in the sources.
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

/** @throws Error where the script could end the element that it stands in */
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
    throw new Error(`${script} holds text that ends or opens a script element`);
  }
}

function clearDist() {
  const isMade = (path) => path in SCRIPTS || existsSync(join(root, 'src', path.replace(/js$/, 'ts')));
  const paths = readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' });
  for (const path of paths.map((name) => name.replaceAll('\\', '/'))) {
    if (/\.c?js$/.test(path) && !isMade(path)) rmSync(join(root, 'dist', path));
  }
}
