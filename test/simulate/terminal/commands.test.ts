// Sessions of scripts: lines in, observations out, with a scripted world model on loopback.

import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { parseObject } from '../../../src/core/json.js';
import { awb, RECORDED, temporaryFolder } from '../../support/cli.js';
import { closeAll, KEY, serve } from '../../support/endpoint.js';
import type { Answer, Handler, SeenRequest } from '../../support/loopback-server.js';

afterEach(closeAll);

const TAGGED = (text: string) => `<predicted_observation>\n${text}\n</predicted_observation>`;

/** What was typed last, in the request's last prompt. */
function typedIn({ body }: SeenRequest): string {
  const prompt = String(body.messages.at(-1).content);
  return JSON.parse(/"keystrokes": ("(?:[^"\\]|\\.)*")/.exec(prompt)?.[1] ?? '""').trim();
}

function dialogueIn({ body }: SeenRequest): string {
  return JSON.stringify(body.messages.slice(1));
}

/** A machine on which every command prints its name and how often it was asked for. */
function machine(special: Readonly<Record<string, Answer>> = {}): Handler {
  const asked = new Map<string, number>();
  return (request) => {
    const typed = typedIn(request);
    const times = (asked.get(typed) ?? 0) + 1;
    asked.set(typed, times);
    return (
      (times === 1 ? special[typed] : undefined) ?? {
        content: `<think>hm</think>${TAGGED(`$ ${typed}\nout ${times}`)}`,
      }
    );
  };
}

interface Options {
  readonly flags?: readonly string[];
  readonly models?: readonly Record<string, unknown>[];
  readonly start?: readonly string[];
  readonly cwd?: string;
}

async function simulated(input: string, script: Handler, { flags = [], models, start, cwd }: Options = {}) {
  const server = await serve(script, models === undefined ? {} : { models });
  const folder = cwd ?? (await temporaryFolder());
  const args = [
    'simulate',
    ...(start ?? ['--domain', 'terminal']),
    '--model-base-url',
    server.url,
    '--model-name',
    'wm',
  ];
  const result = await awb([...args, '--model-api-key', KEY, '--max-attempts', '1', ...flags], { cwd: folder, input });
  return { ...result, server, folder };
}

const documents = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => parseObject(line));

describe('a script', () => {
  test('acts in the world that its earlier actions made, and prints only the observations', async () => {
    const { code, stdout, server } = await simulated('ls\npwd\n', machine(), { flags: ['--seed', '7'] });
    expect(code).toBe(0);
    expect(stdout).toBe('$ ls\nout 1\n$ pwd\nout 1\n');
    const messages = server.requests[1]?.body.messages;
    expect(messages.map(({ role }: { role: string }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
    expect(messages[2].content).toBe('**Environment Observation:**\n$ ls\nout 1');
    expect(JSON.stringify(messages)).not.toContain('hm</think>');
  });

  test("with --json gets one document per turn and command, with the server's counts", async () => {
    const { stdout } = await simulated(
      'ls\n/undo\n',
      machine({ ls: { content: TAGGED('x'), usage: { prompt_tokens: 5, completion_tokens: 3 } } }),
      { flags: ['--json'] },
    );
    const [turn, command] = documents(stdout);
    expect(turn).toMatchObject({
      type: 'turn',
      turn: 1,
      branch: 'main',
      action: 'ls',
      status: 'ok',
      observation: 'x',
      truncated: false,
      usage: { prompt_tokens: 5, completion_tokens: 3 },
    });
    expect(command).toEqual({ type: 'command', command: 'undo', text: 'back before turn 1' });
  });

  test.each([
    ['an empty reply', { content: TAGGED('  ') }, 3, 'has no observation'],
    ['a refusal', { message: { role: 'assistant', refusal: 'no' }, stream: false }, 3, 'refused'],
    ['a server error', { status: 500, body: 'oops' }, 69, 'transient'],
    ['a bad key', { status: 401, body: { error: { message: 'bad' } } }, 77, 'key'],
  ] as const)(
    'skips actions after %s, still runs commands, and exits with its code',
    async (_what, answer, exit, words) => {
      const { code, stdout, stderr, server, folder } = await simulated(
        'ls\nrm\npwd\n/save kept\n',
        machine({ rm: answer as Answer }),
      );
      expect(code).toBe(exit);
      expect(stderr).toContain(words);
      expect(stderr).toContain('skipped');
      expect(stdout).toBe('$ ls\nout 1\n1 turn saved in kept_test.jsonl\n');
      // A request for one token only looks whether the server is there.
      expect(server.requests.filter(({ body }) => body.max_tokens !== 1)).toHaveLength(2);
      expect(parseObject(readFileSync(join(folder, 'kept_test.jsonl'), 'utf8').trim())?.turn_idx).toBe(1);
    },
  );

  test('continues once the failed action was asked again', async () => {
    const { code, stdout } = await simulated('rm\n/retry\npwd\n', machine({ rm: { content: '' } }));
    expect(stdout).toBe('$ rm\nout 2\n$ pwd\nout 1\n');
    expect(code).toBe(0);
  });

  test('never lets a reply steer the terminal, in whatever pieces it comes', async () => {
    const deltas = ['<predicted_observation>a\x1b', '[31mred\x1b]0;ti', 'tle\x07 \u202eb</predicted_observation>'];
    const { stdout } = await simulated('ls\n', machine({ ls: { deltas: deltas.map((content) => ({ content })) } }));
    expect(stdout).toBe('ared b\n');
  });

  test('is told of a reply truncated by its budget, and the turn is added', async () => {
    const { code, stdout, stderr } = await simulated(
      'ls\n',
      machine({ ls: { content: '<predicted_observation>half', finishReason: 'length' } }),
    );
    expect([code, stdout]).toEqual([0, 'half\n']);
    expect(stderr).toContain('cut off');
  });

  test('is told of a reply without the tag, which counts in full', async () => {
    const plain = () => machine({ ls: { content: '<think>hm</think>a.txt' } });
    const { code, stdout, stderr } = await simulated('ls\npwd\n', plain());
    expect([code, stdout]).toEqual([0, 'a.txt\n$ pwd\nout 1\n']);
    expect(stderr.match(/turn \d: the reply has no <predicted_observation>/g)).toEqual([
      'turn 1: the reply has no <predicted_observation>',
    ]);
    const { stdout: lines } = await simulated('ls\npwd\n', plain(), { flags: ['--json'] });
    expect(documents(lines).map((turn) => turn?.untagged)).toEqual([true, undefined]);
  });

  test('writes its key nowhere', async () => {
    const { stdout, stderr, folder } = await simulated(
      'ls\n/save run\n',
      machine({ ls: { content: TAGGED(`echo ${KEY}`) } }),
    );
    const saved = readFileSync(join(folder, 'run_test.jsonl'), 'utf8');
    for (const text of [stdout, stderr, saved]) expect(text).not.toContain(KEY);
  });
});

describe('what can be typed besides actions', () => {
  test('a scenario precedes all later actions until it is ended', async () => {
    const { server } = await simulated('ls\n/scenario the disk is full\ncp a b\n/scenario off\nid\n', machine());
    const prompts = server.requests.map(({ body }) => String(body.messages.at(-1).content));
    expect(prompts.map((text) => text.includes('**Simulation Instruction:**\nthe disk is full'))).toEqual([
      false,
      true,
      false,
    ]);
  });

  test('undo, retry and reset go back: the next request does not contain what was undone', async () => {
    const { server, stdout } = await simulated('one\ntwo\n/retry\n/undo\nthree\n/reset\nfour\n', machine(), {
      flags: ['--seed', '7'],
    });
    const texts = server.requests.map(dialogueIn);
    expect(texts[2]).toBe(texts[1]);
    expect(server.requests[2]?.body.seed).not.toBe(server.requests[1]?.body.seed);
    expect(texts[3]).not.toContain('two');
    expect(texts[4]).not.toContain('one');
    expect(stdout).toContain('$ two\nout 1\n$ two\nout 2\nback before turn 2\n');
  });

  test('branches continue separately from where they were forked', async () => {
    const { server, stdout } = await simulated(
      'one\n/fork b\ntwo\n/fork main\nthree\n/fork\n/fork b\nfour\n',
      machine(),
    );
    const texts = server.requests.map(dialogueIn);
    expect(texts[2]).toContain('one');
    expect(texts[2]).not.toContain('two');
    expect(texts[3]).toContain('two');
    expect(texts[3]).not.toContain('three');
    expect(stdout).toContain('* main  2 turns\n  b  2 turns\n');
  });

  test('a path is an action, an unknown command is not, and one with a leading space is', async () => {
    const { server, stderr, code } = await simulated('/bin/ls\n/sho\n /show me\n', machine());
    expect(server.requests.map(typedIn)).toEqual(['/bin/ls', '/show me']);
    expect(stderr).toContain('there is no command /sho; /help lists them');
    expect(code).toBe(2);
  });

  test('a failing command does not stop later ones, and sets the exit code', async () => {
    const { code, stdout, stderr } = await simulated(
      'ls\n/save /proc/none/x\n/undo\n/undo\n/fork b\n/show 9\n/save\n',
      machine(),
    );
    expect(code).toBe(73);
    expect(stdout).toContain('back before turn 1\na new branch b, before turn 1\n');
    expect(stderr).toMatch(
      /cannot write .*\nthere is no simulated turn to undo\nthere is no turn 9: .*\nname a file: .*\n/,
    );
  });

  test('a block between fences is one action', async () => {
    const { server } = await simulated(
      '```\n[\n{"keystrokes": "top\\n",\n"duration": 2}]\n```\n```\ncat <<E\nE\n```\n',
      machine(),
    );
    const prompts = server.requests.map(({ body }) => String(body.messages.at(-1).content));
    expect(prompts[0]).toContain('"duration": 2');
    expect(prompts[1]).toContain('"keystrokes": "cat <<E\\nE\\n"');
  });
});

describe('a saved trajectory', () => {
  test('is only replaced with an exclamation mark', async () => {
    const { folder, code, stderr } = await simulated('ls\n/save run\npwd\n/save run\n', machine());
    const path = join(folder, 'run_test.jsonl');
    const first = readFileSync(path, 'utf8');
    expect(parseObject(first.trim())?.turn_idx).toBe(1);
    expect(code).toBe(2);
    expect(stderr).toContain('run_test.jsonl exists already');
    const again = await simulated('ls\npwd\n/save run.jsonl!\n', machine(), { cwd: folder });
    expect(again.code).toBe(0);
    expect(parseObject(readFileSync(path, 'utf8').trim())?.turn_idx).toBe(2);
  });

  test('is a row that infer asks exactly as the last turn was asked', async () => {
    const session = await simulated('ls\n/scenario it is slow\npwd\nid\n/save data/run\n', machine());
    const server = await serve(machine());
    const args = ['infer', '--data-dir', join(session.folder, 'data'), '--output-dir', join(session.folder, 'out')];
    const { code, stderr } = await awb([...args, '--model-base-url', server.url, '--model-name', 'wm']);
    expect([code, stderr.includes('cannot be used')]).toEqual([0, false]);
    expect(server.requests[0]?.body.messages).toEqual(session.server.requests[2]?.body.messages);
  });

  test('is rolled out turn by turn', async () => {
    const session = await simulated('ls\npwd\nid\n/save data/run\n', machine());
    const server = await serve(machine());
    const args = [
      'infer',
      '--rollout',
      '--data-dir',
      join(session.folder, 'data'),
      '--output-dir',
      join(session.folder, 'out'),
    ];
    const { code } = await awb([...args, '--model-base-url', server.url, '--model-name', 'wm']);
    expect(code).toBe(0);
    expect(server.requests.map(typedIn)).toEqual(['ls', 'pwd', 'id']);
    expect(server.requests.map(({ body }) => body.messages)).toEqual(
      session.server.requests.map(({ body }) => body.messages),
    );
  });

  test('of nothing is none', async () => {
    const { code, stderr, folder } = await simulated('/save run\n', machine());
    expect([code, stderr.includes('nothing to save')]).toEqual([2, true]);
    expect(existsSync(join(folder, 'run_test.jsonl'))).toBe(false);
  });
});

describe('where a world starts', () => {
  const [row] = readFileSync(join(RECORDED, 'terminal_test.jsonl'), 'utf8')
    .split('\n')
    .map((line) => parseObject(line));
  const name = `terminal:${row?.id}:${row?.turn_idx}`;
  const at = (from: string) => ['--from', from, '--data-dir', RECORDED];

  test('a row: its own system prompt and true turns are sent, and nothing of what it is to predict', async () => {
    const { code, server } = await simulated('whoami\n', machine(), { start: at(name) });
    expect(code).toBe(0);
    const messages = server.requests[0]?.body.messages;
    expect(messages[0].content).toBe(row?.system_str);
    expect(messages).toHaveLength(2 * Number(row?.turn_idx));
    expect(messages[1].content).toBe(Array.isArray(row?.prompt) ? row.prompt[0] : undefined);
    expect(typedIn(server.requests[0] as SeenRequest)).toBe('whoami');
  });

  test('a missing row is refused with the nearest one, before anything is asked', async () => {
    const { code, stderr, server } = await simulated('ls\n', machine(), { start: at(`${name}9`) });
    expect(code).toBe(66);
    expect(stderr).toContain(`did you mean "${name}"?`);
    expect(server.count).toBe(0);
  });

  test('an id that several rows have is refused with their names', async () => {
    const { code, stderr } = await simulated('ls\n', machine(), { start: at(String(row?.id)) });
    expect(code).toBe(2);
    expect(stderr).toContain(name);
  });

  test.each([
    [['--domain', 'terminl'], 'did you mean "terminal"?'],
    [[], '--domain NAME'],
    [['--domain', 'web', '--from', 'x'], '--domain NAME'],
    [['--from', 'x', '--task', 'y'], 'a row brings its own'],
  ])('%j is refused', async (start, words) => {
    const { code, stderr } = await simulated('ls\n', machine(), { start });
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
  });

  test('task and state, the state from a file, precede only the first action', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'in'));
    await writeFile(join(folder, 'in/screen.txt'), 'root@x:~#\n');
    const start = ['--domain', 'terminal', '--task', 'Tidy up', '--state', 'in/screen.txt'];
    const { server } = await simulated('ls\nid\n', machine(), { start, cwd: folder });
    const prompts = server.requests.map(({ body }) => String(body.messages.at(-1).content));
    expect(prompts[0]).toContain('**Task Instruction:**\nTidy up\n\n**Current State:**\nroot@x:~#\n\n**Action:**');
    expect(prompts[1]).not.toContain('Tidy up');
  });
});

describe('limits', () => {
  const counting =
    (...promptTokens: readonly number[]): Handler =>
    ({ index }) => ({
      content: TAGGED(`out ${index}`),
      usage: { prompt_tokens: promptTokens[index] ?? 0, completion_tokens: 10 },
    });

  test('a filling context is reported before it is full, and then nothing is asked', async () => {
    const models = [{ id: 'wm', max_model_len: 4_096 }];
    const { code, stderr, server } = await simulated('a\nb\nc\nd\n/save kept\n', counting(1_000, 3_400, 3_900), {
      models,
    });
    expect(stderr).toMatch(/^the context is 8\d % full: about 3,\d{3} of 4,096 tokens\nthe context is 9\d % full/);
    expect(stderr).toContain('turn 4: the context is full');
    expect(stderr).toContain('/undo and /reset go back');
    expect(server.count).toBe(3);
    expect(code).toBe(3);
  });

  test('a context that no server reports is the one given by flag', async () => {
    const { stderr, server } = await simulated('a\nb\n', counting(3_900), { flags: ['--context', '4096'] });
    expect(stderr).toContain('of 4,096 tokens');
    expect(server.count).toBe(1);
  });

  test('a spent budget stops the asking with its own exit code', async () => {
    const { code, stderr, server } = await simulated('a\nb\n', counting(100, 100), {
      flags: ['--budget-tokens', '100'],
    });
    expect([code, server.count]).toEqual([75, 1]);
    expect(stderr).toContain('budget of 100 tokens');
  });
});
