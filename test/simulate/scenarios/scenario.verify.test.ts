import { describe, expect, test } from 'vitest';
import type { JsonExpectation, Verifier } from '../../../src/simulate/scenarios/forms.js';
import { type Predicted, verify } from '../../../src/simulate/scenarios/scenario.js';

const of = (prediction: string, more: Partial<Predicted> = {}): Predicted => ({
  domain: 'terminal',
  prediction,
  action: 'ls',
  ...more,
});
const json = (path: string, expect: JsonExpectation): Verifier => ({ kind: 'json_path', path, expect });
const status = (status: number | 'nonzero'): Verifier => ({ kind: 'exit_status', status });
const contains = (...texts: string[]): Verifier => ({ kind: 'contains', texts });
const lacks = (...texts: string[]): Verifier => ({ kind: 'lacks', texts });
const matches = (source: string, ignoreCase?: true): Verifier => ({
  kind: 'matches',
  pattern: { source, ...(ignoreCase && { ignoreCase }) },
});

const MCP = '{"type":"text","text":"[\\n  {\\"id\\": 2, \\"price\\": 30}\\n]"}';

test.each<[what: string, Verifier, Predicted, met: boolean, why: string]>([
  ['all texts', contains('cp:', 'No space left'), of('cp: x: No space\nleft on device'), true, 'it says "cp:"'],
  ['one text short', contains('cp:', 'No space left'), of('cp: x'), false, 'it does not say "No space left"'],
  ['another case', contains('error'), of('Error'), false, 'it does not say "error"'],
  ['nothing of it', lacks('12.5', '30'), of('777'), true, 'it does not say "12.5"'],
  ['some of it', lacks('12.5', '30'), of('price 30'), false, 'it says "30"'],
  ['a line', matches('^b: \\d+$'), of('a\nb: 12\nc'), true, 'it matches "^b: \\d+$"'],
  ['no line', matches('^b: \\d+$'), of('a b: 12'), false, 'nothing in it matches "^b: \\d+$"'],
  ['either case', matches('^ERROR', true), of('error'), true, 'it matches "^ERROR"'],
  ['a value', json('$.text[0].price', { equals: 30 }), of(MCP), true, '"$.text[0].price" is "30"'],
  ['another value', json('$.text[0].price', { equals: '30' }), of(MCP), false, '"$.text[0].price" is "30"'],
  ['no value', json('$.text[1].price', { equals: 30 }), of(MCP), false, 'it has no "$.text[1].price"'],
  ['any value', json('$[*]', { equals: 2 }), of('[1, 2]'), true, '"$[*]" is "2"'],
  ['equal objects', json('$', { equals: { a: 1, b: [2] } }), of('{"b":[2],"a":1}'), true, '"$" is "{"a":1,"b":[2]}"'],
  [
    'a value like it',
    json('$.e', { matches: { source: '^rate' } }),
    of('{"e":"rate limit"}'),
    true,
    '"$.e" is ""rate limit""',
  ],
  ['what is there', json('$.e', { exists: true }), of('{"e":null}'), true, 'it has "$.e"'],
  ['what is not there', json('$.e', { exists: false }), of('{"f":1}'), true, 'it has no "$.e"'],
  ['no JSON at all', json('$.e', { equals: 1 }), of('e: 1'), false, 'it contains no JSON'],
  ['nothing where nothing is meant', json('$.e', { exists: false }), of('e'), true, 'it contains no JSON'],
  ['a stated status', status(2), of('x\nrc=2\nroot@box:/#'), true, 'the exit status is 2'],
  ['another status', status(0), of('x\nrc=2\nroot@box:/#'), false, 'the exit status is 2'],
  ['any failure', status('nonzero'), of('exit code: 127'), true, 'the exit status is 127'],
  [
    'an asked status',
    status(1),
    of('$ false; echo $?\n1\n$', { action: 'false; echo $?' }),
    true,
    'the exit status is 1',
  ],
  ['a number that nobody asked for', status(1), of('$ wc -l\n1\n$'), false, 'it shows no exit status'],
  ['a tool that failed', status(1), of('x\n[exit status 1]', { domain: 'swe' }), true, 'the exit status is 1'],
  ['a tool that succeeded', status(0), of('(no output)', { domain: 'swe' }), true, 'the exit status is 0'],
  ['a tool out of time', status(0), of('[timed out after 30 s]', { domain: 'swe' }), false, 'it shows no exit status'],
  [
    'a status in a result',
    status(1),
    of('{"stdout": "", "exit_code": 1}', { domain: 'mcp' }),
    true,
    'the exit status is 1',
  ],
])('%s: %j', (_, verifier, predicted, met, why) => {
  expect(verify(verifier, predicted)).toEqual({ verifier: verifier.kind, met, why });
});

describe('unchanged elsewhere', () => {
  const kept = (prediction: string, more: Partial<Predicted>, percent = 100) =>
    verify({ kind: 'unchanged_elsewhere', except: { source: 'price' }, percent }, of(prediction, more));

  test('counts the lines that the twin has right, and not those that are meant to change', () => {
    const more = { truth: 'title\na\nb\nprice 1\nc', twin: 'title\na\nb\nprice 1\nx' };
    expect(kept('title\n  a\nb\nprice 7', more)).toMatchObject({ met: true, why: '3 of 3 lines stayed' });
    expect(kept('title\nprice 7\nc\nx', more)).toMatchObject({ met: false, why: '1 of 3 lines stayed' });
  });

  test('holds to the truth without a twin, and to the twin without a truth', () => {
    expect(kept('a', { truth: 'a\nb' }, 50)).toMatchObject({ met: true, why: '1 of 2 lines stayed' });
    expect(kept('a', { twin: 'a\nb' }, 51)).toMatchObject({ met: false, why: '1 of 2 lines stayed' });
  });

  test('wants a line that stands twice to be there twice', () => {
    expect(kept('a\nb', { truth: 'a\na\nb' })).toMatchObject({ met: false, why: '2 of 3 lines stayed' });
  });

  test('is met where nothing had to stay', () => {
    expect(kept('z', { truth: 'a', twin: 'b' })).toMatchObject({ met: true, why: 'no line had to stay' });
  });
});

test('what the model wrote is short and harmless in a reason', () => {
  const { why } = verify(
    json('$.e', { equals: 1 }),
    of(JSON.stringify({ e: `\u001b[31m${'x'.repeat(500)}\n::error::` })),
  );
  expect(why.length).toBeLessThan(100);
  expect(why).not.toMatch(/[\u001b\n]/);
});
