// The journal beside a judged file -> what each judgement cost.

import { existsSync } from 'node:fs';
import { isInteger, isObject, type JsonObject, parseObject } from '../json.js';
import { keysOf } from '../keys.js';
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

/** Whether a value is what each field of `T` holds; the type asks for an entry of every field. */
type Checks<T> = { readonly [Name in keyof T]-?: (value: unknown) => value is NonNullable<T[Name]> };

const LOG: Checks<Omit<CallLog, 'usage'>> = {
  attempts: isCount,
  ms: isNumber,
  firstTokenMs: isNumber,
  host: isText,
  chars: isCount,
};
const USAGE: Checks<Usage> = {
  promptTokens: isCount,
  cachedTokens: isCount,
  completionTokens: isCount,
  reasoningTokens: isCount,
};

function callLog(value: unknown): CallLog | undefined {
  if (!isObject(value)) return undefined;
  const { attempts, ms, host = '', ...more } = known(value, LOG);
  if (attempts === undefined || ms === undefined) return undefined;
  return { attempts, usage: known(isObject(value.usage) ? value.usage : {}, USAGE), ms, host, ...more };
}

/** The fields that hold what they may. */
function known<T extends object>(value: JsonObject, checks: Checks<T>): Partial<T> {
  const found: Partial<T> = {};
  for (const name of keysOf(checks)) {
    const field = value[name];
    if (checks[name](field)) found[name] = field;
  }
  return found;
}

function isCount(value: unknown): value is number {
  return isInteger(value) && value >= 0;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
