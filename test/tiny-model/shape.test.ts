// The architecture by its numbers, against the published model.

import { describe, expect, test } from 'vitest';
import { FULL_SIZE, tensorsOf } from '../support/tiny-model/shape.js';

describe('the architecture at full size', () => {
  const tensors = tensorsOf(FULL_SIZE);
  const countOf = (dims: readonly number[]): number => dims.reduce((product, size) => product * size, 1);

  test('has as many tensors and parameters as the published model', () => {
    expect(tensors).toHaveLength(733);
    expect(new Set(tensors.map((tensor) => tensor.name)).size).toBe(733);
    expect(tensors.filter((tensor) => !tensor.quantizable)).toHaveLength(301);
    expect(tensors.reduce((sum, tensor) => sum + countOf(tensor.dims), 0)).toBe(34_660_610_688);
  });

  test('has 40 layers, of which every fourth is attention', () => {
    const layers = [...Array(FULL_SIZE.layers).keys()];
    const attention = layers.filter((layer) => tensors.some(({ name }) => name === `blk.${layer}.attn_q.weight`));
    const deltaNet = layers.filter((layer) => tensors.some(({ name }) => name === `blk.${layer}.ssm_out.weight`));
    expect(attention).toEqual([3, 7, 11, 15, 19, 23, 27, 31, 35, 39]);
    expect([...attention, ...deltaNet].sort((a, b) => a - b)).toEqual(layers);
  });
});
