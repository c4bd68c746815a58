// Runs as the commands leave them, asked and judged by a server that answers by a rule.

import { join } from 'node:path';
import { awb } from './cli.js';
import { marked, verdict } from './judging.js';
import { startLoopbackServer } from './loopback-server.js';
import { madeUpRows, writeDataset } from './run-folder.js';

/**
 * Writes into a folder: `data` (four rows each of terminal and web), the judged runs `step-100` and `step-200`, the measured baseline
 * `persistence`, the interrupted infer run `unfinished`, and `runs.sqlite`, in which the three judged ones are runs 1 to 3.
 */
export async function askedRuns(dir: string): Promise<void> {
  await writeDataset(join(dir, 'data'), {
    'terminal_test.jsonl': madeUpRows('terminal', 4),
    'web_test.jsonl': madeUpRows('web', 4),
  });
  const stop = new AbortController();
  let asked = 0;
  const server = await startLoopbackServer((request) => {
    const model = String(request.body.model);
    asked++;
    if (model === 'wm-step-300' && asked > 36) stop.abort('SIGINT');
    if (model !== 'judge') return { content: `<predicted_observation>\n${model}\n</predicted_observation>` };
    return { content: marked(verdict(2 + (asked % 3)), request), model: 'judge-2026-01-01' };
  });
  const run = async (line: string, ended = [0], signal?: AbortSignal) => {
    const { code, stderr } = await awb(line.split(' '), { cwd: dir, ...(signal && { stop: signal }) });
    if (!ended.includes(code)) throw new Error(`awb ${line}: ${stderr}`);
  };
  const infer = (step: number, out: string) =>
    `infer --data-dir data --output-dir ${out} --model-base-url ${server.url} --model-name wm-step-${step} --label step-${step} --concurrency 1 --quiet`;
  try {
    for (const step of [100, 200]) {
      await run(infer(step, `step-${step}`));
      await run(`judge step-${step} --judge-base-url ${server.url} --judge-model judge --quiet`);
      await run(`score step-${step} --db runs.sqlite`);
    }
    await run('infer --data-dir data --baseline persistence --output-dir persistence --quiet');
    await run('judge --predictions persistence/predictions.jsonl --mode metrics --output-dir persistence --quiet');
    await run('score persistence --db runs.sqlite');
    await run(infer(300, 'unfinished'), [130], stop.signal);
  } finally {
    await server.close();
  }
}
