// A stream of server-sent events (WHATWG HTML, 9.2.6) -> the data of each event. Events are told apart by their data alone.

/** Pieces that are joined at once. */
const PIECES_AT_ONCE = 1024;

/** Text that grows by pieces, in linear time and in little more memory than its characters, however small the pieces are. */
export class GrowingText {
  #joined = '';
  #pieces: string[] = [];
  /** In UTF-16 units. */
  length = 0;

  add(piece: string): void {
    // Most texts are of one piece.
    if (this.length === 0) this.#joined = piece;
    else this.#pieces.push(piece);
    this.length += piece.length;
    if (this.#pieces.length >= PIECES_AT_ONCE) this.#join();
  }

  toString(): string {
    if (this.#pieces.length > 0) this.#join();
    return this.#joined;
  }

  /** Gives the text, and starts with an empty one. */
  take(): string {
    const text = this.toString();
    this.#joined = '';
    this.length = 0;
    return text;
  }

  #join(): void {
    this.#joined += this.#pieces.join('');
    this.#pieces = [];
  }
}

export class EventStream {
  readonly #onData: (data: string) => void;
  /** The line under way. */
  readonly #line = new GrowingText();
  /** The data of the event under way, and of how many lines it is. */
  readonly #data = new GrowingText();
  #dataLines = 0;
  /** The text so far ended in a carriage return: a line feed behind it belongs to the same line end. */
  #afterReturn = false;

  /** `onData` is told the data of each event that has any; it may be empty. */
  constructor(onData: (data: string) => void) {
    this.#onData = onData;
  }

  /** Characters held of what is not whole yet. */
  get held(): number {
    return this.#line.length + this.#data.length;
  }

  /** Takes the next piece of the stream. Only what is new is looked through. */
  feed(piece: string): void {
    const text = this.#withLineFeeds(piece);
    let from = 0;
    for (let to = text.indexOf('\n'); to >= 0; to = text.indexOf('\n', from)) {
      const rest = text.slice(from, to);
      if (this.#line.length > 0) {
        this.#line.add(rest);
        this.#take(this.#line.take());
      } else {
        this.#take(rest);
      }
      from = to + 1;
    }
    if (from < text.length) this.#line.add(from === 0 ? text : text.slice(from));
  }

  /** The end of the stream ends an event that lacks its blank line. */
  end(): void {
    this.feed('\n\n');
  }

  /** Lines end in CR, LF or both; no other carriage return stands in a stream of JSON. */
  #withLineFeeds(piece: string): string {
    if (piece === '') return piece;
    const text = this.#afterReturn && piece.startsWith('\n') ? piece.slice(1) : piece;
    this.#afterReturn = piece.endsWith('\r');
    return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  }

  #take(line: string): void {
    if (line === '') {
      const lines = this.#dataLines;
      this.#dataLines = 0;
      if (lines > 0) this.#onData(this.#data.take());
    } else if (line.startsWith('data:') || line === 'data') {
      if (this.#dataLines++ > 0) this.#data.add('\n');
      this.#data.add(line.slice(line[5] === ' ' ? 6 : 5));
    }
  }
}
