// Agents' actions: which are the same, what is read out of replies, and that no reply can hurt the reader.

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import {
  lastFence,
  type ReadAction,
  readAction,
  sameAction,
  screenOf,
} from '../../../src/benchmark/actions/agent-action.js';
import { partsOfPrompt } from '../../../src/benchmark/actions/agent-dialogue.js';

interface Pair {
  readonly domain: string;
  readonly title: string;
  readonly a: string;
  readonly b: string;
  readonly same: boolean;
}

// The file is ours, and every test below would fail over another form.
const { pairs } = JSON.parse(
  readFileSync(new URL('../../../fixtures/agent-actions.json', import.meta.url), 'utf8'),
) as {
  pairs: Pair[];
};

const fenced = (body: string, label = '') => `I go on.\n\n\`\`\`${label}\n${body}\n\`\`\`\n`;

function read(domain: string, reply: string): ReadAction {
  const found = readAction(domain, reply);
  if ('flaw' in found) throw new Error(found.flaw);
  return found;
}

describe('two actions', () => {
  it.each(pairs)('of $domain, $title: same is $same', ({ domain, a, b, same }) => {
    const [left, right] = [read(domain, fenced(a)).action, read(domain, fenced(b)).action];
    expect(sameAction(domain, left, right)).toBe(same);
    expect(sameAction(domain, right, left)).toBe(same);
    expect(sameAction(domain, left, left)).toBe(true);
    expect(sameAction(domain, right, right)).toBe(true);
  });

  it('are near to each other by the screen size that the environment mentions', () => {
    const click = (x: number) => read('os', fenced(`pyautogui.click(${x}, 100)`)).action;
    const isSame = (told?: string) => sameAction('os', click(400), click(430), screenOf('os', told));
    expect(isSame()).toBe(true);
    expect(isSame('You are a Linux desktop of 1280x800 pixels.')).toBe(false);
    expect(screenOf('android', 'Android 14 (1080x2400)')).toEqual({ width: 1080, height: 2400 });
    expect(screenOf('android', 'sha 12345x67890')).toEqual({ width: 1080, height: 2400 });
  });

  it('of a domain beyond the seven are the same word by word, or as calls of a tool', () => {
    const of = (body: string) => read('robot', fenced(body)).action;
    expect(sameAction('robot', of('turn  left'), of('turn left'))).toBe(true);
    expect(sameAction('robot', of('turn left'), of('turn right'))).toBe(false);
    expect(
      sameAction('robot', of('{"name":"turn","arguments":{"to":1}}'), of('{"arguments":{"to":1},"name":"turn"}')),
    ).toBe(true);
    expect(sameAction('robot', of('{"name":"turn"}'), of('turn'))).toBe(false);
  });
});

describe('the recorded actions', () => {
  const folder = new URL('../../../fixtures/recorded/', import.meta.url);
  const rows = readdirSync(folder).flatMap((file) =>
    readFileSync(new URL(file, folder), 'utf8')
      .trim()
      .split('\n')
      // Published rows hold these members.
      .map((line) => JSON.parse(line) as { task: string; prompt: string[] }),
  );

  it('are all read, and are returned as they appear after **Action:**', () => {
    let count = 0;
    for (const { task, prompt } of rows) {
      const domain = task.slice(task.lastIndexOf('/') + 1);
      for (const turn of prompt) {
        const { action } = partsOfPrompt(turn);
        expect(read(domain, `I see.\n\n${action}`).text).toBe(action);
        count++;
      }
    }
    expect(count).toBeGreaterThan(300);
  });
});

describe('a reply', () => {
  const NO_CALL = 'the action is not a JSON object with the "name" of a tool and "arguments"';
  const LS = '[{"keystrokes": "ls\\n", "duration": 0.4}]';

  it.each([
    ['a label', `\`\`\`json\n${LS}\n\`\`\``],
    ['no label', `\`\`\`\n${LS}\n\`\`\``],
    ['words around it', `The listing first.\n\`\`\`json\n${LS}\n\`\`\`\nThat is all.`],
    [
      'thinking with another action in it',
      `<think>\`\`\`json\n[{"keystrokes":"rm\\n"}]\n\`\`\`</think>\n\`\`\`json\n${LS}\n\`\`\``,
    ],
    ['another block in front', `\`\`\`json\n[{"keystrokes":"rm\\n"}]\n\`\`\`\nNo: \n\`\`\`json\n${LS}\n\`\`\``],
    ['a block behind it that is cut off', `\`\`\`json\n${LS}\n\`\`\`\nor\n\`\`\`json\n[{"keyst`],
    ['no fence at all', LS],
  ])('with %s is read as the same action', (_, reply) => {
    expect(read('terminal', reply).text).toBe(`\`\`\`json\n${LS}\n\`\`\``);
  });

  it.each([
    ['mcp', '', 'the reply is empty'],
    ['mcp', '<think>I cannot</think>', 'the reply is empty'],
    ['mcp', 'I call read_graph.', 'no fence, and the action is not JSON'],
    ['mcp', fenced(''), 'the reply is empty'],
    ['mcp', fenced('{"name":"a","arguments":{}'), 'the action is not JSON'],
    ['mcp', fenced('["read_graph"]'), NO_CALL],
    ['mcp', fenced('{"tool":"read_graph"}'), NO_CALL],
    ['swe', fenced('{"name":"bash","arguments":"ls"}'), NO_CALL],
    ['terminal', fenced('[]'), 'the action is not a JSON array of objects with "keystrokes"'],
    ['terminal', fenced('ls -la'), 'the action is not JSON'],
    ['terminal', fenced('[{"keys":"ls"}]'), 'the action is not a JSON array of objects with "keystrokes"'],
    ['android', fenced('{"index":3}'), 'the action is not in a phone notation'],
    ['android', 'I would touch the button.', 'no fence with an action in the reply'],
    ['web', fenced('click the button'), 'the action is not a call'],
    ['web', fenced("click(bid_of('Apply'))"), 'the action is not a call'],
    ['os', 'Open the menu.', 'no fence with an action in the reply'],
    ['robot', 'turn left', 'no fence with an action in the reply'],
  ])('of %s without an action says what is wrong: %s', (domain, reply, flaw) => {
    expect(readAction(domain, reply)).toEqual({ flaw });
  });

  const MEGABYTES = 4_000_000;
  const deep = (open: string, close: string, times: number) => open.repeat(times) + close.repeat(times);
  it.each([
    ['mcp', 'one long action', fenced(`{"name":"a","arguments":{"text":"${'x'.repeat(MEGABYTES)}"}}`)],
    ['mcp', 'lists in lists', fenced(deep('[', ']', 90_000))],
    ['mcp', 'objects in objects', fenced(`{"name":"a","arguments":${deep('{"a":', '}', 15_000).replace('}', '1}')}}`)],
    [
      'mcp',
      'lists in a text of JSON',
      fenced(JSON.stringify({ name: 'a', arguments: `{"a":${deep('[', ']', 40_000)}}` })),
    ],
    ['android', 'objects in objects', fenced(`{"action_type":"click","a":${deep('{"a":', '1}', 15_000)}}`)],
    ['android', 'parameters that never end', fenced(`<invoke name="a">${'<parameter name="'.repeat(10_000)}`)],
    ['android', 'an element that never ends', fenced(`touch <button id=${'<'.repeat(150_000)}`)],
    ['web', 'lists in lists', fenced(`click(${deep('[', ']', 90_000)})`)],
    ['web', 'digits without end', fenced(`click(${'1'.repeat(190_000)}a)`)],
    ['web', 'a string that never closes', fenced(`click('${'\\'.repeat(190_000)}`)],
    ['terminal', 'fences that open and never close', '```a\n'.repeat(MEGABYTES / 5)],
    ['terminal', 'thinking that opens and never closes', '<think>'.repeat(MEGABYTES / 7)],
  ])('of %s with %s is refused', (domain, _, reply) => {
    expect(readAction(domain, reply)).toMatchObject({ flaw: expect.any(String) });
  });

  it.each([
    ['os', 'quotes without end', fenced('"\'#'.repeat(60_000))],
    ['os', 'names without end', fenced('a.'.repeat(90_000))],
    ['os', 'very many steps', fenced("press('a', presses=20)\n".repeat(8_000))],
    ['swe', 'long free text', fenced(JSON.stringify({ name: 'a', arguments: { content: 'word '.repeat(35_000) } }))],
    ['android', 'a long line', fenced(`set_text ${'a '.repeat(90_000)}`)],
    ['robot', 'anything', fenced('\u0000{['.repeat(60_000))],
  ])('of %s with %s is read, and compared with itself', (domain, _, reply) => {
    const { action } = read(domain, reply);
    expect(sameAction(domain, action, read(domain, reply).action)).toBe(true);
  });

  it('with the name of a member of every object is not that member', () => {
    const of = (name: string) => read('web', fenced(`${name}('1')`)).action;
    expect(sameAction('web', of('constructor'), of('toString'))).toBe(false);
    expect(sameAction('web', of('__proto__'), of('__proto__'))).toBe(true);
    const call = (key: string) => read('mcp', fenced(`{"name":"a","arguments":{"${key}":1}}`)).action;
    expect(sameAction('mcp', call('__proto__'), call('constructor'))).toBe(false);
    expect(sameAction('mcp', call('__proto__'), call('__proto__'))).toBe(true);
  });
});

test.each([
  ['the last of several', '```\na\n```\n```json\nb\nc\n```', 'b\nc'],
  ['one with an empty body', '```\n```', ''],
  ['a labelled fence within as content', '```\na\n```js\nb\n```', 'a\n```js\nb'],
  ['one in front of a block that is cut off', '```\na\n```\n```\nb', 'a'],
  ['none where a fence stands within a line', 'see ```a``` there', undefined],
  ['none where none closes', '```a\nb', undefined],
])('a text gives %s', (_, text, fenced) => {
  expect(lastFence(text)).toEqual(fenced);
});
