// `--events FILE`: what a stage does as JSON lines for programs, as the second listener of a stage. docs/events.md lists the lines.

import {
  appendFileSync,
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readlinkSync,
  readSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { codeOf, EXIT, UserError } from '../core/errors.js';
import type { JsonObject } from '../core/json.js';
import { printable } from '../core/printable.js';
import { keysIn, openRedaction } from '../core/redaction.js';
import type { BackendStatus, Domain, Io } from '../core/types.js';
import { toolVersion } from '../settings/version.js';
import { reachedIn, spendingOf } from './budget.js';
import type { AskingSettings, BudgetSettings } from './options.js';
import { unreferencedInterval } from './progress.js';
import type { RowSummary } from './run.js';
import type { Beginning, Closing, RunName, StageJob, StageListener } from './stage-contract.js';

/** With the secrets that are taken out of what is written. */
type EventsSettings = Partial<Pick<AskingSettings, 'events'>> &
  BudgetSettings & {
    readonly quiet: boolean;
    readonly modelApiKey?: string | undefined;
    readonly judgeApiKey?: string | undefined;
    readonly extraBody?: JsonObject | undefined;
  };

const LOOK_EVERY_MS = 200;
/** A budget is told at each such part of it. */
const BUDGET_STEPS = 10;

/** What is given in place of the clocks, in tests. */
interface Clocks {
  /** Milliseconds since the epoch. */
  date?(): number;
  /** Calls `look` again and again until the function it returns is called. */
  every?(ms: number, look: () => void): () => void;
}

/**
 * Writes an event a line. Whatever becomes of the file, the run goes on.
 * @param own what the run itself writes: it would be spoilt
 * @throws UserError: 2 for standard output, one of `own`, and a file of something else; 73 where it cannot be opened
 */
export function eventsListener(
  file: string,
  settings: EventsSettings,
  io: Io,
  own: readonly string[],
  clocks: Clocks = {},
): StageListener {
  if (file === '-') {
    throw new UserError(
      '--events - would mix events with the results on standard output; name a file, such as --events events.jsonl',
    );
  }
  const place = placeOf(resolve(io.cwd, file));
  if (own.some((path) => placeOf(path) === place)) {
    throw new UserError(`--events ${file} is a file that the run itself writes; name another, such as events.jsonl`);
  }
  return new EventsListener(file, settings, io, clocks);
}

const MOST_LINKS = 40;

/** Where a file is or would be made, links followed. */
function placeOf(path: string, links = MOST_LINKS): string {
  const folder = dirname(path);
  if (folder === path) return path;
  const at = join(placeOf(folder), basename(path));
  try {
    const target = readlinkSync(at);
    return links === 0 ? at : placeOf(resolve(dirname(at), target), links - 1);
  } catch {
    return at;
  }
}

class EventsListener implements StageListener {
  readonly #sink: ReturnType<typeof openSink>;
  readonly #settings: EventsSettings;
  readonly #date: () => number;
  readonly #every: NonNullable<Clocks['every']>;
  readonly #clean: (text: string) => string;
  #asking: Beginning | undefined;
  #run: RunName | undefined;
  #watch: { look(): void } | undefined;
  #stopLooking = () => {};
  /** Milliseconds and dollars that rows have taken which are not settled yet. */
  readonly #open = new Map<string, { readonly ms: number; readonly usd?: number }>();
  #usd = 0;
  #budgetStep = 0;
  #hasReached = false;

  constructor(file: string, settings: EventsSettings, { cwd, stderr, env }: Io, clocks: Clocks) {
    const { date = Date.now, every = unreferencedInterval } = clocks;
    this.#settings = settings;
    this.#date = date;
    this.#every = every;
    const { modelApiKey, judgeApiKey, extraBody } = settings;
    const secrets = [modelApiKey, judgeApiKey, env.OPENAI_API_KEY, ...keysIn(extraBody)];
    const redact = openRedaction(secrets.filter((secret) => secret !== undefined));
    this.#clean = (text) => redact(printable(text));
    const say = (text: string) => {
      if (this.#asking !== undefined) this.#asking.say(text);
      else if (!settings.quiet) stderr.write(`note: ${printable(text)}\n`);
    };
    this.#sink = openSink(resolve(cwd, file), { name: file, say });
  }

  begins(asking: Beginning): void {
    const { kind, dir, label, totals, already, ledger, status } = asking;
    this.#asking = asking;
    this.#run = { kind, dir, ...(label !== undefined && { label: this.#clean(label) }) };
    this.#usd = ledger.usd ?? 0;
    this.#write('started', {
      tool: { name: 'agentworldbench', version: toolVersion() },
      pid: process.pid,
      totals: domains(totals),
      already: domains(already),
    });
    this.#watch = openBackendWatch(status, this.#date, (type, members) => this.#write(type, members));
    this.#stopLooking = this.#every(LOOK_EVERY_MS, () => this.#watch?.look());
    this.#budget();
  }

  tried({ id }: StageJob): void {
    const { ledger } = this.#asking ?? {};
    if (ledger?.usd !== undefined) {
      const { ms = 0, usd = 0 } = this.#open.get(id) ?? {};
      this.#open.set(id, { ms, usd: usd + ledger.usd - this.#usd });
      this.#usd = ledger.usd;
    }
    this.#watch?.look();
    this.#budget();
  }

  answered({ id }: StageJob, { ms }: { readonly ms: number }): void {
    const open = this.#open.get(id);
    this.#open.set(id, { ...open, ms: (open?.ms ?? 0) + ms });
  }

  settled({ id, domain }: StageJob, summary: RowSummary): void {
    const { ms, usd } = this.#open.get(id) ?? {};
    this.#open.delete(id);
    const { status, class: failure, reason, usage, attempts, flags } = summary;
    this.#write('row', {
      ...{ id, domain: this.#clean(domain), status },
      ...(failure !== undefined && { class: this.#clean(failure) }),
      ...(reason !== undefined && { reason: this.#clean(reason) }),
      ...(flags.length > 0 && { flags }),
      attempts,
      ...(ms !== undefined && { seconds: ms / 1000 }),
      tokens: usage,
      ...(usd !== undefined && { usd: rounded(usd) }),
    });
  }

  notice(text: string): void {
    // Whoever watches the endpoints learns why before it reads that.
    this.#watch?.look();
    this.#write('notice', { text: this.#clean(text) });
  }

  ends(): void {
    this.#watch?.look();
    this.#budget();
    this.#stopLooking();
    // Too late for the run's notices.
    this.#asking = undefined;
  }

  async closes({ kind, dir, label, state, exitCode, reason, counts, tokens, ledger, asked, seconds }: Closing) {
    this.#run = { kind, dir, ...(label !== undefined && { label: this.#clean(label) }) };
    this.#write('finished', {
      ...{ state, exit_code: exitCode, ...(reason !== undefined && { reason: this.#clean(reason) }) },
      counts: {
        ...{ chosen: counts.chosen, ok: counts.ok, failed: counts.failed },
        ...{ not_done: counts.notDone, absent: counts.absent, failures: counts.failures },
      },
      ...{ asked, seconds: Math.round(seconds * 1000) / 1000, tokens },
      spent: { tokens: ledger.tokens, ...(ledger.usd !== undefined && { usd: rounded(ledger.usd) }) },
    });
    this.#sink.close();
  }

  /** Told at the beginning, at each tenth of the budget, and where it is reached. */
  #budget(): void {
    const { budgetUsd, budgetTokens } = this.#settings;
    if (this.#asking === undefined || (budgetUsd === undefined && budgetTokens === undefined)) return;
    const { tokens, usd, estimated, budget } = spendingOf(this.#asking.ledger, this.#settings);
    const share = Math.max((usd ?? 0) / (budget.usd ?? Infinity), tokens / (budget.tokens ?? Infinity));
    const step = 1 + Math.min(BUDGET_STEPS, Math.floor(share * BUDGET_STEPS));
    const reached = reachedIn(this.#asking.ledger, this.#settings) !== undefined;
    if (step <= this.#budgetStep && reached === this.#hasReached) return;
    this.#budgetStep = step;
    this.#hasReached = reached;
    const spent = { tokens, estimated_tokens: estimated, ...(usd !== undefined && { usd: rounded(usd) }) };
    this.#write('budget', { spent, budget, reached });
  }

  #write(type: string, members: object): void {
    if (this.#run === undefined) return;
    this.#sink.write({ type, at: new Date(this.#date()).toISOString(), run: this.#run, ...members });
  }
}

function domains(counts: ReadonlyMap<Domain, number>): Readonly<Record<Domain, number>> {
  return Object.fromEntries([...counts].map(([domain, count]) => [printable(domain), count]));
}

/** Sums of dollars have digits that mean nothing. */
function rounded(usd: number): number {
  return Math.round(usd * 1e9) / 1e9;
}

/** A shorter pause is part of the ordinary back and forth of a rate limit. */
const NOTABLE_PAUSE_MS = 1_000;

/** What keeps calls back; `host` is the endpoint that is out. */
interface Pause {
  readonly cause: 'rate-limit' | 'outage' | 'not-ready';
  readonly host?: string;
}

/** `look` compares the state of now with that of before; `tell` is given what has changed. */
function openBackendWatch(
  status: () => BackendStatus | undefined,
  date: () => number,
  tell: (type: 'limit' | 'paused' | 'resumed', members: object) => void,
): { look(): void } {
  let limit: number | undefined;
  /** By the host that is out; the rate limit by an empty name. */
  const paused = new Map<string, Pause>();
  const pause = (name: string, what: Pause, more: object = {}) => {
    if (paused.has(name)) return;
    paused.set(name, what);
    tell('paused', { ...what, ...more });
  };
  const resume = (isOver: (name: string) => boolean) => {
    for (const [name, what] of paused) {
      if (!isOver(name)) continue;
      paused.delete(name);
      tell('resumed', what);
    }
  };
  return {
    look() {
      const now = status();
      if (now === undefined) return;
      const { inFlight, pausedMs, outages } = now;
      if (now.limit !== limit) tell('limit', { limit: now.limit, before: limit, in_flight: inFlight });
      limit = now.limit;
      if (pausedMs >= NOTABLE_PAUSE_MS) {
        const until = new Date(date() + pausedMs).toISOString();
        pause('', { cause: 'rate-limit' }, { seconds: Math.round(pausedMs / 1000), until });
      }
      resume((name) => name === '' && pausedMs <= 0);
      for (const { host, hasAnswered } of outages) {
        pause(host, { cause: hasAnswered ? 'outage' : 'not-ready', host: printable(host) });
      }
      resume((name) => name !== '' && !outages.some(({ host }) => host === name));
    },
  };
}

const EVENTS_SCHEMA = 'awb.events/1';
/** Every line begins so: what else ends without a newline is not ours to cut off. */
const LINE_START = `{"v":"${EVENTS_SCHEMA}"`;
const TAIL_BYTES = 1 << 20;

/** What every line tells: which run, and when (ISO 8601). */
interface RunEvent {
  readonly type: string;
  readonly at: string;
  readonly run: { readonly kind: string; readonly dir: string; readonly label?: string };
}

/** What a sink tells the user. */
interface SinkWords {
  /** The name that the user gave it. */
  readonly name: string;
  say(text: string): void;
}

/**
 * Opens the file for appending. A line that an earlier process has torn is cut off.
 * @param path absolute
 * @throws UserError (2) for a file of something else, (73) where it cannot be opened
 */
function openSink(path: string, { name, say }: SinkWords): { write(event: RunEvent): void; close(): void } {
  const fd = openedFile(path, name);
  let isOver = false;
  return {
    write(event) {
      if (isOver) return;
      try {
        appendFileSync(fd, `${JSON.stringify({ v: EVENTS_SCHEMA, ...event })}\n`);
      } catch (error) {
        const code = codeOf(error);
        const why = code === 'ENOSPC' ? 'the disk is full' : (code ?? String(error));
        isOver = true;
        say(`cannot write --events ${name}: ${why}; the run goes on without events`);
      }
    },
    close() {
      isOver = true;
      closeSync(fd);
    },
  };
}

function openedFile(path: string, name: string): number {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFIFO()) {
      throw new UserError(`--events ${name} is a FIFO; name a file, which others can follow with tail -f`);
    }
    cutTornLine(path, name);
    return openSync(path, 'a', 0o666);
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new UserError(
      `cannot open --events ${name} for writing (${code}); name a file in a folder that exists and can be written`,
      EXIT.cannotCreate,
    );
  }
}

/**
 * Cuts off a line that a killed process or a full disk has torn, so that the file stays JSON lines.
 * @throws UserError (2) for a file that holds something else: it would be spoilt
 */
function cutTornLine(path: string, name: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isFile() || found.size === 0) return;
  const fd = openSync(path, 'r+');
  try {
    const { size } = fstatSync(fd);
    const head = read(fd, 0, LINE_START.length);
    if (!LINE_START.startsWith(head)) {
      throw new UserError(`--events ${name} holds something else than events, and is left as it is; name another file`);
    }
    const from = Math.max(0, size - TAIL_BYTES);
    const tail = read(fd, from, size - from);
    const end = tail.lastIndexOf('\n') + 1;
    const torn = tail.slice(end);
    const isOurs = LINE_START.startsWith(torn.slice(0, LINE_START.length));
    // Another run that appends to the same file may have written on.
    if (torn !== '' && isOurs && fstatSync(fd).size === size) ftruncateSync(fd, from + end);
  } finally {
    closeSync(fd);
  }
}

/** A character a byte, so that lengths are places in the file. */
function read(fd: number, from: number, length: number): string {
  const bytes = Buffer.alloc(length);
  return bytes.toString('latin1', 0, readSync(fd, bytes, 0, length, from));
}
