// The texts of samples: read by their spans, without duplicates, with the cost of asking and how to ask again.

import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openDataset } from '../../src/benchmark/dataset.js';
import { EXIT } from '../../src/core/errors.js';
import type { JudgedRow } from '../../src/core/types.js';
import { readRun } from '../../src/results/find.js';
import type { ReadRun } from '../../src/results/read-run.js';
import { openAskAgain } from '../../src/view/ask-again.js';
import type { SampleTexts, TrajectoryTexts } from '../../src/view/documents.js';
import { openTexts, trajectoryTexts, withoutHistories } from '../../src/view/sample-texts.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { ioIn } from '../support/io.js';
import { keyOf, lineOf, type MadeRow, sampleRun } from '../support/sample-runs.js';

let dir: string;
beforeEach(async () => {
  dir = await temporaryFolder();
});

const FACTS = [{ claim: 'the line is 3', kind: 'determined', met: false }] as const;
const ROWS: readonly MadeRow[] = [
  { turn: 2, rated: 3, weaknesses: ['vague'] },
  { turn: 3, rated: 2, facts: FACTS },
  { turn: 3, repeat: 1, rated: 'empty' },
  { trajectory: 'b', gen: 'plain' },
];

async function stored(rows = ROWS, more?: object): Promise<ReadRun> {
  const file = await sampleRun(dir, rows, more);
  await awb(['score', file, '--db', join(dir, 'awb.sqlite')]);
  return readRun('1', { db: [join(dir, 'awb.sqlite')], quiet: true }, ioIn(dir));
}

async function opened(run: ReadRun, dataDir?: string) {
  const texts = await openTexts(run, dataDir, ioIn(dir));
  onTestFinished(() => texts.close());
  return texts.read;
}

const rowOf = (run: ReadRun, made: MadeRow) =>
  run.rows.find(({ key, repeat }) => key === keyOf(made) && repeat === (made.repeat ?? 0)) as JudgedRow;

describe('the texts of a row', () => {
  it("are the model's input, its prediction and the judge's remarks", async () => {
    const run = await stored();
    const read = await opened(run);
    expect(await read(rowOf(run, { turn: 3 }))).toMatchObject({
      action: '**Action:** step 3 of a',
      truth: 'line 3 of a\nend',
      prediction: 'line 3 of a\nfin',
      reply: '<think>hm</think>line 3 of a\nfin',
      history: [
        { action: '**Action:** step 1 of a', observation: 'line 1 of a\nend' },
        { action: '**Action:** step 2 of a', observation: 'line 2 of a\nend' },
      ],
      systemPrompt: 'you are terminal',
      ...{ strengths: ['fluent'], weaknesses: [], facts: FACTS, judgeReply: 'the verdict' },
    });
    expect(await read(rowOf(run, { trajectory: 'b' }))).not.toHaveProperty('reply');
    expect(await read(rowOf(run, { turn: 3, repeat: 1 }))).toMatchObject({ prediction: '' });
  });

  it('of a file that has changed since it was scored are refused, with the remedy', async () => {
    const run = await stored();
    const read = await opened(run);
    const text = await readFile(run.source, 'utf8');
    await writeFile(run.source, text.replace('line 2 of a\\nfin', 'line 2 of a\\nFIN'));
    await expect(read(rowOf(run, { turn: 2 }))).rejects.toMatchObject({
      exitCode: EXIT.badData,
      message: `${run.source} has changed since it was scored; run awb score ${run.source} again`,
    });
    // The others stand where they stood.
    expect(await read(rowOf(run, { turn: 3 }))).toMatchObject({ prediction: 'line 3 of a\nfin' });
    await expect(read({ ...rowOf(run, { turn: 3 }), key: 'none' })).rejects.toThrow('has changed since it was scored');
  });

  it('of a missing file are refused', async () => {
    const run = await stored();
    await rm(run.source);
    await expect(openTexts(run, undefined, ioIn(dir))).rejects.toMatchObject({
      exitCode: EXIT.inputMissing,
      message: expect.stringContaining('move it back, or score it where it is now'),
    });
  });

  it('of lean rows come from the data: the given folder, or else the one in the manifest', async () => {
    const whole = lineOf({ turn: 2 });
    const data = join(dir, 'data');
    await mkdir(data);
    const { awb: _awb, gen: _gen, ...row } = whole;
    await writeFile(join(data, 'terminal_test.jsonl'), `${JSON.stringify(row)}\n`);
    const dataset = await openDataset(data);
    const key = dataset.rows[0]?.key ?? '';
    await dataset.close();
    const file = await sampleRun(dir, [{ turn: 2, lean: true }], { data: { dir: data } });
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll(keyOf({ turn: 2 }), key));
    const run = await readRun(file, { db: [], quiet: true }, ioIn(dir));
    expect(run.excerpts?.get(`${key}#0`)).not.toHaveProperty('chars');
    const [only] = run.rows as [JudgedRow];
    for (const folder of [undefined, 'data']) {
      const read = await opened(run, folder);
      expect(await read(only)).toMatchObject({ truth: 'line 2 of a\nend', prediction: 'line 2 of a\nfin' });
    }
    const unknown = { ...run, manifest: undefined };
    await expect((await opened(unknown))(only)).rejects.toThrow('--data-dir');
    await expect((await opened(run))({ ...only, key: 'other' })).rejects.toThrow('has changed');
  });
});

/** The texts of one trajectory. */
async function textsOf(run: ReadRun, trajectory: string): Promise<TrajectoryTexts> {
  const rows = run.rows.filter((row) => row.trajectory === `t-${trajectory}`);
  const again = await openAskAgain(run, ioIn(dir));
  return trajectoryTexts(rows, await opened(run), { again });
}

const rowIn = (texts: TrajectoryTexts, made: MadeRow) =>
  texts.rows[`${keyOf(made)}#${made.repeat ?? 0}`] as SampleTexts;

describe('the texts of a trajectory', () => {
  it('contain each distinct text once, and turns share their history', async () => {
    const texts = await textsOf(await stored(), 'a');
    const { strings, rows } = texts;
    expect(new Set(strings).size).toBe(strings.length);
    expect(Object.keys(rows)).toHaveLength(3);
    const [second, third, again] = [
      rowIn(texts, { turn: 2 }),
      rowIn(texts, { turn: 3 }),
      rowIn(texts, { turn: 3, repeat: 1 }),
    ];
    expect(third.history).toEqual([...(second.history ?? []), second.action, second.truth]);
    expect(again).toMatchObject({ truth: third.truth, history: third.history, system: second.system });
    expect(again.prediction).toBeUndefined();
    expect(strings[third.reply ?? -1]).toBe('<think>hm</think>line 3 of a\nfin');
    expect(third.facts).toEqual(FACTS);
    // It crosses the wire as JSON.
    expect(JSON.parse(JSON.stringify(texts))).toEqual(JSON.parse(JSON.stringify({ strings, rows })));
  });

  it('without histories have no text that occurs only in these', async () => {
    const texts = await textsOf(await stored(), 'a');
    const small = withoutHistories(texts);
    expect(small.missing).toContain('Histories are left out');
    expect(small.strings.join('\n')).not.toContain('step 1 of a');
    for (const [id, row] of Object.entries(small.rows)) {
      const before = texts.rows[id] as SampleTexts;
      expect([row.history, row.request]).toEqual([undefined, undefined]);
      expect(row.commands).toEqual(before.commands);
      for (const name of ['truth', 'action', 'system', 'prediction', 'reply', 'judgeReply', 'judgeThoughts'] as const) {
        const [now, then] = [row[name], before[name]];
        expect(now === undefined ? undefined : small.strings[now]).toBe(
          then === undefined ? undefined : texts.strings[then],
        );
      }
    }
  });

  it("report a row's cost, as far as known", async () => {
    const run = await stored();
    const id = `${keyOf({ turn: 2 })}#0`;
    const log = { usage: { promptTokens: 19_000, completionTokens: 280, reasoningTokens: 70 } };
    const spent = new Map([[id, { prediction: { log, usd: 0.034, ms: 4200 }, judgement: { usd: 0 } }]]);
    const texts = await trajectoryTexts([rowOf(run, { turn: 2 }), rowOf(run, { turn: 3 })], await opened(run), {
      spent,
    });
    expect(rowIn(texts, { turn: 2 }).spent).toEqual(['prediction: 19,000 + 280 tokens (70 thinking), $0.034, 4.2 s']);
    expect(rowIn(texts, { turn: 3 })).toMatchObject({ spent: undefined, request: undefined, commands: [] });
  });
});

describe('asking again', () => {
  it('makes the request from its parts, without a password', async () => {
    const texts = await textsOf(await stored(), 'a');
    const { request } = rowIn(texts, { turn: 2 });
    expect(request).toMatchObject({
      url: 'http://host:8000/v1/chat/completions',
      body: { model: 'wm', max_tokens: 100, temperature: 0.5, seed: 7, top_a: 1 },
    });
    const said = request?.messages.map(({ role, content }) => [role, texts.strings[content]]);
    expect(said).toEqual([
      ['system', 'you are terminal'],
      ['user', '**Action:** step 1 of a'],
      ['assistant', '**Environment Observation:**\nline 1 of a\nend'],
      ['user', '**Action:** step 2 of a'],
    ]);
    // Each repeat is sampled under a seed of its own.
    expect(rowIn(texts, { turn: 3, repeat: 1 }).request?.body.seed).toBe(1_000_010);
  });

  it('gives the commands that ask and judge the row again', async () => {
    const texts = await textsOf(await stored(), 'a');
    const key = keyOf({ turn: 2 });
    const [infer, judge, ...more] = rowIn(texts, { turn: 2 }).commands;
    expect(more).toEqual([]);
    expect(infer).toMatch(
      new RegExp(
        `infer --data-dir /data/awb --model-base-url http://host:8000/v1/ --model-name wm --max-tokens 100 --temperature 0.5 --seed 7 --ids ${key} --output-dir again/${key}$`,
      ),
    );
    expect(judge).toMatch(
      new RegExp(
        `judge predictions.jsonl --judge-base-url http://judge/v1 --judge-model j --ids ${key} --output-dir again/${key}$`,
      ),
    );
  });

  it.each([
    ['of a baseline', { identity: { baseline: 'persistence', data: 'd' } }],
    [
      'under system prompts that are no longer known',
      { identity: { model: 'wm', protocol: 'history', system_prompt: 'bundled 123' } },
    ],
    ['of an unknown protocol', { identity: { model: 'wm', protocol: 'telepathy', system_prompt: 'row' } }],
    ['by likelihood', { kind: 'likelihood' }],
  ])('makes no request %s', async (_, more) => {
    const texts = await textsOf(await stored(ROWS, more), 'b');
    expect(rowIn(texts, { trajectory: 'b' }).request).toBeUndefined();
  });

  it('makes no request for a turn of a rollout after predicted ones, and no command without a manifest', async () => {
    const run = await stored();
    const read = await opened(run);
    const again = await openAskAgain(run, ioIn(dir));
    const row = rowOf(run, { turn: 2 });
    const { sample } = await read(row);
    const at = (distance: number) => ({ chain: 'a', from: 2 - distance, step: 2, distance, offScript: [] });
    expect(again.request({ ...row, rollout: at(2) }, sample)).toBeUndefined();
    expect(again.request({ ...row, rollout: at(1) }, sample)?.messages).toHaveLength(4);
    const bare = await openAskAgain({ ...run, manifest: undefined }, ioIn(dir));
    expect([bare.request(row, sample), bare.commands(row)]).toEqual([undefined, []]);
  });
});

it('a run whose file grew stays readable, as its lines are where they were', async () => {
  const run = await stored();
  await appendFile(run.source, `${JSON.stringify(lineOf({ trajectory: 'c' }))}\n`);
  expect(await (await opened(run))(rowOf(run, { turn: 2 }))).toMatchObject({ weaknesses: ['vague'] });
});
