// A strict reader of `--events`: each line has exactly the members that docs/events.md lists for its type.

type Check = (value: unknown) => boolean;
type Members = Readonly<Record<string, Check>>;

const text: Check = (value) => typeof value === 'string' && !/[\x00-\x1f\x7f]/.test(value);
const amount: Check = (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0;
const count: Check = (value) => Number.isInteger(value) && amount(value);
const flag: Check = (value) => typeof value === 'boolean';
const time: Check = (value) =>
  typeof value === 'string' && /^\d{4}-/.test(value) && new Date(value).toISOString() === value;
const oneOf =
  (...values: readonly string[]): Check =>
  (value) =>
    values.some((known) => known === value);
const mapOf =
  (check: Check): Check =>
  (value) =>
    typeof value === 'object' && value !== null && Object.values(value).every(check);
const object =
  (members: Members, optional: Members = {}): Check =>
  (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    const known = { ...members, ...optional };
    const isKnown = Object.entries(value).every(([name, inner]) => known[name]?.(inner) === true);
    return isKnown && Object.keys(members).every((name) => name in value);
  };

const TOKENS = object(
  {},
  { promptTokens: count, cachedTokens: count, writtenTokens: count, completionTokens: count, reasoningTokens: count },
);
const RUN = object(
  { kind: oneOf('infer', 'judge', 'calibrate', 'likelihood', 'scenarios'), dir: text },
  { label: text },
);
const COUNTS = object({
  ...{ chosen: count, ok: count, failed: count, not_done: count, absent: count },
  failures: mapOf(count),
});

const TYPES: Readonly<Record<string, readonly [Members, Members?]>> = {
  started: [{ tool: object({ name: text, version: text }), pid: count, totals: mapOf(count), already: mapOf(count) }],
  row: [
    { id: text, domain: text, status: oneOf('ok', 'failed'), attempts: count, tokens: TOKENS },
    { class: text, reason: text, flags: Array.isArray, seconds: amount, usd: amount },
  ],
  limit: [{ limit: count, in_flight: count }, { before: count }],
  paused: [{ cause: oneOf('rate-limit', 'outage', 'not-ready') }, { host: text, seconds: count, until: time }],
  resumed: [{ cause: oneOf('rate-limit', 'outage', 'not-ready') }, { host: text }],
  budget: [
    {
      spent: object({ tokens: count, estimated_tokens: count }, { usd: amount }),
      budget: object({}, { usd: amount, tokens: count }),
      reached: flag,
    },
  ],
  notice: [{ text }],
  finished: [
    {
      ...{ state: text, exit_code: count, counts: COUNTS, asked: count, seconds: amount, tokens: TOKENS },
      spent: object({ tokens: count }, { usd: amount }),
    },
    { reason: text },
  ],
};

export const EVENT_TYPES = Object.keys(TYPES);

// biome-ignore lint/suspicious/noExplicitAny: tests look into events of every type
export type ReadEvent = any;

/** The events of a file. @throws if a line differs from the documentation */
export function readEvents(file: string): ReadEvent[] {
  if (file !== '' && !file.endsWith('\n')) throw new Error('the last line has no end');
  return file
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const event = JSON.parse(line);
      const [members, optional] = TYPES[event.type] ?? [];
      if (members === undefined) throw new Error(`no such type: ${line}`);
      const head = { v: oneOf('awb.events/1'), type: text, at: time, run: RUN };
      if (!object({ ...head, ...members }, optional)(event)) throw new Error(`not as documented: ${line}`);
      if (!line.startsWith('{"v":"awb.events/1"')) throw new Error(`begins otherwise: ${line}`);
      return event;
    });
}
