// Text on its way out of a reply: held back until it is known to be wanted.

export interface TextFilter {
  push(text: string): string;
  rest(): string;
  stopped(): boolean;
}

/** Passes text up to the first stop string. */
export function untilStop(stops: readonly string[]): TextFilter {
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

/** Length of the longest end of `text` that begins one of the stop strings, but is none. */
export function longestStart(text: string, stops: readonly string[]): number {
  const lengths = stops.flatMap((stop) =>
    Array.from({ length: Math.min(stop.length - 1, text.length) }, (_, index) => index + 1).filter((length) =>
      text.endsWith(stop.slice(0, length)),
    ),
  );
  return Math.max(0, ...lengths);
}

export function withoutLeadingNewlines(inner: TextFilter): TextFilter {
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

export function withoutOuterNewlines(): TextFilter {
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
