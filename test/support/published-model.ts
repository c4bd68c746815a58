// The published model's shape, and machines to plan its memory on.

import type { GgufTensor } from '../../src/serve/gguf-contents.js';
import type { FreeMemory, PlanSettings } from '../../src/serve/memory/memory-costs.js';
import type { MemoryPlan, PlanWishes } from '../../src/serve/memory/memory-plan.js';
import { shapeOf } from '../../src/serve/memory/model-shape.js';
import { FULL_SIZE, tensorsOf } from './tiny-model/shape.js';

export const GIB = 2 ** 30;
export const MIB = 2 ** 20;

/** As the published file states them. */
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

const TENSORS: readonly GgufTensor[] = tensorsOf(FULL_SIZE).map(({ name, dims, quantizable }) => ({
  name,
  dimensions: dims,
  ggmlType: encodingOf(name, quantizable),
}));
export const MODEL = shapeOf(METADATA, TENSORS);

export const WISHES = {
  contextSize: 'most',
  slots: 1,
  kvCache: 'f16',
  gpuLayers: 'most',
  checkpointBytes: GIB,
  batchSize: 512,
  flashAttention: true,
} as const satisfies PlanWishes;
/** What `awb serve` wishes where no flag says otherwise. */
export const OPEN: PlanWishes = { ...WISHES, kvCache: 'auto', checkpointBytes: 2 * GIB };
const HOST = 64 * GIB;
export const gpu = (gib: number, hostBytes = HOST): FreeMemory => ({ gpuBytes: gib * GIB, hostBytes });

/** The settings of a plan that fits. */
export function fitting(plan: MemoryPlan): PlanSettings {
  if (plan.status !== 'fits') throw new Error(`does not fit: ${JSON.stringify(plan)}`);
  return plan.settings;
}
