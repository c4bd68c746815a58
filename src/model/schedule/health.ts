// An endpoint's health: a pure state machine over its answers, its failures and the clock.

/** How long a failing endpoint is tried, in milliseconds since its trouble began. */
interface Patience {
  /** For an endpoint that has answered before. */
  readonly retryMs: number;
  /** For one that never has; 0 leaves it to the tries of each row. */
  readonly waitReadyMs: number;
}

/** Times are milliseconds of one clock. */
export interface Health {
  /** It has given a good reply. */
  readonly answered: boolean;
  /** Rows that failed for good before it gave one, by class of failure. */
  readonly lost: Readonly<Record<string, number>>;
  /** Absent where its last word was an answer. */
  readonly trouble?: Trouble;
}

/** What has failed since the last answer. */
interface Trouble {
  readonly since: number;
  /** How many different rows have failed. */
  readonly rows: number;
  /** The latest failure, in words. */
  readonly reason: string;
  /** Set while only probes are started. */
  readonly pause?: Pause;
}

export interface Pause {
  readonly nextProbeAt: number;
  /** Probes that failed: from the first one on it is certain that the endpoint is out. */
  readonly failed: number;
  /** The end of patience. */
  readonly until: number;
}

/** What a failure says about the endpoint. */
export interface Sign {
  readonly reason: string;
  /** Whether its row fails for the first time in this trouble. */
  readonly newRow: boolean;
  readonly isProbe: boolean;
  /** Whether the endpoint itself is to be looked at now. */
  readonly isDoubtful: boolean;
  /** The wait that the server asks for. */
  readonly retryAfterMs: number;
  /** 0 to 1. */
  readonly random: number;
}

const FIRST_PROBE_MS = 1_000;
const LONGEST_BETWEEN_PROBES_MS = 15_000;
/**
 * After so long without a word from a probe, another one is sent: the first may hang on a connection that nobody serves any
 * more.
 */
const SILENT_PROBE_MS = 60_000;
/** The longest wait that a server may ask for between probes, so that the wait does not outlast the outage. */
const LONGEST_ASKED_WAIT_MS = 60_000;
/** When so many rows fail in one way before any succeeds, the others would fail, too. */
export const HOPELESS = 20;

export const UNKNOWN_HEALTH: Health = { answered: false, lost: {} };

/** A call came to a reply (`good`), or to a refusal that is about its row: the endpoint works. */
export function afterAnswer(health: Health, good: boolean): Health {
  const answered = health.answered || good;
  return { answered, lost: answered ? {} : health.lost };
}

/**
 * A call failed in a way that may pass. An endpoint in doubt is paused: it gets single probes, the first at once where it has answered
 * before, the next ones after 1 s and then less and less often, down to one every 15 s. One that has never answered is paused only
 * if it is to be waited for.
 */
export function afterFailure(health: Health, now: number, sign: Sign, patience: Patience): Health {
  const { since = now, rows = 0, pause } = health.trouble ?? {};
  const trouble: Trouble = { since, rows: rows + (sign.newRow ? 1 : 0), reason: sign.reason };
  if (pause !== undefined) {
    return { ...health, trouble: { ...trouble, pause: sign.isProbe ? afterProbe(pause, now, sign) : pause } };
  }
  if (!sign.isDoubtful) return { ...health, trouble };
  const probeAt = health.answered ? now : now + probeWait(0, sign);
  return inDoubt({ ...health, trouble }, probeAt, patience);
}

/** Trouble that nothing but a probe can explain: there will be one at `probeAt`. */
export function inDoubt(health: Health, probeAt: number, patience: Patience): Health {
  const patienceMs = health.answered ? patience.retryMs : patience.waitReadyMs;
  const { trouble } = health;
  if (trouble === undefined || trouble.pause !== undefined || patienceMs === 0) return health;
  const pause = { failed: 0, nextProbeAt: probeAt, until: trouble.since + patienceMs };
  return { ...health, trouble: { ...trouble, pause } };
}

function afterProbe(pause: Pause, now: number, sign: Sign): Pause {
  return { ...pause, failed: pause.failed + 1, nextProbeAt: now + probeWait(pause.failed, sign) };
}

function probeWait(failed: number, { retryAfterMs, random }: Sign): number {
  const ms = Math.min(LONGEST_BETWEEN_PROBES_MS, FIRST_PROBE_MS * 2 ** failed) * (0.5 + random / 2);
  return Math.max(ms, Math.min(retryAfterMs, LONGEST_ASKED_WAIT_MS));
}

/** A probe is on its way. */
export function afterProbeStart(health: Health, now: number): Health {
  const { trouble } = health;
  if (trouble?.pause === undefined) return health;
  return { ...health, trouble: { ...trouble, pause: { ...trouble.pause, nextProbeAt: now + SILENT_PROBE_MS } } };
}

/** A row failed for good. */
export function afterLoss(health: Health, failure: string): Health {
  if (health.answered) return health;
  return { ...health, lost: { ...health.lost, [failure]: (health.lost[failure] ?? 0) + 1 } };
}

/** Patience has ended: the endpoint is paused, and is still tried only if others do its work. */
export function givenUp(health: Health, now: number, reason: string): Health {
  const { since = now, rows = 0, pause } = health.trouble ?? {};
  const { nextProbeAt = now + LONGEST_BETWEEN_PROBES_MS, failed = 0 } = pause ?? {};
  return { ...health, trouble: { since, rows, reason, pause: { nextProbeAt, failed, until: now } } };
}

/** The class of failure that so many rows came to before any succeeded. */
export function hopeless({ lost }: Health): string | undefined {
  return Object.entries(lost).find(([, rows]) => rows >= HOPELESS)?.[0];
}
