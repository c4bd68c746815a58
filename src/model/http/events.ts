// A stream of server-sent events (WHATWG HTML, 9.2.6) -> the data of each event. Events are told apart by their data alone.

/** Pieces that are joined at once. */
const PIECES_AT_ONCE = 1024;

/** Text that grows by pieces, in linear time and in little more memory than its characters, however small the pieces are. */
export class GrowingText {
  #text = '';
  #pieces: string[] = [];
  /** In UTF-16 units. */
  length = 0;

  add(piece: string): void {
    this.length += piece.length;
    if (this.#pieces.push(piece) >= PIECES_AT_ONCE) this.#join();
  }

  toString(): string {
    this.#join();
    return this.#text;
  }

  #join(): void {
    this.#text += this.#pieces.join('');
    this.#pieces = [];
  }
}

export class EventStream {
  /** The line under way. */
  #line = '';
  /** The data of the event under way; undefined where it has none. */
  #data: string | undefined;
  /** The text so far ended in a carriage return: a line feed behind it belongs to the same line end. */
  #afterReturn = false;

  /** `onData` is told the data of each event that has any; it may be empty. */
  constructor(private readonly onData: (data: string) => void) {}

  /** Characters held of what is not whole yet. */
  get held(): number {
    return this.#line.length + (this.#data?.length ?? 0);
  }

  /** Takes the next piece of the stream. Only what is new is looked through. */
  feed(piece: string): void {
    const [rest = '', ...lines] = this.#withLineFeeds(piece).split('\n');
    this.#line += rest;
    for (const next of lines) {
      this.#take(this.#line);
      this.#line = next;
    }
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
      if (this.#data !== undefined) this.onData(this.#data);
      this.#data = undefined;
    } else if (line.startsWith('data:') || line === 'data') {
      const value = line.slice(line[5] === ' ' ? 6 : 5);
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    }
  }
}
