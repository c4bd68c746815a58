// --local: awb serve for as long as a run takes, with its ends: bad models, silence, a death in mid-run, Ctrl-C before it began.

import { spawn } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import type { Io } from '../../src/core/types.js';
import { startLocal } from '../../src/model/local.js';
import { RECORDED, startAwb, temporaryFolder } from '../support/cli.js';
import { keptModel, scriptedModel } from '../support/tiny-model/model.js';

const ENV = { AWB_GPU: 'off', AWB_THREADS: '1' };

let folder: string;
let scripted: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  scripted = await keptModel(scriptedModel({ thinking: 'Well.', content: 'ok' }), folder);
});
afterEach(() => vi.useRealTimers());

function io(stop = new AbortController().signal): Io & { said: string } {
  const sink = { isTTY: false, columns: 80, write() {} };
  const made = {
    said: '',
    stdout: sink,
    stderr: {
      ...sink,
      write(text: string) {
        made.said += text;
      },
    },
    env: {},
    cwd: folder,
    stop,
    setLastWords() {},
    stdinClosed: () => new Promise<undefined>(() => {}),
  };
  return made;
}

const SETTINGS = { quiet: true, concurrency: 'adaptive' } as const;

/** A process in the place of the server. */
function script(code: string) {
  return () => spawn(process.execPath, ['-e', code], { stdio: ['pipe', 'pipe', 'pipe'] });
}

describe('before it takes requests', { timeout: 120_000 }, () => {
  test('what was interrupted before starts nothing', async () => {
    const start = vi.fn();
    await expect(startLocal(scripted, io(AbortSignal.abort('SIGINT')), SETTINGS, start)).rejects.toMatchObject({
      exitCode: EXIT.interrupted,
    });
    expect(start).not.toHaveBeenCalled();
  });

  test('a server that falls silent is ended, with its last words', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let heard: () => void = () => undefined;
    const hearing = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const silent = script('process.stderr.write("loading the model: 40 %\\n"); setInterval(() => {}, 1e6)');
    const start = () => {
      const child = silent();
      child.stderr?.once('data', heard);
      return child;
    };
    const starting = startLocal(scripted, io(), SETTINGS, start);
    const failed = expect(starting).rejects.toMatchObject({
      exitCode: EXIT.unavailable,
      message: expect.stringMatching(/said nothing for 10 minutes.*: loading the model: 40 %/),
    });
    await hearing;
    await vi.advanceTimersByTimeAsync(10 * 60_000);
    await failed;
  });

  test('what others print around its document is skipped', async () => {
    const document = {
      schema: 'awb.serve/1',
      url: 'http://127.0.0.1:1/v1',
      model: { name: 'm', slots: 2, sha256: 'ab' },
    };
    const lines = ['a driver says hello', '{"half": ', JSON.stringify(document), 'and goodbye', '{}'];
    const code = `console.log(${JSON.stringify(lines.join('\n'))}); process.stdin.resume()`;
    const server = await startLocal(scripted, io(), SETTINGS, script(code));
    expect([server.url, server.name, server.slots]).toEqual([document.url, 'm', 2]);
    await server.close();
    expect(server.lost.aborted).toBe(false);
  });

  test('a model that fails to load ends the run with the reason', async () => {
    const bytes = await readFile(scripted);
    const path = join(folder, 'mute.gguf');
    const text = bytes.toString('latin1').replace('tokenizer.chat_template', 'tokenizer.chat_templatX');
    await writeFile(path, Buffer.from(text, 'latin1'));
    const infer = startAwb(
      ['infer', '--data-dir', RECORDED, '--output-dir', await temporaryFolder(), '--local', path],
      ENV,
    );
    const { code, stderr } = await infer.ended;
    expect(code).toBe(EXIT.badData);
    expect(stderr).toContain('has no chat template');
  });
});

describe('a run', { timeout: 120_000 }, () => {
  const rows = ['infer', '--data-dir', RECORDED, '--quiet'];

  test('does not stumble over the key that the settings file has for the clients of awb serve', async () => {
    const config = join(folder, 'awb.yaml');
    await writeFile(config, 'serve:\n  api-key: for-other-clients\n  context: 8192\n');
    const flags = ['--domains', 'swe', '--limit', '1', '--config', config, '--local', scripted];
    const infer = startAwb([...rows, '--output-dir', await temporaryFolder(), ...flags], ENV);
    expect(await infer.ended).toMatchObject({ code: EXIT.done, stderr: '' });
  });

  test('says that the local server died, and how', async () => {
    const dir = await temporaryFolder();
    const infer = startAwb([...rows, '--output-dir', dir, '--local', scripted, '--repeats', '50'], ENV);
    const journal = join(dir, 'predictions.journal.jsonl');
    while ((await readFile(journal, 'utf8').catch(() => '')) === '') await new Promise((done) => setTimeout(done, 20));
    const server = (await serverOf(scripted)) as number;
    process.kill(server, 'SIGKILL');
    const { code, stderr } = await infer.ended;
    expect(code).toBe(EXIT.unavailable);
    expect(stderr).toMatch(/the local server ended with SIGKILL .*run the same command again/);
    expect(stderr).not.toContain('base-url');
  });
});

/** The process that serves this file for a run. */
async function serverOf(model: string): Promise<number | undefined> {
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const line = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
    if (line.includes('\0serve\0') && line.includes(model) && line.includes('until-stdin')) return Number(name);
  }
  return undefined;
}
