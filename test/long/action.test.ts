// action.yml as GitHub runs it: the script of its step in bash, with inputs as variables, and the compiled program.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { command as gate } from '../../src/cli/gate.js';
import { parsePolicy } from '../../src/stats/policy.js';
import { ROOT, temporaryFolder } from '../support/cli.js';
import { around, judgedRun } from '../support/judged-runs.js';

interface Action {
  readonly inputs: Readonly<Record<string, { readonly default?: string; readonly required?: boolean }>>;
  readonly outputs: Readonly<Record<string, { readonly value: string }>>;
  readonly runs: {
    readonly using: string;
    readonly steps: readonly {
      readonly id: string;
      readonly shell: string;
      readonly run: string;
      readonly env: Readonly<Record<string, string>>;
    }[];
  };
}

let action: Action;
let dir: string;
beforeAll(async () => {
  action = parse(await readFile(join(ROOT, 'action.yml'), 'utf8'));
  dir = await temporaryFolder();
  const db = join(dir, 'runs.sqlite');
  await judgedRun(join(dir, 'base'), { label: 'base', rating: around(3) }, db);
  await judgedRun(join(dir, 'same'), { label: 'same', rating: around(3, 1) }, db);
  await judgedRun(join(dir, 'fell'), { label: 'fell', rating: (...row) => around(3, 1)(...row) - 0.5 }, db);
  const torn = (_: string, row: number) => around(3, 1)('', row) + (row % 4 < 2 ? 0.9 : -1);
  await judgedRun(join(dir, 'unsure'), { label: 'unsure', rating: torn }, db);
  await judgedRun(join(dir, 'other judge'), { label: 'other judge', rating: around(3), identity: { judge: 'x' } }, db);
});

/**
 * Runs the steps with these inputs as a runner does: fills in defaults, and reads outputs from the file.
 * @param programs shell scripts by name, found before others on the path
 */
async function runAction(
  given: Readonly<Record<string, string>>,
  checkout = ROOT,
  programs: Readonly<Record<string, string>> = {},
) {
  const [step] = action.runs.steps;
  const folder = await temporaryFolder();
  const [output, summary] = [join(folder, 'output'), join(folder, 'summary')];
  const inputs = Object.fromEntries(Object.entries(action.inputs).map(([name, input]) => [name, input.default ?? '']));
  const known = { ...inputs, command: `${process.execPath} ${join(ROOT, 'dist/bin.js')}`, db: 'runs.sqlite', ...given };
  const env = Object.entries(step?.env ?? {}).map(([name, text]) => [
    name,
    text.replace(/^\$\{\{ inputs\.([\w-]+) \}\}$/, (_, input: string) => known[input as keyof typeof known] as string),
  ]);
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['--noprofile', '--norc', '-e', '-o', 'pipefail', '-c', step?.run ?? ''],
    {
      cwd: dir,
      encoding: 'utf8',
      env: {
        PATH: `${folder}:${process.env.PATH}`,
        GITHUB_ACTION_PATH: checkout,
        GITHUB_ACTIONS: 'true',
        GITHUB_OUTPUT: output,
        GITHUB_STEP_SUMMARY: summary,
        ...Object.fromEntries(env),
      },
    },
  );
  const read = async (path: string) => (existsSync(path) ? readFile(path, 'utf8') : '');
  return { status, stdout, stderr, output: await read(output), summary: await read(summary) };
}

describe('the command that runs awb', () => {
  /** A checkout of the action whose setup records that it ran, and builds a program that is this one. */
  async function checkout(setup = ''): Promise<string> {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'scripts'));
    await mkdir(join(folder, 'dist'));
    const bin = `import ${JSON.stringify(join(ROOT, 'dist/bin.js'))};`;
    const built = `writeFileSync(new URL('../dist/bin.js', import.meta.url), ${JSON.stringify(bin)})`;
    await writeFile(
      join(folder, 'scripts/setup.mjs'),
      `import { writeFileSync } from 'node:fs';\n${setup || built};\n`,
    );
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    return folder;
  }

  it("is the action's own checkout, built first", async () => {
    const { status, output } = await runAction({ base: 'base', candidate: 'same', command: '' }, await checkout());
    expect({ status, output }).toEqual({ status: 0, output: 'verdict=GO\nexit-code=0\n' });
  });

  it('is an error if that cannot be built, and never a verdict', async () => {
    const broken = await checkout('process.exit(1)');
    const { status, output, stderr } = await runAction({ base: 'base', candidate: 'same', command: '' }, broken);
    expect({ status, output }).toEqual({ status: 1, output: 'verdict=ERROR\n' });
    expect(stderr).toContain('actions/setup-node');
  });

  it('is a published version if one is named, as one word', async () => {
    const { stdout } = await runAction({ candidate: 'same', command: '', version: '1.2.0; touch pwned' }, '', {
      npx: 'printf "%s|" "$@"',
    });
    expect(stdout).toMatch(/^--yes\|agentworldbench@1\.2\.0; touch pwned\|gate\|/);
    expect(existsSync(join(dir, 'pwned'))).toBe(false);
  });
});

describe('action.yml', () => {
  it('hands every input to the script as a variable, and interpolates none', () => {
    const [step, ...others] = action.runs.steps;
    expect({ using: action.runs.using, others, shell: step?.shell }).toEqual({
      using: 'composite',
      others: [],
      shell: 'bash',
    });
    expect(step?.run).not.toContain('${{');
    const used = JSON.stringify(step).match(/inputs\.[\w-]+/g) ?? [];
    expect(new Set(used)).toEqual(new Set(Object.keys(action.inputs).map((name) => `inputs.${name}`)));
  });

  it('uses only flags of awb gate', () => {
    const flags = [...(action.runs.steps[0]?.run ?? '').matchAll(/\(--([a-z-]+)|gate --([a-z-]+)/g)].map(
      (m) => m[1] ?? m[2],
    );
    expect(flags.length).toBeGreaterThan(4);
    expect(Object.keys(gate.options)).toEqual(expect.arrayContaining(flags));
  });

  it.each([
    ['same', 'GO', 0],
    ['fell', 'NO-GO', 4],
    ['unsure', 'INCONCLUSIVE', 5],
    ['other judge', 'INCOMPLETE', 3],
    ['nobody', 'ERROR', 2],
    ['same', 'ADVICE', 0, 'published:GPT-5.4'],
  ])('%s: %s is the output, and %d the exit code', async (candidate, verdict, code, base = 'base') => {
    const { status, output, summary } = await runAction({ base, candidate });
    expect({ status, output }).toEqual({ status: code, output: `verdict=${verdict}\nexit-code=${code}\n` });
    expect(summary.startsWith(`## ${verdict}: `)).toBe(verdict !== 'ERROR');
  });

  it('lets INCONCLUSIVE pass on request, and nothing else', async () => {
    const run = async (candidate: string) =>
      (await runAction({ base: 'base', candidate, inconclusive: 'pass' })).status;
    expect([await run('unsure'), await run('fell')]).toEqual([0, 4]);
    expect(await runAction({ base: 'base', candidate: 'same', inconclusive: 'maybe' })).toMatchObject({ status: 2 });
  });

  it('passes on files and further flags', async () => {
    const { status, stdout } = await runAction({
      candidate: 'same',
      args: '--min-overall 55\n--min os=50',
      junit: 'gate.xml',
      'json-report': 'gate.json',
    });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^::notice title=awb gate%3A GO::/m);
    expect(JSON.parse(await readFile(join(dir, 'gate.json'), 'utf8')).policy.min_score).toHaveProperty('os');
    expect(await readFile(join(dir, 'gate.xml'), 'utf8')).toContain('<testsuites');
  });

  it.each(['$(touch pwned)', '`touch pwned`', "'; touch pwned; '", '--junit=pwned', '* '])(
    'runs nothing from an input: %s',
    async (text) => {
      const { status, output } = await runAction({ base: text, candidate: text, args: `$(touch pwned) ; touch pwned` });
      expect({ status, output }).toEqual({ status: 2, output: 'verdict=ERROR\nexit-code=2\n' });
      expect(existsSync(join(dir, 'pwned'))).toBe(false);
    },
  );
});

describe('examples', () => {
  it('the policy is a valid policy', async () => {
    const policy = parsePolicy(parse(await readFile(join(ROOT, 'examples/gate.yaml'), 'utf8')));
    expect(policy.requireEqual).toEqual(['judge', 'rubric', 'protocol', 'data']);
  });

  it('the workflow gives the action only inputs that exist and all required ones, and no expression to a shell', async () => {
    const workflow = parse(await readFile(join(ROOT, 'examples/checkpoint-gate.yml'), 'utf8'));
    const { steps } = workflow.jobs.gate as { steps: readonly { uses?: string; run?: string; with?: object }[] };
    const gateStep = steps.find(({ uses }) => uses?.includes('agentworldbench'));
    const given = Object.keys(gateStep?.with ?? {});
    expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(given));
    for (const [name, input] of Object.entries(action.inputs)) if (input.required) expect(given).toContain(name);
    for (const { run } of steps) expect(run ?? '').not.toContain('${{');
  });
});
