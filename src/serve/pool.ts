// Node's thread pool, whose threads evaluate and sample: whether it has a single one, which does its tasks in the order they are given.

import { pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';

/** So many rounds take a thread some ten milliseconds, in which another one would long have drawn a byte. */
const ROUNDS = 20_000;
/** The other thread may come too late by chance (once in 700 on one core beside ten busy processes), but hardly each time. */
const TRIALS = 5;

/**
 * Whether each task of the pool begins when those given before are done. Nobody tells the pool's size, so it must be what the
 * environment asks for (`launch.cts`, or whoever started the program), and be seen at work.
 */
export async function isSerialPool(env: Readonly<Record<string, string | undefined>> = process.env): Promise<boolean> {
  if (env.UV_THREADPOOL_SIZE !== '1') return false;
  for (let trial = 0; trial < TRIALS; trial++) if (!(await waitsItsTurn())) return false;
  return true;
}

async function waitsItsTurn(): Promise<boolean> {
  const done: string[] = [];
  await Promise.all([
    promisify(pbkdf2)('', '', ROUNDS, 32, 'sha512').then(() => done.push('long')),
    promisify(randomBytes)(1).then(() => done.push('short')),
  ]);
  return done[0] === 'long';
}
