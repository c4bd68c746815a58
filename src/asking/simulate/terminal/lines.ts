// Lines as they come: typed at a terminal, with editing, history and Ctrl-C, or read from a pipe.

import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Io, TextSink } from '../../../types.js';

/** A line without its end, the end of all input, or a Ctrl-C at the prompt. */
export type Typed = { readonly line: string } | 'end' | 'interrupt';

export interface Lines {
  /** Waits for the next line behind a prompt. */
  next(prompt: string): Promise<Typed>;
  /** Waits for the work while nothing is read; a Ctrl-C aborts it. */
  during<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  close(): void;
}

type Input = NonNullable<ReturnType<NonNullable<Io['input']>>>;
type Complete = (line: string) => readonly string[];

const HISTORY = 1_000;

/** Lines that a person types. What is typed ahead while a reply comes is kept, and unseen until the next prompt. */
export class TypedLines implements Lines {
  readonly #input: Input;
  readonly #screen: TextSink;
  readonly #stop: AbortSignal;
  readonly #complete: Complete;
  readonly #output: Screen;
  readonly #history: string[] = [];
  readonly #ahead: Typed[] = [];
  #reader: Interface | undefined;
  #waiting: ((typed: Typed) => void) | undefined;
  #work: AbortController | undefined;

  constructor(input: Input, screen: TextSink, stop: AbortSignal, complete: Complete) {
    this.#input = input;
    this.#screen = screen;
    this.#stop = stop;
    this.#complete = complete;
    this.#output = new Screen(screen);
    stop.addEventListener('abort', () => this.#give('end'), { once: true });
  }

  next(prompt: string): Promise<Typed> {
    this.#output.isMuted = false;
    const typed = this.#ahead.shift();
    if (typed !== undefined) {
      if (typeof typed === 'object') this.#screen.write(`${prompt}${typed.line}\n`);
      return Promise.resolve(typed);
    }
    // Ctrl-D closes it, and whoever asks for a line goes on all the same.
    this.#reader ??= this.#open();
    this.#reader.setPrompt(prompt);
    this.#reader.prompt(true);
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  async during<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#output.isMuted = true;
    this.#work = new AbortController();
    try {
      return await work(AbortSignal.any([this.#work.signal, this.#stop]));
    } finally {
      this.#work = undefined;
    }
  }

  close(): void {
    this.#output.isMuted = true;
    this.#reader?.close();
  }

  #open(): Interface {
    const reader = createInterface({
      // A terminal is the process's own standard input, which is such a stream.
      input: this.#input as unknown as NodeJS.ReadableStream,
      output: this.#output,
      terminal: true,
      history: [...this.#history],
      historySize: HISTORY,
      removeHistoryDuplicates: true,
      completer: (line: string): [string[], string] => [[...this.#complete(line)], line],
    });
    reader.on('history', (lines) => this.#history.splice(0, this.#history.length, ...lines));
    reader.on('line', (line) => this.#give({ line }));
    reader.on('close', () => {
      this.#reader = undefined;
      // The prompt stands on this line.
      if (!this.#output.isMuted) this.#screen.write('\n');
      this.#give('end');
    });
    reader.on('SIGINT', () => this.#interrupted(reader));
    return reader;
  }

  #interrupted(reader: Interface): void {
    if (this.#work !== undefined) {
      this.#work.abort();
      return;
    }
    const isEmpty = reader.line === '';
    // What was typed is given up, as shells do.
    reader.write(null, { ctrl: true, name: 'e' });
    reader.write(null, { ctrl: true, name: 'u' });
    this.#screen.write('^C\n');
    if (isEmpty) this.#give('interrupt');
    else reader.prompt();
  }

  #give(typed: Typed): void {
    if (this.#waiting === undefined) this.#ahead.push(typed);
    else this.#waiting(typed);
    this.#waiting = undefined;
  }
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
