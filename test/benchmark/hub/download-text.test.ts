// What is said of downloads, where names may be hostile.

import { expect, test } from 'vitest';
import { downloadText, progressText } from '../../../src/benchmark/hub/client.js';

test('a download names what, how much and where; its progress how far it is', () => {
  expect(downloadText({ name: 'hf:user/repo/m.gguf', bytes: 22_134_529_280 }, '/models')).toBe(
    'downloading hf:user/repo/m.gguf: 22.13 GB to /models',
  );
  expect(progressText({ step: 'checking', file: 'a\u001b[31m.gguf', bytes: 5e9, totalBytes: 22e9 })).toBe(
    'checking a.gguf: 5.00 GB of 22.00 GB',
  );
});

test('progress has the unit of the whole', () => {
  const step = { step: 'downloading', file: 'mcp_test.jsonl', totalBytes: 402_123_456 } as const;
  expect(progressText({ ...step, bytes: 1_234_567 })).toBe('downloading mcp_test.jsonl: 1.2 MB of 402.1 MB');
});
