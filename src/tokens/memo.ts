// Numbers by text, remembered within bounds: what was asked for lately stays.

/** How much a memo remembers: texts, and characters of their keys. */
interface Bounds {
  readonly texts: number;
  readonly characters: number;
}

/**
 * Remembers numbers by text in two generations, each within the bounds: when the younger is full, it becomes the elder, and what
 * nobody has asked for since is forgotten. That costs no order to be kept, as a list by use would.
 */
export class Memo {
  readonly #bounds: Bounds;
  #young = new Map<string, number>();
  #old = new Map<string, number>();
  #characters = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  get(key: string): number | undefined {
    const number = this.#young.get(key);
    if (number !== undefined) return number;
    const older = this.#old.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  set(key: string, number: number): void {
    if (this.#young.size >= this.#bounds.texts || this.#characters >= this.#bounds.characters) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#characters = 0;
    }
    this.#characters += key.length;
    this.#young.set(key, number);
  }
}

/** From this length on a part of a text is no copy in V8: it keeps the whole text alive. */
const SHORTEST_SLICE = 13;

/** A part of a text as a text of its own, to be remembered. */
export function ofItsOwn(part: string): string {
  return part.length < SHORTEST_SLICE ? part : Buffer.from(part, 'utf16le').toString('utf16le');
}
