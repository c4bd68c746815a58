// The pictures of README and docs, taken anew if AWB_SCREENSHOTS names a folder: AWB_SCREENSHOTS=docs/images npx vitest run
// test/program/screenshots.test.ts

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { it } from 'vitest';
import { openLibrary } from '../../src/view/library.js';
import { useBrowser } from '../support/app.js';
import { awb, RECORDED, temporaryFolder } from '../support/cli.js';
import { ioIn } from '../support/io.js';
import { changeRows, jsonOf, type Row } from '../support/judging.js';
import { startLoopbackServer } from '../support/loopback-server.js';

const FOLDER = process.env.AWB_SCREENSHOTS;
const DIMENSIONS = ['format', 'factuality', 'consistency', 'realism', 'quality'];

const REMARKS = {
  strengths: [
    'The layout of the listing matches what the tool prints.',
    'Names the right file and the right exit status.',
  ],
  weaknesses: [
    'Invents a line of output that the command would not print.',
    'Two of the amounts are wrong, and the total does not follow from them.',
  ],
};

/** A random-looking number from 0 to 1, the same for the same text. */
function chance(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;
}

/** The recorded rows ten times over, each time as separate trajectories. */
async function manyTrajectories(): Promise<string> {
  const dir = await temporaryFolder();
  for (const name of (await readdir(RECORDED)).filter((each) => each.endsWith('_test.jsonl'))) {
    const rows = (await readFile(join(RECORDED, name), 'utf8')).trim().split('\n');
    const copies = Array.from({ length: 10 }, (_, copy) =>
      rows.map((line) => {
        const row = JSON.parse(line) as Row;
        return JSON.stringify({ ...row, id: `${row.id ?? ''}-${copy}` });
      }),
    );
    await writeFile(join(dir, name), `${copies.flat().join('\n')}\n`);
  }
  return dir;
}

/** A text with some of its words written backwards, an error that no world model makes. */
function garbled(text: string, share: number): string {
  return text.replace(/\w{4,}/g, (word, at: number) =>
    chance(`${word} ${at}`) < share ? [...word].reverse().join('') : word,
  );
}

interface Checkpoint {
  readonly label: string;
  /** The share of its words that are wrong. */
  readonly share: number;
  /** How much its ratings are raised. */
  readonly lift: number;
  /** The share of the rows that it refuses. */
  readonly refusals?: number;
}

/** A run of a made-up checkpoint, judged and scored. */
async function checkpoint(data: string, db: string, made: Checkpoint): Promise<void> {
  const { label, share, lift, refusals = 0.005 } = made;
  const dir = await temporaryFolder();
  const predictions = join(dir, 'predictions.jsonl');
  const run = async (...args: string[]) => {
    const { code, stderr } = await awb(args);
    if (code !== 0 && code !== 3) throw new Error(stderr);
  };
  const meta = label.startsWith('step-') ? ['--meta', `step=${label.slice('step-'.length)}`] : [];
  await run('infer', '--data-dir', data, '--baseline', 'oracle', '--output-dir', dir, '--label', label, ...meta);
  await changeRows(predictions, (row) => {
    const refused = chance(`refusal ${row.awb.key} ${label}`) < refusals;
    row.gen = refused ? '' : garbled(row.gen, share * 2 * chance(row.awb.key));
  });
  const path = join(dir, 'predictions.manifest.json');
  const manifest = await jsonOf(path);
  delete manifest.identity.baseline;
  Object.assign(manifest.identity, { model: 'world-model-35b', protocol: 'history', system_prompt: 'row' });
  await writeFile(path, JSON.stringify(manifest));
  const judge = await startLoopbackServer((request) => {
    const asked = JSON.stringify(request.body.messages);
    const rate = (name: string) => Math.round(Math.min(5, Math.max(1, 3 + lift + 2.4 * (chance(asked + name) - 0.5))));
    const scores = Object.fromEntries(DIMENSIONS.map((name) => [name, rate(name)]));
    const body = JSON.stringify({ ...REMARKS, scores }, null, 2);
    return {
      content: `Compared line by line.\n<final_evaluation>\n${body}\n</final_evaluation>`,
      model: 'judge-2026-01',
    };
  });
  try {
    await run(
      'judge',
      '--predictions',
      predictions,
      '--judge-base-url',
      judge.url,
      '--judge-model',
      'j',
      '--output-dir',
      dir,
    );
  } finally {
    await judge.close();
  }
  await run('score', '--predictions', join(dir, 'judged.jsonl'), '--db', db);
}

const browser = FOLDER === undefined ? undefined : useBrowser();

it.runIf(FOLDER)('pictures are saved where AWB_SCREENSHOTS says', { timeout: 300_000 }, async () => {
  const folder = resolve(FOLDER as string);
  await mkdir(folder, { recursive: true });
  const dir = await temporaryFolder();
  const [data, db] = [await manyTrajectories(), join(dir, 'runs.sqlite')];
  for (const made of [
    { label: 'step-100', share: 0.3, lift: 0 },
    { label: 'step-200', share: 0.15, lift: 0.35 },
    { label: 'step-300', share: 0.14, lift: 0.37 },
    { label: 'refuser', share: 0.15, lift: 0.6, refusals: 0.25 },
  ]) {
    await checkpoint(data, db, made);
  }
  const site = join(dir, 'site');
  await awb(['view', db, '--bundle', site]);
  const runs = await libraryOf(db);
  const [step100, step200, step300] = ['step-100', 'step-200', 'step-300'].map((label) => runs.get(label));
  const open = async (hash: string, width: number, height: number) => {
    const { page } = await (browser as ReturnType<typeof useBrowser>).open(
      `${pathToFileURL(join(site, 'index.html'))}#${hash}`,
      { width, height },
    );
    await page.waitForLoadState('networkidle');
    return page;
  };
  for (const [name, hash, width, height] of [
    ['runs', '/runs', 1280, 620],
    ['curve', '/curve', 1280, 900],
    ['overview', `/run/${step200}`, 1280, 1180],
    ['sample', `/compare/${step100}/${step300}/samples`, 1440, 1100],
    ['leaderboard', '/leaderboard', 1280, 620],
    ['left', '/curve', 760, 1060],
    ['right', `/compare/${step100}/${step300}/samples`, 1000, 1060],
  ] as const) {
    const page = await open(hash, width, height);
    // On a narrow screen, a sample replaces the list.
    if (name === 'right') await page.getByText('trajectory').first().click();
    if (name === 'right') await page.waitForTimeout(1_000);
    await page.screenshot({ path: join(folder, `${name}.png`) });
    await page.close();
  }
  // The two halves of the README's picture.
  const page = await open('/runs', 1780, 1060);
  const halves = await Promise.all(['left', 'right'].map((name) => readFile(join(folder, `${name}.png`), 'base64')));
  const images = halves.map((half) => `<img src="data:image/png;base64,${half}" style="border:1px solid #e2e2dc">`);
  await page.setContent(`<body style="margin:0;display:flex;gap:14px;background:#fff">${images.join('')}`);
  await page.screenshot({ path: join(folder, 'first.png') });
  await page.close();
  await Promise.all(['left', 'right'].map((name) => rm(join(folder, `${name}.png`))));
});

/** The names of runs in addresses, by label. */
async function libraryOf(db: string): Promise<ReadonlyMap<string, string>> {
  const { runs } = await openLibrary([db], { io: ioIn('/'), tool: 'awb' }).index();
  return new Map(runs.map(({ name, ref }) => [name, ref]));
}
