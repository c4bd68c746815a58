// Models that give every text a known likelihood: tiny ones with the real architecture, and with weights set by hand.

import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { readGgufFileInfo } from 'node-llama-cpp';
import { keptModel, RANDOM_MODELS } from './tiny-model/model.js';

/** A model's file, and the cost of a token in nats, whatever precedes it. */
interface KnownModel {
  readonly path: string;
  readonly nats: (token: number) => number;
}

/** Matrices whose output is added to the residual stream. */
const WRITES_TO_STREAM = /(?:attn_output|ssm_out|ffn_down_exps|ffn_down_shexp)\.weight$/;
const ONE_F16 = 0x3c00;

/** Every token is equally likely: the output matrix is zero. */
export async function uniformModel(folder: string): Promise<KnownModel> {
  const { path, edit, vocabulary } = await model(folder, 'uniform');
  await edit(/^output\.weight$/, (values) => values.fill(0));
  return { path, nats: () => Math.log(vocabulary) };
}

/** Token t has a logit of (7 t mod 16) / 4: the stream is all ones, and the first column of the output matrix contains the logits. */
export async function biasedModel(folder: string): Promise<KnownModel> {
  const { path, edit, vocabulary, embedding } = await model(folder, 'biased');
  await edit(WRITES_TO_STREAM, (values) => values.fill(0));
  await edit(/^token_embd\.weight$/, (values) => new Uint16Array(values.buffer).fill(ONE_F16));
  await edit(/^output_norm\.weight$/, (values) => new Float32Array(values.buffer).fill(1));
  await edit(/^output\.weight$/, (values) => {
    values.fill(0);
    const matrix = new Uint16Array(values.buffer);
    for (let token = 0; token < vocabulary; token++) matrix[token * embedding] = QUARTERS_F16[(7 * token) % 16] ?? 0;
  });
  const total = Array.from({ length: vocabulary }, (_, token) => Math.exp(logit(token))).reduce((a, b) => a + b, 0);
  return { path, nats: (token) => Math.log(total) - logit(token) };
}

function logit(token: number): number {
  return ((7 * token) % 16) / 4;
}

/** 0, 1/4, 1/2 and so on up to 15/4 as 16-bit floats. */
const QUARTERS_F16 = [
  ...[0x0000, 0x3400, 0x3800, 0x3a00, 0x3c00, 0x3d00, 0x3e00, 0x3f00],
  ...[0x4000, 0x4080, 0x4100, 0x4180, 0x4200, 0x4280, 0x4300, 0x4380],
];

async function model(folder: string, name: string) {
  const spec = { ...RANDOM_MODELS.tiny, name };
  const path = await keptModel(spec, join(folder, name));
  const { fullTensorInfo = [], metadata } = await readGgufFileInfo(path, { readTensorInfo: true });
  const bytesPerValue = { f16: 2, f32: 4 };
  return {
    path,
    vocabulary: metadata.tokenizer.ggml.tokens.length,
    embedding: spec.shape.embedding,
    /** Changes the bytes of the tensors with this name. */
    async edit(wanted: RegExp, change: (values: Uint8Array<ArrayBuffer>) => void): Promise<void> {
      const found = fullTensorInfo.filter((tensor) => wanted.test(tensor.name));
      if (found.length === 0) throw new Error(`the model has no tensor ${wanted}`);
      const file = await open(path, 'r+');
      for (const { dimensions, ggmlType, filePart: _part, ...tensor } of found) {
        const count = dimensions.reduce<number>((product, dimension) => product * Number(dimension), 1);
        const bytes = new Uint8Array(count * (ggmlType === 0 ? bytesPerValue.f32 : bytesPerValue.f16));
        change(bytes);
        await file.write(bytes, 0, bytes.length, Number(tensor.fileOffset));
      }
      await file.close();
    },
  };
}
