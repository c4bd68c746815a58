// Files of ratings, JSONL and CSV: what is read, and that what cannot be is named with file and line.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readRatings } from '../../src/benchmark/ratings.js';
import { EXIT, UserError } from '../../src/core/errors.js';
import { temporaryFolder } from '../support/cli.js';

const FIVE = { format: 5, factuality: 4, consistency: 3, realism: 2, quality: 1 };
const HASH = 'ab'.repeat(32);
const HEADER = 'key,rater,format,factuality,consistency,realism,quality';

let dir: string;
beforeAll(async () => {
  dir = await temporaryFolder();
});

async function read(text: string | Uint8Array, name = 'ratings.jsonl') {
  const path = join(dir, name);
  await writeFile(path, text);
  return readRatings(path, name);
}

async function refusal(text: string | Uint8Array, name = 'ratings.jsonl'): Promise<UserError> {
  const error = await read(text, name).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UserError);
  return error as UserError;
}

describe('JSONL', () => {
  it('is read as the page saves it', async () => {
    const line = {
      ...{ schema: 'awb.person-rating/1', key: 'k1', repeat: 1, trajectory: 't', domain: 'mcp', run: null },
      ...{
        rater: ' Ann ',
        ...FIVE,
        prediction_sha256: HASH.toUpperCase(),
        revised: true,
        comment: 'c',
        rated_at: 'now',
      },
    };
    expect(await read(`\n${JSON.stringify(line)}\n`)).toEqual([
      {
        key: 'k1',
        repeat: 1,
        rater: 'Ann',
        ratings: FIVE,
        predictionSha256: HASH,
        revised: true,
        place: 'ratings.jsonl:2',
      },
    ]);
  });

  it.each([
    ['a rating above 5', { ...FIVE, realism: 6 }, '"realism": Too big: expected number to be <=5'],
    ['a rating of 0', { ...FIVE, format: 0 }, '"format": Too small: expected number to be >=1'],
    ['half a rating', { ...FIVE, quality: 3.5 }, '"quality": Invalid input: expected int'],
    ['a rating in words', { ...FIVE, format: 'five' }, '"format": Invalid input: expected number'],
    ['a rating that is missing', { ...FIVE, quality: undefined }, '"quality": Invalid input'],
    ['no key', { ...FIVE, key: '' }, '"key": Too small'],
    ['no rater', { ...FIVE, rater: 7 }, '"rater": Invalid input: expected string'],
    ['a repeat that is none', { ...FIVE, repeat: -1 }, '"repeat": Too small: expected number to be >=0'],
    ['a hash that is none', { ...FIVE, prediction_sha256: 'xyz' }, '"prediction_sha256": not a SHA-256 in hex'],
    ['another schema', { ...FIVE, schema: 'awb.score/1' }, '"schema": Invalid input: expected "awb.person-rating/1"'],
  ])('with %s is refused with file and line', async (_name, change, message) => {
    const fine = JSON.stringify({ key: 'k', rater: 'r', ...FIVE });
    const error = await refusal(`${fine}\n${JSON.stringify({ key: 'k', rater: 'r', ...change })}\n`);
    expect(error.message).toContain(`ratings.jsonl:2: ${message}`);
    expect(error.message).toMatch(/; fix the line or remove it$/);
    expect(error.exitCode).toBe(EXIT.badData);
  });

  it.each([
    ['no JSON', 'key;rater\n', 'ratings.jsonl:1: not a JSON object'],
    ['no UTF-8', Uint8Array.of(0x7b, 0xff, 0x7d), 'ratings.jsonl:1: not valid UTF-8'],
    ['nothing', '\n', 'ratings.jsonl has no ratings'],
  ])('that is %s is refused', async (_name, text, message) => {
    expect((await refusal(text)).message).toContain(message);
  });
});

describe('CSV', () => {
  it('is read by the names in its header, in any order, with extra columns of its own', async () => {
    const header = 'Rater,note,key,format,factuality,consistency,realism,quality,repeat,prediction_sha256';
    const text = `\ufeff${header}\r\n"Ann, B.","two\nlines",k1,5,4,3,2,1,2,${HASH}\r\nBob,,k2,5,4,3,2,1,,\r\n`;
    expect(await read(text, 'r.CSV')).toEqual([
      {
        key: 'k1',
        repeat: 2,
        rater: 'Ann, B.',
        ratings: FIVE,
        predictionSha256: HASH,
        revised: false,
        place: 'r.CSV:2',
      },
      { key: 'k2', repeat: 0, rater: 'Bob', ratings: FIVE, revised: false, place: 'r.CSV:4' },
    ]);
  });

  it.each([
    ['a rating above 5', `${HEADER}\nk,r,5,4,3,2,9\n`, 'r.csv:2: "quality": Too big'],
    ['a rating that is missing', `${HEADER}\nk,r,5,4,3,2\n`, 'r.csv:2: "quality": Invalid input'],
    ['a rating in words', `${HEADER}\nk,r,5,4,3,2,good\n`, 'r.csv:2: "quality": Invalid input: expected number'],
    ['columns that are missing', 'key,format,factuality\nk,5,4\n', 'r.csv:2: "rater": Invalid input'],
    ['semicolons', `${HEADER.replaceAll(',', ';')}\nk;r;5;4;3;2;1\n`, 'r.csv:2: "key": Invalid input'],
    ['an open quote', `${HEADER}\n"k,r,5,4,3,2,1\n`, 'r.csv:2: a quote is not closed'],
    ['other bytes than UTF-8', Uint8Array.of(0x6b, 0xfc), 'r.csv: not valid UTF-8; save it as CSV in UTF-8'],
    ['a header alone', `${HEADER}\n`, 'r.csv has no ratings'],
  ])('with %s is refused with file and line', async (_name, text, message) => {
    const error = await refusal(text, 'r.csv');
    expect(error.message).toContain(message);
    expect(error.exitCode).toBe(EXIT.badData);
  });
});

it('a file that is not there, and a folder, are named', async () => {
  await expect(readRatings(join(dir, 'none.jsonl'), 'none.jsonl')).rejects.toMatchObject({
    exitCode: EXIT.inputMissing,
  });
  await expect(readRatings(dir, 'x')).rejects.toThrow(/it is a folder; --ratings takes files/);
});
