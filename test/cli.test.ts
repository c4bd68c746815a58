// The program from outside: what it prints where, and its exit codes; and the process around it.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMMANDS, main } from '../src/cli.js';
import { EXIT, UserError } from '../src/core/errors.js';
import type { Io } from '../src/core/types.js';
import { COMMON, type CommandEntry, type CommandSpec, defineCommand } from '../src/settings/command.js';
import { holdMessage, holdText } from './support/messages.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const paint = defineCommand({
  description: 'Paints every row in a colour that is described here at such length that the line must be broken.',
  examples: { 'awb paint --row 3 \\\n  --api-key K': 'one row' },
  options: {
    row: { kind: 'integer', min: 1, required: true, group: 'Rows', help: 'which row' },
    'row-label': { kind: 'text', group: 'Rows', help: 'what to call it' },
    'api-key': { kind: 'text', secret: true, group: 'Model', help: 'key' },
    temperature: { kind: 'number', words: ['default'], default: 0.6, group: 'Sampling', help: 'how warm' },
    order: { kind: 'choice', choices: ['up', 'down'], default: 'up', group: 'Sampling', help: 'which way' },
    stream: { kind: 'boolean', default: true, group: 'Sampling', help: 'whole replies instead of streams' },
    lean: { kind: 'boolean', group: 'Sampling', help: 'less of everything' },
    timeout: { kind: 'duration', default: 900, group: 'Sampling', help: 'longest wait' },
    ids: { kind: 'list', help: 'only these' },
  },
  async run(settings, io, shown) {
    io.stdout.write(JSON.stringify({ settings, shown }));
    return EXIT.incomplete;
  },
});

interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function runMain(
  argv: readonly string[],
  { command = paint as CommandSpec, env = {} as Io['env'], commands = undefined as CommandEntry[] | undefined } = {},
): Promise<Outcome> {
  const written = { stdout: '', stderr: '' };
  const sink = (name: 'stdout' | 'stderr') => ({
    isTTY: false,
    columns: 80,
    write(text: string) {
      written[name] += text;
    },
  });
  const io: Io = {
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    env,
    cwd: '/',
    stop: new AbortController().signal,
    setLastWords() {},
    stdinClosed: () => new Promise<undefined>(() => {}),
  };
  const table = commands ?? [{ name: 'paint', summary: 'paint rows', load: async () => ({ command }) }];
  const exitCode = await main(argv, io, table);
  return { exitCode, ...written };
}

/** A command that only runs this function. */
function doing(run: CommandSpec['run']): { readonly command: CommandSpec } {
  const options = { ...COMMON, key: { kind: 'text', secret: true, help: 'x' } } as const;
  return { command: { description: 'x', examples: {}, options, run } };
}

describe('commands of two words', () => {
  const commands: CommandEntry[] = [
    { name: 'paint', summary: 'paint rows', load: () => Promise.reject(new Error('loaded')) },
    { name: 'row add', summary: 'add a row', of: 'rows', load: async () => ({ command: paint }) },
    { name: 'row drop', summary: 'drop a row', load: () => Promise.reject(new Error('loaded')) },
  ];

  test('both words find the command, in a line and in help', async () => {
    const { exitCode, stdout } = await runMain(['row', 'add', '--row', '7', '--print-config'], { commands });
    expect([exitCode, stdout]).toEqual([EXIT.done, expect.stringMatching(/^row +7 /m)]);
    for (const argv of [
      ['row', 'add', '--help'],
      ['help', 'row', 'add'],
    ]) {
      const help = await runMain(argv, { commands });
      expect([help.exitCode, help.stdout]).toEqual([EXIT.done, expect.stringMatching(/^Usage: awb row add /)]);
    }
  });

  test('the first word alone shows their help as misuse', async () => {
    const { exitCode, stderr } = await runMain(['row'], { commands });
    expect([exitCode, stderr]).toEqual([EXIT.usage, expect.stringMatching(/^ {2}row add +add a row$/m)]);
  });

  test('awb --help lists them on one line, awb row --help one by one', async () => {
    expect((await runMain(['--help'], { commands })).stdout).toMatch(/^ {2}row +add, drop: rows$/m);
    const { exitCode, stdout } = await runMain(['row', '--help'], { commands });
    expect([exitCode, stdout]).toEqual([EXIT.done, expect.stringMatching(/^ {2}row add +add a row$/m)]);
    expect(stdout).not.toContain('paint');
  });

  test.each([
    [['row', 'ad'], 'there is no command "row ad"; did you mean row add?'],
    [['add'], 'there is no command "add"; see awb --help'],
    [['row', 'add', '--rwo', '7'], 'unknown flag --rwo; did you mean --row?'],
  ])('awb %j: %s', async (argv, message) => {
    const { exitCode, stderr } = await runMain(argv, { commands });
    expect([exitCode, stderr.split('\n')[0]]).toEqual([EXIT.usage, `awb: ${message}`]);
  });
});

describe('help', () => {
  const notLoadable: CommandEntry[] = [
    { name: 'paint', summary: 'paint rows', load: () => Promise.reject(new Error('loaded')) },
  ];

  test.each([['--help'], ['-h'], ['help']])('awb %s lists the commands and loads none', async (flag) => {
    const { exitCode, stdout, stderr } = await runMain([flag], { commands: notLoadable });
    expect(stdout).toMatch(/^ {2}paint +paint rows$/m);
    expect([exitCode, stderr]).toEqual([EXIT.done, '']);
  });

  test('awb alone shows the help as misuse', async () => {
    const { exitCode, stdout, stderr } = await runMain([], { commands: notLoadable });
    expect(stderr).toMatch(/^Usage: awb/);
    expect([exitCode, stdout]).toEqual([EXIT.usage, '']);
  });

  test.each(['--version', '-V'])('awb %s is the version of the package', async (flag) => {
    const { exitCode, stdout } = await runMain([flag], { commands: notLoadable });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(exitCode).toBe(EXIT.done);
  });

  test.each([[['paint', '--help']], [['help', 'paint']]])(
    'awb %j is grouped, shows defaults and examples',
    async (argv) => {
      const { exitCode, stdout } = await runMain(argv);
      expect(exitCode).toBe(EXIT.done);
      expect([...stdout.matchAll(/^(\w+):$/gm)].map((match) => match[1])).toEqual(
        expect.arrayContaining(['Rows', 'Model', 'Sampling', 'Options', 'Examples']),
      );
      expect(stdout).toMatch(/--row <N> +which row \(required\)/);
      expect(stdout).toMatch(/--temperature <X\|default> +how warm \(default: 0\.6\)/);
      expect(stdout).toMatch(/--order <NAME> +which way \(up, down; default: up\)/);
      expect(stdout).toMatch(/--timeout <TIME> +longest wait \(default: 900 s\)/);
      expect(stdout).toMatch(/^ +--no-stream /m);
      expect(stdout).not.toMatch(/^ +--(stream|no-lean) /m);
      expect(stdout).toContain('    awb paint --row 3 \\\n      --api-key K');
    },
  );
});

describe("every command's help", () => {
  async function helpOf(name: string, ...more: string[]): Promise<string> {
    const { exitCode, stdout } = await runMain([...name.split(' ').filter(Boolean), '--help', ...more], {
      commands: [...COMMANDS],
    });
    expect([exitCode, stdout.split('\n').filter((line) => line.length > 80)]).toEqual([EXIT.done, []]);
    return stdout;
  }

  test.each(COMMANDS.map(({ name }) => name))('awb %s --help fits 80 columns and 60 lines', async (name) => {
    const help = await helpOf(name);
    expect(help).toMatch(/^Examples:$/m);
    expect(help.split('\n').length).toBeLessThanOrEqual(61);
    await helpOf(name, 'all');
  });

  test('awb --help shows the three steps and every command in 55 lines, and a file records all of it', async () => {
    const program = await helpOf('');
    expect(program.split('\n').length).toBeLessThanOrEqual(56);
    for (const word of new Set(COMMANDS.map(({ name }) => name.split(' ')[0]))) {
      expect(program).toMatch(new RegExp(`^ {2}${word} {2,}\\S`, 'm'));
    }
    const commands = await Promise.all(COMMANDS.map(({ name }) => helpOf(name)));
    await holdText('help', [program, ...commands].join(`${'-'.repeat(80)}\n`));
  });
});

describe('a command with daily options', () => {
  const command: CommandSpec = { ...(paint as CommandSpec), daily: 'order' };

  test('shows them and the required ones in its help, and says how to see the others', async () => {
    const { stdout } = await runMain(['paint', '--help'], { command });
    const shown = [...stdout.matchAll(/^ {2}(?:-\w, )?--([a-z-]+)/gm)].map((match) => match[1]);
    expect(shown).toEqual(['row', 'order']);
    expect(stdout).toContain('awb paint --help all explains all 15 flags, including the common ones:\n--config, ');
  });

  test.each([[['paint', '--help', 'all']], [['paint', '-h', 'all']], [['help', 'paint', 'all']]])(
    'awb %j shows every one',
    async (argv) => {
      const { stdout } = await runMain(argv, { command });
      for (const name of Object.keys(command.options)) expect(stdout).toMatch(new RegExp(`--(no-)?${name}\\b`));
      expect(stdout).not.toContain('explains all');
    },
  );

  test.each(['infer', 'judge', 'serve'])('awb %s names only options that it has', async (name) => {
    const real = (await COMMANDS.find((entry) => entry.name === name)?.load())?.command;
    const daily = real?.daily?.split(' ') ?? [];
    expect(daily.length).toBeGreaterThan(3);
    expect(Object.keys(real?.options ?? {})).toEqual(expect.arrayContaining(daily));
  });
});

describe('misuse', () => {
  test.each<[string[], string]>([
    [['pain'], 'there is no command "pain"; did you mean paint?'],
    [['nosuch', '--help'], 'there is no command "nosuch"; see awb --help'],
    [['--verison'], 'unknown flag --verison; did you mean --version?'],
    [['paint', '--row', '1', '--oder', 'up'], 'unknown flag --oder; did you mean --order?'],
    [['paint', '--row', '1', '--something-else'], 'unknown flag --something-else; see awb paint --help'],
    [['paint', '--row', '1', '--apikey=sk-very-secret'], 'unknown flag --apikey; did you mean --api-key?'],
    [['paint', '--row', '1', '--ids'], "Option '--ids <value>' argument missing"],
    [['paint', '--row', '1', '--lean=yes'], "Option '--lean' does not take an argument"],
    [['--lean', 'paint', '--row', '1'], 'unknown flag --lean; see awb --help'],
    [['paint', '--row', '1', '-5'], 'unknown flag -5; see awb paint --help'],
    [['paint', '--row', '1', '-abc'], 'unknown flag -a; see awb paint --help'],
    [['--one', '--two'], 'unknown flag --one; see awb --help'],
    [['paint', '--row', '1', '3'], 'unexpected argument "3"; see awb paint --help'],
    [
      ['paint', '--row', '1', '--row-label', '--lean'],
      "Option '--row-label' argument is ambiguous; Did you forget to specify the option argument for '--row-label'?; To specify an option argument starting with a dash use '--row-label=-XYZ'.",
    ],
    [['paint', '--row', '0'], '--row "0": expected an integer of at least 1'],
    [['paint', '--row', '1', '--', '-x'], 'unexpected argument "-x"; see awb paint --help'],
    [['paint'], 'awb paint also needs\n  --row <N>: which row\nfor example\n  awb paint --row 3 \\\n    --api-key K'],
  ])('awb %j', async (argv, message) => {
    expect(await runMain(argv)).toEqual({ exitCode: EXIT.usage, stdout: '', stderr: `awb: ${message}\n` });
  });

  test('all wrong values are named at once', async () => {
    const argv = ['paint', '--temperature', 'hot', '--order', 'left'];
    const { exitCode, stderr } = await runMain(argv, { env: { AWB_TIMEOUT: 'soon' } });
    expect(exitCode).toBe(EXIT.usage);
    expect(stderr).toBe(`awb: 3 problems:
  --temperature "hot": expected a number or default
  --order "left": expected one of up, down
  AWB_TIMEOUT "soon": expected a duration (900, 900s, 15m, 2h)
awb paint also needs
  --row <N>: which row
for example
  awb paint --row 3 \\
    --api-key K
`);
  });

  test('what follows an equals sign is a value, even if it looks like a flag', async () => {
    const { stdout } = await runMain(['paint', '--row', '1', '--row-label=--lean']);
    expect(JSON.parse(stdout).settings).toMatchObject({ rowLabel: '--lean', lean: false });
  });

  test.each([
    ['misuse-twice', ['report', '--run', 'step-1', '--run', 'step-2']],
    [
      'misuse-twice-secret',
      ['judge', '--judge-api-key', 'sk-one-1', '--judge-api-key', 'sk-two-2', '--predictions', 'p'],
    ],
    ['misuse-near', ['report', '--run', 'step-1', '--out', 'report.html']],
    ['misuse-near-folder', ['infer', '--out', 'results', '--baseline', 'oracle']],
  ])('%s', async (name, args) => {
    await holdMessage(name, args, {}, { asTyped: true });
  });

  test("another program's AWB_ variable causes a warning with the nearest name, and none under --quiet", async () => {
    const env = { AWB_VERSION: '3', AWB_ODER: 'up' };
    const { exitCode, stderr } = await runMain(['paint', '--row', '1'], { env });
    expect(exitCode).toBe(EXIT.incomplete);
    expect(stderr).toBe(
      'awb: warning: no option uses the environment variable "AWB_VERSION"\n' +
        'awb: warning: no option uses the environment variable "AWB_ODER"; did you mean "AWB_ORDER"?\n',
    );
    expect((await runMain(['paint', '--row', '1', '--quiet'], { env })).stderr).toBe('');
  });
});

describe('a command', () => {
  test("gets its settings and what may be shown of them, and its exit code is the program's", async () => {
    const argv = ['paint', '--row=2', '--no-stream', '--lean', '--ids', 'a,b', '--ids', 'c', '--api-key', 'k'];
    const { exitCode, stdout } = await runMain(argv);
    const { settings, shown } = JSON.parse(stdout);
    const common = { json: false, quiet: false, verbose: false, color: true };
    const given = {
      row: 2,
      temperature: 0.6,
      order: 'up',
      stream: false,
      lean: true,
      timeout: 900,
      ids: ['a', 'b', 'c'],
    };
    expect(settings).toEqual({ ...given, ...common, apiKey: 'k', printConfig: false });
    expect(shown).toEqual({ ...given, ...common });
    expect(exitCode).toBe(EXIT.incomplete);
  });

  test('may call other commands', async () => {
    const inner = doing(async (_, io) => {
      io.stdout.write('inner');
      return EXIT.incomplete;
    });
    const outer = doing((_, io, _shown, awb) => awb(['inner'], io));
    const commands = [
      { name: 'outer', summary: 'x', load: async () => outer },
      { name: 'inner', summary: 'x', load: async () => inner },
    ];
    expect(await runMain(['outer'], { commands })).toEqual({ exitCode: EXIT.incomplete, stdout: 'inner', stderr: '' });
  });

  test('takes all words without flags from its last operand on, if that is a list', async () => {
    const options = { ...paint.options, names: { kind: 'list', whole: true, help: 'x' } } as const;
    const command = { ...paint, options, operands: ['row-label', 'names'] } as CommandSpec;
    const settingsOf = async (...words: string[]) =>
      JSON.parse((await runMain(['paint', '--row', '1', ...words], { command })).stdout).settings;
    expect(await settingsOf('a', 'b', '--lean', 'c,d')).toMatchObject({
      rowLabel: 'a',
      names: ['b', 'c,d'],
      lean: true,
    });
    expect(await settingsOf('b', '--row-label', 'a', 'c')).toMatchObject({ rowLabel: 'a', names: ['b', 'c'] });
    expect(await settingsOf('a')).toMatchObject({ rowLabel: 'a', names: [] });
    const help = await runMain(['paint', '--help'], { command });
    expect(help.stdout).toMatch(/^Usage: awb paint \[options\] \[row-label\] \[names\.\.\.\]/);
  });

  test('takes negative numbers after an equals sign', async () => {
    const { stdout } = await runMain(['paint', '--row', '1', '--temperature=-0.5']);
    expect(JSON.parse(stdout).settings.temperature).toBe(-0.5);
  });

  test('is not run by --print-config, which also shows missing settings', async () => {
    const { exitCode, stdout } = await runMain(['paint', '--print-config', '--json', '--no-stream'], {
      env: { AWB_ORDER: 'down' },
    });
    const { settings } = JSON.parse(stdout);
    expect(settings.order).toEqual({ value: 'down', from: 'AWB_ORDER' });
    expect(settings.stream).toEqual({ value: false, from: '--no-stream' });
    expect(settings.row).toEqual({ value: null, from: 'not set' });
    expect(exitCode).toBe(EXIT.done);
  });
});

describe('errors', () => {
  test('that the user can act on are one message with their own exit code', async () => {
    const command = doing(() => Promise.reject(new UserError('the file is gone; give another', EXIT.inputMissing)));
    expect(await runMain(['paint', '--verbose'], command)).toEqual({
      exitCode: EXIT.inputMissing,
      stdout: '',
      stderr: 'awb: the file is gone; give another\n',
    });
  });

  test.each<[string[], Io['env'], boolean]>([
    [[], {}, false],
    [['--verbose'], {}, true],
    [[], { AWB_DEBUG: '1' }, true],
  ])('that are unexpected exit with 1; with %j and %j the stack shown is %s', async (flags, env, stack) => {
    const command = doing(() => Promise.reject(new TypeError('boom')));
    const { exitCode, stderr } = await runMain(['paint', ...flags], { ...command, env });
    expect(exitCode).toBe(EXIT.unexpected);
    expect(stderr).toMatch(/^awb: unexpected error: boom\n/);
    expect(/\n +at /.test(stderr)).toBe(stack);
    expect(stderr.includes('AWB_DEBUG=1')).toBe(!stack);
  });

  test('cannot control the terminal', async () => {
    const command = doing(() => Promise.reject(new UserError('a\x1b]0;title\x07b\rc\nd')));
    expect((await runMain(['paint'], command)).stderr).toBe('awb: ab c\nd\n');
  });

  test('and output never show a secret, wherever it was set and whatever repeats it', async () => {
    const leaky = doing(async (settings, io) => {
      const { key } = settings as unknown as { key: string };
      io.stdout.write(`out ${key}\n`);
      io.stderr.write(`progress ${key} ${io.env.OPENAI_API_KEY}\n`);
      throw new Error(`echo: Bearer ${key}`);
    });
    const env = { OPENAI_API_KEY: 'sk-openai-key' };
    for (const { argv, more } of [
      { argv: ['paint', '--verbose', '--key', 'sk-very-secret'], more: {} },
      { argv: ['paint', '--verbose'], more: { AWB_KEY: 'sk-very-secret' } },
    ]) {
      const { stdout, stderr } = await runMain(argv, { ...leaky, env: { ...env, ...more } });
      expect(stdout).toBe('out [secret]\n');
      expect(stderr).toContain('progress [secret] [secret]\nawb: unexpected error: echo: Bearer [secret]\n');
      expect(stderr).not.toMatch(/sk-very|sk-openai/);
    }
  });
});

describe('in GitHub Actions', () => {
  const hostile = doing(async (_settings, io) => {
    io.stdout.write('a row ##[error]x\n  ::error::x');
    io.stdout.write('\n:');
    io.stdout.write(':stop-commands::y\n');
    io.stdout.writeCommands?.('::notice::ours\n');
    io.stderr.write('failed: ##');
    io.stderr.write('[group]\n');
    throw new UserError('no label "a\n::error::z"');
  });

  test.each(['true', '1'])(
    'text from a model, a server or a label is not a command for the runner (%s)',
    async (runner) => {
      const { stdout, stderr } = await runMain(['paint'], { ...hostile, env: { GITHUB_ACTIONS: runner } });
      expect(stdout).toBe('a row ## [error]x\n  : :error::x\n: :stop-commands::y\n::notice::ours\n');
      expect(stderr).toBe('failed: ## [group]\nawb: no label "a\n: :error::z"\n');
    },
  );

  test('text is escaped, and commands are written only there', async () => {
    const { stdout } = await runMain(['paint'], { ...hostile, env: {} });
    expect(stdout).toBe('a row ##[error]x\n  ::error::x\n::stop-commands::y\n');
  });
});

describe('the process', () => {
  const dir = mkdtempSync(join(tmpdir(), 'awb-bin-'));
  const bin = join(dir, 'bin.js');
  afterAll(() => rmSync(dir, { recursive: true }));

  // bin.ts and its static imports are compiled; the rest of the program is scripted.
  beforeAll(() => {
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const options = '--ignoreConfig --noCheck --noResolve --module nodenext --target es2022 --outDir'.split(' ');
    execFileSync(process.execPath, [
      tsc,
      ...options,
      dir,
      ...['bin.ts', 'cli/hang-up.ts', 'core/errors.ts', 'core/json.ts'].map((file) => join(ROOT, 'src', file)),
    ]);
    writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  });

  function start(program: string, nodeFlags: readonly string[] = []): { child: ChildProcess; ended: Promise<Outcome> } {
    writeFileSync(join(dir, 'cli.js'), `export async function main(argv, io) { ${program} }\n`);
    const child = spawn(process.execPath, [...nodeFlags, bin, 'one', 'two'], { stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout?.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr?.on('data', (chunk) => {
      stderr += chunk;
    });
    const ended = new Promise<Outcome>((resolve) => {
      child.on('close', (code, signal) => resolve({ exitCode: code ?? (signal === null ? -1 : -2), stdout, stderr }));
    });
    return { child, ended };
  }

  function said(child: ChildProcess, text: string): Promise<void> {
    return new Promise((resolve) => {
      let heard = '';
      child.stderr?.on('data', (chunk) => {
        heard += chunk;
        if (heard.includes(text)) resolve();
      });
    });
  }

  const UNTIL_STOPPED = `
    const alive = setInterval(() => {}, 1000);
    io.stderr.write('ready');
    await new Promise((resolve) => io.stop.addEventListener('abort', resolve));
    clearInterval(alive);
    io.stderr.write(String(io.stop.reason));
    return 7;`;
  const NEVER_ENDS = `
    io.stop.addEventListener('abort', () => setTimeout(() => io.stderr.write('stopping'), 150));
    setInterval(() => {}, 1000);
    io.stderr.write('ready');
    await new Promise(() => {});`;

  test('hands arguments in and the exit code out', async () => {
    const { ended } = start(
      'io.stdout.write(argv.join() + io.columns); return 65;'.replace('io.columns', 'io.stdout.columns'),
    );
    expect(await ended).toEqual({ exitCode: 65, stdout: 'one,two80', stderr: '' });
  });

  test.each([
    ['SIGINT', 'SIGINT'],
    ['SIGTERM', 'SIGTERM'],
    ['SIGHUP', 'SIGTERM'],
  ] as const)(
    'the first %s asks the program to stop, with reason %s, and lets it end by itself',
    async (signal, reason) => {
      const { child, ended } = start(UNTIL_STOPPED);
      await said(child, 'ready');
      child.kill(signal);
      expect(await ended).toEqual({ exitCode: 7, stdout: '', stderr: `ready${reason}` });
    },
  );

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('the second %s ends a program that does not stop, with %d', async (signal, exitCode) => {
    const { child, ended } = start(NEVER_ENDS);
    await said(child, 'ready');
    child.kill(signal);
    await said(child, 'stopping');
    child.kill(signal);
    expect((await ended).exitCode).toBe(exitCode);
  });

  test('a reader that went away neither stops the work nor causes a message', async () => {
    const { child, ended } = start(`
      const chunk = 'x'.repeat(100000);
      for (let i = 0; i < 20; i++) { io.stdout.write(chunk); await new Promise((resolve) => setTimeout(resolve, 5)); }
      return 4;`);
    child.stdout?.destroy();
    expect(await ended).toMatchObject({ exitCode: 4, stderr: '' });
  });

  test('an old Node gets a message about what is needed, and none of the program is loaded', async () => {
    const old = join(dir, 'old.cjs');
    writeFileSync(
      old,
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.5' } });",
    );
    const { ended } = start('io.stdout.write("loaded"); return 0;', ['--require', old]);
    const { exitCode, stdout, stderr } = await ended;
    expect(stderr).toMatch(/^awb: Node\.js 20\.20 or later is required, but this is v/);
    expect([exitCode, stdout]).toEqual([1, '']);
  });
});
