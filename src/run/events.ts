// `--events FILE`: reports what a stage does as JSON lines for programs, as a listener of the stage. docs/events.md lists the lines.

import { appendFileSync, closeSync, lstatSync, openSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { resolve } from 'node:path';
import { cannotCreate, codeOf, refusedBy, UserError } from '../core/errors.js';
import { printable } from '../core/printable.js';
import { keysIn, openRedaction } from '../core/redaction.js';
import type { BackendStatus, Domain, Io } from '../core/types.js';
import { placeOf } from '../disk/files.js';
import { toolVersion } from '../settings/command.js';
import { reachedIn, spendingOf } from './budget.js';
import type { AskingSettings, BudgetSettings } from './options.js';
import type { Beginning, RunName, StageListener } from './stage-contract.js';

const EVENTS_SCHEMA = 'awb.events/1';
/** Every line starts like this; a file that starts differently is not ours to write to. */
const LINE_START = `{"v":"${EVENTS_SCHEMA}"`;
const LOOK_EVERY_MS = 200;
/** The budget is reported at each such fraction of it. */
const BUDGET_STEPS = 10;
/** Shorter pauses are part of the normal back and forth of a rate limit. */
const NOTABLE_PAUSE_MS = 1_000;

/** Includes the secrets that are removed from the output. */
type EventsSettings = BudgetSettings &
  Pick<AskingSettings, 'quiet'> &
  Partial<Pick<AskingSettings, 'extraBody'> & Record<'modelApiKey' | 'judgeApiKey', string | undefined>>;

/**
 * Writes one event per line. Whatever happens to the file, the run continues.
 * @param own files that the run itself writes, which events would corrupt
 * @throws UserError: 2 for standard output, one of `own`, and a file that holds something else; 73 if it cannot be opened
 */
export function eventsListener(
  file: string,
  settings: EventsSettings,
  { cwd, stderr, env }: Pick<Io, 'cwd' | 'stderr' | 'env'>,
  own: readonly string[],
): StageListener {
  const path = resolve(cwd, file);
  if (own.some((each) => placeOf(each) === placeOf(path))) {
    throw new UserError(`--events ${file} is a file that the run itself writes; choose another, such as events.jsonl`);
  }
  const { modelApiKey, judgeApiKey, extraBody } = settings;
  const secrets = [modelApiKey, judgeApiKey, env.OPENAI_API_KEY, ...keysIn(extraBody)];
  const redact = openRedaction(secrets.filter((secret) => secret !== undefined));
  const clean = (text: string) => redact(printable(text));
  let fd: number | undefined = openedFile(path, file);
  let asking: Beginning | undefined;
  let run: RunName | undefined;
  let timer: NodeJS.Timeout | undefined;
  let look = () => {};
  /** Milliseconds and dollars spent on rows that are not settled yet. */
  const open = new Map<string, { readonly ms: number; readonly usd?: number }>();
  let dollars = 0;
  let told = { step: 0, reached: false };

  const write = (type: string, members: object) => {
    if (run === undefined || fd === undefined) return;
    try {
      const event = { v: EVENTS_SCHEMA, type, at: new Date().toISOString(), run, ...members };
      appendFileSync(fd, `${JSON.stringify(event)}\n`);
    } catch (error) {
      const text = `cannot write --events ${file} (${codeOf(error)}); the run continues without events`;
      close();
      if (asking !== undefined) asking.say(text);
      else if (!settings.quiet) stderr.write(`note: ${printable(text)}\n`);
    }
  };
  const close = () => {
    if (fd !== undefined) closeSync(fd);
    fd = undefined;
  };
  const runOf = ({ kind, dir, label }: RunName) => ({ kind, dir, ...(label !== undefined && { label: clean(label) }) });
  /** Reported at the beginning, at each tenth of the budget, and when it is reached. */
  const tellBudget = () => {
    const { budgetUsd, budgetTokens } = settings;
    if (asking === undefined || (budgetUsd === undefined && budgetTokens === undefined)) return;
    const { tokens, usd, estimated, budget } = spendingOf(asking.ledger, settings);
    const share = Math.max((usd ?? 0) / (budget.usd ?? Infinity), tokens / (budget.tokens ?? Infinity));
    const step = 1 + Math.min(BUDGET_STEPS, Math.floor(share * BUDGET_STEPS));
    const reached = reachedIn(asking.ledger, settings) !== undefined;
    if (step <= told.step && reached === told.reached) return;
    told = { step, reached };
    const spent = { tokens, estimated_tokens: estimated, ...(usd !== undefined && { usd: rounded(usd) }) };
    write('budget', { spent, budget, reached });
  };

  return {
    begins(beginning) {
      const { totals, already, ledger, status } = beginning;
      asking = beginning;
      run = runOf(beginning);
      dollars = ledger.usd ?? 0;
      write('started', {
        tool: { name: 'agentworldbench', version: toolVersion() },
        pid: process.pid,
        totals: domains(totals),
        already: domains(already),
      });
      look = backendWatch(status, write);
      timer = setInterval(look, LOOK_EVERY_MS).unref();
      tellBudget();
    },
    tried({ id }) {
      const now = asking?.ledger.usd;
      if (now !== undefined) {
        const { ms = 0, usd = 0 } = open.get(id) ?? {};
        open.set(id, { ms, usd: usd + now - dollars });
        dollars = now;
      }
      look();
      tellBudget();
    },
    answered({ id }, { ms }) {
      const before = open.get(id);
      open.set(id, { ...before, ms: (before?.ms ?? 0) + ms });
    },
    settled({ id, domain }, { status, class: failure, reason, usage, attempts, flags }) {
      const { ms, usd } = open.get(id) ?? {};
      open.delete(id);
      write('row', {
        ...{ id, domain: clean(domain), status },
        ...(failure !== undefined && { class: clean(failure) }),
        ...(reason !== undefined && { reason: clean(reason) }),
        ...(flags.length > 0 && { flags }),
        attempts,
        ...(ms !== undefined && { seconds: ms / 1000 }),
        tokens: usage,
        ...(usd !== undefined && { usd: rounded(usd) }),
      });
    },
    notice(text) {
      // The cause comes before the notice.
      look();
      write('notice', { text: clean(text) });
    },
    ends() {
      look();
      tellBudget();
      clearInterval(timer);
      // Notices from here on come too late to be added to the run.
      asking = undefined;
    },
    async closes({ manifest, exitCode, reason, ledger, asked, seconds, ...name }) {
      run = runOf(name);
      const { state, counts, tokens } = manifest;
      write('finished', {
        ...{ state, exit_code: exitCode, ...(reason !== undefined && { reason: clean(reason) }) },
        counts: {
          ...{ chosen: counts.chosen, ok: counts.ok, failed: counts.failed },
          ...{ not_done: counts.notDone, absent: counts.absent, failures: counts.failures },
        },
        ...{ asked, seconds: Math.round(seconds * 1000) / 1000, tokens },
        spent: { tokens: ledger.tokens, ...(ledger.usd !== undefined && { usd: rounded(ledger.usd) }) },
      });
      close();
    },
  };
}

/** Opens the file for appending. A line torn by an earlier process is cut off, so that the file remains valid JSON lines. */
function openedFile(path: string, name: string): number {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined && lstatSync(path, { throwIfNoEntry: false })) {
      throw new UserError(`--events ${name} is a broken link; choose a file`);
    }
    if (name === '-' || found?.isFIFO()) {
      throw new UserError(`--events ${name} is not a regular file; choose one, for tail -f`);
    }
    if (found?.isFile()) cutTornLine(path, name);
    return openSync(path, 'a', 0o666);
  } catch (error) {
    const remedy = 'choose a file in an existing, writable folder';
    throw refusedBy(error, (code) => cannotCreate(`cannot open --events ${name} for writing (${code}); ${remedy}`));
  }
}

/**
 * Cuts off a line torn by a killed process or a full disk.
 * @throws UserError (2) for a file that holds something else, which writing would corrupt
 */
function cutTornLine(path: string, name: string): void {
  const bytes = readFileSync(path);
  if (!LINE_START.startsWith(bytes.toString('latin1', 0, LINE_START.length))) {
    throw new UserError(`--events ${name} contains something other than events; choose another file`);
  }
  const end = bytes.lastIndexOf('\n') + 1;
  // Another run appending to the same file may have written more.
  if (end < bytes.length && statSync(path).size === bytes.length) truncateSync(path, end);
}

/** Compares the backend with its previous state and reports changes: the limit of calls, pauses of a rate limit, outages. */
function backendWatch(
  status: () => BackendStatus | undefined,
  tell: (type: 'limit' | 'paused' | 'resumed', members: object) => void,
): () => void {
  let limit: number | undefined;
  /** What blocks calls, keyed by the host that is out; the rate limit has an empty key. */
  const paused = new Map<string, object>();
  return () => {
    const now = status();
    if (now === undefined) return;
    const { inFlight, pausedMs, outages } = now;
    if (now.limit !== limit) tell('limit', { limit: now.limit, before: limit, in_flight: inFlight });
    limit = now.limit;
    const causes = new Map<string, object>();
    if (pausedMs > 0 && (paused.has('') || pausedMs >= NOTABLE_PAUSE_MS)) causes.set('', { cause: 'rate-limit' });
    for (const { host, hasAnswered } of outages) {
      causes.set(host, { cause: hasAnswered ? 'outage' : 'not-ready', host: printable(host) });
    }
    const wait = { seconds: Math.round(pausedMs / 1000), until: new Date(Date.now() + pausedMs).toISOString() };
    for (const [name, what] of causes) {
      if (!paused.has(name)) tell('paused', name === '' ? { ...what, ...wait } : what);
      paused.set(name, what);
    }
    for (const [name, what] of paused) {
      if (causes.has(name)) continue;
      paused.delete(name);
      tell('resumed', what);
    }
  };
}

function domains(counts: ReadonlyMap<Domain, number>): Readonly<Record<Domain, number>> {
  return Object.fromEntries([...counts].map(([domain, count]) => [printable(domain), count]));
}

/** The last digits of dollar sums are meaningless. */
function rounded(usd: number): number {
  return Math.round(usd * 1e9) / 1e9;
}
