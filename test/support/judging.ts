// Shared by tests of judging: predictions over the recorded rows, a judge's replies, and judged files read back.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DIMENSIONS, DOMAINS } from '../../src/core/types.js';
import { awb, RECORDED, temporaryFolder } from './cli.js';
import type { SeenRequest } from './loopback-server.js';

// biome-ignore lint/suspicious/noExplicitAny: tests look into rows of any shape
export type Row = Record<string, any>;

/** A judge's reply that rates every dimension equally, or each as given. */
export function verdict(rating: number | Readonly<Record<string, unknown>>): string {
  const scores =
    typeof rating === 'number' ? Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, rating])) : rating;
  const body = { strengths: ['plausible'], weaknesses: ['too short'], scores };
  return `Compared.\n<final_evaluation>\n\`\`\`json\n${JSON.stringify(body, null, 2)}\n\`\`\`\n</final_evaluation>`;
}

/** The mark that a question requests in its answer; empty if it requests none. */
export function markIn({ body }: Pick<SeenRequest, 'body'>): string {
  const asked: string = body.messages?.at(-1)?.content ?? '';
  return /(?:<\/final_evaluation-|"mark": ")([0-9a-f]{16})(?:>|")(?:\n\nAn earlier .*)?$/.exec(asked)?.[1] ?? '';
}

/** A reply whose verdicts have the mark that the question requests. */
export function marked(reply: string, request: Pick<SeenRequest, 'body'>): string {
  const mark = markIn(request);
  return mark === '' ? reply : reply.replace(/<(\/?)final_evaluation>/g, `<$1final_evaluation-${mark}>`);
}

/** The messages of a request without the final lines that ask for the mark, which differ from try to try. */
export function caseIn({ messages }: Row): string {
  const texts: string[] = (messages ?? []).map(({ role, content }: Row) => `${role}\n${content}`);
  return texts.join('\n').split('\n\nPut the JSON object')[0] ?? '';
}

/** A choice between two texts, in the tags that the question requests. */
export function choice(of: string, request: Pick<SeenRequest, 'body'>): string {
  return marked(`They differ. <final_evaluation>${of}</final_evaluation>`, request);
}

/** A folder with the predictions of a baseline over `limit` recorded rows of each domain. */
export async function inferred(options: readonly string[] = []): Promise<{ dir: string; predictions: string }> {
  const dir = await temporaryFolder();
  const given = options.includes('--baseline') || options.includes('--model-name') ? [] : ['--baseline', 'oracle'];
  const limit = options.includes('--limit') ? [] : ['--limit', '1'];
  const run = await awb(['infer', '--data-dir', RECORDED, '--output-dir', dir, ...given, ...limit, ...options]);
  if (run.code !== 0) throw new Error(run.stderr);
  return { dir, predictions: join(dir, 'predictions.jsonl') };
}

export async function rowsOf(path: string): Promise<Row[]> {
  const text = await readFile(path, 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

export async function writeRows(path: string, rows: readonly Row[]): Promise<void> {
  await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

/** Reads rows, changes them and writes them back. */
export async function changeRows(path: string, change: (row: Row, index: number) => void): Promise<void> {
  const rows = await rowsOf(path);
  rows.forEach(change);
  await writeRows(path, rows);
}

export async function jsonOf(path: string): Promise<Row> {
  return JSON.parse(await readFile(path, 'utf8'));
}

/** A miniature checkout of the official repository, with its own texts. */
export async function fakeCheckout(domains: readonly string[] = DOMAINS): Promise<string> {
  const dir = await temporaryFolder();
  for (const domain of domains) {
    await mkdir(join(dir, 'prompts', domain), { recursive: true });
    await writeFile(join(dir, 'prompts', domain, 'judge_system_prompt.txt'), `Rate ${domain}.\r\nStrictly.\n`);
  }
  await mkdir(join(dir, 'eval/lwm_eval_utils'), { recursive: true });
  const template =
    '\n{context}\n{world_model_input}\n\nP {predicted_observation}\nT {ground_truth}\nAnswer as {{"scores": 0}}.\n';
  const source = `import os\n\nJUDGE_USER_PROMPT = """${template}"""\n`;
  await writeFile(join(dir, 'eval/lwm_eval_utils/task_configs.py'), source);
  return dir;
}
