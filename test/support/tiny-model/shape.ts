// The architecture qwen35moe in numbers: the tensors of a model with a given shape, and its metadata. Names, dimensions and keys as
// llama.cpp reads them (src/models/qwen35moe.cpp, v0.4.0 and v0.5.0).

import type { Metadata } from './gguf.js';

/** The hyper-parameters of a model; widths in values. */
export interface Shape {
  readonly layers: number;
  /** Layer i is gated attention if (i + 1) is divisible by this, and gated DeltaNet otherwise. */
  readonly attentionInterval: number;
  /** Width of the residual stream. */
  readonly embedding: number;
  readonly vocabulary: number;
  readonly contextLength: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  /** Width of an attention head; a quarter of it is rotated. */
  readonly headWidth: number;
  readonly experts: number;
  readonly expertsUsed: number;
  readonly expertWidth: number;
  readonly sharedExpertWidth: number;
  /** Width of a DeltaNet head. */
  readonly stateWidth: number;
  readonly keyHeads: number;
  readonly valueHeads: number;
  readonly convolution: number;
}

/** A tensor of the architecture; `dims` in ggml's order, the contiguous one first. */
interface Tensor {
  readonly name: string;
  readonly dims: readonly number[];
  /** Whether it is stored in the model's weight encoding; the others are always F32. */
  readonly quantizable: boolean;
}

/** Qwen3.5-35B-A3B, the base of Qwen-AgentWorld-35B-A3B: its text trunk, without vision and multi-token prediction. */
export const FULL_SIZE: Shape = {
  layers: 40,
  attentionInterval: 4,
  embedding: 2048,
  vocabulary: 248_320,
  contextLength: 262_144,
  heads: 16,
  keyValueHeads: 2,
  headWidth: 256,
  experts: 256,
  expertsUsed: 8,
  expertWidth: 512,
  sharedExpertWidth: 512,
  stateWidth: 128,
  keyHeads: 16,
  valueHeads: 32,
  convolution: 4,
};

function isAttentionLayer(shape: Shape, layer: number): boolean {
  return (layer + 1) % shape.attentionInterval === 0;
}

/** Every tensor of a model of this shape, in the order in which they are written. */
export function tensorsOf(shape: Shape): readonly Tensor[] {
  const { embedding, vocabulary } = shape;
  const layers = Array.from({ length: shape.layers }, (_, layer) => {
    const mixer = isAttentionLayer(shape, layer) ? attentionTensors(shape) : deltaNetTensors(shape);
    return [...mixer, ...expertTensors(shape)].map((tensor) => ({ ...tensor, name: `blk.${layer}.${tensor.name}` }));
  });
  return [
    matrix('token_embd.weight', embedding, vocabulary),
    ...layers.flat(),
    plain('output_norm.weight', embedding),
    matrix('output.weight', embedding, vocabulary),
  ];
}

/** Each query head is followed by its gate, hence twice the width. */
function attentionTensors({ embedding, heads, keyValueHeads, headWidth }: Shape): Tensor[] {
  return [
    plain('attn_norm.weight', embedding),
    matrix('attn_q.weight', embedding, 2 * headWidth * heads),
    matrix('attn_k.weight', embedding, headWidth * keyValueHeads),
    matrix('attn_v.weight', embedding, headWidth * keyValueHeads),
    plain('attn_q_norm.weight', headWidth),
    plain('attn_k_norm.weight', headWidth),
    matrix('attn_output.weight', headWidth * heads, embedding),
  ];
}

function deltaNetTensors({ embedding, stateWidth, keyHeads, valueHeads, convolution }: Shape): Tensor[] {
  const inner = stateWidth * valueHeads;
  const convolved = 2 * stateWidth * keyHeads + inner;
  return [
    plain('attn_norm.weight', embedding),
    matrix('attn_qkv.weight', embedding, convolved),
    matrix('attn_gate.weight', embedding, inner),
    plain('ssm_conv1d.weight', convolution, convolved),
    plain('ssm_dt.bias', valueHeads),
    plain('ssm_a', valueHeads),
    matrix('ssm_beta.weight', embedding, valueHeads),
    matrix('ssm_alpha.weight', embedding, valueHeads),
    plain('ssm_norm.weight', stateWidth),
    matrix('ssm_out.weight', inner, embedding),
  ];
}

function expertTensors({ embedding, experts, expertWidth, sharedExpertWidth }: Shape): Tensor[] {
  return [
    plain('post_attention_norm.weight', embedding),
    plain('ffn_gate_inp.weight', embedding, experts),
    matrix('ffn_gate_exps.weight', embedding, expertWidth, experts),
    matrix('ffn_up_exps.weight', embedding, expertWidth, experts),
    matrix('ffn_down_exps.weight', expertWidth, embedding, experts),
    plain('ffn_gate_inp_shexp.weight', embedding),
    matrix('ffn_gate_shexp.weight', embedding, sharedExpertWidth),
    matrix('ffn_up_shexp.weight', embedding, sharedExpertWidth),
    matrix('ffn_down_shexp.weight', sharedExpertWidth, embedding),
  ];
}

function matrix(name: string, ...dims: number[]): Tensor {
  return { name, dims, quantizable: true };
}

function plain(name: string, ...dims: number[]): Tensor {
  return { name, dims, quantizable: false };
}

/** The hyper-parameters as GGUF metadata. */
export function shapeMetadata(shape: Shape): Metadata {
  const numbers = {
    block_count: shape.layers,
    context_length: shape.contextLength,
    embedding_length: shape.embedding,
    'attention.head_count': shape.heads,
    'attention.head_count_kv': shape.keyValueHeads,
    'attention.key_length': shape.headWidth,
    'attention.value_length': shape.headWidth,
    'rope.dimension_count': shape.headWidth / 4,
    expert_count: shape.experts,
    expert_used_count: shape.expertsUsed,
    expert_feed_forward_length: shape.expertWidth,
    expert_shared_feed_forward_length: shape.sharedExpertWidth,
    'ssm.conv_kernel': shape.convolution,
    'ssm.state_size': shape.stateWidth,
    'ssm.group_count': shape.keyHeads,
    'ssm.time_step_rank': shape.valueHeads,
    'ssm.inner_size': shape.stateWidth * shape.valueHeads,
    full_attention_interval: shape.attentionInterval,
  };
  return {
    'general.architecture': { text: 'qwen35moe' },
    ...Object.fromEntries(Object.entries(numbers).map(([key, u32]) => [`qwen35moe.${key}`, { u32 }])),
    'qwen35moe.attention.layer_norm_rms_epsilon': { f32: 1e-6 },
    'qwen35moe.rope.freq_base': { f32: 1e7 },
    'qwen35moe.rope.dimension_sections': { i32s: rotarySections(shape.headWidth / 8) },
  };
}

/** Pairs of rotated values for time, height and width (11, 11, 10 at full size), and an empty fourth part. */
function rotarySections(pairs: number): number[] {
  const [time, height] = [Math.ceil(pairs / 3), Math.ceil((pairs - 1) / 3)];
  return [time, height, pairs - time - height, 0];
}
