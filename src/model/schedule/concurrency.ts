// How many calls an endpoint gets at once: a pure state machine that learns the limit from replies, rate limits and the clock.

/** Calls at once before anything is known about the endpoint. */
const START = 8;
/** A round is as many replies as the limit, and no fewer than this: with fewer, tokens per second are mostly noise. */
const SMALLEST_ROUND = 16;
/** Mean share of the limit that must have been in use for a round to say anything about the limit. */
const SATURATED = 0.8;
/** Throughput must have risen by this factor to justify the growth since the last judgement ... */
const NOTICEABLE_GAIN = 1.15;
/** ... but below this factor the round is first extended to twice its length: if calls queue, its first replies still look too fast. */
const CLEAR_GAIN = 1.5;
/** The growth is judged once the limit has risen by this factor: over smaller steps, noise hides the gain. */
const JUDGED_GROWTH = 1.5;
const DOUBLING = 2;
/** Growth in the first round after a cut; it doubles in each further round, until the limit doubles again. */
const FIRST_STEP = 1.05;
const CUT = 0.8;
const COOL_DOWN_MS = 15_000;
/** A 429 within the cool-down prolongs it, but at most this long after the cut: later ones are counted. */
const LONGEST_COOL_DOWN_MS = 2 * COOL_DOWN_MS;
/** If a larger share of the limit's slots waits for room after a 429, the limit is cut. */
const MANY_WAIT = 0.35;
/**
 * If a smaller share of a round's replies found no call waiting for room, the limit is lowered by the number of waiting calls. A server
 * that counts requests per second refuses some long before it is saturated, but then no call waits for long.
 */
const SELDOM = 0.2;
/** A limit found good is kept for at least this many rounds and milliseconds before the next probe; each futile probe doubles both. */
const HOLD_ROUNDS = 8;
const HOLD_MS = 60_000;
const MOST_HOLD_DOUBLINGS = 3;

/** What is known about one endpoint. Times are milliseconds of one clock, rates are tokens per millisecond. */
export interface LimitState {
  /** Calls that may be in flight now: an integer from 1 to `ceiling`. */
  readonly limit: number;
  readonly ceiling: number;
  /** The limit that was last judged worth its size, and its throughput. */
  readonly judged?: { readonly limit: number; readonly rate: number };
  /** The factor of the next growth. */
  readonly step: number;
  readonly cutAt: number;
  readonly coolDownUntil: number;
  readonly hold?: { readonly untilMs: number; readonly rounds: number };
  /** Consecutive holds without a gain. */
  readonly vainProbes: number;
  readonly round: ReturnType<typeof newRound>;
}

/** The state of an unknown endpoint: a slow start. */
export function startLimit(ceiling: number): LimitState {
  const limit = Math.min(START, ceiling);
  return {
    limit,
    ceiling,
    step: DOUBLING,
    cutAt: Number.NEGATIVE_INFINITY,
    coolDownUntil: Number.NEGATIVE_INFINITY,
    vainProbes: 0,
    round: newRound(limit),
  };
}

/**
 * A reply came; `use` includes its own call. The limit grows from round to round, at first by doubling, while it is saturated and
 * tokens per second rise noticeably: serving engines queue and never answer 429, so throughput is the only sign of their capacity. If
 * growth brought nothing, the smaller limit is restored and kept for a while. Replies during a cool-down do not count.
 */
export function afterReply(state: LimitState, now: number, reply: Reply, use: Use): LimitState {
  if (now < state.coolDownUntil) return state;
  const { round } = state;
  if (round.unsettled > 0) return { ...state, round: { ...round, unsettled: round.unsettled - 1 } };
  const counted = {
    ...round,
    replies: round.replies + 1,
    tokens: round.tokens + reply.tokens,
    ms: round.ms + reply.ms,
    inUse: round.inUse + use.inUse,
    waiting: round.waiting + use.waiting,
    roomy: round.roomy + (use.waiting === 0 ? 1 : 0),
  };
  const next = { ...state, round: counted };
  return counted.replies < counted.repliesWanted ? next : endRound(next, now);
}

/** `ms` is the time from the start of the successful try to its end. */
type Reply = Readonly<{ tokens: number; ms: number }>;
/** How an endpoint's slots are used at an instant: the occupied ones, and those whose call waits for room after a 429. */
type Use = Readonly<{ inUse: number; waiting: number }>;

/**
 * The endpoint answered 429. If many of the slots (`use`, including this call) wait, the limit is cut once by a fifth: a cool-down
 * follows (15 s, or Retry-After if longer), and 429s within it, which answer calls sent before the cut, only prolong it. The design is
 * that of inspect_ai's controller.
 */
export function afterRateLimit(state: LimitState, now: number, use: Use, retryAfterMs = 0): LimitState {
  if (now < state.coolDownUntil) {
    const until = Math.min(now + COOL_DOWN_MS, state.cutAt + LONGEST_COOL_DOWN_MS);
    return coolDown(state, Math.max(state.coolDownUntil, until, now + retryAfterMs));
  }
  const draining = use.inUse > state.limit;
  if (draining || use.waiting <= MANY_WAIT * state.limit) return state;
  return cut(state, now, now + Math.max(COOL_DOWN_MS, retryAfterMs));
}

function cut({ judged, hold: _, ...state }: LimitState, now: number, coolDownUntil: number): LimitState {
  const limit = Math.max(1, Math.floor(state.limit * CUT));
  const kept = judged !== undefined && judged.limit <= limit ? { judged } : {};
  return coolDown({ ...state, ...kept, limit, step: FIRST_STEP, cutAt: now }, coolDownUntil);
}

function coolDown(state: LimitState, coolDownUntil: number): LimitState {
  return { ...state, coolDownUntil, round: newRound(state.limit) };
}

/** A server error or a timeout: it keeps the limit from growing in this round, and never cuts it. */
export function afterTrouble(state: LimitState): LimitState {
  return { ...state, round: { ...state.round, troubled: true } };
}

function newRound(limit: number, grownBy = 0) {
  return {
    /** Replies to ignore at first: those of calls that were started before the limit grew. */
    unsettled: grownBy,
    repliesWanted: Math.max(limit, SMALLEST_ROUND),
    /** Sums over the replies: tokens, duration, slots in use, calls waiting for room; and replies at which no call waited. */
    ...{ replies: 0, tokens: 0, ms: 0, inUse: 0, waiting: 0, roomy: 0 },
    /** A server error or a timeout occurred in it, so it says nothing about the limit. */
    troubled: false,
  };
}

function endRound(state: LimitState, now: number): LimitState {
  const { limit, round, judged } = state;
  const saturated = round.inUse >= SATURATED * limit * round.replies;
  if (!saturated || round.troubled) return { ...state, round: newRound(limit) };
  if (round.roomy < SELDOM * round.replies) {
    const tooMany = Math.max(1, Math.floor(round.waiting / round.replies));
    return holdAt({ ...state, step: FIRST_STEP }, Math.max(1, limit - tooMany), now);
  }
  // Little's law also holds for calls that start and end in step, while counting replies over a time would depend on its ends.
  const running = (round.inUse - round.waiting) / round.replies;
  const rate = (running * round.tokens) / Math.max(1, round.ms);
  if (state.hold !== undefined) {
    const { hold, ...free } = state;
    const isOver = hold.rounds <= 1 && now >= hold.untilMs;
    // The workload changes over a run, so a probe is compared with the hold's last round.
    if (isOver) return grow({ ...free, judged: { limit, rate } });
    return { ...state, hold: { ...hold, rounds: hold.rounds - 1 }, round: newRound(limit) };
  }
  if (judged === undefined) return grow({ ...state, judged: { limit, rate } });
  if (limit < JUDGED_GROWTH * judged.limit) return grow(state);
  const gain = rate / judged.rate;
  const longRound = 2 * Math.max(limit, SMALLEST_ROUND);
  if (gain < CLEAR_GAIN && round.repliesWanted < longRound)
    return { ...state, round: { ...round, repliesWanted: longRound } };
  if (gain >= NOTICEABLE_GAIN) return grow({ ...state, judged: { limit, rate }, vainProbes: 0 });
  return holdAt(state, judged.limit, now);
}

function grow(state: LimitState): LimitState {
  const limit = Math.min(Math.ceil(state.limit * state.step), state.ceiling);
  const step = Math.min(DOUBLING, 1 + 2 * (state.step - 1));
  return { ...state, limit, step, round: newRound(limit, limit - state.limit) };
}

function holdAt(state: LimitState, limit: number, now: number): LimitState {
  const times = 2 ** Math.min(state.vainProbes, MOST_HOLD_DOUBLINGS);
  return {
    ...state,
    limit,
    hold: { untilMs: now + HOLD_MS * times, rounds: HOLD_ROUNDS * times },
    vainProbes: state.vainProbes + 1,
    round: newRound(limit),
  };
}
