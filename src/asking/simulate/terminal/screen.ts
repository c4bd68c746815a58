// What a person, or a pipe, sees of a session: observations as they come, and remarks beside them.

import { grouped } from '../../../figures.js';
import type { Hear } from '../../../model/attempt.js';
import { openGrowingPrintable, printable } from '../../../printable.js';
import { wrapped } from '../../../report/terminal.js';
import { ObservationStream } from '../../../simulate/observation-stream.js';
import type { Io } from '../../../types.js';
import type { StepOutcome } from '../simulation.js';
import { faultText, remarksOn } from './words.js';

/** A turn that was asked, and what came of it. */
export interface TurnResult {
  readonly turn: number;
  readonly branch: string;
  readonly action: string;
  readonly instruction: string;
  readonly outcome: StepOutcome;
  readonly ms: number;
}

/** One reply, from the question to its end. */
interface ReplyView {
  readonly hear: Hear;
  again(reason: string, waitMs: number): void;
  end(result: TurnResult): void;
}

export interface Screen {
  /** What was asked to be seen. `what` names the command. */
  say(what: string, text: string): void;
  /** A remark on the course of things. */
  note(text: string): void;
  fault(text: string): void;
  reply(): ReplyView;
}

interface Look {
  readonly color: boolean;
  readonly quiet: boolean;
}

const CLEAR_LINE = '\r\x1b[K';
const INDICATOR_MS = 200;

/** A terminal: everything on one screen, remarks dim, the observation while it comes. */
export function liveScreen({ stdout }: Pick<Io, 'stdout'>, { color }: Look): Screen {
  const dim = (text: string) => (color ? `\x1b[2m${text}\x1b[0m` : text);
  const note = (text: string) => {
    const lines = wrapped(printable(text), stdout.columns - 1).map(dim);
    stdout.write(`${lines.join('\n')}\n`);
  };
  return {
    say: (_what, text) => stdout.write(`${printable(text, { multiline: true })}\n`),
    note,
    fault: note,
    reply: () => new LiveReply(stdout, dim, note),
  };
}

class LiveReply implements ReplyView {
  #stream = new ObservationStream();
  #text = openGrowingPrintable();
  #endsLine = true;
  #indicator = '';
  #shownAt = 0;
  #thought = 0;

  constructor(
    private readonly stdout: Io['stdout'],
    private readonly dim: (text: string) => string,
    private readonly note: (text: string) => void,
  ) {
    this.#indicate('waiting …');
  }

  readonly hear: Hear = (piece, kind) => {
    const text = kind === 'content' ? this.#stream.add(piece) : '';
    if (text !== '') this.#show(this.#text.add(text));
    else if (this.#stream.shown === '') {
      this.#thought += piece.length;
      if (performance.now() - this.#shownAt > INDICATOR_MS) this.#indicate(`thinking … ${grouped(this.#thought)}`);
    }
  };

  again(reason: string, waitMs: number): void {
    this.#endLine();
    const isVoid = this.#stream.shown === '' ? '' : ' (what stands above is void)';
    this.note(`trying again in ${Math.ceil(waitMs / 1000)} s: ${reason}${isVoid}`);
    this.#stream = new ObservationStream();
    this.#text = openGrowingPrintable();
    this.#thought = 0;
    this.#indicate('waiting …');
  }

  end({ outcome }: TurnResult): void {
    this.#show(this.#text.end());
    const { shown } = this.#stream;
    if (outcome.status !== 'ok') {
      this.#endLine();
      this.note(faultText(outcome));
      return;
    }
    if (shown !== outcome.observation) {
      this.#endLine();
      if (shown !== '') this.note('the whole reply reads otherwise; this is what counts:');
      this.#show(printable(outcome.observation, { multiline: true }));
    }
    this.#endLine();
    for (const remark of remarksOn(outcome)) this.note(remark);
  }

  #show(text: string): void {
    if (text === '') return;
    this.#clear();
    this.stdout.write(text);
    this.#endsLine = text.endsWith('\n');
  }

  #endLine(): void {
    this.#clear();
    if (!this.#endsLine) this.stdout.write('\n');
    this.#endsLine = true;
  }

  #indicate(text: string): void {
    this.#shownAt = performance.now();
    this.#indicator = text;
    this.stdout.write(`${CLEAR_LINE}${this.dim(text)}`);
  }

  #clear(): void {
    if (this.#indicator !== '') this.stdout.write(CLEAR_LINE);
    this.#indicator = '';
  }
}

/** A pipe: observations on standard output, each once it is whole, and all else on standard error. */
export function pipedScreen({ stdout, stderr }: Pick<Io, 'stdout' | 'stderr'>, { quiet }: Look): Screen {
  const fault = (text: string) => stderr.write(`${printable(text, { multiline: true })}\n`);
  const note = (text: string) => {
    if (!quiet) fault(text);
  };
  return {
    say: (_what, text) => stdout.write(`${printable(text, { multiline: true })}\n`),
    note,
    fault,
    reply: () => ({
      hear() {},
      again: (reason, waitMs) => note(`trying again in ${Math.ceil(waitMs / 1000)} s: ${reason}`),
      end({ turn, outcome }) {
        if (outcome.status !== 'ok') return fault(`turn ${turn}: ${faultText(outcome)}`);
        stdout.write(`${printable(outcome.observation, { multiline: true })}\n`);
        for (const remark of remarksOn(outcome)) note(`turn ${turn}: ${remark}`);
      },
    }),
  };
}
