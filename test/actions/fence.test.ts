import { expect, test } from 'vitest';
import { lastFence } from '../../src/actions/fence.js';

test.each([
  ['the last of several', '```\na\n```\n```json\nb\nc\n```', { label: 'json', body: 'b\nc' }],
  ['one with an empty body', '```\n```', { label: '', body: '' }],
  ['a labelled fence within as content', '```\na\n```js\nb\n```', { label: '', body: 'a\n```js\nb' }],
  ['one in front of a block that is cut off', '```\na\n```\n```\nb', { label: '', body: 'a' }],
  ['none where a fence stands within a line', 'see ```a``` there', undefined],
  ['none where none closes', '```a\nb', undefined],
])('a text gives %s', (_, text, fenced) => {
  expect(lastFence(text)).toEqual(fenced);
});
