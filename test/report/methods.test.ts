// A run's methods paragraph: the facts of its manifest, and which ones were not recorded.

import { describe, expect, it } from 'vitest';
import { latexText } from '../../src/report/markup.js';
import { METHODS, methodsDocument, methodsText } from '../../src/report/methods.js';
import type { Manifest } from '../../src/run/manifest.js';
import { cardOf } from '../support/boards.js';

const ENGINE = { file: 'wm.gguf', sha256: 'ab'.repeat(32), llamaCpp: 'b4711', kvCache: 'f16', flashAttention: true };
const PREDICTIONS = {
  kind: 'infer',
  tool: { name: 'agentworldbench', version: '1.2.3' },
  meta: { revision: 'abc123' },
  identity: {
    data: 'd'.repeat(8),
    model: 'wm',
    protocol: 'history',
    sampling: { temperature: 0.6, topP: 0.95, topK: 20, maxTokens: 32768, seed: 7, dropped: ['topK'] },
  },
  settings: { 'data-dir': '/home/me/data', sample: 10, 'sample-seed': 3, repeats: 1, ids: [] },
  servedModels: ['wm-2026'],
  endpoints: ['gpu:8000'],
} as unknown as Partial<Manifest>;
const JUDGED = {
  kind: 'judge',
  tool: { name: 'agentworldbench', version: '1.2.4' },
  identity: {
    ...{ mode: 'rubric', judge: 'gpt', snapshot: 'gpt-2026-01-02', verdicts: 'strict', sampling: { temperature: 0 } },
    ...{ rubrics: { name: 'awb-3', fingerprint: 'e03d' }, predictions: { file: '../home/me/predictions.jsonl' } },
  },
  servedModels: ['gpt-2026-01-02'],
  endpoints: ['api.example'],
  predictions: PREDICTIONS,
} as unknown as Partial<Manifest>;
const TRUST = { ceiling: 97.1, noise: 7.9, corruptions: 14, blind: 2, undecided: 0, attack_gain: 0.4 };

const documentOf = (manifest: Partial<Manifest> | undefined, card = cardOf(55, { withFailures: 50 })) =>
  methodsDocument({ card, trust: TRUST, manifest }, '1.2.5');
const textOf = (...given: Parameters<typeof documentOf>) => methodsText(documentOf(...given));

describe('the paragraph', () => {
  it.each([
    [
      'the model, what answered and where',
      'The world model was wm (model name in replies: wm-2026; endpoint: gpu:8000).',
    ],
    ['its sampling', 'Sampling: temperature 0.6, top p 0.95, top k 20, max tokens 32768, seed 7, dropped topK'],
    ['protocol and data', 'Other settings: data dddddddd, protocol history.'],
    ['what the user noted', 'Checkpoint metadata: revision abc123.'],
    ['how rows were chosen', 'Row selection: sample 10, sample seed 3, repeats 1.'],
    ['predictions', 'Of 70 predictions, 70 are valid and 0 failed (coverage 100 %).'],
    ['the judge and its snapshot', 'The judge was gpt (model name in replies: gpt-2026-01-02; endpoint: api.example).'],
    ['the pack', 'Rubric pack: name awb-3, fingerprint e03d. Other settings: mode rubric, verdicts strict.'],
    ['the calibration', 'Judge: ceiling 97.1, noise 7.9 per row, blind to 2 of 14 corruptions, attack gain +0.4.'],
    ['the score rule', 'count as rating 1; the official figure, which excludes them, is 55.00.'],
    ['score and interval', 'The score (Overall) is 50.00 over 9 rows of 3 trajectories; 95 % interval: 46.00 to 54.00'],
    ['every version', /agentworldbench 1\.2\.3\..*agentworldbench 1\.2\.4\..*agentworldbench 1\.2\.5\.$/],
  ])('says %s', (_, text) => {
    expect(textOf(JUDGED)).toMatch(text);
  });

  it('gives the hash of the weights, the release and the flags that awb serve recorded', () => {
    const local = { ...PREDICTIONS, identity: { model: { sha256: ENGINE.sha256 } }, models: [ENGINE] };
    const text = textOf({ ...JUDGED, predictions: local } as Partial<Manifest>);
    expect(text).toContain(`The world model was a local file with sha256 ${ENGINE.sha256} (model name`);
    expect(text).toContain(`Engine: awb serve (file wm.gguf, sha256 ${ENGINE.sha256}, llama cpp b4711, kv cache f16, `);
  });

  it('says that engine, flags and weights of another server were not recorded', () => {
    const unknown = 'Engine, its version and flags, and hash of the weights: not recorded.';
    expect(textOf(JUDGED).split(unknown)).toHaveLength(3);
  });

  it('invents nothing for a file of the official script', () => {
    expect(textOf(undefined)).toMatch(
      /^The world model was not recorded\. Checkpoint metadata: none\. Row selection: not recorded\. .*The judge was not recorded\./,
    );
  });

  it('names a baseline, and no judge of measures', () => {
    const measured = { ...JUDGED, identity: { mode: 'metrics' }, predictions: { identity: { baseline: 'oracle' } } };
    const card = cardOf(40, { measures: { chrf: 40 } });
    expect(
      methodsText(methodsDocument({ card, trust: undefined, manifest: measured as unknown as Partial<Manifest> }, '1')),
    ).toMatch(
      /^The world model was the baseline oracle, not a model\. .*No judge was asked\. The score \(chrf\) is 40\.00 /,
    );
  });

  it('contains no path of this machine', () => {
    expect(textOf(JUDGED)).not.toContain('/home/me');
  });

  it('keeps model names as text, on one line', () => {
    const hostile = { ...PREDICTIONS, servedModels: ['\x1b[31m\\input{x}\n% $_'] };
    const text = textOf({ ...JUDGED, predictions: hostile } as Partial<Manifest>);
    expect(text).not.toMatch(/[\x1b\n]/);
    expect(latexText(text)).toContain('\\textbackslash{}input\\{x\\} \\% \\$\\_');
  });
});

it.each([
  ['a judged run', JUDGED],
  ['a file without a manifest', undefined],
])('the document of %s follows its schema, with every fact of the paragraph', (_, manifest) => {
  const document = documentOf(manifest);
  expect(METHODS.safeParse(document).error?.issues).toBeUndefined();
  expect(METHODS.safeParse({ ...document, more: 1 }).success).toBe(false);
  expect(methodsText(JSON.parse(JSON.stringify(document)))).toBe(methodsText(document));
});
