// What is told of requests that have ended: a line each, and counts as Prometheus reads them.

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

/** How things stand now. */
export interface Gauges {
  readonly slots: number;
  readonly busy: number;
  readonly waiting: number;
  readonly contextSize: number;
}

export interface Metrics {
  /** `path` has few values, since each makes its own series. */
  count(path: string, record: RequestRecord): void;
  /** The text of the format, version 0.0.4. */
  text(gauges: Gauges): string;
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number, suffix?: string];

export function openMetrics(): Metrics {
  const requests = new Map<string, { readonly labels: Labels; count: number }>();
  const durations = new Map<string, { seconds: number; count: number }>();
  const tokens = { prompt: 0, cached: 0, completion: 0, reasoning: 0 };
  return {
    count(path, { status, durationMs, usage }) {
      const labels = { path, status: String(status) };
      const key = `${path} ${status}`;
      const counted = requests.get(key) ?? { labels, count: 0 };
      counted.count += 1;
      requests.set(key, counted);
      const duration = durations.get(path) ?? { seconds: 0, count: 0 };
      duration.seconds += durationMs / 1_000;
      duration.count += 1;
      durations.set(path, duration);
      if (usage === undefined) return;
      tokens.prompt += usage.promptTokens;
      tokens.cached += usage.cachedTokens;
      tokens.completion += usage.completionTokens;
      tokens.reasoning += usage.reasoningTokens;
    },
    text: ({ slots, busy, waiting, contextSize }) =>
      [
        family('requests_total', 'counter', 'Requests that have ended, by path and HTTP status.', [
          ...[...requests.values()].map(({ labels, count }): Sample => [labels, count]),
        ]),
        family('request_duration_seconds', 'summary', 'Time from a request to the end of its answer.', [
          ...[...durations].flatMap(([path, { seconds, count }]): Sample[] => [
            [{ path }, seconds, '_sum'],
            [{ path }, count, '_count'],
          ]),
        ]),
        family('prompt_tokens_total', 'counter', 'Tokens of prompts, cached ones included.', [[{}, tokens.prompt]]),
        family('cached_tokens_total', 'counter', 'Tokens of prompts that needed no evaluation.', [[{}, tokens.cached]]),
        family('completion_tokens_total', 'counter', 'Tokens generated, thinking included.', [[{}, tokens.completion]]),
        family('reasoning_tokens_total', 'counter', 'Tokens generated as thinking.', [[{}, tokens.reasoning]]),
        family('slots', 'gauge', 'Requests that can be served at the same time.', [[{}, slots]]),
        family('slots_busy', 'gauge', 'Slots that work now.', [[{}, busy]]),
        family('requests_waiting', 'gauge', 'Requests that wait for a slot.', [[{}, waiting]]),
        family('context_tokens', 'gauge', 'Tokens that a slot can hold.', [[{}, contextSize]]),
      ].join(''),
  };
}

function family(name: string, type: 'counter' | 'gauge' | 'summary', help: string, samples: readonly Sample[]): string {
  const full = `awb_serve_${name}`;
  const lines = samples.map(([labels, value, suffix = '']) => `${full}${suffix}${labelText(labels)} ${value}`);
  return [`# HELP ${full} ${help}`, `# TYPE ${full} ${type}`, ...lines].map((line) => `${line}\n`).join('');
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escaped)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`;
}
