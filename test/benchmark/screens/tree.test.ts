// Trees of JSON: values that a parser would change.

import { expect, test } from 'vitest';
import { jsonTree, type TreeScreen } from '../../../src/benchmark/screens/tree.js';

function shown(screen: TreeScreen | undefined): string[] | undefined {
  return screen?.nodes.map(({ depth, role, text, states }) => `${depth} |${role}|${text}|${states}`);
}

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

test('nodes after the three thousandth are cut off', () => {
  const list = jsonTree(`[${'1,'.repeat(6000)}1]`);
  expect([list?.nodes.length, list?.cut]).toEqual([3000, true]);
});
