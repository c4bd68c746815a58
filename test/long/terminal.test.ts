// What the compiled program shows on a terminal: colours and block characters if they are wanted and can be shown.

import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/cli.js';
import { closeAll, serve } from '../support/endpoint.js';
import { holdText } from '../support/messages.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';
import { noTerminal, startOnTerminal } from '../support/terminal.js';

/** Everything that a command shows on a terminal with this environment. */
async function shownBy(args: readonly string[], cwd: string, env: Readonly<Record<string, string>>): Promise<string> {
  const child = startOnTerminal(args, cwd, { TERM: 'xterm', ...env });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  await new Promise((done) => child.once('close', done));
  return shown;
}

const ENVIRONMENTS: readonly Readonly<Record<string, string>>[] = [
  { LANG: 'C.UTF-8' },
  { LC_ALL: 'C' },
  { LANG: 'C.UTF-8', NO_COLOR: '1' },
  { LANG: 'C.UTF-8', FORCE_COLOR: '0' },
  { LANG: 'C.UTF-8', AWB_COLOR: 'false' },
  { LANG: 'C.UTF-8', TERM: 'dumb' },
];

test.skipIf(noTerminal !== undefined)('errors and progress on terminals of several kinds', async () => {
  const folder = await temporaryFolder();
  const data = await writeDataset(`${folder}/data`, {
    'mcp_test.jsonl': madeUpRows('mcp', 4),
    'web_test.jsonl': madeUpRows('web', 4),
  });
  const server = await serve(({ index }) =>
    index % 2 ? { status: 400, body: {}, latencyMs: 150 } : { content: 'fine', latencyMs: 150 },
  );
  const asking = [
    'infer',
    '--data-dir',
    data,
    '--model-base-url',
    server.url,
    '--model-name',
    'wm',
    '--concurrency',
    '2',
  ];
  let text = '';
  for (const [index, env] of ENVIRONMENTS.entries()) {
    const error = await shownBy(
      ['infer', '--model-name', 'wm', '--data-dir', 'none', '--model-base-url', server.url],
      folder,
      env,
    );
    const progress = await shownBy([...asking, '--output-dir', `out-${index}`], folder, env);
    const has = {
      blocks: /[█░]/.test(progress),
      ascii: /#\.|\.{20}/.test(progress),
      red: progress.includes('\x1b[31m'),
      moves: /\x1b\[\d+A/.test(progress),
    };
    text += `${JSON.stringify(env)}\n${JSON.stringify(error.split('\n')[0])}\nprogress has ${JSON.stringify(has)}\n`;
  }
  await closeAll();
  await holdText('terminal', text);
  expect(text).toContain('none');
});
