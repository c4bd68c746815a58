// The published model's shape, and machines for which to plan its memory.

import { type GgufFileInfo, GgufInsights } from 'node-llama-cpp';
import {
  type FreeMemory,
  type ModelMemory,
  modelMemory,
  type PlanSettings,
  type PlanWishes,
} from '../../src/serve/memory.js';
import { FULL_SIZE, tensorsOf } from './tiny-model/shape.js';

export const GIB = 2 ** 30;
export const MIB = 2 ** 20;

/** As the published file gives them. */
const METADATA = {
  general: { architecture: 'qwen35moe', file_type: 15 },
  qwen35moe: {
    block_count: 40,
    context_length: 262_144,
    embedding_length: 2_048,
    attention: { head_count: 16, head_count_kv: 2, key_length: 256, value_length: 256 },
    ssm: { conv_kernel: 4, state_size: 128, group_count: 16, time_step_rank: 32, inner_size: 4_096 },
    full_attention_interval: 4,
  },
};

/** A mix of Q4_K, Q5_K and Q6_K like that of the published Q4_K_M files. */
function encodingOf(name: string, quantizable: boolean): number {
  if (!quantizable) return 0;
  if (/ffn_down_exps/.test(name)) return 13;
  return /token_embd|^output|attn|ssm|shexp/.test(name) ? 14 : 12;
}

const TENSORS = tensorsOf(FULL_SIZE).map(({ name, dims, quantizable }) => ({
  name,
  dimensions: dims,
  ggmlType: encodingOf(name, quantizable),
}));

/** The memory that a file with this metadata needs. */
export async function memoryOf(metadata: object, tensors: readonly object[]): Promise<ModelMemory> {
  const { general } = metadata as { readonly general: { readonly architecture: string } };
  const architectureMetadata = Reflect.get(metadata, general.architecture);
  const fullTensorInfo = tensors.map((tensor) => ({ ...tensor, offset: 0, fileOffset: 0, filePart: 1 }));
  // Nothing else in it is read.
  const info = { metadata, architectureMetadata, fullTensorInfo, sourceData: [] } as unknown as GgufFileInfo;
  return modelMemory(await GgufInsights.from(info));
}

export const MODEL = await memoryOf({ ...METADATA, tokenizer: { ggml: { tokens: { length: 248_320 } } } }, TENSORS);

export const WISHES = {
  contextSize: 'most',
  slots: 1,
  kvCache: 'f16',
  gpuLayers: 'most',
  checkpointBytes: GIB,
  batchSize: 512,
  flashAttention: true,
} as const satisfies PlanWishes;
/** The defaults of `awb serve`. */
export const OPEN: PlanWishes = { ...WISHES, kvCache: 'auto', checkpointBytes: 2 * GIB };
const HOST = 64 * GIB;
export const gpu = (gib: number, hostBytes = HOST): FreeMemory => ({ gpuBytes: gib * GIB, hostBytes });

/** The settings of a plan that fits. */
export function fitting(settings: PlanSettings | undefined): PlanSettings {
  if (settings === undefined) throw new Error('does not fit');
  return settings;
}
