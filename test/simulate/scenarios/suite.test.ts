import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BUNDLED_SUITES } from '../../../src/simulate/scenarios/scenario.js';
import { loadScenarioSuite } from '../../../src/simulate/scenarios/suite.js';
import { temporaryFolder } from '../../support/cli.js';

const SCENARIO = `domains: [terminal]
scenarios:
  - name: full-disk
    applies:
      action: 'cp (?<path>\\S+)'
    instruction: The disk that holds {path} is full.
    verify:
      - contains: No space left
`;

/** Loads files by name as a suite, and gives what is said of them. */
async function load(files: Record<string, string>, given = 'suite', domains?: readonly string[]) {
  const cwd = await temporaryFolder();
  mkdirSync(join(cwd, 'suite'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, 'suite', name), text);
  return loadScenarioSuite(given, { cwd, ...(domains && { domains }) });
}

/** What is wrong with a file, without the line in front of it all. */
async function faultsOf(text: string): Promise<string[]> {
  const error = await load({ 'a.yaml': text }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ name: 'UserError', exitCode: 65 });
  // It was looked at above.
  const [first, ...others] = (error as Error).message.split('\n');
  expect(first).toBe('the scenario suite suite cannot be used:');
  return others;
}

/** The sound suite with a text of it replaced. */
function changed(from: string, to: string): string {
  expect(SCENARIO).toContain(from);
  return SCENARIO.replace(from, to);
}

describe('a suite', () => {
  test('is read from a folder, from a file, and by its bundled name', async () => {
    const folder = await load({ 'a.yaml': SCENARIO, 'notes.txt': 'none', 'b.yml': SCENARIO.replace('full', 'no') });
    expect(folder.name).toBe('suite');
    expect(folder.scenarios.map(({ name }) => name)).toEqual(['full-disk', 'no-disk']);
    const file = await load({ 'a.yaml': SCENARIO }, 'suite/a.yaml');
    expect(file.name).toBe('a');
    expect(file.scenarios).toEqual(folder.scenarios.slice(0, 1));
    for (const name of BUNDLED_SUITES) expect((await loadScenarioSuite(name, { cwd: '/' })).name).toBe(name);
  });

  test('says what its scenarios are, with defaults for what it leaves out', async () => {
    const { scenarios } = await load({ 'a.yaml': SCENARIO });
    expect(scenarios).toMatchObject([
      {
        name: 'full-disk',
        about: '',
        domains: ['terminal'],
        put: 'before-action',
        instruction: 'The disk that holds {path} is full.',
        at: { applies: { action: { source: 'cp (?<path>\\S+)' } } },
        steps: [{ verify: [{ kind: 'contains', texts: ['No space left'] }] }],
        holds: 'each',
        never: { words: 5, own: expect.arrayContaining(['The disk that holds ', ' is full.']) },
      },
    ]);
    expect(scenarios[0]?.framing).toMatch(/^\*\*Simulation Instruction:\*\*\n\{instruction\}/);
    expect(scenarios[0]?.never.phrases).toContain('as requested');
  });

  test('reads every kind of verifier, and what must never appear', async () => {
    const text = changed(
      '      - contains: No space left',
      `      - contains: [a, b]
      - lacks: c
      - matches: { pattern: '^{path}', ignore_case: true }
      - json_path: { path: '$.a[0]', equals: { b: 1 } }
      - json_path: { path: $.a, matches: x }
      - json_path: { path: $.a, exists: false }
      - exit_status: 42
      - exit_status: nonzero
      - unchanged_elsewhere: {}
      - unchanged_elsewhere: { except: x, percent: 50 }
      - never: at your service
      - never: { phrases: [by order], words: 3 }`,
    );
    const { scenarios } = await load({ 'a.yaml': text });
    expect(scenarios[0]?.steps[0]?.verify).toEqual([
      { kind: 'contains', texts: ['a', 'b'] },
      { kind: 'lacks', texts: ['c'] },
      { kind: 'matches', pattern: { source: '^{path}', ignoreCase: true } },
      { kind: 'json_path', path: '$.a[0]', expect: { equals: { b: 1 } } },
      { kind: 'json_path', path: '$.a', expect: { matches: { source: 'x' } } },
      { kind: 'json_path', path: '$.a', expect: { exists: false } },
      { kind: 'exit_status', status: 42 },
      { kind: 'exit_status', status: 'nonzero' },
      { kind: 'unchanged_elsewhere', percent: 90 },
      { kind: 'unchanged_elsewhere', except: { source: 'x' }, percent: 50 },
    ]);
    expect(scenarios[0]?.never).toMatchObject({ words: 3 });
    expect(scenarios[0]?.never.phrases.slice(-2)).toEqual(['at your service', 'by order']);
  });

  test('asks for a state within three steps with its own actions', async () => {
    const { scenarios } = await load({ 'a.yaml': `${SCENARIO}    then: ['ls {path}', wait]\n` });
    expect(scenarios[0]).toMatchObject({
      holds: 'any',
      steps: [
        { verify: [{ kind: 'contains' }] },
        { action: 'ls {path}' },
        { action: 'wait', verify: [{ kind: 'contains' }] },
      ],
    });
    expect(scenarios[0]?.steps[0]).not.toHaveProperty('action');
  });

  test('has words of its own that no prediction may say', async () => {
    const { scenarios } = await load({ 'a.yaml': `never: [hey ho]\n${SCENARIO}` });
    expect(scenarios[0]?.never.phrases.at(-1)).toBe('hey ho');
  });

  test('takes a domain that the user knows', async () => {
    const text = changed('[terminal]', '[robot]');
    expect((await load({ 'a.yaml': text }, 'suite', ['robot'])).scenarios[0]?.domains).toEqual(['robot']);
  });

  test('keeps its fingerprint with other comments and layout, and changes it with any other word', async () => {
    const { fingerprint } = await load({ 'a.yaml': SCENARIO });
    const same = await load({ 'b.yaml': `# A comment.\n${changed('[terminal]', '\n  - terminal')}` });
    expect(same.fingerprint).toBe(fingerprint);
    const other = await load({ 'a.yaml': changed('is full', 'is nearly full') });
    expect(other.fingerprint).not.toBe(fingerprint);
  });
});

describe('a fault is named by file and line, with its remedy', () => {
  test.each<[what: string, text: string, fault: string]>([
    [
      'an unknown verifier',
      changed('contains:', 'contain:'),
      '8: unknown verifier "contain"; did you mean "contains"?',
    ],
    [
      'an unknown verifier',
      changed('contains:', 'colour:'),
      '8: unknown verifier "colour"; known: contains, lacks, matches, json_path, exit_status, unchanged_elsewhere, never',
    ],
    ['an unknown key', changed('applies', 'applie'), '4: unknown key "applie"; did you mean "applies"?'],
    ['an unknown domain', changed('terminal', 'terminl'), '1: unknown domain "terminl"; did you mean "terminal"?'],
    ['a wrong pattern', changed('(?<path>', '(<path>('), '5: "action" must be a pattern: '],
    [
      'a pattern that looks ahead',
      changed("+)'", "+)(?=x)'"),
      '5: "action" must be a pattern: invalid or unsupported Perl syntax',
    ],
    [
      'an empty instruction',
      changed('The disk that holds {path} is full.', "' '"),
      '6: "instruction" must be a text that is not empty',
    ],
    [
      'no instruction',
      changed('    instruction: The disk that holds {path} is full.\n', ''),
      '3: "instruction" is missing; it must be a text',
    ],
    [
      'an unknown slot',
      changed('{path} is full', '{pth} is full'),
      '6: nothing fills the slot {pth} in "instruction"; name a group (?<pth>...) in "applies"',
    ],
    [
      'a slot that nothing fills',
      changed('(?<path>', '(?:'),
      '6: nothing fills the slot {path} in "instruction"; name a group (?<path>...) in "applies"',
    ],
    [
      'no verifier that shows anything',
      changed('contains: No space left', 'never: x'),
      '7: "verify" needs a verifier that shows that the instruction was followed: one of contains',
    ],
    [
      'no verifiers at all',
      changed('    verify:\n      - contains: No space left\n', ''),
      '3: "verify" is missing; it must be a list',
    ],
    [
      'no name',
      changed('  - name: full-disk\n    applies', '  - applies'),
      '3: "name" is missing; it must be small letters, digits and dashes',
    ],
    ['a name with blanks', changed('full-disk', 'Full disk'), '3: "name" must be small letters'],
    [
      'a number instead of a text',
      changed('No space left', '28'),
      '8: "contains" must be a text that is not empty, in quotes if it reads as a number',
    ],
    ['a list of verifiers that is none', changed('      - contains', '      contains'), '7: "verify" must be a list'],
    [
      'two verifiers in one',
      changed('- contains: No space left', '- { contains: a, lacks: b }'),
      '8: a verifier has one key',
    ],
    [
      'an unknown place',
      `${SCENARIO}    put: before_action\n`,
      '9: unknown place "before_action"; did you mean "before-action"?',
    ],
    ['four steps', `${SCENARIO}    then: [a, b, c]\n`, '9: "then" must be a list of at most 2'],
    [
      'a path that is none',
      changed('contains: No space left', 'json_path: { path: a.b, equals: 1 }'),
      '8: "path" must be a path such as $.items[0].price',
    ],
    [
      'a path that expects nothing',
      changed('contains: No space left', 'json_path: { path: $.a }'),
      '8: "json_path" needs one of "equals", "matches" and "exists"',
    ],
    [
      'an invalid status',
      changed('contains: No space left', 'exit_status: 256'),
      '8: "exit_status" must be a whole number',
    ],
    ['neither scenarios nor a world', 'domains: [web]\n', '1: the file has neither "scenarios" nor "world"'],
    ['a list', '- a\n', '1: a suite has to be a mapping with domains, never'],
  ])('%s', async (_, text, fault) => {
    const faults = await faultsOf(text);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(`suite/a.yaml:${fault}`);
  });

  test('all of them at once, by line', async () => {
    const text = changed('terminal', 'terminl').replace('contains:', 'contain:').replace('name: full-disk', 'name: A');
    expect((await faultsOf(text)).map((fault) => fault.split(':', 2).join(':'))).toEqual([
      'suite/a.yaml:1',
      'suite/a.yaml:3',
      'suite/a.yaml:8',
    ]);
    const more = changed('contains:', 'contain:').replace('name: full-disk', 'name: A').replace('applies', 'applie');
    expect((await faultsOf(more)).map((fault) => fault.split(':', 2).join(':'))).toEqual([
      'suite/a.yaml:3',
      'suite/a.yaml:4',
      'suite/a.yaml:8',
    ]);
  });

  test('a name that occurs twice, also in another file', async () => {
    await expect(load({ 'a.yaml': SCENARIO, 'b.yaml': `\n${SCENARIO}` })).rejects.toThrow(
      'suite/b.yaml:4: the name "full-disk" is already used at suite/a.yaml:3; choose another',
    );
  });

  test('invalid YAML', async () => {
    const circular = changed('contains: No space left', 'json_path: { path: $.a, equals: &a [*a] }');
    await expect(load({ 'a.yaml': circular })).rejects.toThrow(/not YAML: an alias refers to a node that contains it/);
    await expect(load({ 'a.yaml': 'scenarios: [' })).rejects.toThrow(/suite\/a\.yaml:1: not YAML/);
    await expect(load({ 'a.yaml': `${SCENARIO}domains: [web]\n` })).rejects.toThrow(
      /a\.yaml:9: this key appears twice/,
    );
  });

  test.each([
    ['standart', 'there is no scenario suite "standart": name a folder, a file, or a bundled one (standard)', 66],
    ['./nowhere', 'there is no scenario suite "./nowhere"', 66],
    ['suite', 'the folder suite has no YAML file', 66],
  ])('%s is not there', async (given, message, exitCode) => {
    const loading = load({}, given);
    await expect(loading).rejects.toThrow(message);
    await expect(loading).rejects.toMatchObject({ exitCode });
  });
});

const WORLD = `world:
  name: quay
  domain: mcp
  put: system
  system: You are tools.
  instruction: |
    It holds: {facts}
  facts:
    - { subject: light, relation: keeper, object: Ines }
    - { subject: Ines, relation: boat, object: Marigold }
  questions:
    - name: boat
      steps:
        - action: 'ask light keeper'
          asks: [light, keeper]
        - action: 'ask light keeper boat'
          asks: [Ines, boat]
`;

describe('a world', () => {
  const altered = (from: string, to: string) => {
    expect(WORLD).toContain(from);
    return WORLD.replace(from, to);
  };

  test('becomes a scenario for each question, with all facts in its instruction', async () => {
    const { scenarios } = await load({ 'a.yaml': WORLD });
    expect(scenarios).toMatchObject([
      {
        name: 'quay-boat',
        domains: ['mcp'],
        put: 'system',
        instruction: 'It holds: - light, keeper: Ines\n- Ines, boat: Marigold',
        at: { start: { domain: 'mcp', systemPrompt: 'You are tools.' } },
        steps: [
          { action: 'ask light keeper', verify: [{ kind: 'contains', texts: ['Ines'] }] },
          { action: 'ask light keeper boat', verify: [{ kind: 'contains', texts: ['Marigold'] }] },
        ],
        holds: 'each',
      },
    ]);
    // To tell a fact is no leak.
    expect(scenarios[0]?.never.own.join()).not.toContain('Ines');
  });

  test('has verifiers of its own for its answers', async () => {
    const { scenarios } = await load({
      'a.yaml': altered('  facts:', "  verify:\n    - json_path: { path: $.is, equals: '{object}' }\n  facts:"),
    });
    expect(scenarios[0]?.steps[1]?.verify).toEqual([
      { kind: 'json_path', path: '$.is', expect: { equals: 'Marigold' } },
    ]);
  });

  test.each([
    [
      'two facts that contradict each other',
      altered('  questions', '    - { subject: light, relation: keeper, object: Tom }\n  questions'),
      '9: the keeper of light appears twice; remove one',
    ],
    [
      'a fact told twice',
      altered('  questions', '    - { subject: light, relation: keeper, object: Ines }\n  questions'),
      '9: the keeper of light appears twice',
    ],
    ['a question beside the facts', altered('[Ines, boat]', '[Ines, dog]'), '17: there is no fact of the dog of Ines'],
    [
      'an action that gives its answer away',
      altered("ask light keeper'", "ask Ines'"),
      '14: the action names what it asks for ("Ines")',
    ],
    ['an instruction without facts', altered('{facts}', 'nothing'), '6: "instruction" must contain the slot {facts}'],
    ['an unknown domain', altered('mcp', 'mpc'), '3: unknown domain "mpc"; did you mean "mcp"?'],
    ['no system prompt', altered('  system: You are tools.\n', ''), '1: "system" is missing; it must be a text'],
    [
      'verifiers that do not look at the answer',
      altered('  facts:', '  verify: [{ contains: x }]\n  facts:'),
      '8: "verify" must contain the slot {object} for the fact, and no other',
    ],
  ])('%s is a fault', async (_, text, fault) => {
    expect((await faultsOf(text))[0]).toContain(`suite/a.yaml:${fault}`);
  });
});
