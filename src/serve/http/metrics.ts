// What is told of requests that have ended: a line each, and counts as Prometheus reads them.

import { counted } from '../../core/figures.js';
import { printable } from '../../core/printable.js';
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

/** Families of samples in the order of the text, each with its type and help. */
const FAMILIES = [
  ['requests_total', 'counter', 'Requests that have ended, by path and HTTP status.'],
  ['request_duration_seconds', 'summary', 'Time from a request to the end of its answer.'],
  ['prompt_tokens_total', 'counter', 'Tokens of prompts, cached ones included.'],
  ['cached_tokens_total', 'counter', 'Tokens of prompts that needed no evaluation.'],
  ['completion_tokens_total', 'counter', 'Tokens generated, thinking included.'],
  ['reasoning_tokens_total', 'counter', 'Tokens generated as thinking.'],
  ['slots', 'gauge', 'Requests that can be served at the same time.'],
  ['slots_busy', 'gauge', 'Slots that work now.'],
  ['requests_waiting', 'gauge', 'Requests that wait for a slot.'],
  ['context_tokens', 'gauge', 'Tokens that a slot can hold.'],
] as const;

export function openMetrics() {
  /** By name and labels. */
  const values = new Map<string, number>();
  const add = (sample: string, value: number) => values.set(sample, (values.get(sample) ?? 0) + value);
  const addTokens = ({ promptTokens, cachedTokens, completionTokens, reasoningTokens }: Usage) => {
    add('prompt_tokens_total', promptTokens);
    add('cached_tokens_total', cachedTokens);
    add('completion_tokens_total', completionTokens);
    add('reasoning_tokens_total', reasoningTokens);
  };
  addTokens({ promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 });
  return {
    /** `path` has few values, since each makes its own series; it goes into the text as it is. */
    count(path: string, { status, durationMs, usage }: RequestRecord): void {
      add(`requests_total{path="${path}",status="${status}"}`, 1);
      add(`request_duration_seconds_sum{path="${path}"}`, durationMs / 1_000);
      add(`request_duration_seconds_count{path="${path}"}`, 1);
      if (usage !== undefined) addTokens(usage);
    },
    /** The text of the format, version 0.0.4, with the gauges as they are now. */
    text(gauges: Readonly<Record<string, number>>): string {
      const samples = [...values, ...Object.entries(gauges)];
      const lines = FAMILIES.flatMap(([name, type, help]) => [
        `# HELP awb_serve_${name} ${help}`,
        `# TYPE awb_serve_${name} ${type}`,
        ...samples
          .filter(([sample]) => sample.replace(/(?:_sum|_count)?(?:\{.*)?$/, '') === name)
          .map(([sample, value]) => `awb_serve_${sample} ${value}`),
      ]);
      return `${lines.join('\n')}\n`;
    },
  };
}
