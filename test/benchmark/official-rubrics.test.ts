// Rubrics of official checkouts, with awkward Python in them.

import { describe, expect, test } from 'vitest';
import { loadRubricPack } from '../../src/benchmark/rubric-pack.js';
import { EXIT } from '../../src/core/errors.js';
import { folderOf } from '../support/folder.js';

const SLOTS = '{context}|{world_model_input}|{predicted_observation}|{ground_truth}';

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
    ['escapes', '"{S}\\n\\t\\\\"', '{S}\n\t\\'],
    ['a backslash before the line’s end', '"""\\\n{S}\\\nx"""', '{S}x'],
    ['a raw string', 'r"{S}\\n\\"\\x4"', '{S}\\n\\"\\x4'],
    ['doubled braces', '"{S}{{x}}"', '{S}{{x}}'],
  ];
  test.each(literals)('may write its template with %s', async (_name, literal, expected) => {
    const source = `# it's\nX = [1, "\\N{DASH}]"]\nJUDGE_USER_PROMPT = ${literal.replace('{S}', SLOTS)}\nY = 'z'\n`;
    const pack = await loadRubricPack(await checkout(source));
    expect(pack.userTemplate).toBe(expected.replace('{S}', SLOTS));
  });

  test('is read where it is assigned, not where the name is indented, in a comparison or in another name', async () => {
    const decoy = 'JUDGE_USER_PROMPT = "decoy"';
    const source = [
      'JUDGE_USER_PROMPT_2 = "decoy"',
      `JUDGE_USER_PROMPT: str = "${SLOTS}"  # now`,
      `if JUDGE_USER_PROMPT == "x":\n    ${decoy}`,
      `# ${decoy}`,
    ].join('\n');
    expect((await loadRubricPack(await checkout(source))).userTemplate).toBe(SLOTS);
  });

  test.each([
    ['assigns nothing', 'X = 1\n'],
    ['calls a function', 'JUDGE_USER_PROMPT = open("x").read()\n'],
    ['goes on behind the string', `JUDGE_USER_PROMPT = "${SLOTS}".strip()\n`],
    ['puts it in parentheses', `JUDGE_USER_PROMPT = ("${SLOTS}")\n`],
    ['formats it', `JUDGE_USER_PROMPT = f"${SLOTS}"\n`],
    ['names a character', `JUDGE_USER_PROMPT = "${SLOTS}\\N{DASH}"\n`],
    ['writes a character as a number', `JUDGE_USER_PROMPT = "${SLOTS}\\x41"\n`],
    ['has half an escape', `JUDGE_USER_PROMPT = "${SLOTS}\\x4"\n`],
    ['does not end', `JUDGE_USER_PROMPT = "${SLOTS}\n`],
  ])('that %s is refused', async (_name, source) => {
    await expect(loadRubricPack(await checkout(source))).rejects.toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringMatching(
        /task_configs\.py: .*has to be assigned once, as a single string literal.*cd0aa83/,
      ),
    });
  });

  test('whose template lacks a slot is refused', async () => {
    await expect(loadRubricPack(await checkout('JUDGE_USER_PROMPT = "{context}"\n'))).rejects.toThrow(/has no slot/);
  });

  test.each([
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
