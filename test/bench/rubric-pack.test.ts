// Rubric packs on disk: ours, and broken ones.
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadRubricPack } from '../../src/bench/rubric-pack.js';
import { EXIT } from '../../src/errors.js';
import { DIMENSIONS, DOMAINS } from '../../src/types.js';
import { ROOT } from '../support/cli.js';
import { folderOf } from '../support/folder.js';

const SLOTS = '{context}|{world_model_input}|{predicted_observation}|{ground_truth}';

describe('the bundled packs', () => {
  test('have the published domains in the published order; the second edition is the default', async () => {
    for (const name of ['awb-1', 'awb-2']) {
      const pack = await loadRubricPack(name);
      expect(pack).toMatchObject({ name, official: false, domains: DOMAINS });
      expect(pack.systemPrompt('unheard-of')).toBeUndefined();
    }
    expect(await loadRubricPack()).toMatchObject({ name: 'awb-2', facts: true });
    expect(await loadRubricPack('awb-1')).not.toHaveProperty('facts');
  });

  test('are reached by name before a folder of that name, which a path reaches', async () => {
    const cwd = await folderOf({});
    await cp(join(ROOT, 'rubrics/awb-1'), join(cwd, 'awb-2'), { recursive: true });
    expect((await loadRubricPack('awb-2', cwd)).name).toBe('awb-2');
    expect((await loadRubricPack('./awb-2', cwd)).name).toBe('awb-1');
  });

  test.each([
    ['awb-3', /no rubric pack "awb-3": the bundled ones are awb-2, awb-1 \(did you mean awb-[12]\?\), and there is no/],
    ['bundled', /no rubric pack "bundled": the bundled ones are awb-2, awb-1, and there is no folder/],
  ])('are named where %s is none of them', async (name, message) => {
    await expect(loadRubricPack(name, await folderOf({}))).rejects.toMatchObject({
      exitCode: EXIT.inputMissing,
      message: expect.stringMatching(message),
    });
  });

  const HEADINGS = {
    'awb-1': /## Must match exactly[\s\S]+## Only plausibly[\s\S]+## Not at all/,
    'awb-2': /## Determined[\s\S]+## Plausible[\s\S]+## Runtime[\s\S]+## Rules[\s\S]+## Worked case/,
  };
  test.each(Object.entries(HEADINGS).flatMap(([name, headings]) => DOMAINS.map((domain) => [name, domain, headings])))(
    'tell a judge under %s of %s all that a judge has to know',
    async (name, domain, headings) => {
      const prompt = (await loadRubricPack(String(name))).systemPrompt(String(domain)) ?? '';
      const own = prompt.split(`# Domain: ${domain}\n`)[1] ?? '';
      for (const dimension of DIMENSIONS) {
        const section = new RegExp(`^## ${dimension}$([\\s\\S]*?)(?=^## )`, 'im').exec(own)?.[1] ?? '';
        for (const level of [1, 2, 3, 4, 5]) expect(section).toMatch(new RegExp(`(^|[.] )${level}: `, 'm'));
      }
      expect(own).toMatch(headings as RegExp);
      const contract = /<final_evaluation>\n(.*)\n<\/final_evaluation>/.exec(prompt)?.[1] ?? '';
      const shape = JSON.parse(contract);
      const checklist = name === 'awb-2' ? ['facts'] : [];
      expect(Object.keys(shape)).toEqual([...checklist, 'strengths', 'weaknesses', 'scores']);
      expect(Object.keys(shape.scores)).toEqual([...DIMENSIONS]);
    },
  );

  test('show the history first and the truth before the prediction', async () => {
    const slots = async (name: string) => (await loadRubricPack(name)).userTemplate.match(/\{\w+\}/g);
    const [context, input, truth, prediction] = [
      ...['{context}', '{world_model_input}'],
      ...['{ground_truth}', '{predicted_observation}'],
    ];
    expect(await slots('awb-1')).toEqual([context, input, truth, prediction]);
    expect(await slots('awb-2')).toEqual([context, '{told}', input, truth, prediction, '{changes}']);
    for (const name of ['awb-1', 'awb-2']) {
      expect((await loadRubricPack(name)).userTemplate.startsWith('{context}')).toBe(true);
    }
  });
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

  test('may have texts for judging without a truth, whose template has no place for one', async () => {
    const without = { without_truth: { common: 'alone.txt', template: 'alone-user.txt' } };
    const template = '{context}|{told}|{world_model_input}|{predicted_observation}';
    const folder = (text: string) =>
      folderOf({ ...withPack(without), 'alone.txt': 'no truth here', 'alone-user.txt': text });
    const [plain, both] = [await loadRubricPack(await folderOf(files)), await loadRubricPack(await folder(template))];
    expect(both.fingerprint).toBe(plain.fingerprint);
    expect(both.withoutTruth).toMatchObject({ name: 'mine', hidesTruth: true, userTemplate: template });
    expect(both.withoutTruth?.systemPrompt('zoo')).toBe('no truth here\n\nfeed the lions');
    expect(both.withoutTruth?.fingerprint).not.toBe(plain.fingerprint);
    for (const slot of ['{ground_truth}', '{changes}']) {
      await expect(folder(`${template}${slot}`).then((dir) => loadRubricPack(dir))).rejects.toThrow(
        `alone-user.txt has the unknown slot ${slot}`,
      );
    }
    await expect(folder('{context}{world_model_input}').then((dir) => loadRubricPack(dir))).rejects.toThrow(
      'no slot {predicted_observation}',
    );
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
      withPack({ facts: true }),
      { ...files, 'user.txt': `${SLOTS}|{told}|{changes}` },
    ];
    const packs = await Promise.all(variants.map(async (variant) => loadRubricPack(await folderOf(variant))));
    const prints = packs.map(({ fingerprint }) => fingerprint);
    expect(prints[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(prints[1]).toBe(prints[0]);
    expect(new Set(prints).size).toBe(variants.length - 1);
  });

  test('that asks for no checklist in so many words is the same as one that does not speak of it', async () => {
    const [silent, denying] = await Promise.all(
      [files, withPack({ facts: false })].map(async (contents) => loadRubricPack(await folderOf(contents))),
    );
    expect(denying?.fingerprint).toBe(silent?.fingerprint);
    expect(denying).not.toHaveProperty('facts');
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
    ['has facts that are a word', withPack({ facts: 'yes' }), EXIT.badData, /"facts" has to be true or false/],
    [
      'names no files for judging without a truth',
      withPack({ without_truth: 'a.txt' }),
      EXIT.badData,
      /has to name two files/,
    ],
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
    await expect(loadRubricPack(join(await folderOf({}), 'nowhere'))).rejects.toMatchObject({
      exitCode: EXIT.inputMissing,
      message: expect.stringMatching(/cannot read the folder .*nowhere \(ENOENT\); check the path of --rubrics/),
    });
  });
});
