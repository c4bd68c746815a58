// What is said of a request once it has ended: nothing of what was asked or answered.

import { counted } from '../../figures.js';
import { printable } from '../../printable.js';
import type { Usage } from '../engine-contract.js';

/** A request that has ended. */
export interface RequestRecord {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  /** 499 where the client left before it was answered. */
  readonly status: number;
  readonly durationMs: number;
  /** Of all choices together; absent where nothing was generated. */
  readonly usage: Usage | undefined;
}

/** `12:00:01 POST /v1/chat/completions 200 1.2 s, 340 tokens in (300 cached), 56 out`, the time in UTC. */
export function requestLine({ method, path, status, durationMs, usage }: RequestRecord, endedAt: Date): string {
  const counts =
    usage === undefined
      ? ''
      : `, ${counted(usage.promptTokens, 'token')} in (${usage.cachedTokens} cached), ${usage.completionTokens} out`;
  const request = printable(`${method} ${path}`).slice(0, 100);
  return `${endedAt.toISOString().slice(11, 19)} ${request} ${status} ${(durationMs / 1_000).toFixed(1)} s${counts}`;
}
