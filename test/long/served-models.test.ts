import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { readFacts } from '../../src/core/facts.js';
import { DIMENSIONS } from '../../src/core/types.js';
import { PLAIN_PACK, RECORDED, startAwb, temporaryFolder } from '../support/cli.js';
import { fakeCheckout } from '../support/judging.js';
import { PREDICTION, startServing } from '../support/serving.js';
import { keptModel, RANDOM_MODELS, scriptedModel } from '../support/tiny-model/model.js';

const VERDICT =
  '<final_evaluation>\n{"strengths": ["right"], "weaknesses": [], "scores": {"format": 5, "factuality": 4, "consistency": 3, "realism": 2, "quality": 1}}\n</final_evaluation>';

let folder: string;
let worldModel: string;
let judgeModel: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  worldModel = await keptModel(scriptedModel({ thinking: 'The listing follows.', content: PREDICTION }), folder);
  judgeModel = await keptModel(scriptedModel({ thinking: 'I compare.', content: VERDICT }), folder);
});

async function rowsOf(path: string) {
  const lines = (await readFile(path, 'utf8')).trim().split('\n');
  return lines.map((line) => JSON.parse(line));
}

describe('the pipeline on real models', { timeout: 120_000 }, () => {
  test('infer, judge and score over recorded rows, each model served for as long as it is needed', async () => {
    const dir = await temporaryFolder();
    const rows = ['--data-dir', RECORDED, '--domains', 'swe', '--limit', '2', '--output-dir', dir];
    const env = { AWB_GPU: 'off', AWB_THREADS: '1' };
    const infer = () => startAwb(['infer', ...rows, '--local', worldModel, '--quiet'], env).ended;
    expect(await infer()).toMatchObject({ code: EXIT.done });
    const predictions = join(dir, 'predictions.jsonl');
    for (const row of await rowsOf(predictions)) {
      expect(row.gen).toBe(PREDICTION);
      expect(row.awb.reasoning.trim()).toBe('The listing follows.');
    }
    const manifest = JSON.parse(await readFile(join(dir, 'predictions.manifest.json'), 'utf8'));
    expect(manifest.identity.model.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(manifest.models[0]).toMatchObject({ sha256: manifest.identity.model.sha256, slots: 1 });
    // The same model on another port is the same run; another file is another run.
    expect(await infer()).toMatchObject({ code: EXIT.done });
    const other = startAwb(['infer', ...rows, '--local', judgeModel, '--quiet'], env).ended;
    expect(await other).toMatchObject({ code: EXIT.identityDiffers, stderr: expect.stringContaining('model.sha256') });

    const judge = ['judge', '--predictions', predictions, '--output-dir', dir, '--quiet', '--local', judgeModel];
    // The scripted judge cannot follow a schema; the official way of asking sends none.
    expect(await startAwb([...judge, '--rubrics', await fakeCheckout()], env).ended).toMatchObject({ code: EXIT.done });
    const score = await startAwb(['score', 'judged.jsonl', '--json'], {}, dir).ended;
    const { domains } = JSON.parse(score.stdout);
    expect(domains.swe).toMatchObject({ valid: 2, format: 100, factuality: 75, consistency: 50, quality: 0 });
  });

  test('the schema constrains a random model as judge to five ratings, and to a checklist if the pack requests one', async () => {
    const dir = await temporaryFolder();
    const env = { AWB_GPU: 'off', AWB_THREADS: '1' };
    const tiny = await keptModel(RANDOM_MODELS.tiny, folder);
    const rows = ['--data-dir', RECORDED, '--domains', 'swe', '--limit', '1', '--baseline', 'oracle'];
    expect((await startAwb(['infer', ...rows, '--output-dir', dir, '--quiet']).ended).code).toBe(EXIT.done);
    const asked = ['--max-tokens', '8192', '--extra-body', '{"chat_template_kwargs":{"enable_thinking":false}}'];
    const where = ['--predictions', join(dir, 'predictions.jsonl'), '--output-dir', dir, '--quiet'];
    for (const [pack, name] of [
      ['awb-3', 'judged'],
      [PLAIN_PACK, 'judged.plain'],
    ] as const) {
      // It copies no mark, and the official reading requires none.
      const options = ['--local', tiny, '--rubrics', pack, '--verdicts', 'official', '--label', 'plain', ...asked];
      expect(await startAwb(['judge', ...where, ...options], env).ended).toMatchObject({ code: EXIT.done });
      const [row] = await rowsOf(join(dir, `${name}.jsonl`));
      for (const dimension of DIMENSIONS) expect([1, 2, 3, 4, 5]).toContain(row[dimension]);
      const { facts } = row.awb.judge;
      if (pack === 'awb-3') expect(readFacts(facts)).toEqual(facts);
      else expect(facts).toBeUndefined();
      const { identity } = JSON.parse(await readFile(join(dir, `${name}.manifest.json`), 'utf8'));
      expect(identity.verdict_schema).toBe(2);
    }
  });

  test('a server that is killed in the middle and restarted costs no row', async () => {
    const dir = await temporaryFolder();
    const serving = ['--model', worldModel, '--context', '16384'];
    const first = await startServing([...serving, '--port', '0']);
    const port = new URL(first.url).port;
    const infer = startAwb([
      ...['infer', '--data-dir', RECORDED, '--domains', 'terminal', '--limit', '8', '--output-dir', dir],
      ...['--concurrency', '1'],
      ...['--model-base-url', first.url, '--model-name', await nameOf(first.url), '--quiet', '--json'],
    ]);
    const journal = join(dir, 'predictions.journal.jsonl');
    while ((await readFile(journal, 'utf8').catch(() => '')).split('\n').length < 4) {
      await new Promise((done) => setTimeout(done, 20));
    }
    first.child.kill('SIGKILL');
    const second = await startServing([...serving, '--port', port]);
    const { code, stdout } = await infer.ended;
    expect(code).toBe(EXIT.done);
    expect(JSON.parse(stdout).counts).toMatchObject({ ok: 8, failed: 0 });
    second.child.kill();
    await second.ended;
  });

  test('a served model ends with the run that started it, even if the run is killed', async () => {
    const dir = await temporaryFolder();
    const infer = startAwb(
      ['infer', '--data-dir', RECORDED, '--output-dir', dir, '--local', worldModel, '--repeats', '50', '--verbose'],
      { AWB_GPU: 'off', AWB_THREADS: '1' },
    );
    const journal = join(dir, 'predictions.journal.jsonl');
    while ((await readFile(journal, 'utf8').catch(() => '')) === '') await new Promise((done) => setTimeout(done, 20));
    const children = async () => {
      const running = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
      const lines = await Promise.all(running.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
      return lines.filter(
        (line) => line.includes('\0serve\0') && line.includes(worldModel) && line.includes('until-stdin'),
      );
    };
    expect(await children()).toHaveLength(1);
    infer.child.kill('SIGKILL');
    await infer.ended;
    while ((await children()).length > 0) await new Promise((done) => setTimeout(done, 50));
  });
});

async function nameOf(url: string): Promise<string> {
  const { data } = (await (await fetch(`${url}/models`)).json()) as { data: { id: string }[] };
  return data[0]?.id as string;
}
