// Files damaged byte by byte and type by type: whatever a file contains, the program knows whose fault it is.

import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { askedRuns } from '../support/asked-runs.js';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';
import { type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { randomFrom } from '../support/random.js';

/** For more of them by hand: `DAMAGES=500 npx vitest run test/long/damaged-files.test.ts`. */
const DAMAGES = Number(process.env.DAMAGES ?? 12);

type Random = () => number;
const pick = <T>(from: readonly T[], random: Random): T => from[Math.floor(random() * from.length)] as T;

/** A bit flipped, or a stretch overwritten, cut off or doubled. */
function damagedBytes(whole: Buffer, random: Random): Buffer {
  const at = Math.floor(random() * whole.length);
  const length = 1 + Math.floor(random() * 40);
  switch (pick(['flip', 'flip', 'noise', 'zero', 'cut', 'double'], random)) {
    case 'flip': {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] as number) ^ (1 << Math.floor(random() * 8));
      return bytes;
    }
    case 'noise':
      return Buffer.concat([
        whole.subarray(0, at),
        Buffer.from(Array.from({ length }, () => Math.floor(random() * 256))),
        whole.subarray(at + length),
      ]);
    case 'zero':
      return Buffer.concat([whole.subarray(0, at), Buffer.alloc(length), whole.subarray(at + length)]);
    case 'cut':
      return whole.subarray(0, at);
    default:
      return Buffer.concat([whole.subarray(0, at), whole.subarray(Math.max(0, at - length))]);
  }
}

const ODD: readonly unknown[] = [
  null,
  true,
  -1,
  1e20,
  1.5,
  '',
  'odd',
  '\u001b[31m\n::error::x',
  [],
  [null],
  {},
  { a: 1 },
];

/** Valid JSON in which one value was replaced, usually by one of another type. */
function oddlyTyped(text: string, random: Random): string {
  const document = JSON.parse(text);
  const places: { readonly holder: Record<string, unknown>; readonly key: string }[] = [];
  const visit = (value: unknown) => {
    if (value === null || typeof value !== 'object') return;
    for (const key of Object.keys(value)) {
      places.push({ holder: value as Record<string, unknown>, key });
      visit((value as Record<string, unknown>)[key]);
    }
  };
  visit(document);
  const { holder, key } = pick(places, random);
  holder[key] = pick(ODD, random);
  return JSON.stringify(document);
}

/** The same for one line of a file of lines. */
function oddlyTypedLine(text: string, random: Random): string {
  const lines = text.trimEnd().split('\n');
  const at = Math.floor(random() * lines.length);
  return `${lines.map((line, index) => (index === at ? oddlyTyped(line, random) : line)).join('\n')}\n`;
}

const POLICY =
  'alpha: 0.05\nmax_drop: { overall: 2, each_domain: { points: 5, tier: supporting } }\nmin_coverage: 0.99\n';
const CONFIG = 'output-dir: out\ninfer:\n  data-dir: data\n  baseline: oracle\n  meta: {step: 1}\n  ids: []\n';

let whole: string;
let server: LoopbackServer;
beforeAll(async () => {
  whole = await temporaryFolder();
  await askedRuns(whole);
  await cp(join(ROOT, 'rubrics/awb-3'), join(whole, 'pack'), { recursive: true });
  await writeFile(join(whole, 'gate.yaml'), POLICY);
  await writeFile(join(whole, 'awb.yaml'), CONFIG);
  server = await startLoopbackServer(() => ({ content: 'x' }), { record: false });
  return () => server.close();
});

// URL is a placeholder for the loopback server's address.
const RESUME = 'infer --data-dir data --output-dir unfinished --model-base-url URL --model-name wm-step-300 --quiet';
const METRICS = 'judge --predictions persistence/predictions.jsonl --mode metrics --output-dir persistence';
const JUDGE =
  'judge --predictions step-100/predictions.jsonl --output-dir new --rubrics pack --judge-base-url URL --judge-model j --max-retries 1 --quiet';
const SCORE = 'score --predictions step-100/judged.jsonl --db new.sqlite';
const COMPARE = 'compare step-100/judged.jsonl step-200/judged.jsonl';
const REPORT = 'report --run step-100/judged.jsonl --output report.html';

const BYTES = damagedBytes;
const JSON_TYPES = (bytes: Buffer, random: Random) => Buffer.from(oddlyTyped(bytes.toString(), random));
const LINE_TYPES = (bytes: Buffer, random: Random) => Buffer.from(oddlyTypedLine(bytes.toString(), random));

const CASES: readonly (readonly [string, string[], (bytes: Buffer, random: Random) => Buffer])[] = [
  ['data/web_test.jsonl', [RESUME], BYTES],
  ['data/web_test.jsonl', [RESUME], LINE_TYPES],
  ['unfinished/predictions.journal.jsonl', [RESUME], BYTES],
  ['unfinished/predictions.journal.jsonl', [RESUME], LINE_TYPES],
  ['unfinished/predictions.manifest.json', [RESUME], BYTES],
  ['unfinished/predictions.manifest.json', [RESUME], JSON_TYPES],
  ['persistence/predictions.jsonl', [METRICS], BYTES],
  ['persistence/predictions.jsonl', [METRICS], LINE_TYPES],
  ['persistence/predictions.manifest.json', [METRICS], JSON_TYPES],
  ['persistence/judged.manifest.json', [METRICS], JSON_TYPES],
  ['persistence/judged.journal.jsonl', [METRICS], LINE_TYPES],
  ['pack/pack.json', [JUDGE], BYTES],
  ['pack/pack.json', [JUDGE], JSON_TYPES],
  ['step-100/judged.jsonl', [SCORE, COMPARE, REPORT], BYTES],
  ['step-100/judged.jsonl', [SCORE, COMPARE, REPORT], LINE_TYPES],
  ['step-100/judged.journal.jsonl', [SCORE, REPORT], LINE_TYPES],
  ['step-100/judged.manifest.json', [SCORE, COMPARE, REPORT], BYTES],
  ['step-100/judged.manifest.json', [SCORE, COMPARE, REPORT], JSON_TYPES],
  [
    'runs.sqlite',
    [
      'leaderboard --db runs.sqlite',
      'compare step-100 step-200 --db runs.sqlite',
      'gate step-100 step-200 --db runs.sqlite',
      'score --predictions step-100/judged.jsonl --db runs.sqlite',
      'runs list --db runs.sqlite',
      'runs show step-100 --db runs.sqlite',
      'runs rename 1 base --db runs.sqlite',
      'runs remove 1 2 --yes --db runs.sqlite',
    ],
    BYTES,
  ],
  ['gate.yaml', ['gate step-100 step-200 --db runs.sqlite --policy gate.yaml'], BYTES],
  ['awb.yaml', ['infer --config awb.yaml'], BYTES],
];

describe.each(CASES)('%s, damaged', (name, commands, damage) => {
  test.each(commands)('is the fault of the file: awb %s', async (command) => {
    const bytes = await readFile(join(whole, name));
    for (let seed = 1; seed <= DAMAGES; seed++) {
      const dir = await temporaryFolder();
      await cp(whole, dir, { recursive: true });
      await writeFile(join(dir, name), damage(bytes, randomFrom(seed)));
      const { code, stderr } = await awb(command.replace('URL', server.url).split(' '), { cwd: dir });
      expect(`${seed}: ${stderr}`).not.toMatch(/unexpected error|bug in awb/);
      expect(code).not.toBe(1);
    }
  });
});

const BOMB = `a: &a [x,x,x,x,x,x,x,x,x]\n${'abcdefgh'
  .split('')
  .slice(1)
  .map((letter, index) => `${letter}: &${letter} [${Array(9).fill(`*${'abcdefgh'[index]}`).join(',')}]`)
  .join('\n')}\n`;

test.each([
  ['aliases that multiply', BOMB],
  ['endless nesting', `a: ${'['.repeat(20_000)}`],
  ['an alias of nothing', 'max_drop: *nothing\n'],
])('YAML of %s is refused with its name, as policy and as settings', async (_what, text) => {
  await writeFile(join(whole, 'odd.yaml'), text);
  const policy = await awb(['gate', 'step-100', 'step-200', '--db', 'runs.sqlite', '--policy', 'odd.yaml'], {
    cwd: whole,
  });
  expect([policy.code, policy.stderr]).toEqual([65, expect.stringMatching(/^awb: odd\.yaml/)]);
  const config = await awb(['infer', '--config', 'odd.yaml'], { cwd: whole });
  expect([config.code, config.stderr]).toEqual([2, expect.stringContaining('odd.yaml')]);
});
