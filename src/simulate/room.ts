// Whether the next request still fits into the model's context, by what the last one measured.

/** Where nothing has been measured: English text and code. */
const CHARS_A_TOKEN = 4;
/** A reply with less room than this is cut off. */
const LEAST_REPLY = 256;
/** What may be wrong with a count that goes on from one of the server, and with an estimate, as shares; and what servers add. */
const WRONG = { counted: 0.05, estimated: 0.3 };
const ADDED = 64;
/** From this share on, the end is near. */
const NEAR = 0.8;

/** A request whose prompt the server has counted. */
export interface Measured {
  readonly chars: number;
  readonly promptTokens: number;
}

/** A context and what of it the next request takes, in tokens. */
export interface Room {
  readonly contextTokens: number;
  readonly promptTokens: number;
  /** What is left for a reply for certain, as far as that can be said. */
  readonly replyTokens: number;
  /** `near`: the context is nearly full; `full`: no reply fits any more. */
  readonly state: 'open' | 'near' | 'full';
}

/**
 * What a prompt of so many characters takes of the context. `before` is a request that it goes on from, and its count exact;
 * `charsAToken` is what other requests have measured.
 */
export function roomFor(
  contextTokens: number,
  chars: number,
  {
    before,
    charsAToken = CHARS_A_TOKEN,
  }: { readonly before?: Measured | undefined; readonly charsAToken?: number } = {},
): Room {
  const ratio = before === undefined || before.promptTokens === 0 ? charsAToken : before.chars / before.promptTokens;
  const counted = before ?? { chars: 0, promptTokens: 0 };
  const added = (chars - counted.chars) / ratio;
  const promptTokens = Math.max(1, Math.ceil(counted.promptTokens + added));
  const wrong = before === undefined ? WRONG.estimated * promptTokens : WRONG.counted * Math.abs(added);
  const replyTokens = Math.max(LEAST_REPLY, Math.floor(contextTokens - promptTokens - wrong - ADDED));
  const state =
    promptTokens + LEAST_REPLY > contextTokens ? 'full' : promptTokens >= NEAR * contextTokens ? 'near' : 'open';
  return { contextTokens, promptTokens, replyTokens, state };
}
