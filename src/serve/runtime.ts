// node-llama-cpp, the optional peer: finding it, starting it, and what to say where it is missing. No other file imports it.

import { createRequire } from 'node:module';
import type * as LlamaCpp from 'node-llama-cpp';
import { codeOf, EXIT, messageOf, UserError } from '../errors.js';

export type { LlamaCpp };
export type Runtime = typeof LlamaCpp;
type Token = LlamaCpp.Token;
export type Gpu = 'auto' | 'cuda' | 'vulkan' | 'metal' | 'off';

/** The library brands its tokens; at run time they are plain numbers, which is how they travel here. */
export function asToken(token: number): Token {
  // The brand exists for the compiler alone.
  return token as Token;
}

/** The same list, as the library's calls take it; none of them changes it. */
export function asTokens(tokens: readonly number[]): Token[] {
  // The brand exists for the compiler alone.
  return tokens as Token[];
}

/** The release that is tested; `npm i` lines name it. */
export const RUNTIME_VERSION = '3.21.1';

/** Whether node-llama-cpp is installed. */
export function hasRuntime(): boolean {
  try {
    createRequire(import.meta.url).resolve('node-llama-cpp');
    return true;
  } catch {
    return false;
  }
}

/** What is used of `@huggingface/jinja`, which implements chat templates as Transformers does. */
export interface Jinja {
  readonly Template: new (source: string) => { render(context: Record<string, unknown>): string };
}

/** The optional peer, and the template library it depends on (so that the two agree, wherever npm put them). */
export async function importRuntime(): Promise<{ runtime: Runtime; jinja: Jinja }> {
  try {
    const runtime: Runtime = await import('node-llama-cpp');
    const own = createRequire(import.meta.url);
    const jinja: Jinja = createRequire(own.resolve('node-llama-cpp'))('@huggingface/jinja');
    return { runtime, jinja };
  } catch (error) {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new UserError(
      `serving a model needs node-llama-cpp, which is not installed; ${installationHint(process.platform, process.arch)}`,
      EXIT.unavailable,
    );
  }
}

const PLATFORM: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'mac', win32: 'win' };

/** How to add the runtime on a platform (as Node names it), by what it computes on; each binary package stands for itself. */
export function installationHint(platform: string, arch: string): string {
  const base = `${PLATFORM[platform] ?? platform}-${arch}`;
  const packages: Readonly<Record<string, string>> =
    base === 'mac-arm64'
      ? { Metal: `${base}-metal` }
      : base === 'linux-x64' || base === 'win-x64'
        ? { CPU: base, CUDA: `${base}-cuda`, Vulkan: `${base}-vulkan` }
        : { CPU: base };
  const lines = Object.entries(packages).map(
    ([kind, name]) =>
      `for ${kind}: npm i --omit=optional node-llama-cpp@${RUNTIME_VERSION} @node-llama-cpp/${name}@${RUNTIME_VERSION}`,
  );
  return `add it ${lines.join('; or ')}`;
}

interface Instance {
  readonly llama: LlamaCpp.Llama;
  /** What llama.cpp said of errors, newest last. */
  readonly log: string[];
}

/** One for the whole process: making a second unhooks the first one's logger, and llama.cpp then writes its errors to stdout. */
const instances = new Map<Gpu, Promise<Instance>>();
const MOST_LOG_LINES = 50;

/** llama.cpp for a kind of device. Throws UserError (69) where no binary for it works here. */
export function startLlama(runtime: Runtime, gpu: Gpu): Promise<Instance> {
  const started = instances.get(gpu) ?? makeLlama(runtime, gpu);
  instances.set(gpu, started);
  started.catch(() => instances.delete(gpu));
  return started;
}

/** Never builds from source: that takes minutes and tens of thousands of lines of output, silently by default. */
async function makeLlama(runtime: Runtime, gpu: Gpu): Promise<Instance> {
  const wanted = gpu === 'off' ? false : gpu;
  const hint = installationHint(process.platform, process.arch);
  const missing = (why: string) =>
    new UserError(
      `node-llama-cpp has no working binary for ${wanted || 'this machine'} (${why}); check the driver, use --gpu off, or ${hint}`,
      EXIT.unavailable,
    );
  const log: string[] = [];
  let llama: LlamaCpp.Llama;
  try {
    llama = await runtime.getLlama({
      gpu: wanted,
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      // No limit here: each context names its threads.
      maxThreads: 0,
      logLevel: runtime.LlamaLogLevel.error,
      logger: (_, message) => {
        if (log.push(message.trim()) > MOST_LOG_LINES) log.shift();
      },
    });
  } catch (error) {
    throw missing(lineOf(error));
  }
  if (wanted !== 'auto' && llama.gpu !== wanted) throw missing('it is not supported on this platform');
  return { llama, log };
}

/** An error of the library as one line of bounded length. */
export function lineOf(error: unknown): string {
  return oneLine(messageOf(error));
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, 300);
}
