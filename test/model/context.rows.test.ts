// Which rows are said to be too long before they are asked, and in which words.

import { describe, expect, test } from 'vitest';
import { fitNotice, leastRoom, overlongRows, type SizableRow, type SizedRow } from '../../src/model/context.js';

const NEVER = new AbortController().signal;
const vllm = { host: 'gpu-1:8000', tokens: 40_000, refusesBudgets: true };
const llama = { host: 'gpu-2:8080', tokens: 30_000, refusesBudgets: false };
const whole = { maxTokens: 32_768, fitMaxTokens: false };

describe('the room of a prompt', () => {
  test('is what the output budget leaves, where the server refuses a prompt without it', () => {
    expect(leastRoom([vllm], whole)?.tokens).toBe(40_000 - 32_768);
  });

  test('is nearly the complete context with --fit-max-tokens, and if replies end with the context', () => {
    expect(leastRoom([vllm], { ...whole, fitMaxTokens: true })?.tokens).toBe(40_000 - 256);
    expect(leastRoom([llama], whole)?.tokens).toBe(29_999);
  });

  test('is that of the server with the least room, and unknown if none reports it', () => {
    expect(leastRoom([llama, vllm], whole)?.context.host).toBe('gpu-1:8000');
    expect(leastRoom([], whole)).toBeUndefined();
  });
});

/** Rows whose prompts are half of their bytes, and what was read of them. */
function rowsOf(sizes: readonly number[], share = 0.5) {
  const read: string[] = [];
  const rows = sizes.map(
    (bytes, index): SizableRow => ({
      place: `mcp_test.jsonl:${index + 1}`,
      domain: index % 2 === 0 ? 'mcp' : 'web',
      bytes,
      async characters() {
        read.push(`mcp_test.jsonl:${index + 1}`);
        return bytes * share;
      },
    }),
  );
  return { rows, read };
}

describe('rows that are too long', () => {
  test('are those whose prompts have more tokens than the room, the longest first', async () => {
    const { rows } = rowsOf([100_000, 400_000, 80_000, 200_000]);
    const found = await overlongRows(rows, { tokens: 20_000 }, 4, NEVER);
    expect(found).toEqual([
      { place: 'mcp_test.jsonl:2', domain: 'web', tokens: 50_000 },
      { place: 'mcp_test.jsonl:4', domain: 'web', tokens: 25_000 },
    ]);
  });

  test('are found without reading a row whose line is too short to be one', async () => {
    const { rows, read } = rowsOf([...Array(5_000).fill(40_000), 900_000]);
    expect(await overlongRows(rows, { tokens: 20_000 }, 4, NEVER)).toHaveLength(1);
    expect(read).toEqual(['mcp_test.jsonl:5001']);
  });

  test('are counted by a sample where very many may be too long, the longest of them exactly', async () => {
    const { rows, read } = rowsOf(Array.from({ length: 3_000 }, (_, index) => 100_000 + 100 * index));
    const found = await overlongRows(rows, { tokens: 31_250 }, 4, NEVER);
    expect(read.length).toBeLessThanOrEqual(61);
    // Prompts are half of the bytes, so a prompt of 125,000 characters is one of 250,000 bytes.
    expect(found.length).toBe(1_499);
    expect(found[0]).toEqual({ place: 'mcp_test.jsonl:3000', domain: 'web', tokens: Math.ceil(399_900 / 2 / 4) });
  });

  test('are searched no further once the user has interrupted', async () => {
    const stop = new AbortController();
    stop.abort('SIGINT');
    const { rows, read } = rowsOf([900_000]);
    await expect(overlongRows(rows, { tokens: 10 }, 4, stop.signal)).rejects.toMatchObject({ exitCode: 130 });
    expect(read).toEqual([]);
  });
});

describe('the notice', () => {
  const room = (context: typeof vllm, tokens: number) => ({ context, tokens });
  const rows = (...tokens: number[]): SizedRow[] =>
    tokens.map((count, index) => ({ place: `mcp_test.jsonl:${index + 1}`, domain: 'mcp', tokens: count }));

  test('counts the rows by domain, and says what would help', () => {
    const tooLong = [{ place: 'web_test.jsonl:3', domain: 'web', tokens: 50_000 }, ...rows(29_000, 9_000)];
    expect(fitNotice(tooLong, room(vllm, 7_232), whole)).toEqual({
      summary:
        '3 rows (mcp 2, web 1) will probably not fit into the context of 40,000 tokens at gpu-1:8000 with --max-tokens 32768: prompts of up to 7,232 tokens fit, and the longest has about 50,000; add --fit-max-tokens, or lower --max-tokens, or serve a longer context',
      lines: [
        '  web_test.jsonl:3 (web): about 50,000 tokens',
        '  mcp_test.jsonl:1 (mcp): about 29,000 tokens',
        '  mcp_test.jsonl:2 (mcp): about 9,000 tokens',
      ],
    });
  });

  test('names ten rows', () => {
    const said = fitNotice(rows(...Array(37).fill(90_000)), room(vllm, 7_232), whole);
    expect(said?.lines).toHaveLength(10);
  });

  test('offers no smaller budget if the prompts alone are too long, or no server refuses budgets', () => {
    for (const context of [vllm, llama]) {
      const said = fitNotice(rows(90_000), room(context, 7_232), whole);
      expect(said?.summary).toMatch(/the longest has about 90,000; serve a longer context$/);
    }
  });

  test('speaks of one token, and of a context in which there is room for no prompt', () => {
    const tiny = { ...llama, tokens: 2 };
    expect(fitNotice(rows(9), room(tiny, 1), whole)?.summary).toContain(
      'into the context of 2 tokens at gpu-2:8080: prompts of up to 1 token fit, and the longest has about 9;',
    );
    for (const left of [0, -255]) {
      const said = fitNotice(rows(1), room({ ...llama, tokens: 1 }, left), { fitMaxTokens: true });
      expect(said?.summary).toContain(
        'into the context of 1 token at gpu-2:8080: prompts of up to 0 tokens fit, and the longest',
      );
      expect(said?.lines).toEqual(['  mcp_test.jsonl:1 (mcp): about 1 token']);
    }
  });

  test('is none where all rows fit', () => {
    expect(fitNotice([], room(vllm, 7_232), whole)).toBeUndefined();
  });
});
