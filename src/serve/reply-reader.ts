// A reply as its tokens come: thinking and answer apart, whole characters only, stop strings, budgets and counts.

/** What the reader must know of the model. */
export interface ReplyTokens {
  readonly isEnd: (token: number) => boolean;
  /** Text of tokens; `before` are some of those that precede them, for tokenisers whose spaces depend on it. */
  readonly textOf: (tokens: readonly number[], before: readonly number[]) => string;
  /** Undefined where the model has no such single token: its thinking then stays in the content. */
  readonly openThinking: number | undefined;
  readonly closeThinking: number | undefined;
  /** Tokens of the blank line that templates put behind thinking. */
  readonly blankLine: readonly number[];
}

export interface ReplySettings {
  /** Whether the prompt ends inside thinking. */
  readonly thinking: boolean;
  /** Most tokens of thinking; past it the end of thinking is put in. */
  readonly thinkingBudget: number;
  readonly maxTokens: number;
  /** Looked for in the content, never in the thinking. */
  readonly stop: readonly string[];
  /** Put a blank line behind thinking, where a grammar would not let the model write it. */
  readonly blankLineAfterThinking: boolean;
}

export interface ReplyText {
  readonly channel: 'reasoning' | 'content';
  readonly text: string;
}

/** What came of a token: text to hand on; then tokens to go on with instead of it, or the end of the reply. */
export interface ReplyStep {
  readonly texts: readonly ReplyText[];
  readonly insteadOf?: readonly number[];
  readonly finish?: 'stop' | 'length';
}

export interface ReplyReader {
  /** Takes the token that was sampled. After a `finish` no more is taken. */
  take(token: number): ReplyStep;
  /** The text still held back, where the reply is cut off from outside. */
  rest(): readonly ReplyText[];
  readonly inThinking: boolean;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
}

/** Bytes of a character that can be missing at the end of a text: each shows as one replacement character. */
const LONGEST_PARTIAL = 3;
const TOKENS_BEFORE = 4;

/**
 * Thinking loses the newlines at both its ends and the content behind it those at its start, as the model card's own example does; content
 * without thinking is left as it is. The end token and tokens that were put in count as completion tokens, those up to the end of thinking
 * as reasoning tokens.
 */
export function readReply(model: ReplyTokens, settings: ReplySettings): ReplyReader {
  let channel: ReplyText['channel'] = settings.thinking ? 'reasoning' : 'content';
  let letters = wholeCharacters(model.textOf);
  let filter = settings.thinking ? withoutOuterNewlines() : untilStop(settings.stop);
  let completionTokens = 0;
  let reasoningTokens = 0;

  const speak = (text: string): ReplyText[] => (text === '' ? [] : [{ channel, text }]);
  const close = (): ReplyText[] => speak(filter.push(letters.rest()) + filter.rest());
  const leaveThinking = (): ReplyText[] => {
    const last = close();
    channel = 'content';
    letters = wholeCharacters(model.textOf);
    filter = withoutLeadingNewlines(untilStop(settings.stop));
    return last;
  };
  const endOfThinking = (): number[] => [
    model.closeThinking as number,
    ...(settings.blankLineAfterThinking ? model.blankLine : []),
  ];
  const bounded = (step: ReplyStep): ReplyStep =>
    step.finish === undefined && completionTokens >= settings.maxTokens
      ? { texts: [...step.texts, ...close()], finish: 'length' }
      : step;

  const think = (token: number): ReplyStep => {
    const spent = reasoningTokens >= settings.thinkingBudget && model.closeThinking !== undefined;
    if (token !== model.closeThinking && !spent) {
      reasoningTokens += 1;
      completionTokens += 1;
      return bounded({ texts: speak(filter.push(letters.push(token))) });
    }
    const put = endOfThinking();
    reasoningTokens += 1;
    completionTokens += put.length;
    const replaced = put.length > 1 || token !== model.closeThinking;
    return bounded({ texts: leaveThinking(), ...(replaced ? { insteadOf: put } : {}) });
  };
  const answer = (token: number): ReplyStep => {
    completionTokens += 1;
    if (completionTokens === 1 && token === model.openThinking && model.closeThinking !== undefined) {
      channel = 'reasoning';
      filter = withoutOuterNewlines();
      reasoningTokens = 1;
      return bounded({ texts: [] });
    }
    const texts = speak(filter.push(letters.push(token)));
    return filter.stopped() ? { texts, finish: 'stop' } : bounded({ texts });
  };

  return {
    take(token) {
      if (model.isEnd(token)) {
        completionTokens += 1;
        return { texts: close(), finish: 'stop' };
      }
      return channel === 'reasoning' ? think(token) : answer(token);
    },
    rest: close,
    get inThinking() {
      return channel === 'reasoning';
    },
    get completionTokens() {
      return completionTokens;
    },
    get reasoningTokens() {
      return reasoningTokens;
    },
  };
}

/** Text of tokens one by one, a character whose bytes are spread over several only when it is complete. */
function wholeCharacters(textOf: ReplyTokens['textOf']): { push(token: number): string; rest(): string } {
  let before: readonly number[] = [];
  let open: number[] = [];
  let given = 0;
  const upTo = (text: string, end: number): string => {
    const out = text.slice(given, Math.max(end, given));
    given = Math.max(end, given);
    return out;
  };
  return {
    push(token) {
      open.push(token);
      const text = textOf(open, before);
      const partial = Math.min(LONGEST_PARTIAL, /\uFFFD*$/.exec(text)?.[0].length ?? 0);
      const out = upTo(text, text.length - partial);
      if (partial === 0) {
        before = [...before, ...open].slice(-TOKENS_BEFORE);
        open = [];
        given = 0;
      }
      return out;
    },
    rest: () => (open.length === 0 ? '' : upTo(textOf(open, before), Number.POSITIVE_INFINITY)),
  };
}

/** Holds text back until it is known to be wanted. */
interface Filter {
  push(text: string): string;
  rest(): string;
  stopped(): boolean;
}

/** Passes text up to the first stop string. */
function untilStop(stops: readonly string[]): Filter {
  let held = '';
  let stopped = false;
  return {
    push(text) {
      if (stopped) return '';
      held += text;
      const found = stops.map((stop) => held.indexOf(stop)).filter((at) => at >= 0);
      stopped = found.length > 0;
      const end = stopped ? Math.min(...found) : held.length - longestStart(held, stops);
      const out = held.slice(0, end);
      held = stopped ? '' : held.slice(end);
      return out;
    },
    rest() {
      const out = held;
      held = '';
      return out;
    },
    stopped: () => stopped,
  };
}

/** Length of the longest end of `text` that begins a stop string. */
function longestStart(text: string, stops: readonly string[]): number {
  const lengths = stops.flatMap((stop) =>
    Array.from({ length: Math.min(stop.length - 1, text.length) }, (_, index) => index + 1).filter((length) =>
      text.endsWith(stop.slice(0, length)),
    ),
  );
  return Math.max(0, ...lengths);
}

function withoutLeadingNewlines(inner: Filter): Filter {
  let begun = false;
  return {
    ...inner,
    push(text) {
      const rest = begun ? text : text.replace(/^\n+/, '');
      begun ||= rest !== '';
      return inner.push(rest);
    },
  };
}

function withoutOuterNewlines(): Filter {
  let held = '';
  return withoutLeadingNewlines({
    push(text) {
      const all = held + text;
      held = /\n*$/.exec(all)?.[0] ?? '';
      return all.slice(0, all.length - held.length);
    },
    rest: () => '',
    stopped: () => false,
  });
}
