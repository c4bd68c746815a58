// What serving a model may take of this machine, and what it takes of its memory: settings that fit, said with what they cost, or the refusal.

import { EXIT, UserError } from '../core/errors.js';
import { counted, grouped } from '../core/figures.js';
import { needsTwoThreads } from './load.js';
import {
  allLayers,
  costsOf,
  type FreeMemory,
  fewerSlots,
  type MemoryPlan,
  type MemoryUse,
  type ModelMemory,
  modelMemory,
  type PlanSettings,
  type PlanWishes,
  planMemory,
  SHORT_CONTEXT,
} from './memory-plan.js';
import type { ModelFile } from './model-file.js';
import { type Gpu, gpuCodeHint, importRuntime, startLlama } from './runtime.js';

/** What the user allows; what is left open is as much as fits. */
interface Hardware {
  readonly parallel: number;
  /** Tokens per slot. */
  readonly context?: number | undefined;
  readonly gpuLayers?: number | undefined;
  readonly kvCache: PlanWishes['kvCache'];
  readonly flashAttention: boolean;
  readonly threads?: number | undefined;
  readonly batchSize: number;
  /** MiB. */
  readonly checkpointMemory: number;
}

/** Throws a UserError (2) for flags that cannot go together; call it before anything is downloaded. */
export function requirePossible({ kvCache, flashAttention, threads, parallel }: Hardware): void {
  if (kvCache === 'q8_0' && !flashAttention) {
    throw new UserError('--kv-cache q8_0 needs flash attention; leave out --no-flash-attention, or use --kv-cache f16');
  }
  if (threads === 1 && needsTwoThreads(parallel)) {
    throw new UserError(
      `with one thread and several slots llama.cpp answers wrongly on this processor (AMX); use --threads 2, or --parallel 1`,
    );
  }
}

/** What this asks of the memory. */
export function wishesOf(hardware: Hardware): PlanWishes {
  return {
    contextSize: hardware.context ?? 'most',
    slots: hardware.parallel,
    kvCache: hardware.kvCache,
    gpuLayers: hardware.gpuLayers ?? 'most',
    checkpointBytes: hardware.checkpointMemory * 2 ** 20,
    batchSize: hardware.batchSize,
    flashAttention: hardware.flashAttention,
  };
}

/**
 * Says through `say` what the model takes, what is free and what was given up.
 * Throws a UserError: with the nearest plan where the model does not fit (69), where layers are wished on a GPU that is not there (2), and
 * where the runtime or its binary is missing (69).
 */
export async function settingsThatFit(
  file: ModelFile,
  gpu: Gpu,
  wishes: PlanWishes,
  say: (text: string) => void,
): Promise<PlanSettings> {
  const free = await freeMemory(gpu);
  if (free.gpuBytes === 0 && wishes.gpuLayers !== 'most' && wishes.gpuLayers > 0) {
    const hint = gpu === 'off' ? undefined : gpuCodeHint();
    const why =
      hint === undefined
        ? `there is no GPU to put layers on ${gpu === 'off' ? '(--gpu off)' : 'that llama.cpp finds'}; leave it out, or check --gpu`
        : `no GPU code is installed; ${hint}`;
    throw new UserError(`--gpu-layers ${wishes.gpuLayers}: ${why}`);
  }
  const memory = modelMemory(file.insights);
  const plan = planMemory(memory, wishes, free);
  if (plan.status === 'too-large') throw new UserError(refusalText(plan, free), EXIT.unavailable);
  say(planText(memory, plan.settings, free).trimEnd());
  for (const trade of tradesText(memory, wishes, plan.settings, free)) say(trade);
  return plan.settings;
}

async function freeMemory(gpu: Gpu): Promise<FreeMemory> {
  const { runtime } = await importRuntime();
  const { llama } = await startLlama(runtime, gpu);
  const host = await llama.getRamState();
  const device = llama.gpu === false ? { free: 0, unifiedSize: 0 } : await llama.getVramState();
  return { gpuBytes: device.free, hostBytes: host.free, shared: device.unifiedSize > 0 };
}

const GIB = 2 ** 30;

/** The plan as a block of lines: what is held where, and what of it is free. */
export function planText(memory: ModelMemory, settings: PlanSettings, free: FreeMemory): string {
  const { contextSize, slots, kvCache, gpuLayers, batchSize } = settings;
  const { weights, cache, state, compute, checkpoints, total } = costsOf(memory, settings);
  const hasGpu = free.gpuBytes > 0;
  const tokens = `${counted(slots, 'slot')} of ${grouped(contextSize)} tokens`;
  const rows: (readonly [string, MemoryUse, string])[] = [
    ['weights', weights, hasGpu ? `${gpuLayers} of ${memory.layers} layers on the GPU` : ''],
    ['cache', cache, `${tokens}, ${kvCache}, ${sizeText(sumOf(cache) / slots / contextSize)} a token`],
    ['recurrent state', state, `${sizeText(sumOf(state) / slots)} a slot`],
    ['compute', compute, `batches of ${batchSize}, estimated`],
    ['checkpoints', checkpoints, 'of the recurrent state, at most'],
    ['total', total, ''],
    ['free', { gpu: free.gpuBytes, host: free.hostBytes }, free.shared ? 'the GPU works in host memory' : ''],
  ];
  const shown = rows.filter(([name, use]) => name === 'total' || name === 'free' || sumOf(use) > 0);
  const lines = shown.map(([name, { gpu, host }, note]) =>
    `${name.padEnd(15)}${hasGpu ? `  GPU ${sizeText(gpu).padStart(9)}` : ''}  host ${sizeText(host).padStart(9)}${note && `  ${note}`}`.trimEnd(),
  );
  const beyond =
    contextSize > memory.trainedContext ? [`the model was trained on ${grouped(memory.trainedContext)} tokens`] : [];
  return `${[...lines, ...beyond].join('\n')}\n`;
}

/** What the settings gave up for memory, and how to have it otherwise: a sentence each. */
export function tradesText(
  memory: ModelMemory,
  wishes: PlanWishes,
  settings: PlanSettings,
  free: FreeMemory,
): string[] {
  const { contextSize, kvCache, gpuLayers, slots } = settings;
  const onHost = allLayers(memory, free) - gpuLayers;
  const isWhole = free.gpuBytes > 0 && onHost === 0;
  const said: string[] = [];
  if (wishes.gpuLayers === 'most' && onHost > 0) {
    said.push(
      `${onHost} of ${memory.layers} layers stay on the host, which is slow; a smaller file of the model may fit`,
    );
  }
  if (wishes.contextSize === 'most' && contextSize < memory.trainedContext) {
    const why = isWhole ? 'that leaves all layers on the GPU' : 'that fits';
    said.push(
      `the context is the longest ${why}, ${grouped(contextSize)} of ${grouped(memory.trainedContext)} tokens${isWhole ? ' (--context takes another)' : ''}`,
    );
  }
  if (wishes.kvCache === 'auto' && kvCache !== 'f16') {
    said.push(
      `the cache is ${kvCache}, which moves scores a little: with f16 there is no room for the context (--kv-cache f16)`,
    );
  }
  if (wishes.contextSize === 'most' && contextSize < Math.min(SHORT_CONTEXT, memory.trainedContext)) {
    const roomier = fewerSlots(memory, wishes, slots, free);
    const remedy = roomier === undefined ? '' : `; --parallel ${roomier.slots} holds ${grouped(roomier.contextSize)}`;
    said.push(`prompts longer than that are refused, and the benchmark has them${remedy}`);
  }
  return said;
}

/** Why it does not fit and which flags would, as one sentence. */
export function refusalText(plan: Extract<MemoryPlan, { status: 'too-large' }>, free: FreeMemory): string {
  const { asked, needs, nearest } = plan;
  const hasGpu = free.gpuBytes > 0;
  const asks = hasGpu
    ? `needs ${sizeText(needs.gpu)} of GPU memory (${sizeText(free.gpuBytes)} free) and ${sizeText(needs.host)} of host memory (${sizeText(free.hostBytes)} free)`
    : `needs ${sizeText(needs.host)} of memory (${sizeText(free.hostBytes)} free)`;
  const flags = nearest === undefined ? [] : changedFlags(asked, nearest);
  if (flags.length === 0) return `the model ${asks}; take a smaller quantisation, or a machine with more`;
  return `this ${asks}; the nearest that fits: ${flags.join(' ')}`;
}

function changedFlags(asked: PlanSettings, nearest: PlanSettings): string[] {
  return [
    nearest.contextSize === asked.contextSize ? '' : `--context ${nearest.contextSize}`,
    nearest.slots === asked.slots ? '' : `--parallel ${nearest.slots}`,
    nearest.kvCache === asked.kvCache ? '' : `--kv-cache ${nearest.kvCache}`,
    nearest.gpuLayers === asked.gpuLayers ? '' : `--gpu-layers ${nearest.gpuLayers}`,
    nearest.checkpointBytes === asked.checkpointBytes ? '' : '--checkpoint-memory 0',
  ].filter((flag) => flag !== '');
}

function sumOf({ gpu, host }: MemoryUse): number {
  return gpu + host;
}

function sizeText(bytes: number): string {
  if (bytes === 0) return '-';
  if (bytes >= GIB) return `${(bytes / GIB).toFixed(1)} GiB`;
  return bytes >= 2 ** 20 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / 2 ** 10).toFixed(1)} KiB`;
}
