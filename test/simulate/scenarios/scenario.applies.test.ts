import { describe, expect, test } from 'vitest';
import type { Conditions } from '../../../src/simulate/scenarios/forms.js';
import { scenarioAt } from '../../../src/simulate/scenarios/scenario.js';
import { SAMPLE } from '../../support/sample.js';
import { scenarioOf } from '../../support/scenarios.js';

const ACTION = '### Turn 2\n**Action:**\n```json\n[{"keystrokes": "cp a.txt b (1).txt\\n"}]\n```';
const ROW = {
  ...SAMPLE,
  domain: 'terminal',
  turnIdx: 2,
  prompts: ['### Turn 1\n**Action:**\n```\nls\n```', ACTION],
  responses: ['**Environment Observation:**\na.txt', '**Environment Observation:**\n$ cp a.txt b\n$'],
};

function applies(conditions: Conditions): boolean {
  return scenarioAt(scenarioOf({ at: { applies: conditions } }), ROW) !== undefined;
}

describe('a scenario applies', () => {
  test.each<[string, Conditions, boolean]>([
    ['everywhere without conditions', {}, true],
    ['where the action has it', { action: { source: 'cp \\S+' } }, true],
    ['not where another turn has it', { action: { source: '^ls' } }, false],
    ['where the truth has it, which has no marker', { truth: { source: '^\\$ cp' } }, true],
    ['not where the history alone has it', { truth: { source: 'Observation' } }, false],
    ['where the history has it', { history: { source: '^a\\.txt$' } }, true],
    ['not where the truth alone has it', { history: { source: '\\$ cp' } }, false],
    ['where all hold', { action: { source: 'cp' }, history: { source: 'ls' } }, true],
    ['not where one fails', { action: { source: 'cp' }, history: { source: 'mv' } }, false],
    ['where nothing of not is there', { not: { action: { source: 'mv' } } }, true],
    ['not where anything of not is there', { not: { action: { source: 'cp' }, truth: { source: 'mv' } } }, false],
    ['by either case where told so', { action: { source: 'CP', ignoreCase: true } }, true],
  ])('%s', (_, conditions, expected) => {
    expect(applies(conditions)).toBe(expected);
  });

  test('only in its domains', () => {
    expect(scenarioAt(scenarioOf({ domains: ['web', 'os'] }), ROW)).toBeUndefined();
  });

  test('at no row if it has its own start', () => {
    const start = { domain: 'terminal', systemPrompt: '' };
    expect(scenarioAt(scenarioOf({ at: { start } }), ROW)).toBeUndefined();
  });
});

test('captures fill instruction, actions and verifiers, and match literally in patterns', () => {
  const scenario = scenarioOf({
    at: { applies: { action: { source: 'cp (?<from>\\S+) (?<to>[^\\\\]+)' } } },
    instruction: 'Copying {from} to `{to}` fails; {other} stays.',
    steps: [
      {
        verify: [
          { kind: 'contains', texts: ['cp: {from}'] },
          { kind: 'matches', pattern: { source: '^cp: {to}: \\w{3}' } },
          { kind: 'json_path', path: '$.{from}', expect: { equals: '{to}' } },
        ],
      },
      { action: 'ls {from}', verify: [{ kind: 'unchanged_elsewhere', except: { source: '{to}' }, percent: 90 }] },
    ],
  });
  const filled = scenarioAt(scenario, ROW);
  expect(filled?.instruction).toBe('Copying a.txt to `b (1).txt` fails; {other} stays.');
  expect(filled?.steps).toEqual([
    {
      verify: [
        { kind: 'contains', texts: ['cp: a.txt'] },
        { kind: 'matches', pattern: { source: '^cp: b \\(1\\)\\.txt: \\w{3}' } },
        { kind: 'json_path', path: '$.a.txt', expect: { equals: 'b (1).txt' } },
      ],
    },
    {
      action: 'ls a.txt',
      verify: [{ kind: 'unchanged_elsewhere', except: { source: 'b \\(1\\)\\.txt' }, percent: 90 }],
    },
  ]);
});
