// Measures how soon the pages of `awb view` and `awb report` show, in a headless Chromium, for a run as large as the benchmark.
// node bench/view.mjs [--megabytes 402]   (`npm run build` first; CHROMIUM names the browser). bench/README.md has the results.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { BIN, inferOf, makeData, makeRecordedData, measured, median, startServer, urlOf } from './workbench.mjs';

const ROUNDS = 5;
const { values } = parseArgs({ options: { megabytes: { type: 'string', default: '402' } } });
const root = mkdtempSync(join(tmpdir(), 'awb-view-'));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});

try {
  const { dir, rows } = makeRecordedData(root, Number(values.megabytes));
  const large = await judgedRun('large', dir);
  console.log(`${rows} rows, judged file of ${(statSync(join(large, 'judged.jsonl')).size / 1e6).toFixed(0)} MB`);
  const db = join(root, 'runs.sqlite');
  await measured(root, [BIN, 'score', '--predictions', join(large, 'judged.jsonl'), '--db', db]);
  await viewed('scored', db);
  await viewed('not scored', large);
  await timed(
    'not scored: run, reading included',
    async (tab, url) => {
      await tab.goto(url);
      await tab.locator('tbody a[href^="#/run/"]').first().click();
      await tab.getByText('Scores by domain').first().waitFor();
    },
    large,
  );
  const page = join(root, 'report.html');
  const { wall } = await measured(root, [BIN, 'report', '--run', '1', '--db', db, '--output', page]);
  console.log(`report: written in ${wall.toFixed(1)} s, ${(statSync(page).size / 1e6).toFixed(0)} MB`);
  await timed('report opened', async (tab) => {
    await tab.goto(pathToFileURL(page).href);
    await tab.getByText('Scores by domain').first().waitFor();
  });
  const many = await judgedRun('many', await makeData(root, 10_000, 2_000));
  await measured(root, [BIN, 'score', '--predictions', join(many, 'judged.jsonl'), '--db', join(root, 'many.sqlite')]);
  await viewed('10,000 rows', join(root, 'many.sqlite'));
} finally {
  await browser.close();
  rmSync(root, { recursive: true });
}

/** Makes a folder with a run over the data, judged by a server that gives every row the same ratings. */
async function judgedRun(name, data) {
  const out = join(root, name);
  const server = await startServer(0);
  await measured(root, [BIN, ...inferOf(server, data, out)]);
  const judge = ['--judge-base-url', urlOf(server), '--judge-model', 'judge', '--concurrency', '64', '--quiet'];
  await measured(root, [BIN, 'judge', '--predictions', join(out, 'predictions.jsonl'), '--output-dir', out, ...judge]);
  await server.stop();
  return out;
}

/** Times the pages of a live viewer over a database or a folder. Each time has a new server, so nothing is cached. */
async function viewed(name, path) {
  await timed(`${name}: shell`, (tab, url) => tab.goto(url), path);
  await timed(
    `${name}: runs`,
    async (tab, url) => {
      await tab.goto(url);
      await tab.locator('tbody tr').first().waitFor();
    },
    path,
  );
  await withViewer(path, async (url) => {
    const tab = await browser.newPage();
    await tab.goto(url);
    const ref = await tab.locator('tbody a[href^="#/run/"]').first().getAttribute('href');
    const { length: bytes } = await (await tab.request.get(`${url}api/samples/${ref.replace('#/run/', '')}`)).body();
    const [script, style] = await Promise.all(
      ['app.js', 'app.css'].map(async (file) => (await tab.request.get(`${url}${file}`)).body()),
    );
    const [plain, zipped] = [script.length + style.length, gzipSync(script).length + gzipSync(style).length];
    console.log(`${name}: list of ${bytes} bytes; script and style ${plain} bytes, ${zipped} gzipped`);
    const first = performance.now();
    await tab.goto(`${url}${ref}`);
    await tab.getByText('Scores by domain').first().waitFor();
    console.log(`${name}: first page of the run ${(performance.now() - first).toFixed(0)} ms`);
    const list = performance.now();
    await tab.goto(`${url}${ref}/samples`);
    await tab.getByText('Last observation').first().waitFor();
    console.log(`${name}: samples, the first one shown ${(performance.now() - list).toFixed(0)} ms`);
    const took = [];
    for (let step = 0; step < 20; step++) {
      const address = tab.url();
      const started = performance.now();
      await tab.keyboard.press('j');
      await tab.waitForFunction((before) => location.href !== before, address);
      await tab.getByText('Last observation').first().waitFor();
      took.push(performance.now() - started);
    }
    console.log(`${name}: next sample ${median(took).toFixed(0)} ms (at most ${Math.max(...took).toFixed(0)})`);
    await tab.close();
  });
}

async function timed(name, act, path) {
  const [took, starts] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    const once = async (url, startMs) => {
      starts.push(startMs);
      const tab = await browser.newPage();
      const started = performance.now();
      await act(tab, url);
      took.push(performance.now() - started);
      await tab.close();
    };
    await (path === undefined ? once() : withViewer(path, once));
  }
  const start = path === undefined ? '' : `, ${median(starts).toFixed(0)} ms after the program's start`;
  console.log(`${name} ${median(took).toFixed(0)} ms (at most ${Math.max(...took).toFixed(0)})${start}`);
}

/** @param act gets the address, and the milliseconds until it was printed */
async function withViewer(path, act) {
  const started = performance.now();
  const child = spawn(process.execPath, [BIN, 'view', path, '--no-open', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const url = line.match(/http:\S+/)?.[0];
      if (url === undefined) continue;
      await act(url, performance.now() - started);
      break;
    }
  } finally {
    child.kill('SIGINT');
    await once(child, 'close');
  }
}
