import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, startAwb, temporaryFolder } from '../support/cli.js';
import { around, judgedRun } from '../support/judged-runs.js';

async function folderWithRun(): Promise<string> {
  const folder = await temporaryFolder();
  await judgedRun(join(folder, 'results/step-1'), { label: 'step-1', rating: around(3) }, join(folder, 'awb.sqlite'));
  return folder;
}

test('awb view serves the SQLite file and the results of this folder until it is stopped', async () => {
  const folder = await folderWithRun();
  const viewer = startAwb(['view', '--port', '0', '--no-open', '--json'], {}, folder);
  onTestFinished(() => void viewer.child.kill('SIGKILL'));
  const line = await new Promise<string>((done) => viewer.child.stdout?.once('data', (chunk) => done(String(chunk))));
  const { url } = JSON.parse(line);
  expect(await (await fetch(`${url}api/index`)).json()).toMatchObject({ runs: [{ name: 'step-1' }] });
  viewer.child.kill('SIGINT');
  expect(await viewer.ended).toMatchObject({ code: EXIT.interrupted });
  expect((await readdir(folder)).sort()).toEqual(['awb.sqlite', 'results']);
});

test('awb view --bundle writes files that name no path of this machine, and rewrites them', async () => {
  const folder = await folderWithRun();
  const { code, stdout } = await awb(['view', '--bundle', 'site'], { cwd: folder });
  expect(code).toBe(EXIT.done);
  expect(stdout).toContain(pathToFileURL(join(folder, 'site/index.html')).href);
  const files = await readdir(join(folder, 'site'), { recursive: true });
  expect(files).toEqual(expect.arrayContaining(['index.html', 'app.js', 'app.css', 'data/index.js']));
  for (const name of files.filter((name) => /\.\w+$/.test(name))) {
    expect(await readFile(join(folder, 'site', name), 'utf8')).not.toContain(folder);
  }
  await writeFile(join(folder, 'site/data/stale.js'), '');
  expect((await awb(['view', '--bundle', 'site'], { cwd: folder })).code).toBe(EXIT.done);
  expect(await readdir(join(folder, 'site/data'))).not.toContain('stale.js');
});

test('awb view --bundle overwrites what an interrupted one left behind', async () => {
  const folder = await folderWithRun();
  const stop = new AbortController();
  stop.abort('SIGINT');
  const broken = await awb(['view', '--bundle', 'site'], { cwd: folder, stop: stop.signal });
  expect(broken.code).toBe(EXIT.interrupted);
  expect(await readdir(join(folder, 'site/data'))).toEqual(['index.js']);
  expect((await awb(['view', '--bundle', 'site'], { cwd: folder })).code).toBe(EXIT.done);
});

test('awb view --bundle --scores-only contains no texts', async () => {
  const folder = await temporaryFolder();
  const weakness = () => 'a sentence of the judge';
  await judgedRun(
    join(folder, 'results/step-1'),
    { label: 'step-1', rating: around(3), weakness },
    join(folder, 'awb.sqlite'),
  );
  await awb(['view', '--bundle', 'site', '--scores-only'], { cwd: folder });
  for (const name of await readdir(join(folder, 'site/data'))) {
    expect(await readFile(join(folder, 'site/data', name), 'utf8')).not.toContain('a sentence of the judge');
  }
});

test('awb view refuses what it cannot do, with a next step', async () => {
  const folder = await folderWithRun();
  const refused = async (...args: string[]) => {
    const { code, stderr } = await awb(['view', ...args], { cwd: folder });
    expect(code).not.toBe(EXIT.done);
    return stderr;
  };
  expect(await refused('nowhere')).toContain('there is no nowhere');
  expect(await refused('--scores-only')).toContain('--bundle');
  await writeFile(join(folder, 'results/index.html'), 'mine');
  expect(await refused('--bundle', 'results')).toContain('results/index.html does not belong to a bundle');
  expect((await readdir(join(folder, 'results'))).length).toBe(2);
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await new Promise((done) => other.once('listening', done));
  // A listening server has an address.
  const { port } = other.address() as AddressInfo;
  expect(await refused('--port', String(port))).toContain('--port 0');
  await rm(join(folder, 'results'), { recursive: true });
  await rm(join(folder, 'awb.sqlite'));
  expect(await refused()).toContain('there is no awb.sqlite or results here');
});
