// Rubric packs on disk: ours, broken ones, and official checkouts with awkward Python in them.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadRubricPack, loadWorldModelPrompts } from '../../src/bench/rubric-pack.js';
import { EXIT } from '../../src/errors.js';
import { DIMENSIONS, DOMAINS } from '../../src/types.js';

let root: string;
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'awb-pack-'));
});
afterAll(() => rm(root, { recursive: true }));

async function folderOf(files: Record<string, string | Uint8Array>): Promise<string> {
  const folder = join(root, String(folders++));
  await mkdir(folder);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return folder;
}

const SLOTS = '{context}|{world_model_input}|{predicted_observation}|{ground_truth}';

describe('the bundled pack', () => {
  test('has the published domains in the published order', async () => {
    const pack = await loadRubricPack(undefined);
    expect(pack).toMatchObject({ name: 'awb-1', official: false, domains: DOMAINS });
    expect(pack.systemPrompt('unheard-of')).toBeUndefined();
  });

  test.each(DOMAINS)('tells a judge of %s all that a judge has to know', async (domain) => {
    const prompt = (await loadRubricPack(undefined)).systemPrompt(domain) ?? '';
    const own = prompt.split(`# Domain: ${domain}\n`)[1] ?? '';
    for (const dimension of DIMENSIONS) {
      const section = new RegExp(`^## ${dimension}$([\\s\\S]*?)(?=^## )`, 'im').exec(own)?.[1] ?? '';
      for (const level of [1, 2, 3, 4, 5]) expect(section).toMatch(new RegExp(`(^|[.] )${level}: `, 'm'));
    }
    expect(own).toMatch(/## Must match exactly[\s\S]+## Only plausibly[\s\S]+## Not at all/);
    const contract = /<final_evaluation>\n(.*)\n<\/final_evaluation>/.exec(prompt)?.[1] ?? '';
    const shape = JSON.parse(contract);
    expect(Object.keys(shape)).toEqual(['strengths', 'weaknesses', 'scores']);
    expect(Object.keys(shape.scores)).toEqual([...DIMENSIONS]);
  });

  test('shows the truth before the prediction, so that repeats share all but the prediction', async () => {
    const { userTemplate } = await loadRubricPack(undefined);
    expect(userTemplate.match(/\{\w+\}/g)).toEqual([
      '{context}',
      '{world_model_input}',
      '{ground_truth}',
      '{predicted_observation}',
    ]);
    expect(userTemplate.startsWith('{context}')).toBe(true);
  });
});

test('there is a world-model prompt for each domain that asks for the tag', async () => {
  const prompts = await loadWorldModelPrompts();
  expect(prompts.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  for (const domain of DOMAINS) {
    expect(prompts.prompt(domain)).toContain('<predicted_observation></predicted_observation>');
  }
  expect(prompts.prompt('unheard-of')).toBeUndefined();
});

describe('a pack of one’s own', () => {
  const pack = { name: 'mine', version: '1', domains: { zoo: 'zoo.txt', mcp: 'zoo.txt' }, template: 'user.txt' };
  const files = { 'pack.json': JSON.stringify(pack), 'zoo.txt': '\nfeed the lions\n', 'user.txt': SLOTS };
  const withPack = (changes: object) => ({ ...files, 'pack.json': JSON.stringify({ ...pack, ...changes }) });

  test('may have any domains, with a text that they share or without', async () => {
    const plain = await loadRubricPack(await folderOf(files));
    expect(plain).toMatchObject({ name: 'mine', official: false, domains: ['zoo', 'mcp'], userTemplate: SLOTS });
    expect(plain.systemPrompt('zoo')).toBe('feed the lions');
    const shared = await loadRubricPack(
      await folderOf({ ...withPack({ common: 'c.txt' }), 'c.txt': 'you judge\r\n\r\nwell\r\n' }),
    );
    expect(shared.systemPrompt('zoo')).toBe('you judge\n\nwell\n\nfeed the lions');
  });

  test('has the same fingerprint wherever it lies, and another when anything in it changes', async () => {
    const variants = [
      files,
      files,
      { ...files, 'zoo.txt': 'feed the tigers' },
      { ...files, 'user.txt': `${SLOTS}.` },
      withPack({ name: 'other' }),
      withPack({ version: '2' }),
      withPack({ domains: { zoo: 'zoo.txt' } }),
    ];
    const packs = await Promise.all(variants.map(async (variant) => loadRubricPack(await folderOf(variant))));
    const prints = packs.map(({ fingerprint }) => fingerprint);
    expect(prints[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(prints[1]).toBe(prints[0]);
    expect(new Set(prints).size).toBe(variants.length - 1);
  });

  const cases: [string, Record<string, string | Uint8Array>, number, RegExp][] = [
    ['is no JSON', { ...files, 'pack.json': '{' }, EXIT.badData, /pack\.json: not a JSON object/],
    [
      'has a mistyped key',
      withPack({ tempalte: 'x' }),
      EXIT.badData,
      /unknown key "tempalte"; did you mean "template"\?/,
    ],
    ['has a strange key', withPack({ colour: 'x' }), EXIT.badData, /unknown key "colour"; the keys are name, version/],
    ['has no name', withPack({ name: undefined }), EXIT.badData, /"name" has to be a word/],
    ['has a name that is a path', withPack({ name: '../x' }), EXIT.badData, /"name" has to be a word/],
    ['has a number as version', withPack({ version: 1 }), EXIT.badData, /"version" has to be a text/],
    ['has no domains', withPack({ domains: {} }), EXIT.badData, /"domains" has to name a file for each/],
    ['has no common file but null', withPack({ common: null }), EXIT.badData, /"common" has to name a file beside/],
    ['names no template', withPack({ template: undefined }), EXIT.badData, /"template" has to name a file beside/],
    ['reaches outside', withPack({ domains: { zoo: '../secret' } }), EXIT.badData, /"zoo" has to name a file beside/],
    [
      'lacks a file',
      withPack({ domains: { zoo: 'zo.txt' } }),
      EXIT.inputMissing,
      /cannot read .*zo\.txt \(ENOENT\); put it back/,
    ],
    ['has an empty file', { ...files, 'zoo.txt': ' \n' }, EXIT.badData, /zoo\.txt is empty/],
    ['has a file in Latin-1', { ...files, 'zoo.txt': new Uint8Array([0xe9]) }, EXIT.badData, /zoo\.txt is not UTF-8/],
    [
      'lacks two slots',
      { ...files, 'user.txt': '{context}{ground_truth}' },
      EXIT.badData,
      /user\.txt has no slot \{world_model_input\}, \{predicted_observation\}/,
    ],
    [
      'has an unknown slot',
      { ...files, 'user.txt': `${SLOTS}{truth}` },
      EXIT.badData,
      /user\.txt has the unknown slot \{truth\}; the slots are/,
    ],
    ['is no pack', { 'readme.txt': 'x' }, EXIT.inputMissing, /neither pack\.json nor the folders eval and prompts/],
  ];
  test.each(cases)('that %s is refused', async (_name, contents, exitCode, message) => {
    const failure = expect(loadRubricPack(await folderOf(contents))).rejects;
    await failure.toMatchObject({ name: 'UserError', exitCode, message: expect.stringMatching(message) });
  });

  test('that does not exist is refused', async () => {
    await expect(loadRubricPack(join(root, 'nowhere'))).rejects.toMatchObject({
      exitCode: EXIT.inputMissing,
      message: expect.stringMatching(/cannot read the folder .*nowhere \(ENOENT\); check the path of --rubrics/),
    });
  });
});

describe('an official checkout', () => {
  const checkout = (python: string) =>
    folderOf({
      'eval/lwm_eval_utils/task_configs.py': python,
      'prompts/zoo/judge_system_prompt.txt': 'zoo judge\n',
      'prompts/mcp/judge_system_prompt.txt': ' mcp {judge} \r\nline two\r\n\r\n',
      'prompts/os/system_prompt.txt': 'no judge here',
      'prompts/README.md': 'x',
    });

  test('gives its prompts as Python reads them, published domains first', async () => {
    const pack = await loadRubricPack(await checkout(`JUDGE_USER_PROMPT = "${SLOTS}"\n`));
    expect(pack).toMatchObject({ name: 'official', official: true, domains: ['mcp', 'zoo'], userTemplate: SLOTS });
    expect(pack.systemPrompt('mcp')).toBe(' mcp {judge} \nline two\n\n');
    expect(pack.systemPrompt('os')).toBeUndefined();
  });

  // Each right-hand side stands behind the slots; the expected texts are what Python 3.11 gives.
  const literals: [string, string, string][] = [
    ['three quotes with quotes inside', `"""{S}\n"it's" ""\n\\""""`, `{S}\n"it's" ""\n"`],
    ['three single quotes', `'''{S}\n'"''x\n'''`, `{S}\n'"''x\n`],
    ['single quotes', `'{S}\\'"'`, `{S}'"`],
    ['a Windows file', `"""{S}\r\nx\r\n"""`, '{S}\nx\n'],
    ['escapes', '"{S}\\a\\b\\f\\n\\r\\t\\v\\\\"', '{S}\x07\b\f\n\r\t\v\\'],
    ['numbers', '"{S}\\x41\\101\\0\\12345\\u00e9\\U0001F600"', '{S}AA\0S45é😀'],
    ['unknown escapes', '"{S}\\q\\ \\8"', '{S}\\q\\ \\8'],
    ['a backslash before the line’s end', '"""\\\n{S}\\\nx"""', '{S}x'],
    ['a raw string', 'r"{S}\\n\\"\\x4"', '{S}\\n\\"\\x4'],
    ['a prefix without meaning', 'U"{S}\\n"', '{S}\n'],
    ['several in parentheses', `(  # why\n  "{S}"\n  r'\\n' # "no"\n\n  """\nx""" 'y'\n)  # end`, '{S}\\n\nxy'],
    ['several on continued lines', '"{S}" \\\n  "x"', '{S}x'],
    ['doubled braces', '"{S}{{x}}"', '{S}{{x}}'],
  ];
  test.each(literals)('may write its template with %s', async (_name, literal, expected) => {
    const source = `# it's\nX = [1, "\\N{DASH}]"]\nJUDGE_USER_PROMPT = ${literal.replace('{S}', SLOTS)}\nY = 'z'\n`;
    const pack = await loadRubricPack(await checkout(source));
    expect(pack.userTemplate).toBe(expected.replace('{S}', SLOTS));
  });

  test('is read where it assigns last, not where the name stands in a text, a call or another name', async () => {
    const decoy = 'JUDGE_USER_PROMPT = "decoy"';
    const source = [
      `"""\n${decoy}\n"""`,
      'JUDGE_USER_PROMPT = "older"',
      `REF_JUDGE_USER_PROMPT = '''\n${decoy}\n'''`,
      'JUDGE_USER_PROMPT_2 = "decoy"',
      `JUDGE_USER_PROMPT: str = "${SLOTS}"  # now`,
      `if JUDGE_USER_PROMPT == "x":\n    ${decoy}`,
      `f(a,\n${decoy})`,
      `# ${decoy}`,
    ].join('\n');
    expect((await loadRubricPack(await checkout(source))).userTemplate).toBe(SLOTS);
  });

  test.each([
    ['assigns nothing', 'X = 1\n', /no JUDGE_USER_PROMPT is assigned/],
    ['calls a function', 'JUDGE_USER_PROMPT = open("x").read()\n', /is not a string literal/],
    ['goes on behind the string', `JUDGE_USER_PROMPT = "${SLOTS}".strip()\n`, /is more than a string literal/],
    ['goes on behind the parentheses', `JUDGE_USER_PROMPT = ("${SLOTS}") % x\n`, /is more than a string literal/],
    ['adds to it later', `JUDGE_USER_PROMPT = "${SLOTS}"\nJUDGE_USER_PROMPT += "x"\n`, /put together with \+=/],
    ['formats it', `JUDGE_USER_PROMPT = f"${SLOTS}"\n`, /a string with the prefix f/],
    ['names a character', `JUDGE_USER_PROMPT = "${SLOTS}\\N{DASH}"\n`, /an escape that is malformed or names/],
    ['has half an escape', `JUDGE_USER_PROMPT = "${SLOTS}\\x4"\n`, /an escape that is malformed or names/],
    ['does not end', `JUDGE_USER_PROMPT = "${SLOTS}\n`, /is not a string literal that ends/],
  ])('that %s is refused', async (_name, source, message) => {
    await expect(loadRubricPack(await checkout(source))).rejects.toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringMatching(new RegExp(`task_configs\\.py: .*${message.source}.*cd0aa83`)),
    });
  });

  test('whose template lacks a slot is refused', async () => {
    await expect(loadRubricPack(await checkout('JUDGE_USER_PROMPT = "{context}"\n'))).rejects.toThrow(/has no slot/);
  });

  test.each([
    [
      'judge prompts',
      { 'eval/x.py': 'x', 'prompts/os/system_prompt.txt': 'x' },
      /holds no <domain>\/judge_system_prompt\.txt/,
    ],
    [
      'Python',
      { 'eval/x.py': 'x', 'prompts/os/judge_system_prompt.txt': 'x' },
      /cannot read .*task_configs\.py \(ENOENT\)/,
    ],
  ])('without its %s is refused', async (_name, files, message) => {
    await expect(loadRubricPack(await folderOf(files))).rejects.toMatchObject({
      exitCode: EXIT.inputMissing,
      message: expect.stringMatching(message),
    });
  });
});
