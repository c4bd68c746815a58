import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readRow } from '../../src/benchmark/sample.js';
import { present } from '../../src/core/errors.js';
import { DOMAINS, type Sample } from '../../src/core/types.js';
import { PROTOCOLS } from '../../src/infer/messages.js';
import { actionPrompt, afterReply, freshWorld, requestOf, rewound, undone, worldAt } from '../../src/infer/world.js';

function samples(domain: string): Sample[] {
  const lines = readFileSync(`fixtures/recorded/${domain}_test.jsonl`, 'utf8').trim().split('\n');
  return lines.map((line) => {
    const reading = readRow(line);
    if (!reading.ok) throw new Error(reading.flaw.reason);
    return reading.row.sample;
  });
}

const TAGGED = (text: string) => `<think>hm</think>\n<predicted_observation>\n${text}\n</predicted_observation>`;
const terminal = freshWorld({ domain: 'terminal', systemPrompt: 'You are a terminal.', task: 'Tidy up.', state: '$' });

function messagesOf(question: ReturnType<typeof requestOf>) {
  if (!('messages' in question)) throw new Error('no chat');
  return question.messages;
}

describe('a world', () => {
  test.each(DOMAINS)('at a row of %s asks of its recorded action exactly what infer asks of the row', (domain) => {
    const rows = samples(domain);
    expect(rows.length).toBeGreaterThan(0);
    for (const sample of rows) {
      const world = worldAt(sample);
      expect(world.turns.map(({ origin }) => origin)).toEqual(Array(sample.turnIdx - 1).fill('recorded'));
      const recorded = /\*\*Action:\*\*\n(`{3,})\w*\n([\s\S]*)\n\1$/.exec(sample.currentPrompt)?.[2];
      const asked = messagesOf(requestOf(world, present(recorded)));
      const expected = PROTOCOLS.history(sample);
      expect(asked[0]).toEqual({ role: 'system', content: sample.systemPrompt });
      expect(asked.slice(1)).toEqual(expected);
    }
  });

  test('sends nothing of the truth of the row where it starts', () => {
    for (const domain of DOMAINS) {
      for (const sample of samples(domain)) {
        const before = [
          sample.systemPrompt,
          ...sample.prompts.slice(0, sample.turnIdx),
          ...sample.responses.slice(0, sample.turnIdx - 1),
        ].join('\n');
        const truth = present(sample.responses[sample.turnIdx - 1]).split('\n');
        const own = truth.filter((line) => line.trim().length > 12 && !before.includes(line));
        const sent = messagesOf(requestOf(worldAt(sample), '{"name": "act", "arguments": {}}'))
          .map(({ content }) => content)
          .join('\n');
        expect(own.filter((line) => sent.includes(line))).toEqual([]);
      }
    }
  });

  test('puts task and state only before its first action', () => {
    const first = actionPrompt(terminal, 'ls');
    expect(first).toBe(
      '### Turn 1\n**Task Instruction:**\nTidy up.\n\n**Current State:**\n$\n\n**Action:**\n```json\n[\n  {\n    "keystrokes": "ls\\n",\n    "duration": 0.5\n  }\n]\n```',
    );
    const next = present(afterReply(terminal, 'ls', TAGGED('$ ls\na.txt')));
    expect(actionPrompt(next, 'pwd')).toBe(
      '### Turn 2\n**Action:**\n```json\n[\n  {\n    "keystrokes": "pwd\\n",\n    "duration": 0.5\n  }\n]\n```',
    );
  });

  test('keeps of a reply the observation with the marker, and neither thinking nor tag', () => {
    const world = present(afterReply(terminal, 'ls', TAGGED('**Environment Observation:**\n  a.txt')));
    expect(world.turns[0]).toMatchObject({
      observation: 'a.txt',
      response: '**Environment Observation:**\na.txt',
      origin: 'simulated',
    });
    const [, , answer, last] = messagesOf(requestOf(world, 'pwd'));
    expect(answer).toEqual({ role: 'assistant', content: '**Environment Observation:**\na.txt' });
    expect(last?.content).toContain('<predicted_observation></predicted_observation>');
  });

  test('asks for the tag only after the last prompt', () => {
    let world = terminal;
    for (const action of ['ls', 'pwd', 'id']) world = present(afterReply(world, action, TAGGED(action)));
    const texts = messagesOf(requestOf(world, 'exit')).map(({ content }) => content);
    expect(texts.filter((text) => text.includes('predicted_observation'))).toEqual([texts.at(-1)]);
  });

  test.each(['', '<think>never ends', '<predicted_observation>\n \n</predicted_observation>', '<think>a</think> '])(
    'does not go on after a reply without an observation: %j',
    (reply) => {
      expect(afterReply(terminal, 'ls', reply)).toBeUndefined();
    },
  );

  test('keeps an instruction in the turn that it was given for, before the action, and in no later one', () => {
    const world = present(afterReply(terminal, 'ls', TAGGED('ls: error'), 'The disk fails.'));
    expect(world.turns[0]?.prompt).toMatch(
      /\*\*Simulation Instruction:\*\*\nThe disk fails\.\n[^*]*\n\n\*\*Action:\*\*/,
    );
    expect(world.turns[0]?.instruction).toBe('The disk fails.');
    expect(actionPrompt(world, 'pwd')).not.toContain('The disk fails.');
  });

  test('says what an instruction means where the system prompt does not, and not twice', () => {
    const knowing = freshWorld({
      domain: 'terminal',
      systemPrompt: 'A section headed **Simulation Instruction:** is ...',
    });
    expect(actionPrompt(knowing, 'ls', 'The disk fails.')).toContain('The disk fails.\n\n**Action:**');
    expect(actionPrompt(terminal, 'ls', 'The disk fails.')).toContain('for you alone');
    expect(actionPrompt(terminal, 'ls')).not.toContain('for you alone');
  });

  test('is the one before, to the byte, once its last turn is undone', () => {
    const one = present(afterReply(terminal, 'ls', TAGGED('a')));
    const two = present(afterReply(one, 'pwd', TAGGED('/')));
    expect(undone(two)).toEqual(one);
    expect(undone(present(undone(two)))).toEqual(terminal);
    expect(undone(terminal)).toBeUndefined();
    expect(rewound(two)).toEqual(terminal);
  });

  test('never undoes what was recorded', () => {
    const sample = present(samples('terminal').find(({ turnIdx }) => turnIdx > 2));
    const world = worldAt(sample);
    expect(undone(world)).toBeUndefined();
    const acted = present(afterReply(world, 'ls', TAGGED('a')));
    expect(rewound(acted)).toEqual(world);
  });

  test('shows its own last observation if prompts repeat the state, so that no truth is revealed after the start', () => {
    const sample = present(samples('web').find(({ turnIdx }) => turnIdx > 1));
    const repeat = (turn: number, prompt: string) =>
      turn === 0 ? prompt : prompt.replace('**Action:**', `**Current State:**\nstate ${turn}\n\n**Action:**`);
    const row: Sample = {
      ...sample,
      prompts: sample.prompts.map((prompt, turn) => repeat(turn, prompt)),
      currentPrompt: repeat(sample.turnIdx - 1, sample.currentPrompt),
    };
    const world = worldAt(row);
    expect(actionPrompt(world, "click('1')")).toContain(
      `**Current State:**\nstate ${sample.turnIdx - 1}\n\n**Action:**`,
    );
    const next = present(afterReply(world, "click('1')", TAGGED('a new page')));
    expect(actionPrompt(next, "click('2')")).toContain('**Current State:**\na new page\n\n**Action:**');
    expect(actionPrompt(next, "click('2')")).not.toContain('state 1');
  });

  test('puts an action with a fence of its own into a longer one', () => {
    const world = freshWorld({ domain: 'os', systemPrompt: '' });
    expect(actionPrompt(world, 'print("""\n```\n""")')).toContain('````python\nprint("""\n```\n""")\n````');
    expect(messagesOf(requestOf(world, 'x'))[0]?.role).toBe('user');
  });
});
