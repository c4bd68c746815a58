// The rubrics of the official repository, downloaded once at the commit that this program supports, and checked.

import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { badData, messageOf, unavailable } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import { replaceFile } from '../../disk/files.js';
import { addressIn, baseOf, cacheFolder, interrupted, systemCode } from './client.js';
import { onDisk } from './download.js';

const REPOSITORY = 'QwenLM/Qwen-AgentWorld';
const COMMIT = 'cd0aa83dc7a9c733695eb9c4652e0a68b6e6ecde';
const HOST = 'https://raw.githubusercontent.com';
/** SHA-256 of each file at that commit. */
const FILES: Readonly<Record<string, string>> = {
  'eval/lwm_eval_utils/task_configs.py': '9f54d42d80bb0a4abab03f606da715b68bbb51f1e0257850e5a93d83b0f4113a',
  'prompts/android/judge_system_prompt.txt': '04e654f3f907139c1aaeb9c0ab1374cb6bac8162ce3af76c0f4dc3ed2dedadaa',
  'prompts/mcp/judge_system_prompt.txt': 'dd2d05c1648cb90c77334cc5f15ba331aa92452effb85ddc5868e6b3608ebfb2',
  'prompts/os/judge_system_prompt.txt': '105640a1d7c70280f5c4f042d3968a1a8a0dffae2b06ae9d780a45cb9a8c1426',
  'prompts/search/judge_system_prompt.txt': '3300bf23258ca556020d48d2fea6c5fb878ce451a100c6110f461c079ab50d83',
  'prompts/swe/judge_system_prompt.txt': 'c4abc65e1ca1b5947c1596be2be63aebed5a8cd184ff95ebefaf38b3d4b9fa8e',
  'prompts/terminal/judge_system_prompt.txt': '0c416c5e55d77733ec6c52064a196e10b17833703d4bde9b046291e77a996dbc',
  'prompts/web/judge_system_prompt.txt': 'dc2517b4e04eb8ea9e10fb7b8fcdefc9487ad26cb0cc20ec8d2fca29d532c6d6',
};
const TIMEOUT_MS = 30_000;
const BY_HAND = `set AWB_GITHUB_RAW to a mirror of ${HOST}, or check out ${REPOSITORY} at ${COMMIT.slice(0, 7)} and name its folder with --rubrics`;

interface Fetching {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fetch: (url: URL, init: RequestInit) => Promise<Response>;
  readonly signal: AbortSignal;
  /** Called once, before the first file is downloaded. */
  readonly onFetch: (text: string) => void;
  /** SHA-256 in hex by path; if absent, the hashes of the supported commit apply. */
  readonly files?: Readonly<Record<string, string>>;
}

/**
 * The folder in the cache with the files laid out as in a checkout; missing or changed files are downloaded.
 * @throws UserError: 69 out of reach, 65 content other than at that commit, 73 or 74 cannot write, 130 or 143 interrupted.
 */
export async function officialRubrics({ env, fetch, signal, onFetch, files = FILES }: Fetching): Promise<string> {
  const folder = join(cacheFolder(env), 'official-rubrics', COMMIT);
  const base = addressIn('AWB_GITHUB_RAW', env.AWB_GITHUB_RAW, HOST);
  let isTold = false;
  for (const [file, sha256] of Object.entries(files)) {
    const path = join(folder, file);
    const there = await readFile(path).catch(() => '');
    if (sha256Of(there) === sha256) continue;
    if (!isTold) onFetch(`fetching the official rubrics (${REPOSITORY} at ${COMMIT.slice(0, 7)}) from ${base.host}`);
    isTold = true;
    const bytes = await bytesAt(new URL(`${baseOf(base)}/${REPOSITORY}/${COMMIT}/${file}`), { fetch, signal });
    if (sha256Of(bytes) !== sha256) {
      throw badData(`${base.host} serves a ${file} that differs from that of ${REPOSITORY} at that commit; ${BY_HAND}`);
    }
    await onDisk(dirname(path), mkdir(dirname(path), { recursive: true }));
    await replaceFile(path, [bytes], { remedy: 'fix that and run the same command again' });
  }
  return folder;
}

function sha256Of(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex');
}

async function bytesAt(url: URL, { fetch, signal }: Pick<Fetching, 'fetch' | 'signal'>): Promise<Uint8Array> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    if (signal.aborted) throw interrupted(signal);
    const why = systemCode(error) || messageOf(error);
    throw unavailable(`${url.host} does not serve the official rubrics (${printable(why)}); ${BY_HAND}`);
  }
}
