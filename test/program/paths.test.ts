// Paths that the program prints: as they were typed, whether inside the working folder or outside.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, test } from 'vitest';
import { awb, temporaryFolder } from '../support/cli.js';
import { closeAll, serve } from '../support/endpoint.js';
import { holdText } from '../support/messages.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';

afterEach(closeAll);

test('summaries, next steps and errors name relative paths if relative ones were typed', async () => {
  const dir = await temporaryFolder();
  const here = join(dir, 'here');
  for (const folder of [join(dir, 'data'), join(here, 'rows')]) {
    await writeDataset(folder, { 'mcp_test.jsonl': madeUpRows('mcp', 1) });
  }
  await mkdir(join(here, 'stray'));
  await writeFile(join(here, 'stray/predictions.jsonl'), '{}\n');
  await writeFile(join(here, 'torn.sqlite'), 'no database');
  const server = await serve(() => ({ content: 'fine' }));
  const model = ['--model-base-url', server.url, '--model-name'];
  const calls: string[][] = [
    ['infer', '--data-dir', 'rows', '--output-dir', 'out', ...model, 'wm'],
    ['infer', '--data-dir', '../data', '--output-dir', '../out', ...model, 'wm'],
    ['infer', '--data-dir', 'rows', '--output-dir', 'out', ...model, 'other'],
    ['infer', '--data-dir', '../data', '--output-dir', '../out', ...model, 'other'],
    ['infer', '--data-dir', 'rows', '--output-dir', 'stray', ...model, 'wm'],
    ['infer', '--data-dir', 'none', '--output-dir', 'out', ...model, 'wm'],
    ['judge', '--mode', 'metrics', '--predictions', '../out/predictions.jsonl', '--output-dir', '../out'],
    ['judge', '--mode', 'metrics', '--predictions', 'out/none.jsonl'],
    ['score', 'out/none.jsonl'],
    ['score', '../out'],
    ['score', '../out', '--db', 'torn.sqlite'],
    ['runs', 'list', '--db', '../none.sqlite'],
  ];
  let text = '';
  for (const args of calls) {
    const { stdout, stderr, code } = await awb(args, { cwd: here });
    // Only the printed lines that contain a path.
    const lines = [...stdout.split('\n').map((line) => `  ${line}`), ...stderr.split('\n').map((line) => `! ${line}`)];
    const named = lines.filter(
      (line) => /out\b|stray|none|rows|data\b|sqlite/.test(line) && !/^. +(infer|judge) \d/.test(line),
    );
    text += `$ awb ${args.join(' ')} (${code})\n${named.map((line) => `${line}\n`).join('')}`;
  }
  await holdText('paths', text, { [dir]: '<dir>', [String(server.port)]: '<port>' });
});
