// Commands as users write them: how they are split, and that an inserted value stays one word.

import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { endpointAt, filled, wordsOf } from '../../../src/cli/watch/processes.js';

test.each([
  'serve {checkpoint} --port {port}',
  '  serve   a\tb\n ',
  `serve 'a b' "c d" e\\ f ''`,
  `serve "say \\"hi\\" \\\\ \\n" 'it'"'"'s'`,
  `x"y z"'w'`,
])('is split as a shell splits it: %s', (text) => {
  const shell = execFileSync('sh', ['-c', `printf '%s\\0' ${text.trim()}`], { encoding: 'utf8' });
  expect(wordsOf([text], '--serve-command')).toEqual(shell.split('\0').slice(0, -1));
});

test('nothing is read as a variable, a pipe or a pattern', () => {
  expect(wordsOf(['serve $HOME `id` *.gguf | tee log; rm x'], '--serve-command')).toEqual([
    ...['serve', '$HOME', '`id`', '*.gguf', '|', 'tee', 'log;', 'rm', 'x'],
  ]);
});

test('several words are used as they are', () => {
  expect(wordsOf(['sh', '-c', 'serve "$0" | tee log'], '--serve-command')).toEqual([
    'sh',
    '-c',
    'serve "$0" | tee log',
  ]);
});

test.each(['serve "a', "serve 'a", 'serve a\\'])('an unclosed quote or a final backslash is refused: %s', (text) => {
  expect(() => wordsOf([text], '--serve-command')).toThrow(
    '--serve-command: close the quote, or complete the backslash',
  );
});

test('an inserted value is one word, and is not expanded again', () => {
  const checkpoint = `/a b/{port} "$(id)'; x`;
  expect(filled(['serve', '--at={port}', '{checkpoint}', '{other}', '{}'], { checkpoint, port: '80' })).toEqual([
    ...['serve', '--at=80', checkpoint, '{other}', '{}'],
  ]);
  expect(endpointAt('http://127.0.0.1:{port}/v1//', 80)).toBe('http://127.0.0.1:80/v1');
});
