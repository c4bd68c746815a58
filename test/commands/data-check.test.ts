// `awb data check`: what it says about a copy that is complete, changed, damaged or missing.

import { appendFile, cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RELEASED } from '../../src/core/domains.js';
import { EXIT } from '../../src/core/errors.js';
import { DOMAINS } from '../../src/core/types.js';
import { awb, RECORDED, ROOT, startAwb, temporaryFolder } from '../support/cli.js';
import { entryOf, openHub } from '../support/hub.js';
import { holdMessage } from '../support/messages.js';
import { rowText, writeText } from '../support/rows.js';

/** Files with as many rows as the release, each from its own trajectory. */
async function released(): Promise<Record<string, Buffer>> {
  return Object.fromEntries(
    DOMAINS.map((domain) => {
      const lines = Array.from({ length: RELEASED.rows[domain] }, (_, row) => rowText({ task: domain, id: row }));
      return [`${domain}_test.jsonl`, Buffer.from(`${lines.join('\n')}\n`)];
    }),
  );
}

async function writeReleased(folder: string): Promise<string> {
  for (const [name, bytes] of Object.entries(await released())) await writeFile(join(folder, name), bytes);
  return folder;
}

async function fetchReleased(given?: Readonly<Record<string, Buffer>>): Promise<string> {
  const cwd = await temporaryFolder();
  const files = given ?? (await released());
  const hub = await openHub({ files, entries: Object.entries(files).map(entryOf) });
  expect((await awb(['data', 'fetch'], { env: { HF_ENDPOINT: hub.url }, cwd })).code).toBe(EXIT.done);
  return cwd;
}

const checkIn = async (cwd: string, ...args: string[]) => awb(['data', 'check', ...args], { cwd });
const documentOf = async (cwd: string, ...args: string[]) => {
  const { code, stdout } = await checkIn(cwd, '--json', ...args);
  return { code, document: JSON.parse(stdout) };
};

describe('a copy', () => {
  test('that was fetched is reported as released and as fetched', async () => {
    const cwd = await fetchReleased();
    const { code, stdout } = await checkIn(cwd);
    expect(code).toBe(EXIT.done);
    expect(stdout).toMatch(/^MCP +286 +286 +286 /m);
    expect(stdout).toMatch(/^All +2,170 +2,170 /m);
    expect(stdout).toMatch(/^release +exactly the rows of the release$/m);
    expect(stdout).toContain(`at commit ${RELEASED.commit.slice(0, 12)}, 7 files as fetched`);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    const { document } = await documentOf(cwd);
    expect(document).toMatchObject({
      schema: 'awb.data-check/1',
      status: 'as-released',
      differences: [],
      source: { status: 'as-fetched', commit: RELEASED.commit },
    });
  });

  test('from elsewhere is reported as released by its rows, from an unknown source', async () => {
    const cwd = await temporaryFolder();
    await writeReleased(cwd);
    const { code, stdout } = await checkIn(cwd, '.');
    expect(code).toBe(EXIT.done);
    expect(stdout).toMatch(/^source +unknown/m);
  });

  test('of the recorded rows lacks most of the release, says how many of which domain, and exits with 3', async () => {
    const { code, document } = await documentOf(RECORDED, '.');
    expect(code).toBe(EXIT.incomplete);
    expect(document.differences).toContain('Terminal: 16 rows; the release has 354');
    expect(document.domains.terminal).toMatchObject({ rows: 16, released: 354, trajectories: 4 });
    // As computed in Python: the characters (UTF-16 units) of system prompt, earlier turns and prompt, divided by 4 and rounded up.
    expect(document.longest[0]).toEqual({
      file: 'search_test.jsonl',
      line: 6,
      domain: 'search',
      context_tokens: 9_432,
    });
    expect(document.domains.web.context_tokens.max).toBe(7_782);
  });

  test('with duplicate rows names both lines', async () => {
    const cwd = await temporaryFolder();
    await writeReleased(cwd);
    const web = (await readFile(join(cwd, 'web_test.jsonl'), 'utf8')).split('\n');
    await writeText(cwd, 'web_test.jsonl', [...web.slice(0, 199), web[4] as string]);
    const { code, document } = await documentOf(cwd, '.');
    expect([code, document.rows]).toEqual([EXIT.incomplete, 2_170]);
    const equals = { file: 'web_test.jsonl', line: 5 };
    expect(document.equal_rows).toEqual([{ file: 'web_test.jsonl', line: 200, equals }]);
    expect((await checkIn(cwd, '.')).stdout).toContain('web_test.jsonl:200 equals web_test.jsonl:5');
  });

  test('that was fetched with duplicate rows still counts as released, and names them', async () => {
    const files = await released();
    const web = files['web_test.jsonl']?.toString().split('\n') as string[];
    files['web_test.jsonl'] = Buffer.from([...web.slice(0, 199), web[4], ''].join('\n'));
    const { code, document } = await documentOf(await fetchReleased(files));
    expect([code, document.status, document.equal_rows.length]).toEqual([EXIT.done, 'as-released', 1]);
  });

  test('with lines that are not rows names file, line and reason, and exits with 65', async () => {
    const cwd = await temporaryFolder();
    const hostile = '{"task":"mcp","turn_idx":"\u001b[31m"}';
    await writeText(cwd, 'mcp_test.jsonl', [rowText(), 'nonsense', rowText({ turn_idx: 9, id: 2 }), hostile]);
    const { code, stdout } = await checkIn(cwd, '.');
    expect(code).toBe(EXIT.badData);
    expect(stdout).toMatch(/^unusable +3 lines; --skip-invalid makes infer skip them$/m);
    expect(stdout).toMatch(/mcp_test\.jsonl:2: not valid JSON/);
    expect(stdout).toMatch(/mcp_test\.jsonl:3: "turn_idx" 9 lies outside "prompt"/);
    expect(stdout).not.toContain('\u001b');
    const { document } = await documentOf(cwd, '.');
    expect(document.unusable.map(({ line }: { line: number }) => line)).toEqual([2, 3, 4]);
  });

  test("with a row beyond the model's context names it", async () => {
    const cwd = await temporaryFolder();
    const long = 'x'.repeat(4 * RELEASED.contextTokens);
    await writeText(cwd, 'mcp_test.jsonl', [rowText(), rowText({ id: 2, system_str: long })]);
    const { stdout } = await checkIn(cwd, '.');
    expect(stdout).toMatch(
      /^context +1 row longer than the model's 262,144 tokens\n +mcp_test\.jsonl:2: 262,1\d\d tokens$/m,
    );
  });

  test('has its contexts counted by the given tokenizer', async () => {
    const tokenizer = join(ROOT, 'fixtures/tokenizers/qwen.json');
    const { document } = await documentOf(RECORDED, '.', '--tokenizer', tokenizer);
    // As the Python package tokenizers counts system prompt, earlier turns and prompt.
    expect(document.longest[0]).toEqual({ file: 'web_test.jsonl', line: 8, domain: 'web', context_tokens: 22_583 });
    expect((await checkIn(RECORDED, '.', '--tokenizer', tokenizer)).stdout).toContain('fixtures/tokenizers/qwen.json.');
  });

  test('that was changed since it was fetched is reported file by file', async () => {
    const cwd = await fetchReleased();
    await appendFile(join(cwd, 'data/web_test.jsonl'), '\n');
    await rm(join(cwd, 'data/os_test.jsonl'));
    await cp(join(cwd, 'data/mcp_test.jsonl'), join(cwd, 'data/mine_test.jsonl'));
    const { code, document } = await documentOf(cwd);
    expect(code).toBe(EXIT.incomplete);
    expect(document.differences).toEqual([
      'MCP: 572 rows; the release has 286',
      'OS: 0 rows; the release has 200',
      'os_test.jsonl is missing',
      'web_test.jsonl changed since it was fetched',
      'mine_test.jsonl was not fetched',
      '286 rows identical to an earlier row',
    ]);
  });

  test('that lacks one row says so', async () => {
    const cwd = await temporaryFolder();
    await writeReleased(cwd);
    const file = join(cwd, 'os_test.jsonl');
    await writeFile(file, (await readFile(file, 'utf8')).trimEnd().split('\n').slice(1).join('\n'));
    await holdMessage('data-check-one-row', ['data', 'check', '.'], { [cwd]: '<dir>' }, { cwd });
  });

  test('with a damaged record has an unknown source', async () => {
    const cwd = await fetchReleased();
    await writeFile(join(cwd, 'data/awb-source.json'), '{');
    const { code, stdout } = await checkIn(cwd);
    expect([code, stdout]).toEqual([EXIT.done, expect.stringMatching(/^source +unknown/m)]);
  });

  test('that is being read when Ctrl-C comes exits with 130', async () => {
    const { code, stdout } = await awb(['data', 'check', RECORDED], { stop: AbortSignal.abort('SIGINT') });
    expect([code, stdout]).toEqual([EXIT.interrupted, '']);
  });

  test('that does not exist exits with 66', async () => {
    const cwd = await temporaryFolder();
    expect((await checkIn(cwd)).code).toBe(EXIT.inputMissing);
    expect((await checkIn(cwd, '.')).code).toBe(EXIT.inputMissing);
  });

  test('piped to another program still has the exit code that says whether it is reliable', async () => {
    const { code, stdout } = await startAwb(['data', 'check', RECORDED, '--json']).ended;
    expect([code, JSON.parse(stdout).status]).toEqual([EXIT.incomplete, 'differs']);
  });
});
