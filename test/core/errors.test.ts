// Errors: the code of a signal, and what is read from whatever was thrown.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { codeOf, interruption, messageOf } from '../../src/core/errors.js';

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
])('a command that %s ends has the exit code %i', (signal, code) => {
  expect(interruption(AbortSignal.abort(signal))).toBe(code);
});

test('an error of the system has a code, others have none', () => {
  const thrownBy = (work: () => unknown) => {
    try {
      return work();
    } catch (error) {
      return error;
    }
  };
  expect(codeOf(thrownBy(() => readFileSync('/no/such/file')))).toBe('ENOENT');
  for (const other of [new Error('x'), Object.assign(new Error('x'), { code: 5 }), 'ENOENT', null, undefined]) {
    expect(codeOf(other)).toBeUndefined();
  }
});

test('whatever was thrown says something', () => {
  expect([new Error('it broke'), 'a text', undefined].map(messageOf)).toEqual(['it broke', 'a text', 'undefined']);
});
