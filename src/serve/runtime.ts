// node-llama-cpp, the optional peer: finding it, starting it, and what to say where it is missing. No other file imports it.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type * as LlamaCpp from 'node-llama-cpp';
import { codeOf, messageOf, unavailable } from '../core/errors.js';
import { INSTALLATION, requireKnownRelease } from './inner-calls.js';

export type { LlamaCpp };

type Runtime = typeof LlamaCpp;
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

/**
 * The optional peer, and the template library it depends on (so that the two agree, wherever npm put them). Throws a UserError (69) where
 * it is not installed, or in another release.
 */
export async function importRuntime(): Promise<{ runtime: Runtime; jinja: Jinja }> {
  try {
    const runtime: Runtime = await import('node-llama-cpp');
    requireKnownRelease(await runtime.getModuleVersion());
    const own = createRequire(import.meta.url);
    const jinja: Jinja = createRequire(own.resolve('node-llama-cpp'))('@huggingface/jinja');
    return { runtime, jinja };
  } catch (error) {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw unavailable(`serving a model needs node-llama-cpp, which is not installed; \`${INSTALLATION}\` adds it`);
  }
}

/** Packages of node-llama-cpp that compute on a GPU, by platform. */
const GPU_CODE: Readonly<Record<string, readonly string[]>> = {
  'linux-x64': ['linux-x64-cuda', 'linux-x64-vulkan'],
  'win32-x64': ['win-x64-cuda', 'win-x64-vulkan'],
};

/** How to add GPU code; undefined where some is installed, and where there is none for this platform. */
export function gpuCodeHint(): string | undefined {
  const library = createRequire(createRequire(import.meta.url).resolve('node-llama-cpp'));
  const hasCode = (name: string) => {
    try {
      // A checkout has empty packages under these names.
      return existsSync(join(dirname(library.resolve(`@node-llama-cpp/${name}`)), '../bins'));
    } catch {
      return false;
    }
  };
  if (GPU_CODE[`${process.platform}-${process.arch}`]?.some(hasCode) !== false) return undefined;
  const isCheckout = existsSync(new URL('../../scripts/setup.mjs', import.meta.url));
  return `\`${isCheckout ? 'npm run gpu` in the checkout' : `${INSTALLATION}\``} adds it`;
}

/** One for each kind of device in the whole process: making a second unhooks the first one's logger, and llama.cpp then writes its errors to stdout. */
const instances = new Map<Gpu, ReturnType<typeof makeLlama>>();
const MOST_LOG_LINES = 50;

/** The library and llama.cpp for a kind of device. Throws UserError (69) as `importRuntime`, and where no binary for it works here. */
export async function startLlama(gpu: Gpu) {
  const imported = await importRuntime();
  const started = instances.get(gpu) ?? makeLlama(imported.runtime, gpu);
  instances.set(gpu, started);
  started.catch(() => instances.delete(gpu));
  return { ...imported, ...(await started) };
}

/** Never builds from source: that takes minutes and tens of thousands of lines of output, silently by default. */
async function makeLlama(runtime: Runtime, gpu: Gpu) {
  const wanted = gpu === 'off' ? false : gpu;
  const isNamed = gpu !== 'auto' && gpu !== 'off';
  /** What llama.cpp said of errors, newest last. */
  const log: string[] = [];
  try {
    const llama = await runtime.getLlama({
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
    if (wanted !== 'auto' && llama.gpu !== wanted) throw new Error('it is not supported on this platform');
    return { llama, log };
  } catch (error) {
    const hint = isNamed ? gpuCodeHint() : undefined;
    throw unavailable(
      hint === undefined
        ? `node-llama-cpp has no working binary for ${isNamed ? gpu : 'this machine'} (${lineOf(error)}); ${isNamed ? 'check the driver and, for CUDA, its Toolkit (12 or 13), or use --gpu off' : 'install it with its optional packages'}`
        : `no GPU code is installed for --gpu ${gpu}: ${hint}, and --gpu off does without`,
    );
  }
}

/** An error of the library, or what it said, as one line of bounded length. */
export function lineOf(error: unknown): string {
  return messageOf(error).replace(/\s+/g, ' ').trim().slice(0, 300);
}
