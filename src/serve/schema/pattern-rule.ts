// Regular expressions as expressions of llama.cpp's grammar language (GBNF), which the library's grammar maker does not know.

import { CLASSES, classOf, complement, LINE_ENDS, type Ranges, single } from './character-classes.js';

/** Characters and repetitions that an expression may stand for: llama.cpp writes all of them out. */
const MOST_SIZE = 1_000;
/** llama.cpp makes a rule of each group, and refuses more than this of them to be repeated together. */
const MOST_REPEATED = 1_000;
const MOST_PATTERN = 1_000;

const ANYTHING = classOf([[0, 0x10ffff]]);
const CONTROLS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, 0: 0 };

/** An expression and how much it stands for. */
interface Sized {
  readonly text: string;
  readonly size: number;
  /** Whether it may be nothing at all. */
  readonly empty: boolean;
}

/** A string in JSON that the pattern (a regular expression of JavaScript) matches. Throws RangeError for what no grammar can hold. */
export function patternRule(pattern: string): string {
  if (pattern.length > MOST_PATTERN) throw new RangeError(`is longer than ${MOST_PATTERN} characters`);
  try {
    new RegExp(pattern, 'u');
  } catch {
    throw new RangeError('is no regular expression');
  }
  const reader = new PatternReader(pattern);
  const alternatives = reader.readAll();
  return `"\\"" ( ${alternatives.join(' | ')} ) "\\""`;
}

/** Reads a regular expression that is known to be one. */
class PatternReader {
  readonly #characters: readonly string[];
  #at = 0;

  constructor(pattern: string) {
    this.#characters = Array.from(pattern);
  }

  /** Each alternative may be held at its start and its end; where it is not, anything may stand there. */
  readAll(): string[] {
    const alternatives: string[] = [];
    do {
      const start = this.#take('^') ? '' : `${ANYTHING}* `;
      const { text } = this.#sequence();
      const end = this.#take('$') ? '' : ` ${ANYTHING}*`;
      alternatives.push(`${start}${text}${end}`);
    } while (this.#take('|'));
    if (this.#at < this.#characters.length) throw new RangeError('has an anchor in its middle, which is not supported');
    return alternatives;
  }

  #take(character: string): boolean {
    const found = this.#characters[this.#at] === character;
    if (found) this.#at += 1;
    return found;
  }

  #next(): string {
    return this.#characters[this.#at++] ?? '';
  }

  #sequence(): Sized {
    const parts: Sized[] = [];
    for (;;) {
      const next = this.#characters[this.#at];
      if (next === undefined || '|)$^'.includes(next)) break;
      parts.push(this.#quantified());
    }
    const size = parts.reduce((sum, part) => sum + part.size, 0);
    const text = parts.length === 0 ? '""' : parts.map((part) => part.text).join(' ');
    return { text, size, empty: parts.every((part) => part.empty) };
  }

  #quantified(): Sized {
    const atom = this.#atom();
    const next = this.#characters[this.#at] ?? '';
    const bounds = next === '{' ? /^\{(\d+)(,?)(\d*)\}/.exec(this.#characters.slice(this.#at).join('')) : null;
    if (bounds === null && !'*+?'.includes(next || ' ')) return atom;
    this.#at += bounds?.[0].length ?? 1;
    // A lazy quantifier matches the same texts.
    this.#take('?');
    const times = bounds === null ? 1 : Math.max(Number(bounds[1]), Number(bounds[3] || 0), 1);
    const size = atom.size * times;
    const rules = atom.text.split('(').length;
    if (size > MOST_SIZE || times * rules >= MOST_REPEATED) throw new RangeError('repeats too much');
    // llama.cpp follows every way through a pattern at once, and there would be no end of them.
    if (atom.empty && next !== '?') throw new RangeError('repeats what may be empty, which is not supported');
    const least = bounds === null ? Number(next === '+') : Number(bounds[1]);
    return { text: `( ${atom.text} )${bounds?.[0] ?? next}`, size, empty: atom.empty || least === 0 };
  }

  #atom(): Sized {
    const character = this.#next();
    if (character === '(') return this.#group();
    const ranges =
      character === '[' ? this.#bracket() : character === '.' ? complement(LINE_ENDS) : this.#one(character);
    return { text: classOf(ranges), size: 1, empty: false };
  }

  #group(): Sized {
    if (this.#take('?')) {
      const kind = this.#next();
      if (kind === '<' && !'=!'.includes(this.#characters[this.#at] ?? '')) while (this.#next() !== '>');
      else if (kind !== ':') throw new RangeError('looks ahead or behind, which is not supported');
    }
    const alternatives = [this.#sequence()];
    while (this.#take('|')) alternatives.push(this.#sequence());
    if (!this.#take(')')) throw new RangeError('has an anchor in its middle, which is not supported');
    return {
      text: `( ${alternatives.map(({ text }) => text).join(' | ')} )`,
      size: alternatives.reduce((sum, { size }) => sum + size, 0),
      empty: alternatives.some(({ empty }) => empty),
    };
  }

  #bracket(): Ranges {
    const isNegated = this.#take('^');
    const ranges: (readonly [number, number])[] = [];
    while (!this.#take(']')) {
      const from = this.#one(this.#next(), true);
      const isRange = this.#characters[this.#at] === '-' && this.#characters[this.#at + 1] !== ']';
      if (!isRange) ranges.push(...from);
      else {
        this.#at += 1;
        const to = this.#one(this.#next(), true);
        ranges.push([from[0]?.[0] ?? 0, to[0]?.[1] ?? 0]);
      }
    }
    return isNegated ? complement(ranges) : ranges;
  }

  /** A character, escaped or as it is, or a class of them; within brackets \b is a backspace. */
  #one(character: string, inBracket = false): Ranges {
    if (character !== '\\') return single(codeOf(character));
    const escaped = this.#next();
    const known = CLASSES[escaped.toLowerCase()];
    if (known !== undefined) return escaped === escaped.toLowerCase() ? known : complement(known);
    const control = Object.hasOwn(CONTROLS, escaped) ? CONTROLS[escaped] : undefined;
    if (control !== undefined) return single(control);
    if (escaped === 'x' || escaped === 'u') return single(this.#hexadecimal(escaped === 'x' ? 2 : 4));
    if (escaped === 'b' && inBracket) return single(8);
    if (/[a-zA-Z1-9]/.test(escaped)) throw new RangeError(`has \\${escaped}, which is not supported`);
    return single(codeOf(escaped));
  }

  #hexadecimal(digits: number): number {
    let text = '';
    if (this.#take('{')) for (let next = this.#next(); next !== '}'; next = this.#next()) text += next;
    else for (let index = 0; index < digits; index++) text += this.#next();
    return Number.parseInt(text, 16);
  }
}

/** Of a text of one character; the pattern is known to end nowhere in between. */
function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}
