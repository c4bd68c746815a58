// The README and the pages of docs/ describe what the program does.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { PACK } from '../../src/benchmark/rubric-pack.js';
import { COMMANDS } from '../../src/cli.js';
import { EXIT } from '../../src/core/errors.js';
import { openSqlite } from '../../src/disk/sqlite.js';
import { openPriceList } from '../../src/model/prices/prices.js';
import { COMMON } from '../../src/settings/command.js';
import { awb, RECORDED, ROOT, startAwb, temporaryFolder } from '../support/cli.js';
import { holdText } from '../support/messages.js';

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const page = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const ALL = PAGES.map(page).join('\n');

/** The texts of the pages' code blocks in a language. */
function blocks(language: string): string[] {
  return [...ALL.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].filter((m) => m[1] === language).map((m) => m[2] as string);
}

async function optionNames(): Promise<Set<string>> {
  const names = new Set([...Object.keys(COMMON), 'help']);
  for (const { load } of COMMANDS) for (const option of Object.keys((await load()).command.options)) names.add(option);
  return names;
}

describe('the quickstart', () => {
  let dir: string;
  let printed: string;
  let echoed: string[];

  const quickstart = async (...flags: string[]) => {
    const ran = await startAwb(['quickstart', '--no-color', ...flags], { AWB_THREADS: '1' }, dir).ended;
    expect(ran.code).toBe(EXIT.done);
    return { stdout: ran.stdout, echoed: [...ran.stderr.matchAll(/^\$ (.*)$/gm)].map((match) => match[1] as string) };
  };

  beforeAll(async () => {
    dir = await temporaryFolder();
    ({ stdout: printed, echoed } = await quickstart());
  }, 120_000);

  test('prints the table of the README', () => {
    const shown = blocks('').find((block) => block.startsWith('Run           MCP')) as string;
    // A random model's text depends on the processor's arithmetic; the baselines do not.
    const exact = (text: string) => text.split('\n').filter((line) => !line.startsWith('tiny random '));
    expect(exact(printed)).toEqual(expect.arrayContaining(exact(shown)));
    expect(printed).toMatch(/^tiny random( +\d+\.\d\d){8} +100 %$/m);
  });

  test('says what it does, and what to try next', async () => {
    // A random model's text depends on the processor's arithmetic.
    const exact = printed.replace(/^tiny random .*\n/gm, '');
    // How much of this line is shown depends on the path of the checkout.
    const lines = echoed.map((line) => `$ ${line.replace(/^(awb infer --local).*/, '$1 <model> …')}\n`);
    await holdText('quickstart', `${lines.join('')}--- stdout\n${exact}`, {
      [dir]: '<folder>',
    });
  });

  test('leaves a page of its runs, down to each row', async () => {
    const folder = join(dir, 'quickstart');
    expect(await readFile(join(folder, 'index.html'), 'utf8')).toContain('<script src="app.js">');
    const names = await readdir(join(folder, 'data'));
    for (const kind of ['run', 'samples']) {
      expect(names.filter((name) => name.startsWith(`${kind}-`))).toHaveLength(8);
    }
    expect(names.filter((name) => name.startsWith('texts-')).length).toBeGreaterThan(8);
    expect(printed).toMatch(/^ {2}open quickstart\/index\.html$/m);
  });

  test('leaves runs that awb status shows as complete', async () => {
    const { code, stdout } = await awb(['status', 'made-up-100', 'oracle'], { cwd: join(dir, 'quickstart') });
    expect([code, stdout]).toEqual([EXIT.done, expect.stringMatching(/made-up-100 .*complete +2,170\/2,170/)]);
  });

  test('names the remedy if its folder cannot be written', async () => {
    await writeFile(join(dir, 'file'), '');
    const { code, stderr } = await awb(['quickstart', '--output-dir', join(dir, 'file')]);
    expect([code, stderr]).toEqual([EXIT.cannotCreate, expect.stringContaining('--output-dir')]);
  });

  test('leaves a database that the queries of docs/ can read', () => {
    const database = openSqlite(join(dir, 'quickstart/awb.sqlite'), { readonly: true });
    const queries = blocks('sql').flatMap((block) => block.split(';').filter((query) => /SELECT/.test(query)));
    expect(queries).toHaveLength(8);
    for (const query of queries) expect(() => database.prepare(query).all()).not.toThrow();
    database.close();
  });
});

/** Command lines of the code blocks, with continued lines joined and comments removed, and awb commands in running text. */
function commandLines(path: string): string[][] {
  const text = page(path);
  const fenced = [...text.matchAll(/^ *```(?:sh|bash)?\n([\s\S]*?)^ *```$/gm)]
    .flatMap((m) => (m[1] as string).replaceAll('\\\n', ' ').split('\n'))
    .map((line) => line.replace(/^ +|^.*(?:\|| &&) (?=awb )/g, ''))
    .filter((line) =>
      /^(?:awb|npm|npx|node|git|cd|hf|vllm|python|transformers|llama-server|source|curl|pip) /.test(line),
    );
  const inline = [...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/`(awb [a-z-]+[^`]*)`/g)].map(
    (m) => m[1] as string,
  );
  return [...fenced, ...inline.filter((line) => !/[…<>]|\.\.\./.test(line))].map((line) =>
    [...line.replace(/ +#.*$/, '').matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map((m) => m[1] ?? m[2] ?? (m[3] as string)),
  );
}

/** Words that the command lines of other programs must contain: serving lines that name a model follow the model card. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  vllm: ['Qwen/Qwen-AgentWorld-35B-A3B', '--language-model-only', '--reasoning-parser', '--port', '8000'],
  python: ['sglang.launch_server', '--reasoning-parser', 'qwen3', '--context-length', '262144', '--port', '8000'],
  transformers: ['serve', 'Qwen/Qwen-AgentWorld-35B-A3B'],
  hf: ['download', 'Qwen/Qwen-AgentWorld-35B-A3B', 'tokenizer.json', '--local-dir'],
  'llama-server': ['-m', '--jinja'],
  source: ['completion'],
  npx: ['vitest', 'run'],
  node: [],
  git: ['clone', 'https://github.com/agentworldbench/agentworldbench'],
  cd: ['agentworldbench'],
};

/** For lines in which `MODEL` is a placeholder: how the engine is called. */
const ANY_MODEL: Readonly<Record<string, RegExp>> = {
  vllm: /^(?:serve MODEL |run-batch -i \S+ -o \S+ --model MODEL)/,
  transformers: /^serve MODEL /,
  'llama-server': /^-m MODEL\.gguf /,
};

/** Flags of vLLM, npm and unshare that appear in running text. */
const ENGINE_FLAGS = [
  ...['reasoning-parser', 'enable-prompt-tokens-details', 'structured-outputs-config'],
  ...['max-model-len', 'served-model-name', 'ignore-scripts', 'net'],
];

describe('command lines', () => {
  test.each(PAGES)('%s: awb understands its own, and those of other programs have the right words', async (path) => {
    const cwd = await temporaryFolder();
    const scripts = Object.keys((JSON.parse(page('package.json')) as { scripts: object }).scripts);
    for (const [program, ...words] of commandLines(path)) {
      if (program === 'awb') {
        const { code, stderr } = await awb([...words, ...(words[0]?.startsWith('-') ? [] : ['--print-config'])], {
          cwd,
        });
        expect({ line: words.join(' '), code, stderr }).toEqual({
          line: words.join(' '),
          code: EXIT.done,
          stderr: '',
        });
      } else if (program === 'npm') {
        const known = ['link', 'test', 'install node-llama-cpp', ...scripts.map((name) => `run ${name}`)];
        expect(known).toContain(words.join(' '));
      } else if (/\bMODEL\b/.test(words.join(' '))) {
        expect(words.join(' ')).toMatch(ANY_MODEL[program as string] ?? /^$/);
      } else {
        expect(words.join(' ').split(/[ <>()]/)).toEqual(
          expect.arrayContaining([...(OTHERS[program as string] ?? ['?'])]),
        );
      }
    }
  });

  test('the README names as many commands as a reader needs', () => {
    expect(commandLines('README.md').length).toBeGreaterThan(15);
  });
});

test('the README is short', () => {
  expect(page('README.md').split('\n').length).toBeLessThanOrEqual(151);
});

test("the gate's promises have the same figures everywhere", () => {
  const promises = (path: string) =>
    [...page(path).matchAll(/^\| [^|]+\|(?: [\d.]+ % \|){3}$/gm)].map(([line]) => line);
  const inDocs = promises('docs/compare-and-gate.md');
  expect(inDocs.length).toBeGreaterThanOrEqual(4);
  // The README states two of them in a sentence.
  const goOf = (drop: string) =>
    inDocs
      .find((line) => line.startsWith(`| ${drop}`))
      ?.split('|')[2]
      ?.trim();
  expect(goOf('5 ')).toBe('0.0 %');
  expect(page('README.md')).toContain(
    `the same weights asked again passed in ${goOf('0 (the same')} of simulated pairs, and a checkpoint 5 points worse in none`,
  );
  // The simulated figures are in bench/README.md, under other line names.
  const figures = (line: string) => line.split('|').slice(2).join('|');
  expect(promises('bench/README.md').map(figures)).toEqual(expect.arrayContaining(inDocs.map(figures)));
});

test('the addresses equal those of package.json', () => {
  const { repository, homepage, bugs } = JSON.parse(page('package.json')) as Record<string, unknown>;
  expect(repository).toEqual({ type: 'git', url: 'git+https://github.com/agentworldbench/agentworldbench.git' });
  expect([homepage, bugs]).toEqual([
    'https://github.com/agentworldbench/agentworldbench#readme',
    'https://github.com/agentworldbench/agentworldbench/issues',
  ]);
});

describe('reference', () => {
  test('every named flag exists', async () => {
    const known = await optionNames();
    const own = ALL.replace(/^(?:llama-server|vllm|python|hf) .*$/gm, '').replace(/`--array=[^`]*`/g, '');
    const named = [...own.matchAll(/(?<![\w-])--([a-z][a-z-]+)/g)].map((match) => match[1] as string);
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((name) => !known.has(name) && !ENGINE_FLAGS.includes(name))).toEqual([]);
  });

  test('the exit codes are those of the program', () => {
    const listed = [...page('docs/exit-codes.md').matchAll(/^\| ([\d, ]+) \|/gm)].flatMap((match) =>
      (match[1] as string).split(',').map(Number),
    );
    expect(listed.sort((a, b) => a - b)).toEqual(Object.values(EXIT).sort((a, b) => a - b));
  });

  test('the configuration file is accepted, and flags override it', async () => {
    const dir = await temporaryFolder();
    await writeFile(join(dir, 'awb.yaml'), blocks('yaml').find((block) => block.startsWith('# awb.yaml')) as string);
    const shown = await awb(['infer', '--config', 'awb.yaml', '--model-name', 'mine', '--print-config', '--json'], {
      cwd: dir,
    });
    expect(shown.code).toBe(EXIT.done);
    expect(shown.stdout).toContain('results/step-100');
    expect(shown.stdout).toContain('"mine"');
    expect(shown.stdout).not.toContain('my-world-model');
  });

  test.each(blocks('yaml').map((block) => [block.split('\n')[0], block]))(
    'the YAML of %s fits its schema',
    async (_, block) => {
      const name = /^(?:scenarios|world):/m.test(block as string)
        ? 'scenario-suite'
        : /^models:/m.test(block as string)
          ? 'prices'
          : 'config';
      const schema = JSON.parse(readFileSync(join(ROOT, 'schemas', `${name}.json`), 'utf8'));
      expect(z.fromJSONSchema(schema).safeParse(parse(block as string)).error?.issues).toBeUndefined();
    },
  );

  test('the rubric pack in docs/judge.md fits its schema', () => {
    const pack = blocks('json').find((block) => block.includes('"template"')) as string;
    expect(PACK.safeParse(JSON.parse(pack)).error?.issues).toBeUndefined();
  });

  const hasJq = spawnSync('jq', ['--version']).status === 0;
  test.skipIf(!hasJq)('the jq recipes work on the events of a run', async () => {
    const cwd = await temporaryFolder();
    const infer = ['infer', '--data-dir', RECORDED, '--baseline', 'persistence', '--events', 'events.jsonl'];
    await awb([...infer, '--output-dir', 'out'], { cwd });
    const lines = page('docs/events.md').match(/^(?:tail .* \| )?jq .*$/gm) ?? [];
    expect(lines.length).toBeGreaterThan(3);
    for (const line of lines) {
      const { status, stdout, stderr } = spawnSync('sh', ['-c', line.replace('tail -f ', 'cat ')], {
        cwd,
        encoding: 'utf8',
      });
      expect({ line, status, stderr }).toEqual({ line, status: 0, stderr: '' });
      if (!line.includes('"failed"')) expect(stdout).not.toBe('');
    }
  });

  test('the price file is accepted, and names what it shows', async () => {
    const cwd = await temporaryFolder();
    await writeFile(
      join(cwd, 'prices.yaml'),
      blocks('yaml').find((block) => block.startsWith('# prices.yaml')) as string,
    );
    const prices = await openPriceList({ prices: 'prices.yaml' }, { cwd });
    const inputOf = (model: string) => prices.priceOf({ model, hosts: ['127.0.0.1:8000'], at: new Date() })?.input;
    expect(['step-100', 'my-judge', 'my-own-gpu', 'other'].map(inputOf)).toEqual([0.2, 1.75, 0, undefined]);
  });

  test('the modules are those of the source', () => {
    const text = page('docs/architecture.md');
    const table = text.slice(text.indexOf('| module | holds | imports |'), text.indexOf('## Ask'));
    const listed = [...table.matchAll(/^\| `([\w-]+)` \|/gm)].map((match) => match[1]);
    const modules = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(listed.sort()).toEqual(modules.map((module) => module.name).sort());
  });

  test('every link between the pages leads somewhere', () => {
    const broken = PAGES.flatMap((path) =>
      [...page(path).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map((match) => match[1] as string)
        .filter((target) => !/^https?:/.test(target) && !existsSync(join(ROOT, dirname(path), target)))
        .map((target) => `${path}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  test('every project file that a page names exists', () => {
    const isThere = (path: string) => existsSync(join(ROOT, path)) || existsSync(join(ROOT, 'src', path));
    const named = [...ALL.matchAll(/`([\w.-]+)\/([\w./-]*)`/g)].filter(([, folder]) => isThere(folder as string));
    expect(named.length).toBeGreaterThan(20);
    const made = /^(?:rubrics|prompts|results|data|dist)\//;
    expect(
      named.map(([, folder, rest]) => `${folder}/${rest}`).filter((path) => !made.test(path) && !isThere(path)),
    ).toEqual([]);
  });

  test('every page of docs/ is named in the README', () => {
    expect(PAGES.slice(1).filter((path) => !page('README.md').includes(`](${path})`))).toEqual([]);
  });

  test('every dependency has a reason', () => {
    const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const decisions = page('docs/decisions.md');
    expect(
      Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) => !decisions.includes(`**${name}**`)),
    ).toEqual([]);
  });
});
