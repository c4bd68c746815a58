import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decoded } from '../../src/benchmark/line-file.js';
import { type ParsedRow, readRow, readSampleAgain } from '../../src/benchmark/sample.js';
import { parseObject } from '../../src/core/json.js';
import { RECORDED } from '../support/cli.js';
import { rowText } from '../support/rows.js';

function read(text: string): ParsedRow {
  const reading = readRow(text);
  if (!reading.ok) throw new Error(reading.flaw.reason);
  return reading.row;
}

const keyOf = (text: string) => read(text).sample.key;
const trajectoryOf = (text: string) => read(text).sample.trajectory;

function recordedLines(): string[] {
  return readdirSync(RECORDED)
    .filter((name) => name.endsWith('_test.jsonl'))
    .flatMap((name) => readFileSync(join(RECORDED, name), 'utf8').split('\n'))
    .filter((line) => line !== '');
}

/** The row as Python's json module would print it again. */
function throughPython(lines: readonly string[], ensureAscii: boolean): string[] {
  const program = `import json,sys\nfor line in sys.stdin.buffer.read().split(b"\\n"):\n  print(json.dumps(json.loads(line), ensure_ascii=${ensureAscii ? 'True' : 'False'}))`;
  const env = { ...process.env, PYTHONIOENCODING: 'utf-8' };
  const output = execFileSync('python3', ['-c', program], { input: lines.join('\n'), env, maxBuffer: 1 << 28 });
  return output.toString('utf8').trimEnd().split('\n');
}

function hasPython(): boolean {
  try {
    execFileSync('python3', ['-c', '']);
    return true;
  } catch {
    return false;
  }
}

describe('a row that cannot be used says why', () => {
  test.each<[string, string, string]>([
    ['broken JSON', '{"task": "mcp"', 'not valid JSON'],
    ['NaN', rowText().replace('"total_turns":5', '"total_turns":NaN'), 'not valid JSON'],
    ['two objects', '{} {}', 'not valid JSON'],
    ['a list', '[]', 'not a JSON object'],
    ['null', 'null', 'not a JSON object'],
    ['a string', '"x"', 'not a JSON object'],
    ['no task', rowText({ task: undefined }), 'required key "task" is missing'],
    ['a task of null', rowText({ task: null }), 'required key "task" is missing'],
    ['a task of another type', rowText({ task: 3 }), '"task" is not a string'],
    ['a task that ends in a slash', rowText({ task: 'mcp/' }), '"task" names no domain'],
    ['a domain of several words', rowText({ task: 'a/two words' }), '"task" names no domain'],
    ['a domain with an escape sequence', rowText({ task: 'a/\x1b[31m' }), '"task" names no domain'],
    ['a domain that names a file above', rowText({ task: 'a\\..' }), '"task" names no domain'],
    ['a domain that every object inherits', rowText({ task: 'constructor' }), '"task" names no domain'],
    [
      'a task within __proto__',
      rowText({ task: undefined }).replace('{', '{"__proto__":{"task":"mcp"},'),
      '"task" is missing',
    ],
    ['no prompt', rowText({ prompt: undefined }), 'required key "prompt" is missing'],
    ['a prompt that is a string', rowText({ prompt: 'ab' }), '"prompt" is not a list of strings'],
    ['a prompt with a hole', rowText({ prompt: ['a', null] }), '"prompt" is not a list of strings'],
    ['no response', rowText({ response: null }), 'required key "response" is missing'],
    ['a response of numbers', rowText({ response: [1, 2] }), '"response" is not a list of strings'],
    ['no turn_idx', rowText({ turn_idx: undefined }), 'required key "turn_idx" is missing'],
    ['a turn_idx that is a string', rowText({ turn_idx: '1' }), '"turn_idx" is not a whole number'],
    ['a turn_idx that is true', rowText({ turn_idx: true }), '"turn_idx" is not a whole number'],
    ['a turn_idx with a fraction', rowText({ turn_idx: 1.5 }), '"turn_idx" is not a whole number'],
    [
      'a turn_idx beyond all numbers',
      rowText().replace('"turn_idx":2', '"turn_idx":1e999'),
      '"turn_idx" is not a whole number',
    ],
    ['a turn_idx of 0', rowText({ turn_idx: 0 }), '"turn_idx" 0 lies outside "prompt", which has 2 turns'],
    ['a negative turn_idx', rowText({ turn_idx: -1 }), '"turn_idx" -1 lies outside "prompt"'],
    [
      'a turn_idx behind the prompts',
      rowText({ turn_idx: 3 }),
      '"turn_idx" 3 lies outside "prompt", which has 2 turns',
    ],
    [
      'a turn_idx behind the responses',
      rowText({ response: ['one'] }),
      '"turn_idx" 2 lies outside "response", which has 1 turns',
    ],
    ['no turns at all', rowText({ prompt: [], turn_idx: 1 }), '"turn_idx" 1 lies outside "prompt", which has 0 turns'],
    ['a current_prompt of another type', rowText({ current_prompt: 1 }), '"current_prompt" is not a string'],
    ['a system_str of another type', rowText({ system_str: ['s'] }), '"system_str" is not a string'],
  ])('%s', (_what, text, reason) => {
    const reading = readRow(text);
    expect(reading.ok ? 'a usable row' : reading.flaw.reason).toContain(reason);
  });

  test.each(['chess', 'MCP', 'robot-arm.v2', '天気'])('the domain %s is never refused', (domain) => {
    expect(readRow(rowText({ task: `lwm/${domain}` }))).toMatchObject({ ok: true, row: { sample: { domain } } });
  });

  test('the reason quotes nothing of the row', () => {
    const reading = readRow('{"secret": "sesame", }');
    expect(reading.ok || reading.flaw.reason).not.toContain('sesame');
  });

  test('the domain is given if it can be read', () => {
    expect(readRow(rowText({ task: 'x/web', turn_idx: 0 }))).toMatchObject({ flaw: { domain: 'web' } });
    expect(readRow(rowText({ task: 'two words' }))).not.toHaveProperty('flaw.domain');
  });
});

describe('a usable row', () => {
  test.each([
    ['turn_idx written as a float', rowText().replace('"turn_idx":2', '"turn_idx":2.0'), { turnIdx: 2 }],
    ['a task with a path', rowText({ task: 'awb/v1/mcp' }), { domain: 'mcp' }],
    ['no current_prompt', rowText({ current_prompt: null }), { currentPrompt: '' }],
    ['no system_str', rowText({ system_str: undefined }), { systemPrompt: '' }],
    [
      'a key twice: the last one counts',
      rowText().replace('{', '{"task":"chess","turn_idx":9,'),
      { domain: 'mcp', turnIdx: 2 },
    ],
    ['a key that hides behind an escape', rowText().replace('"task"', '"t\\u0061sk"'), { domain: 'mcp' }],
    [
      'a key nested 100,000 deep',
      rowText().replace('{', `{"deep":${'['.repeat(100_000)}${']'.repeat(100_000)},`),
      { turnIdx: 2 },
    ],
    ['more turns than turn_idx', rowText({ turn_idx: 1, current_prompt: 'first' }), { turnIdx: 1 }],
  ])('%s', (_what, text, expected) => {
    expect(read(text).sample).toMatchObject(expected);
  });

  test('with a line of 50 MB', () => {
    const text = rowText({ prompt: ['first', '\\"'.repeat(12_500_000)] });
    expect(read(text).sample.prompts[1]).toHaveLength(25_000_000);
  });

  test.each([
    ['9007199254740993', '9007199254740993'],
    ['-12345678901234567890', '-12345678901234567890'],
    ['0.12345678901234567890', '0.12345678901234567890'],
    ['"a\\u0062 \\"c\\""', '"ab \\"c\\""'],
    ['null', ''],
    ['[1, "x"]', '[1,"x"]'],
    ['true', 'true'],
  ])('id %s is read as %s', (written, id) => {
    expect(read(rowText({ id: 0 }).replace('"id":0', `"id": ${written} `)).id).toBe(id);
  });
});

describe('keys', () => {
  test('no two of these rows share one', () => {
    const ids = ['1', '"1"', '1.0', 'null', '""', '"null"', '[1]', '["1"]', '9007199254740992', '9007199254740993'];
    const rows = [
      ...ids.map((id) => rowText({ id: 7 }).replace('"id":7', `"id":${id}`)),
      rowText({ task: 'x/mcp' }),
      rowText({ prompt: ['firsts', 'econd'] }),
      rowText({ prompt: ['first', 'second', 'third'] }),
      rowText({ response: ['one', 'TWO'] }),
      rowText({ current_prompt: '' }),
      rowText({ system_str: null }),
      rowText({ turn_idx: 1 }),
      rowText({ total_turns: 6 }),
    ];
    expect(new Set(rows.map(keyOf)).size).toBe(rows.length);
  });

  test('keys of others, ours included, do not matter', () => {
    const plain = keyOf(rowText());
    expect(keyOf(rowText({ gen: 'g', awb: { key: 'x' }, note: 1, '': 2 }))).toBe(plain);
    expect(keyOf(rowText().replace('{', '{"__proto__":{"id":5},"constructor":1,'))).toBe(plain);
  });

  test('absent and null are the same as empty', () => {
    expect(keyOf(rowText({ id: null, current_prompt: null }))).toBe(
      keyOf(rowText({ id: undefined, current_prompt: '' })),
    );
  });

  test.skipIf(!hasPython())('rows that Python printed again keep key, trajectory and id', () => {
    const odd = [
      rowText({ id: 'ключ "\\ \u2028/', prompt: ['\u0000\u001f', 'é😀'] }),
      rowText().replace('"id":1', '"id" :\t9007199254740993 '),
      rowText().replace('"id":1', '"id": 0.1'),
      rowText().replace('"id":1', '"id": ["a",  {"b":null , "c\\/": [ ]}]'),
    ];
    const lines = [...recordedLines(), ...odd];
    for (const ensureAscii of [true, false]) {
      const again = throughPython(lines, ensureAscii).map(read);
      for (const [index, line] of lines.entries()) {
        const { sample, id } = read(line);
        expect(again[index]).toMatchObject({ id, sample: { key: sample.key, trajectory: sample.trajectory } });
      }
    }
  });
});

describe('keys and samples by the book', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom('', '\ud800', '日本', 'a\u2028b'),
  );
  const turns = fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 5 });
  /** Ids and totals as they stand in a row, with what they count as. */
  const value = fc.oneof(
    fc.constantFrom(
      ['900719925474099312', '900719925474099312'],
      ['1.0', '1.0'],
      ['null', ''],
      ['{ "a" : [1,\t"é"] }', '{"a":[1,"é"]}'],
    ),
    text.map((id) => [JSON.stringify(id), JSON.stringify(id)]),
    text.map((id) => [escaped(id), JSON.stringify(id)]),
  ) as fc.Arbitrary<[string, string]>;
  const row = fc.record({
    turns,
    turn: fc.nat(4),
    id: value,
    total: value,
    current: text,
    system: text,
    lean: fc.boolean(),
  });

  /** A text in JSON, with an escape for every unit. */
  function escaped(plain: string): string {
    const units = Array.from({ length: plain.length }, (_, at) => plain.charCodeAt(at));
    return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`;
  }

  /** 24 hex digits of SHA-256 over texts, each behind its length. */
  function bookHash(...texts: readonly string[]): string {
    const bytes = Buffer.concat(texts.map((part) => Buffer.from(`${part.length}:${part}`)));
    return createHash('sha256').update(bytes).digest('hex').slice(0, 24);
  }

  test('are those of the fields in their order, whatever they contain', () => {
    fc.assert(
      fc.property(row, ({ turns, turn, id, total, current, system, lean }) => {
        const [prompts, responses] = [turns.map(([prompt]) => prompt), turns.map(([, response]) => response)];
        const turnIdx = 1 + (turn % turns.length);
        const write = lean ? JSON.stringify : (value: unknown) => JSON.stringify(value, null, 1);
        const line = `{"total_turns":${total[0]},"prompt":${write(prompts)}, "id": ${id[0]},"response":${write(responses)},"turn_idx":${turnIdx},"task":"x/mcp","current_prompt":${escaped(current)},"system_str":${JSON.stringify(system)},"gen":"ours"}`;
        const first = turnIdx === 1 && current !== '' ? current : (prompts[0] as string);
        const keys = {
          key: bookHash(
            'x/mcp',
            id[1],
            `${prompts.length}`,
            ...prompts,
            `${responses.length}`,
            ...responses,
            current,
            system,
            `${turnIdx}`,
            total[1],
          ),
          trajectory: bookHash('mcp', id[1], system, first),
        };
        const sample = {
          ...keys,
          domain: 'mcp',
          turnIdx,
          prompts,
          responses,
          currentPrompt: current,
          systemPrompt: system,
        };
        expect(read(line)).toMatchObject({ sample, id: id[1] });
        expect(readSampleAgain(parseObject(line), keys)).toEqual(sample);
      }),
    );
  });

  test('of recorded rows are the same when they are read again', () => {
    for (const line of recordedLines()) {
      const { sample } = read(line);
      expect(readSampleAgain(parseObject(line), { key: sample.key, trajectory: sample.trajectory })).toEqual(sample);
    }
  });

  test.each(['', '{', '[]', rowText({ turn_idx: 9 })])('no sample is read again in %j', (line) => {
    expect(readSampleAgain(parseObject(line), { key: 'k', trajectory: 't' })).toBeUndefined();
  });
});

test('keys, trajectories and ids of rows are what they were when finished files were written', () => {
  const odd = [
    ...[rowText(), rowText({ id: '日' }), rowText({ id: null, total_turns: null }), rowText({ task: 'a/b/天気' })],
    ...[
      rowText({ turn_idx: 3 }),
      rowText({ task: 'two words' }),
      rowText({ prompt: [1] }),
      rowText({ response: null }),
      '[]',
    ],
    ...[rowText().replace('"id":1', '"id":1.0e5'), rowText().replace('{', '{"id":7,"t\\u0061sk":"os",')],
  ];
  const readings = [...recordedLines(), ...odd].map((line) => {
    const reading = readRow(line);
    if (!reading.ok) return reading.flaw;
    const { sample, id } = reading.row;
    return { key: sample.key, trajectory: sample.trajectory, domain: sample.domain, turnIdx: sample.turnIdx, id };
  });
  const figure = createHash('sha256').update(JSON.stringify(readings)).digest('hex').slice(0, 16);
  expect(figure).toBe('82f6b413c6154324');
});

describe('trajectories', () => {
  test('on the recorded rows they are the pairs of task and id', () => {
    const pairOf = new Map<string, string>();
    for (const line of recordedLines()) {
      const { sample, id } = read(line);
      const pair = `${JSON.parse(line).task} ${id}`;
      expect(pairOf.get(sample.trajectory) ?? pair).toBe(pair);
      pairOf.set(sample.trajectory, pair);
    }
    expect(pairOf.size).toBe(new Set(pairOf.values()).size);
    expect(pairOf.size).toBeLessThan(recordedLines().length / 2);
  });

  const start = 'look\n\nPlease analyze the input above: is it a quotation?';
  const tail = '\n\nPlease analyze the input above and answer in tags.';

  test.each([
    ['plain', 'look'],
    ['quoting the request to predict', start],
  ])('a first turn belongs to the later turns, its start %s', (_what, first) => {
    const turns = [
      rowText({ prompt: [first + tail], response: ['one'], turn_idx: 1, current_prompt: first }),
      rowText({ prompt: [first + tail], response: ['one'], turn_idx: 1, current_prompt: null }),
      rowText({ prompt: [first, `second${tail}`] }),
      rowText({ prompt: [first, 'second', `third${tail}`], response: ['one', 'two', 'three'], turn_idx: 3 }),
      rowText({
        prompt: [first + tail, 'second', 'third'],
        response: ['one', 'two', 'three'],
        turn_idx: 1,
        current_prompt: '',
      }),
    ];
    expect(new Set(turns.map(trajectoryOf)).size).toBe(1);
    expect(new Set(turns.map(keyOf)).size).toBe(turns.length);
  });

  test('domain, id, system prompt and first turn each tell trajectories apart', () => {
    const rows = [
      rowText(),
      rowText({ task: 'web' }),
      rowText({ id: 2 }),
      rowText({ id: '1' }),
      rowText({ system_str: 'Another.' }),
      rowText({ prompt: ['another start', 'second'] }),
    ];
    expect(new Set(rows.map(trajectoryOf)).size).toBe(rows.length);
    expect(trajectoryOf(rowText({ task: 'x/mcp' }))).toBe(trajectoryOf(rowText()));
  });
});

describe('decoded', () => {
  test('a byte order mark is dropped, once', () => {
    expect(decoded(Buffer.from('\ufeff\ufeffa'))).toBe('\ufeffa');
  });

  test.each([
    ['a lone continuation byte', [0x22, 0x80, 0x22]],
    ['a cut character', [0x22, 0xe6, 0x97]],
    ['an encoded surrogate', [0xed, 0xa0, 0x80]],
    ['an overlong form', [0xc0, 0xaf]],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00]],
  ])('%s is not UTF-8', (_what, bytes) => {
    expect(decoded(Uint8Array.from(bytes))).toBeUndefined();
  });

  test('one bad line does not spoil the next', () => {
    expect([decoded(Uint8Array.from([0xe6, 0x97])), decoded(Buffer.from('日'))]).toEqual([undefined, '日']);
  });
});
