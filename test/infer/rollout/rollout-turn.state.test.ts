// The state that prompts repeat: it is replaced, and what is no such state is told from it.

import { describe, expect, test } from 'vitest';
import type { Sample } from '../../../src/core/types.js';
import { leaksBesideStates, withState } from '../../../src/infer/rollout/rollout-turn.js';
import { SAMPLE } from '../../support/sample.js';

const SCREEN = 'window "Settings"\n  button "Wi-Fi and network"\n  button "Bluetooth devices"';
const prompt = (turn: number, section: string) =>
  `### Turn ${turn}\n${section}**Action:**\n\`\`\`json\n{"tap": ${turn}}\n\`\`\``;
const state = (text: string, heading = 'Current State') => `**${heading}:**\n${text}\n\n`;

/** Three turns; the second prompt has this section, the others show nothing of what was observed. */
function threeTurns(section: string, more: Partial<Sample> = {}): Sample {
  return {
    ...SAMPLE,
    turnIdx: 3,
    prompts: [
      prompt(1, state('window "Home screen of it"')),
      prompt(2, section),
      `${prompt(3, '')}\n\nPlease analyze the input above.`,
    ],
    responses: [
      `**Environment Observation:**\n${SCREEN}`,
      '**Environment Observation:**\nwindow "Nothing else"',
      'truth',
    ],
    currentPrompt: prompt(3, ''),
    ...more,
  };
}

describe('the state in a prompt', () => {
  test.each(['Current State', 'Current Phone State'])(
    'under **%s:** is replaced, and all around it stays',
    (heading) => {
      expect(withState(prompt(2, state(SCREEN, heading)), 'predicted')).toBe(prompt(2, state('predicted', heading)));
    },
  );

  test('is replaced by nothing where nothing was predicted', () => {
    expect(withState(prompt(2, state(SCREEN)), '')).toBe(prompt(2, state('')));
  });

  test('keeps what precedes it, such as a task', () => {
    const task = '**Task Instruction:**\nTurn it off.\n\n';
    expect(withState(prompt(2, task + state(SCREEN)), 'predicted')).toBe(prompt(2, task + state('predicted')));
  });

  test('includes what is between it and the action, since nobody knows what that shows', () => {
    const shown = `${state(SCREEN)}**Notes:**\n${SCREEN}\n\n`;
    expect(withState(prompt(2, shown), 'predicted')).toBe(prompt(2, state('predicted')));
  });

  test('is none if there is no heading, or only one within the action itself', () => {
    expect(withState(prompt(2, ''), 'predicted')).toBe(prompt(2, ''));
    const typed = '### Turn 2\n**Action:**\n```python\nwrite("""\n**Current State:**\nfine""")\n```';
    expect(withState(typed, 'predicted')).toBe(typed);
  });
});

describe('a trajectory gives the truth away', () => {
  test('by no state under its heading that is the observation before, to the letter or nearly', () => {
    expect(leaksBesideStates(threeTurns(state(SCREEN)), 2)).toBe(false);
    expect(leaksBesideStates(threeTurns(state(`${SCREEN}\n  label "12:01"`)), 2)).toBe(false);
    expect(leaksBesideStates(threeTurns(''), 2)).toBe(false);
  });

  test('by a state that is something else: nobody knows what it shows', () => {
    expect(leaksBesideStates(threeTurns(state('window "Another"\n  entry "altogether"')), 2)).toBe(true);
  });

  test.each([
    ['under another heading', `**Screen:**\n${SCREEN}\n\n`],
    ['without a heading', `${SCREEN}\n\n`],
    ['by one line alone', '  button "Bluetooth devices"\n\n'],
    [
      'behind the heading of an action that the state shows',
      `${state('window "Settings"\n**Action:**\n  button "Bluetooth devices"')}`,
    ],
  ])('by the true observation in a prompt %s', (_, section) => {
    expect(leaksBesideStates(threeTurns(section), 2)).toBe(true);
  });

  test('by nothing that the first prompt or the system prompt has said', () => {
    const said = { systemPrompt: '  button "Bluetooth devices"' };
    expect(leaksBesideStates(threeTurns('  button "Bluetooth devices"\n\n', said), 2)).toBe(false);
  });

  test('by nothing before the first turn that is asked after a prediction', () => {
    expect(leaksBesideStates(threeTurns(`**Screen:**\n${SCREEN}\n\n`), 3)).toBe(false);
  });

  test('by no action that names what was observed: actions are as recorded', () => {
    const named = threeTurns('', {
      prompts: [prompt(1, ''), `### Turn 2\n**Action:**\n${SCREEN}`, prompt(3, '')],
    });
    expect(leaksBesideStates(named, 2)).toBe(false);
  });
});
