// Trees of web pages and of JSON: notations that recorded rows do not have, and values that a parser would change.

import { expect, test } from 'vitest';
import { accessibilityTree, jsonTree, type TreeScreen } from '../../../src/benchmark/screens/tree.js';

function shown(screen: TreeScreen | undefined): string[] | undefined {
  return screen?.nodes.map(({ depth, id, role, text, states }) => `${depth} ${id}|${role}|${text}|${states}`);
}

test("WebArena's own tree", () => {
  const observation = [
    'Tab 0 (current): One Stop Market',
    '',
    "[1] RootWebArea 'One Stop Market' focused: True",
    "\t[1256] link 'Don\\'t'",
    '\t[7] StaticText "it\'s"',
  ];
  expect(shown(accessibilityTree(observation.join('\n')))).toEqual([
    '0 ||Tab 0 (current): One Stop Market|',
    '0 1|RootWebArea|One Stop Market|focused: True',
    "1 1256|link|Don't|",
    "1 7|StaticText|it's|",
  ]);
});

test("Playwright's snapshot", () => {
  const observation = [
    '### Page',
    '- Page URL: http://gitlab.test/users/sign_in',
    '```yaml',
    '- generic [active] [ref=e1]:',
    '  - link "Skip: content" [ref=e2] [cursor=pointer]:',
    '    - /url: "#top"',
    '  - heading "Sign in" [level=1]',
    '  - generic [ref=e5]: Some text: all of it',
    "  - 'button \"It''s: here\" [ref=e6]':",
    '```',
  ];
  expect(shown(accessibilityTree(observation.join('\n')))).toEqual([
    '0 ||### Page|',
    '0 ||- Page URL: http://gitlab.test/users/sign_in|',
    '0 e1|generic||[active]',
    '1 e2|link|Skip: content|[cursor=pointer]',
    '2 ||- /url: "#top"|',
    '1 |heading|Sign in|[level=1]',
    '1 e5|generic|Some text: all of it|',
    "1 e6|button|It's: here|",
  ]);
});

test.each(['', 'There is a link here', '- one\n- two', 'Error: page crashed', '{"a": 1}'])(
  '%j is not a tree',
  (text) => {
    expect(accessibilityTree(text)).toBeUndefined();
  },
);

test('JSON keeps digits, order and doubled keys, and is read within strings', () => {
  const text = '{"b":[1.50,{"id":14695981039346656037}],"a":"x\\u00e9","a":null,"in":"[{\\"k\\":\\"v\\"}]","e":{}}';
  expect(shown(jsonTree(text))).toEqual([
    '0 |b||[…]',
    '1 ||1.50|',
    '1 |||{…}',
    '2 |id|14695981039346656037|',
    '0 |a|"xé"|',
    '0 |a|null|',
    '0 |in||JSON in a string',
    '1 |||{…}',
    '2 |k|"v"|',
    '0 |e||{…}',
  ]);
});

test.each(['', '1', '"a"', '{"a":', '[1,]', `${'['.repeat(65)}${']'.repeat(65)}`])(
  '%j is not drawn as JSON',
  (text) => {
    expect(jsonTree(text)).toBeUndefined();
  },
);

test('nodes behind the three thousandth are cut off', () => {
  const list = jsonTree(`[${'1,'.repeat(6000)}1]`);
  expect([list?.nodes.length, list?.cut]).toEqual([3000, true]);
  const page = accessibilityTree("[1] link 'x'\n".repeat(6000));
  expect([page?.nodes.length, page?.cut]).toEqual([3000, true]);
});
