// Lines as they come: typed at a terminal, with editing, history and Ctrl-C, or read from a pipe.

import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Io, TextSink } from '../../core/types.js';

/** A line without its end, the end of all input, or a Ctrl-C at the prompt. */
type Typed = { readonly line: string } | 'end' | 'interrupt';

export interface Lines {
  /** Waits for the next line behind a prompt. */
  next(prompt: string): Promise<Typed>;
  /** Waits for the work while nothing is read; a Ctrl-C aborts it. */
  during<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  close(): void;
}

type Input = NonNullable<ReturnType<NonNullable<Io['input']>>>;

const HISTORY = 1_000;

/**
 * Lines that a person types. What is typed ahead while a reply comes is kept, and unseen until the next prompt.
 * @param complete what a line that has begun may become
 */
export function typedLines(
  input: Input,
  screen: TextSink,
  stop: AbortSignal,
  complete: (line: string) => string[],
): Lines {
  const output = new Screen(screen);
  const history: string[] = [];
  const ahead: Typed[] = [];
  let reader: Interface | undefined;
  let waiting: ((typed: Typed) => void) | undefined;
  let work: AbortController | undefined;
  const give = (typed: Typed) => {
    if (waiting === undefined) ahead.push(typed);
    else waiting(typed);
    waiting = undefined;
  };
  stop.addEventListener('abort', () => give('end'), { once: true });
  const open = (): Interface => {
    const opened = createInterface({
      // A terminal is the process's own standard input, which is such a stream.
      input: input as unknown as NodeJS.ReadableStream,
      output,
      terminal: true,
      history: [...history],
      historySize: HISTORY,
      removeHistoryDuplicates: true,
      completer: (line: string): [string[], string] => [complete(line), line],
    });
    opened.on('history', (lines) => history.splice(0, history.length, ...lines));
    opened.on('line', (line) => give({ line }));
    opened.on('close', () => {
      reader = undefined;
      // The prompt stands on this line.
      if (!output.isMuted) screen.write('\n');
      give('end');
    });
    opened.on('SIGINT', () => {
      if (work !== undefined) return work.abort();
      const isEmpty = opened.line === '';
      // What was typed is given up, as shells do.
      opened.write(null, { ctrl: true, name: 'e' });
      opened.write(null, { ctrl: true, name: 'u' });
      screen.write('^C\n');
      if (isEmpty) give('interrupt');
      else opened.prompt();
    });
    return opened;
  };
  return {
    async next(prompt) {
      output.isMuted = false;
      const typed = ahead.shift();
      if (typed !== undefined) {
        if (typeof typed === 'object') screen.write(`${prompt}${typed.line}\n`);
        return typed;
      }
      // Ctrl-D closes it, and whoever asks for a line goes on all the same.
      reader ??= open();
      reader.setPrompt(prompt);
      reader.prompt(true);
      return new Promise((resolve) => {
        waiting = resolve;
      });
    },
    async during(doWork) {
      output.isMuted = true;
      work = new AbortController();
      try {
        return await doWork(AbortSignal.any([work.signal, stop]));
      } finally {
        work = undefined;
      }
    },
    close() {
      output.isMuted = true;
      reader?.close();
    },
  };
}

/** Lines of a file or another program. */
export function pipedLines(input: Input, stop: AbortSignal): Lines {
  const lines = linesOf(input);
  const stopped = new Promise<'end'>((resolve) => {
    stop.addEventListener('abort', () => resolve('end'), { once: true });
  });
  return {
    async next() {
      if (stop.aborted) return 'end';
      const read = lines.next().then(({ done, value }): Typed => (done ? 'end' : { line: value }));
      return Promise.race([read, stopped]);
    },
    during: (doWork) => doWork(stop),
    close() {
      // A reader that waits for more would keep the process alive.
      if ('destroy' in input && typeof input.destroy === 'function') input.destroy();
    },
  };
}

/** Split at line feeds alone: actions hold other line ends of Unicode. */
async function* linesOf(input: Input): AsyncGenerator<string, undefined> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of input) {
    const parts = (rest + decoder.write(Buffer.from(chunk))).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) yield part.replace(/\r$/, '');
  }
  rest += decoder.end();
  if (rest !== '') yield rest;
  return undefined;
}

/** The terminal as readline writes to it: through the sink, which takes secrets out, and not at all while a reply comes. */
class Screen extends Writable {
  readonly isTTY = true;
  isMuted = false;
  readonly #sink: TextSink;

  constructor(sink: TextSink) {
    super({ decodeStrings: false });
    this.#sink = sink;
  }

  get columns(): number {
    return this.#sink.columns;
  }

  override _write(text: string | Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (!this.isMuted) this.#sink.write(String(text));
    done();
  }
}
