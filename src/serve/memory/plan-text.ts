// A plan of memory in words: its table, what it gave up, or why nothing fits.

import { counted, grouped } from '../../figures.js';
import { cacheBytesPerToken, checkpointSize, costsOf, type FreeMemory, type PlanSettings } from './memory-costs.js';
import { allLayers, fewerSlots, type MemoryPlan, type PlanWishes, SHORT_CONTEXT } from './memory-plan.js';
import type { ModelShape } from './model-shape.js';

const GIB = 2 ** 30;

/** The plan as a block of lines: what is held where, and what of it is free. */
export function planText(shape: ModelShape, settings: PlanSettings, free: FreeMemory): string {
  const { gpu, host } = costsOf(shape, settings);
  const { contextSize, slots, kvCache, gpuLayers } = settings;
  const each = counted(slots, 'slot');
  const hasGpu = free.gpuBytes > 0;
  const rows: (readonly [string, number, number, string])[] = [
    [
      'weights',
      gpu.weights,
      host.weights,
      hasGpu ? `${gpuLayers} of ${shape.layers.length + 1} layers on the GPU` : '',
    ],
    [
      'cache',
      gpu.cache,
      host.cache,
      `${each} of ${grouped(contextSize)} tokens, ${kvCache}, ${sizeText(cacheBytesPerToken(shape, kvCache))} a token`,
    ],
    ['recurrent state', gpu.state, host.state, `${sizeText(checkpointSize(shape))} a slot`],
    ['compute', gpu.compute, host.compute, `batches of ${settings.batchSize}, estimated`],
    ['checkpoints', gpu.checkpoints, host.checkpoints, 'of the recurrent state, at most'],
    ['total', gpu.total, host.total, ''],
    ['free', free.gpuBytes, free.hostBytes, free.shared ? 'the GPU works in host memory' : ''],
  ];
  const shown = rows.filter(([name, onGpu, onHost]) => name === 'total' || name === 'free' || onGpu + onHost > 0);
  const lines = shown.map(([name, onGpu, onHost, note]) =>
    `${name.padEnd(15)}${hasGpu ? `  GPU ${sizeText(onGpu).padStart(9)}` : ''}  host ${sizeText(onHost).padStart(9)}${note && `  ${note}`}`.trimEnd(),
  );
  const beyond =
    contextSize > shape.trainedContext ? [`the model was trained on ${grouped(shape.trainedContext)} tokens`] : [];
  return `${[...lines, ...beyond].join('\n')}\n`;
}

/** What the settings gave up for memory, and how to have it otherwise: a sentence each. */
export function tradesText(shape: ModelShape, wishes: PlanWishes, settings: PlanSettings, free: FreeMemory): string[] {
  const { contextSize, kvCache, gpuLayers, slots } = settings;
  const onHost = allLayers(shape, free) - gpuLayers;
  const isWhole = free.gpuBytes > 0 && onHost === 0;
  const said: string[] = [];
  if (wishes.gpuLayers === 'most' && onHost > 0) {
    said.push(
      `${onHost} of ${shape.layers.length + 1} layers stay on the host, which is slow; a smaller file of the model may fit`,
    );
  }
  if (wishes.contextSize === 'most' && contextSize < shape.trainedContext) {
    const why = isWhole ? 'that leaves all layers on the GPU' : 'that fits';
    said.push(
      `the context is the longest ${why}, ${grouped(contextSize)} of ${grouped(shape.trainedContext)} tokens${isWhole ? ' (--context takes another)' : ''}`,
    );
  }
  if (wishes.kvCache === 'auto' && kvCache !== 'f16') {
    said.push(
      `the cache is ${kvCache}, which moves scores a little: with f16 there is no room for the context (--kv-cache f16)`,
    );
  }
  if (wishes.contextSize === 'most' && contextSize < Math.min(SHORT_CONTEXT, shape.trainedContext)) {
    const roomier = fewerSlots(shape, wishes, slots, free);
    const remedy = roomier === undefined ? '' : `; --parallel ${roomier.slots} holds ${grouped(roomier.contextSize)}`;
    said.push(`prompts longer than that are refused, and the benchmark has them${remedy}`);
  }
  return said;
}

/** Why it does not fit and which flags would, as one sentence. */
export function refusalText(plan: Extract<MemoryPlan, { status: 'too-large' }>, free: FreeMemory): string {
  const { asked, costs, nearest } = plan;
  const hasGpu = free.gpuBytes > 0;
  const needs = hasGpu
    ? `needs ${sizeText(costs.gpu.total)} of GPU memory (${sizeText(free.gpuBytes)} free) and ${sizeText(costs.host.total)} of host memory (${sizeText(free.hostBytes)} free)`
    : `needs ${sizeText(costs.host.total)} of memory (${sizeText(free.hostBytes)} free)`;
  const flags = nearest === undefined ? [] : changedFlags(asked, nearest);
  if (flags.length === 0) return `the model ${needs}; take a smaller quantisation, or a machine with more`;
  return `this ${needs}; the nearest that fits: ${flags.join(' ')}`;
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

function sizeText(bytes: number): string {
  if (bytes === 0) return '-';
  if (bytes >= GIB) return `${(bytes / GIB).toFixed(1)} GiB`;
  return bytes >= 2 ** 20 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / 2 ** 10).toFixed(1)} KiB`;
}
