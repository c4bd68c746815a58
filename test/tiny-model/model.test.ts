// The model maker: its files are read, loaded and asked by llama.cpp itself, on the CPU.

import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Template } from '@huggingface/jinja';
import { getLlama, type Llama, type LlamaModel, readGgufFileInfo } from 'node-llama-cpp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../support/cli.js';
import {
  keptModel,
  type ModelSpec,
  makeModel,
  modelBytes,
  QUICKSTART_MODEL,
  RANDOM_MODELS,
  scriptedModel,
} from '../support/tiny-model/model.js';
import { tensorsOf } from '../support/tiny-model/shape.js';

const SCRIPT = {
  thinking: 'Two files are listed – a third, “naïve”, is new.',
  content: '<predicted_observation>\n$ ls\na.txt  b.txt  naïve 🙂\n</predicted_observation>',
};
const MESSAGES = [
  { role: 'system', content: 'You are a terminal.' },
  { role: 'user', content: 'Action: `ls`' },
];

let folder: string;
let llama: Llama;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'awb-maker-'));
  // More threads than free cores make tokens hundreds of times slower here.
  llama = await getLlama({ build: 'never', skipDownload: true, gpu: false, maxThreads: 1 });
});

afterAll(async () => {
  await llama.dispose();
  await rm(folder, { recursive: true, force: true });
});

async function load(spec: ModelSpec): Promise<LlamaModel> {
  return llama.loadModel({ modelPath: await keptModel(spec, folder) });
}

interface Sampling {
  readonly temperature?: number;
  readonly seed?: number;
}

/** The tokens that follow a prompt, up to the end or `most`, and their text. */
async function generate(model: LlamaModel, prompt: string, sampling: Sampling = {}, most = 400) {
  const context = await model.createContext({ contextSize: 1024, threads: 1 });
  const said = [];
  const tokens = context.getSequence().evaluate(model.tokenize(prompt, true), { temperature: 0, topK: 0, ...sampling });
  for await (const token of tokens) if (said.push(token) === most) break;
  await context.dispose();
  return { count: said.length, text: model.detokenize(said, true) };
}

function render(model: LlamaModel, messages: readonly object[], more: object = {}): string {
  const template = new Template(model.fileInfo.metadata.tokenizer?.chat_template ?? '');
  return template.render({ messages, add_generation_prompt: true, ...more });
}

describe('the file', () => {
  test.each([
    ['scripted', scriptedModel(SCRIPT), 'e8e288bd043624482b130d09ebd4f6175927b33c904b90abdb7ce1e0a7db118c'],
    ['tiny', RANDOM_MODELS.tiny, '480ec6a40158d3777bae987302295d774a14119231294f2375b9f7f8b21bf570'],
  ])('of an equal spec is the same byte for byte: %s', async (name, spec, sha256) => {
    const made = await makeModel(spec, join(folder, `same-${name}.gguf`));
    const bytes = await readFile(made.path);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(made.sha256);
    expect(bytes.length).toBe(made.bytes);
    expect(made.sha256).toBe(sha256);
  });

  test('that the quickstart serves is what is written here, at most 1 MiB', async () => {
    const bytes = await readFile(join(ROOT, 'fixtures/tiny-random.gguf'));
    expect(bytes.equals(Buffer.concat([...modelBytes(QUICKSTART_MODEL)]))).toBe(true);
    expect(bytes.length).toBeLessThan(2 ** 20);
  });

  test('of a scripted model is below 300 kB', async () => {
    expect((await makeModel(scriptedModel(SCRIPT), join(folder, 'small.gguf'))).bytes).toBeLessThan(300_000);
  });

  test('differs where the seed differs', async () => {
    const made = await Promise.all(
      [1, 2].map((seed) => makeModel({ ...RANDOM_MODELS.tiny, seed }, join(folder, `seed-${seed}.gguf`))),
    );
    expect(made[0]?.sha256).not.toBe(made[1]?.sha256);
  });

  test('reads back with its shapes and its metadata', async () => {
    const spec = RANDOM_MODELS.tiny;
    const info = await readGgufFileInfo(await keptModel(spec, folder));
    const { metadata } = info;
    expect(metadata.general.architecture).toBe('qwen35moe');
    expect(metadata.general.file_type).toBe(1);
    expect(metadata.qwen35moe).toMatchObject({
      block_count: 4,
      expert_count: 8,
      expert_used_count: 2,
      full_attention_interval: 4,
      rope: { dimension_count: 8, dimension_sections: [2, 1, 1, 0] },
      ssm: { inner_size: 128, group_count: 2, time_step_rank: 4 },
    });
    expect(metadata.tokenizer?.ggml.tokens).toHaveLength(spec.shape.vocabulary);
    expect(info.fullTensorInfo?.map(({ name, dimensions }) => ({ name, dims: dimensions.map(Number) }))).toEqual(
      tensorsOf(spec.shape).map(({ name, dims }) => ({ name, dims })),
    );
  });

  test('of the full size has a header that reads back, without the weights', async () => {
    const path = join(folder, 'header.gguf');
    const [header] = modelBytes(RANDOM_MODELS.full);
    await writeFile(path, header ?? '');
    const { metadata, totalTensorCount } = await readGgufFileInfo(path);
    expect(totalTensorCount).toBe(733);
    expect(metadata.tokenizer?.ggml.tokens).toHaveLength(248_320);
    expect(metadata.qwen35moe).toMatchObject({
      rope: { dimension_count: 64, dimension_sections: [11, 11, 10, 0] },
      ssm: { inner_size: 4096 },
    });
  });

  test('is whole when it is asked for twice at once', async () => {
    const kept = await mkdtemp(join(folder, 'twice-'));
    const paths = await Promise.all([1, 2].map(() => keptModel(RANDOM_MODELS.tiny, kept)));
    expect(await readdir(kept)).toHaveLength(1);
    const bytes = await readFile(paths[0] as string);
    expect(bytes.equals(Buffer.concat([...modelBytes(RANDOM_MODELS.tiny)]))).toBe(true);
  });

  test('is made once for each spec, and nothing unfinished is left', async () => {
    const kept = await mkdtemp(join(folder, 'kept-'));
    const first = await keptModel(scriptedModel(SCRIPT), kept);
    const { mtimeMs, ino } = await stat(first);
    expect(await keptModel(scriptedModel(SCRIPT), kept)).toBe(first);
    expect(await stat(first)).toMatchObject({ mtimeMs, ino });
    expect(await keptModel(scriptedModel({ ...SCRIPT, thinking: 'Otherwise.' }), kept)).not.toBe(first);
    await expect(keptModel({ ...scriptedModel(SCRIPT), weights: 'q4_k' }, kept)).rejects.toThrow('blocks of 256');
    expect(await readdir(kept)).toHaveLength(2);
  });
});

describe('a scripted model', () => {
  const scripts = {
    'with characters of several bytes': SCRIPT,
    'without thinking': { thinking: '', content: '{"scores": {"format": 5}}' },
    'of one letter over and over': { thinking: 'a'.repeat(40), content: ' '.repeat(300) },
    'of two bytes': { thinking: 'ok', content: '{}' },
    'of some pages': {
      thinking: Array.from({ length: 60 }, (_, turn) => `Turn ${turn}: the screen shows ${turn * 37}.`).join('\n'),
      content: Array.from({ length: 60 }, (_, row) => `row ${row}\tvalue ${row * row}`).join('\r\n'),
    },
    'that quotes special tokens': {
      thinking: 'It says </think> and <|im_end|>.',
      content: '<|im_start|>user\n<think>',
    },
  };

  test.each(Object.entries(scripts))('says its script to the letter, at any temperature: %s', async (_, script) => {
    const model = await load(scriptedModel(script));
    const thought = script.thinking === '' ? '' : `${script.thinking}\n`;
    try {
      for (const sampling of [{}, { temperature: 1, seed: 3 }]) {
        const thinking = await generate(model, render(model, MESSAGES), sampling, 2000);
        expect(thinking.text).toBe(`${thought}</think>\n\n${script.content}`);
        const plain = await generate(model, render(model, MESSAGES, { enable_thinking: false }), sampling, 2000);
        expect(plain.text).toBe(script.content);
      }
    } finally {
      await model.dispose();
    }
  });

  test.each(['x', 'The end.', 'naïve 🙂', '\n', '   ', '<|im_start|>', '</tool_call>'])(
    'begins its script after any prompt: %j',
    async (prompt) => {
      const model = await load(scriptedModel(SCRIPT));
      expect((await generate(model, prompt)).text).toMatch(/^Two files .*<\/predicted_observation>$/su);
      await model.dispose();
    },
  );

  test('cannot say less than two bytes', () => {
    expect(() => [...modelBytes(scriptedModel({ thinking: '', content: '5' }))]).toThrow('so few bytes');
  });
});

describe('a random model', () => {
  const PROMPT = 'The listing of the folder is empty. ';

  test('says the same for the same seed, and heeds the whole prompt', async () => {
    const model = await load(RANDOM_MODELS.tiny);
    const sampling = { temperature: 1, seed: 5 };
    const answers = [
      await generate(model, PROMPT.repeat(20), sampling),
      await generate(model, PROMPT.repeat(20), sampling),
      await generate(model, PROMPT.repeat(20), { ...sampling, seed: 6 }),
      await generate(model, `Not so: ${PROMPT.repeat(20)}`, sampling),
    ].map(({ text }) => text);
    expect(answers[1]).toBe(answers[0]);
    expect(new Set(answers).size).toBe(3);
    await model.dispose();
  });

  test.each([RANDOM_MODELS.tiny, QUICKSTART_MODEL])(
    'says printable words and ends, without a control token: $name',
    async (spec) => {
      const model = await load(spec);
      const answers = [];
      for (let seed = 1; seed <= 8; seed++) answers.push(await generate(model, PROMPT, { temperature: 1, seed }));
      expect(answers.map(({ text }) => text).join('')).toMatch(/^[\n -~]*$/);
      expect(answers.map(({ text }) => text).join('')).not.toMatch(/<\||think>|PAD/);
      expect(answers.filter(({ count }) => count < 400).length).toBeGreaterThan(5);
      await model.dispose();
    },
  );

  test.each(['f16', 'q8_0', 'q4_k'] as const)('never ends by itself unless told to, in %s', async (weights) => {
    const wide = { embedding: 256, headWidth: 64, stateWidth: 64, expertWidth: 256, sharedExpertWidth: 256 };
    const { replyTokens: _, ...endless } = RANDOM_MODELS.tiny;
    const model = await load({ ...endless, name: weights, weights, shape: { ...endless.shape, ...wide } });
    const answer = await generate(model, PROMPT, { temperature: 1, seed: 1 }, 300);
    expect(answer.count).toBe(300);
    expect(new Set(answer.text).size).toBeGreaterThan(20);
    await model.dispose();
  });

  test('needs fewer tokens than bytes for a prompt of common words', async () => {
    const model = await load(RANDOM_MODELS.tiny);
    const text = 'You predict the observation that the terminal shows next, after this action.\n\n    return value\n';
    expect(model.tokenize(text).length).toBeLessThan(text.length / 2);
    expect(model.detokenize(model.tokenize(text))).toBe(text);
    await model.dispose();
  });
});
