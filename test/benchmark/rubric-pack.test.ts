// Rubric packs on disk: ours, and broken ones.
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BUNDLED_PACK, loadRubricPack } from '../../src/benchmark/rubric-pack.js';
import { EXIT } from '../../src/core/errors.js';
import { DIMENSIONS, DOMAINS } from '../../src/core/types.js';
import { PLAIN_PACK } from '../support/cli.js';
import { folderOf } from '../support/folder.js';
import { fakeCheckout } from '../support/judging.js';

const SLOTS = '{context}|{world_model_input}|{predicted_observation}|{ground_truth}';

describe('the bundled pack', () => {
  test('has the published domains in the published order, and a checklist', async () => {
    const pack = await loadRubricPack();
    expect(pack).toMatchObject({ name: BUNDLED_PACK, official: false, domains: DOMAINS, facts: true });
    expect(pack.systemPrompt('unheard-of')).toBeUndefined();
    expect((await loadRubricPack(PLAIN_PACK)).facts).toBeUndefined();
  });

  test('is reached by name before a folder of that name, which a path reaches', async () => {
    const cwd = await folderOf({});
    await cp(PLAIN_PACK, join(cwd, BUNDLED_PACK), { recursive: true });
    expect((await loadRubricPack(BUNDLED_PACK, { cwd })).name).toBe(BUNDLED_PACK);
    expect((await loadRubricPack(`./${BUNDLED_PACK}`, { cwd })).name).toBe('plain');
  });

  test('is named if a word is not a folder', async () => {
    await expect(loadRubricPack('awb-4', { cwd: await folderOf({}) })).rejects.toMatchObject({
      exitCode: EXIT.inputMissing,
      message: expect.stringMatching(
        /cannot read the folder .*awb-4 \(ENOENT\); check the path of --rubrics \(a folder, awb-3/,
      ),
    });
  });

  test('by the name official comes from where that is fetched to', async () => {
    const folder = await fakeCheckout();
    const fetched = await loadRubricPack('official', { official: async () => folder });
    expect(fetched).toMatchObject({ name: 'official', official: true });
    expect(fetched.fingerprint).toBe((await loadRubricPack(folder)).fingerprint);
  });

  const HEADINGS = /## Determined[\s\S]+## Plausible[\s\S]+## Runtime[\s\S]+## Rules[\s\S]+## Worked case/;
  test.each(DOMAINS)('tells a judge of %s everything that a judge has to know', async (domain) => {
    const prompt = (await loadRubricPack()).systemPrompt(domain) ?? '';
    const own = prompt.split(`# Domain: ${domain}\n`)[1] ?? '';
    for (const dimension of DIMENSIONS) {
      const section = new RegExp(`^## ${dimension}$([\\s\\S]*?)(?=^## )`, 'im').exec(own)?.[1] ?? '';
      for (const level of [1, 2, 3, 4, 5]) expect(section).toMatch(new RegExp(`(^|[.] )${level}: `, 'm'));
    }
    expect(own).toMatch(HEADINGS);
    const contract = /<final_evaluation>\n(.*)\n<\/final_evaluation>/.exec(prompt)?.[1] ?? '';
    const shape = JSON.parse(contract);
    expect(Object.keys(shape)).toEqual(['facts', 'strengths', 'weaknesses', 'scores']);
    expect(Object.keys(shape.scores)).toEqual([...DIMENSIONS]);
  });

  test('shows the history first and the truth before the prediction', async () => {
    const { userTemplate } = await loadRubricPack();
    expect(userTemplate.match(/\{\w+\}/g)).toEqual([
      ...['{context}', '{told}', '{world_model_input}'],
      ...['{ground_truth}', '{predicted_observation}', '{changes}'],
    ]);
    expect(userTemplate.startsWith('{context}')).toBe(true);
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

  test('has the same fingerprint in any folder, and another when anything in it changes', async () => {
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

  test('that explicitly asks for no checklist is the same as one that does not mention it', async () => {
    const [silent, denying] = await Promise.all(
      [files, withPack({ facts: false })].map(async (contents) => loadRubricPack(await folderOf(contents))),
    );
    expect(denying?.fingerprint).toBe(silent?.fingerprint);
    expect(denying?.facts).toBeUndefined();
  });

  const cases: [string, Record<string, string | Uint8Array>, number, RegExp][] = [
    ['is no JSON', { ...files, 'pack.json': '{' }, EXIT.badData, /json: a rubric pack has to be a mapping with name/],
    [
      'has a mistyped key',
      withPack({ tempalte: 'x' }),
      EXIT.badData,
      /unknown key "tempalte"; did you mean "template"\?/,
    ],
    ['has a strange key', withPack({ colour: 'x' }), EXIT.badData, /unknown key "colour"; known: name, version/],
    ['has no name', withPack({ name: undefined }), EXIT.badData, /"name": Invalid input/],
    ['has a name that is a path', withPack({ name: '../x' }), EXIT.badData, /"name": has to be a word/],
    ['has a number as version', withPack({ version: 1 }), EXIT.badData, /"version": Invalid input: expected string/],
    [
      'has two faults',
      withPack({ name: '../x', version: 1 }),
      EXIT.badData,
      /"name": has to be a word.*; "version": Invalid input/,
    ],
    ['has facts that are a word', withPack({ facts: 'yes' }), EXIT.badData, /"facts": Invalid input: expected boolean/],
    [
      'names no files for judging without a truth',
      withPack({ without_truth: 'a.txt' }),
      EXIT.badData,
      /"without_truth": Invalid input: expected object/,
    ],
    ['has no domains', withPack({ domains: {} }), EXIT.badData, /"domains": has to name a file for each/],
    ['has no common file but null', withPack({ common: null }), EXIT.badData, /"common": Invalid input/],
    ['names no template', withPack({ template: undefined }), EXIT.badData, /"template": Invalid input/],
    [
      'reaches outside',
      withPack({ domains: { zoo: '../secret' } }),
      EXIT.badData,
      /"domains.zoo": has to name a file next to/,
    ],
    [
      'lacks a file',
      withPack({ domains: { zoo: 'zo.txt' } }),
      EXIT.inputMissing,
      /cannot read .*zo\.txt \(ENOENT\); restore it/,
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
