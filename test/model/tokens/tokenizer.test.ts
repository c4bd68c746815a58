// Files of tokenizers that are none, and what counting tokens rests on.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EXIT, UserError } from '../../../src/core/errors.js';
import { openTokenizer } from '../../../src/model/tokens/tokenizer.js';
import { ROOT } from '../../support/cli.js';
import { folderOf } from '../../support/folder.js';

const FIXTURES = join(ROOT, 'fixtures/tokenizers');
const fixture = (kind: string) => join(FIXTURES, `${kind}.json`);

test('a folder means the tokenizer.json in it', async () => {
  const folder = await folderOf({ 'tokenizer.json': readFileSync(fixture('qwen')) });
  const [a, b] = [await openTokenizer(folder), await openTokenizer(fixture('qwen'))];
  expect(a.count('Predict the observation.')).toBe(b.count('Predict the observation.'));
});

describe('a file that is not a tokenizer is refused with what to use instead:', () => {
  const qwen = JSON.parse(readFileSync(fixture('qwen'), 'utf8'));
  const without = (key: string) => ({ ...qwen, model: { ...qwen.model, [key]: undefined } });
  test.each([
    ['no JSON', '\n\x0e\n\n<unk>', 'it has no model of a known kind (BPE, Unigram, WordPiece) with a vocabulary'],
    ['a list', '[]', 'it has no model of a known kind (BPE, Unigram, WordPiece) with a vocabulary'],
    [
      'tokenizer_config.json',
      '{"tokenizer_class":"Qwen2Tokenizer"}',
      'it has no model of a known kind (BPE, Unigram, WordPiece) with a vocabulary',
    ],
    [
      'one without a vocabulary',
      without('vocab'),
      'it has no model of a known kind (BPE, Unigram, WordPiece) with a vocabulary',
    ],
    ['one without merges', without('merges'), 'this tokenizer cannot be used: '],
    [
      'one of an unknown kind',
      { ...qwen, model: { ...qwen.model, type: 'Quantum' } },
      'it has no model of a known kind (BPE, Unigram, WordPiece) with a vocabulary',
    ],
    ['one with an unknown step', { ...qwen, pre_tokenizer: { type: 'Quantum\x1b[31m' } }, 'cannot be used'],
    [
      'one with a broken pattern',
      { ...qwen, normalizer: { type: 'Replace', pattern: { Regex: '(' }, content: '' } },
      'cannot be used',
    ],
    ['one with damaged tokens', { ...qwen, added_tokens: [null] }, 'cannot be used'],
  ])('%s', async (_, content, reason) => {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    const folder = await folderOf({ 'tokenizer.json': text });
    const refusal = await openTokenizer(join(folder, 'tokenizer.json'), 'tokenizer.json').catch(
      (error: unknown) => error,
    );
    if (!(refusal instanceof UserError)) throw new Error(`not refused: ${String(refusal)}`);
    expect(refusal.exitCode).toBe(EXIT.badData);
    expect(refusal.message).toMatch(/^tokenizer\.json[\x20-\x7e]+--tokenizer[\x20-\x7e]+$/);
    expect(refusal.message).toContain(reason);
  });

  test('none', async () => {
    const folder = await folderOf({});
    for (const [path, shown] of [
      [folder, 'models/qwen'],
      [join(folder, 'x.json'), 'x.json'],
    ] as const) {
      const refusal = await openTokenizer(path, shown).catch((error: unknown) => error);
      expect(refusal).toMatchObject({
        exitCode: EXIT.inputMissing,
        message: `cannot read the tokenizer ${shown} (--tokenizer): ENOENT; give the tokenizer.json of the model's repository, or its folder`,
      });
    }
  });
});
