// An engine that answers batch files: a server answers each request, and the results are written in the formats of real engines.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A server's answer to a request. */
export interface BatchAnswer {
  readonly id: string;
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a server's answer may have any shape
  readonly body: any;
}

/** The requests in a folder's files, in order; only those in the named files if any are named. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into requests of any shape
export async function requestsIn(dir: string, files?: readonly string[]): Promise<any[]> {
  const names = files ?? (await readdir(dir)).filter((name) => /^requests-\d+\.jsonl$/.test(name)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(dir, name), 'utf8')));
  return texts.flatMap((text) =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line)),
  );
}

/** Has the server at a base URL ending in /v1 answer requests. */
export async function answersTo(
  requests: readonly { custom_id: string; method: string; url: string; body: unknown }[],
  baseUrl: string,
): Promise<BatchAnswer[]> {
  const answers: BatchAnswer[] = [];
  for (const { custom_id: id, method, url, body } of requests) {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(baseUrl.replace(/\/v1$/, url), { method, headers, body: JSON.stringify(body) });
    const text = await response.text();
    answers.push({ id, status: response.status, body: JSON.parse(text) });
  }
  return answers;
}

let count = 0;

/** A result as a line, in the format of its writer. */
export const SHAPES = {
  openai: ({ id: custom_id, status, body }: BatchAnswer) => ({
    id: `batch_req_${++count}`,
    custom_id,
    response: { status_code: status, request_id: `req_${count}`, body },
    error: null,
  }),
  vllm: ({ id: custom_id, status, body }: BatchAnswer) =>
    status === 200
      ? {
          id: `vllm-${++count}`,
          custom_id,
          response: { status_code: 200, request_id: `vllm-batch-${count}`, body },
          error: null,
        }
      : {
          id: `vllm-${++count}`,
          custom_id,
          response: { status_code: status, request_id: '', body: null },
          error: body,
        },
  bare: ({ id: custom_id, status, body }: BatchAnswer) =>
    status === 200
      ? { response: body, custom_id }
      : { custom_id, response: null, error: { ...body.error, code: status } },
} as const;

export function resultLines(answers: readonly BatchAnswer[], shape: keyof typeof SHAPES): string[] {
  return answers.map((answer) => JSON.stringify(SHAPES[shape](answer)));
}

export async function writeResults(dir: string, name: string, lines: readonly string[]): Promise<void> {
  await writeFile(join(dir, name), lines.map((line) => `${line}\n`).join(''));
}
