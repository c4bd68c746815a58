// The journal beside a judged file -> what each judgement cost.

import { existsSync } from 'node:fs';
import { isInteger, isObject, parseObject } from '../json.js';
import type { CallLog, Usage } from '../types.js';
import { openToRead, readLines, textOf } from './line-file.js';

/**
 * What each judgement cost, by the journal's record id; empty where there is no journal. Later records replace earlier ones;
 * torn and strange lines are passed over, since the judged file itself is whole.
 * @throws UserError: 66 where the journal is there and cannot be read, 130 or 143 once `stop` is aborted.
 */
export async function readCosts(path: string, stop?: AbortSignal): Promise<ReadonlyMap<string, CallLog>> {
  const costs = new Map<string, CallLog>();
  if (!existsSync(path)) return costs;
  const hint = 'it says what judging cost; move it away to go on without';
  const handle = await openToRead(path, hint);
  try {
    for await (const line of readLines(handle, path, hint, stop)) {
      const found = textOf(line);
      const record = 'text' in found ? parseObject(found.text) : undefined;
      const log = callLog(record?.log);
      if (typeof record?.id === 'string' && log !== undefined) costs.set(record.id, log);
    }
  } finally {
    await handle.close();
  }
  return costs;
}

function callLog(value: unknown): CallLog | undefined {
  if (!isObject(value)) return undefined;
  const { attempts, ms, host } = value;
  if (!isCount(attempts) || typeof ms !== 'number') return undefined;
  const counts = isObject(value.usage) ? value.usage : {};
  const usage: Usage = {};
  for (const name of ['promptTokens', 'cachedTokens', 'completionTokens', 'reasoningTokens'] as const) {
    const tokens = counts[name];
    if (isCount(tokens)) usage[name] = tokens;
  }
  return { attempts, usage, ms, host: typeof host === 'string' ? host : '' };
}

function isCount(value: unknown): value is number {
  return isInteger(value) && value >= 0;
}
