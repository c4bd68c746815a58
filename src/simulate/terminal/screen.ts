// Input and output of a session. Typed lines have editing, history and Ctrl-C; a pipe's are read one by one. A person sees observations as
// they arrive, a pipe each when complete, a program JSON. Remarks report failed actions and a context that fills up.

import { createInterface, type Interface } from 'node:readline';
import { Readable, Writable } from 'node:stream';
import { EXIT, type ExitCode } from '../../core/errors.js';
import { grouped, openGrowingPrintable, printable } from '../../core/printable.js';
import { countTags, OBSERVATION_MARKER, PREDICTION_TAG, pythonStrip, withoutThought } from '../../core/reply.js';
import { wrapped } from '../../core/terminal.js';
import type { Io } from '../../core/types.js';
import type { Hear } from '../../model/attempt.js';
import type { Room } from '../../model/context.js';
import type { SimulationSettings } from '../options.js';
import type { StepOutcome } from '../simulation.js';

/** What to show; --json prints it as is, a turn as its document. */
type Shown =
  | { readonly type: 'command'; readonly command: string; readonly text: string }
  | { readonly type: 'note' | 'fault'; readonly text: string }
  | { readonly type: 'again'; readonly reason: string; readonly wait_ms: number }
  | {
      readonly type: 'turn';
      readonly turn: number;
      readonly branch: string;
      readonly action: string;
      readonly instruction: string;
      readonly outcome: StepOutcome;
      readonly ms: number;
    };
type Turn = Extract<Shown, { type: 'turn' }>;

export interface Screen {
  show(shown: Shown): void;
  /** Starts waiting for a reply; `hear` gets its pieces until its turn is shown. */
  begin(): void;
  readonly hear: Hear;
}

const CLEAR_LINE = '\r\x1b[K';
const WAITING = 'waiting …';

/** A terminal: everything on one screen, remarks dim, the observation as it arrives. */
export function liveScreen({ stdout }: Pick<Io, 'stdout'>, { color }: { readonly color: boolean }): Screen {
  let reply = '';
  /** The observation in it so far. */
  let seen = '';
  let growing = openGrowingPrintable();
  let endsLine = true;
  let isWaiting = false;
  const dim = (text: string) => (color ? `\x1b[2m${text}\x1b[0m` : text);
  const clear = () => {
    if (isWaiting) stdout.write(CLEAR_LINE);
    isWaiting = false;
  };
  const write = (text: string) => {
    if (text === '') return;
    clear();
    stdout.write(text);
    endsLine = text.endsWith('\n');
  };
  const note = (text: string) => {
    clear();
    const lines = wrapped(printable(text), stdout.columns - 1).map(dim);
    write(`${endsLine ? '' : '\n'}${lines.join('\n')}\n`);
  };
  const begin = () => {
    [reply, seen, growing, isWaiting] = ['', '', openGrowingPrintable(), true];
    stdout.write(`${CLEAR_LINE}${dim(WAITING)}`);
  };
  return {
    begin,
    hear(piece, kind) {
      if (kind === 'content') reply += piece;
      const certain = certainObservation(reply);
      if (certain === seen) return;
      write(growing.add(certain.slice(seen.length)));
      seen = certain;
    },
    show(shown) {
      if (shown.type === 'command') return write(`${printable(shown.text, { multiline: true })}\n`);
      if (shown.type === 'again') {
        note(`${againText(shown)}${seen === '' ? '' : ' (ignore the text above)'}`);
        return begin();
      }
      if (shown.type !== 'turn') return note(shown.text);
      const { outcome } = shown;
      write(growing.end());
      clear();
      if (outcome.status !== 'ok') return note(faultOf(outcome).text);
      if (seen !== outcome.observation) {
        if (seen !== '') note('the complete reply reads differently; this is the observation:');
        write(printable(outcome.observation, { multiline: true }));
      }
      if (!endsLine) write('\n');
      for (const remark of remarksOn(outcome)) note(remark);
    },
  };
}

function againText({ reason, wait_ms }: Extract<Shown, { type: 'again' }>): string {
  return `trying again in ${Math.ceil(wait_ms / 1000)} s: ${reason}`;
}

/**
 * For a script. A pipe gets complete observations on standard output, and everything else on standard error; with --json, everything is
 * on standard output, one document per line.
 */
export function scriptScreen({ stdout, stderr }: Io, { quiet, json }: SimulationSettings): Screen {
  const show = (text: string, sink = stderr) => sink.write(`${printable(text, { multiline: true })}\n`);
  const note = (text: string) => quiet || show(text);
  return {
    begin() {},
    hear() {},
    show(shown) {
      if (json) {
        stdout.write(`${JSON.stringify(shown.type === 'turn' ? turnDocument(shown) : shown)}\n`);
      } else if (shown.type === 'command') show(shown.text, stdout);
      else if (shown.type === 'fault') show(shown.text);
      else if (shown.type !== 'turn') note(shown.type === 'again' ? againText(shown) : shown.text);
      else if (shown.outcome.status !== 'ok') show(`turn ${shown.turn}: ${faultOf(shown.outcome).text}`);
      else {
        show(shown.outcome.observation, stdout);
        for (const remark of remarksOn(shown.outcome)) note(`turn ${shown.turn}: ${remark}`);
      }
    },
  };
}

function turnDocument({ turn, branch, action, instruction, outcome, ms }: Turn): Record<string, unknown> {
  const said = { type: 'turn', turn, branch, action, instruction: instruction || undefined };
  if (outcome.status !== 'ok') {
    const kind = outcome.status === 'failed' ? outcome.class : undefined;
    return { ...said, status: outcome.status, class: kind, reason: faultOf(outcome).text, ms };
  }
  const { observation, truncated, reply } = outcome;
  const { promptTokens: prompt_tokens, completionTokens: completion_tokens } = reply.log.usage;
  const untagged = isUntagged(outcome) || undefined;
  return { ...said, status: 'ok', observation, truncated, untagged, usage: { prompt_tokens, completion_tokens }, ms };
}

type Failed = Exclude<StepOutcome, { status: 'ok' }>;
type Acted = Extract<StepOutcome, { status: 'ok' }>;

/** Why nothing has happened, with the next step, and the exit code for scripts. */
export function faultOf(outcome: Failed): { readonly text: string; readonly exitCode: ExitCode } {
  const [why, exitCode] = whyNot(outcome);
  const next = '/retry asks again, /undo and /reset go back, /save saves the turns so far';
  return { text: `${why}; the turn was not added: ${next}`, exitCode };
}

function whyNot(outcome: Failed): readonly [why: string, exitCode: ExitCode] {
  switch (outcome.status) {
    case 'empty':
      return [`the reply has no observation${outcome.truncated ? `: ${CUT_OFF}` : ''}`, EXIT.incomplete];
    case 'failed': {
      const { stop, class: kind, reason } = outcome;
      const isModels = kind === 'refused' || kind === 'context-overflow';
      const exitCode = stop?.exitCode ?? (isModels ? EXIT.incomplete : EXIT.unavailable);
      return [`the world model gave no reply: ${stop?.message ?? `${kind}: ${reason}`}`, exitCode];
    }
    case 'interrupted':
      return ['stopped', EXIT.interrupted];
    case 'full': {
      const { promptTokens, contextTokens } = outcome.room;
      const size = `${grouped(promptTokens)} of ${grouped(contextTokens)} tokens`;
      return [`the context is full: ${size}, no room for a reply`, EXIT.incomplete];
    }
    case 'spent':
      return [outcome.reason, EXIT.later];
    default:
      return outcome satisfies never;
  }
}

const CUT_OFF = 'it was cut off by its budget (--max-tokens) or by the context';
const UNTAGGED = `the reply has no <${PREDICTION_TAG}>: everything but the thinking was taken as the observation`;

/** Whether an observation had no tag. */
function isUntagged({ reply }: Acted): boolean {
  return countTags(withoutThought(reply.content), PREDICTION_TAG) === 0;
}

/** Remarks on an added turn. */
function remarksOn(outcome: Acted): string[] {
  return [
    ...(outcome.truncated ? [`${CUT_OFF}; the turn was added as is, /retry asks again`] : []),
    ...(isUntagged(outcome) ? [UNTAGGED] : []),
  ];
}

/** Shown before the context is full. */
export function roomText({ promptTokens, contextTokens }: Room): string {
  const share = Math.floor((100 * promptTokens) / contextTokens);
  return `the context is ${share} % full: about ${grouped(promptTokens)} of ${grouped(contextTokens)} tokens`;
}

const OPEN = `<${PREDICTION_TAG}>`;
/** Thinking, closed or not, or the tag after it. */
const FRONT = new RegExp(`<think>[\\s\\S]*?(?:</think>|$)|${OPEN}`, 'gi');
/** The closing tag and what follows it, or what may become one. */
const BACK = new RegExp(`</${PREDICTION_TAG}>[\\s\\S]*$|<[/a-z_]*$`, 'i');

/**
 * The part of the observation that is certain from the start of a reply; a longer start only adds to it. The final reading may differ if
 * the reply has several tags, or an unpaired one.
 */
export function certainObservation(reply: string): string {
  const tag = Array.from(reply.matchAll(FRONT)).find(([found]) => found.toLowerCase() === OPEN);
  if (tag === undefined) return '';
  const text = pythonStrip(reply.slice(tag.index + OPEN.length).replace(BACK, ''));
  if (OBSERVATION_MARKER.startsWith(text)) return '';
  return text.startsWith(OBSERVATION_MARKER) ? pythonStrip(text.slice(OBSERVATION_MARKER.length)) : text;
}

// Lines as they arrive: typed at a terminal, with editing, history and Ctrl-C, or read from a pipe.

/** A line without its line break, the end of the input, or a Ctrl-C at the prompt. */
type Typed = { readonly line: string } | 'end' | 'interrupt';

export interface Lines {
  /** Shows a prompt and waits for the next line. */
  next(prompt: string): Promise<Typed>;
  /** Waits for the work without reading lines; a Ctrl-C aborts it. */
  during<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  close(): void;
}

type Input = NonNullable<ReturnType<NonNullable<Io['input']>>>;

const HISTORY = 1_000;

/**
 * Lines that a person types, or those of a file or program, for which no prompts are shown. Lines typed while a reply arrives are kept, and
 * stay hidden until the next prompt.
 */
export function openLines(input: Input, { stdout: screen, stop }: Io, isTyped: boolean): Lines {
  /** The prompt and typed text are hidden while a reply arrives. */
  let isMuted = !isTyped;
  // Readline writes to the terminal through the sink, which redacts secrets.
  const output = new Writable({
    decodeStrings: false,
    write(text, _encoding, done) {
      if (!isMuted) screen.write(String(text));
      done();
    },
  });
  Object.defineProperties(output, { isTTY: { value: true }, columns: { get: () => screen.columns } });
  // A terminal is the process's own standard input, which has this type.
  const stream = isTyped ? (input as unknown as NodeJS.ReadableStream) : Readable.from(input, { objectMode: false });
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
  // Input closed while awaited also counts as the end.
  stream.on('error', () => give('end'));
  const open = (): Interface => {
    const opened = createInterface({
      input: stream,
      output,
      terminal: isTyped,
      history: [...history],
      historySize: HISTORY,
      removeHistoryDuplicates: true,
    });
    opened.on('history', (lines) => history.splice(0, history.length, ...lines));
    opened.on('line', (line) => give({ line }));
    opened.on('close', () => {
      if (isTyped) reader = undefined;
      // The prompt is on this line.
      if (!isMuted) screen.write('\n');
      give('end');
    });
    opened.on('SIGINT', () => {
      if (work !== undefined) return work.abort();
      const isEmpty = opened.line === '';
      // Discard the typed text, as shells do.
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
      isMuted = !isTyped;
      const typed = ahead[0];
      if (typed !== undefined) {
        // The end of a file stays queued.
        if (isTyped || typed !== 'end') ahead.shift();
        if (isTyped && typeof typed === 'object') screen.write(`${prompt}${typed.line}\n`);
        return typed;
      }
      // Ctrl-D closes the reader; another request for a line reopens it.
      reader ??= open();
      reader.setPrompt(prompt);
      reader.prompt(true);
      return new Promise((resolve) => {
        waiting = resolve;
      });
    },
    async during(doWork) {
      isMuted = true;
      work = new AbortController();
      try {
        return await doWork(AbortSignal.any([work.signal, stop]));
      } finally {
        work = undefined;
      }
    },
    close() {
      isMuted = true;
      reader?.close();
      // A waiting reader would keep the process alive.
      if (!isTyped && 'destroy' in input && typeof input.destroy === 'function') input.destroy();
    },
  };
}
