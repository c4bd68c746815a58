// What the library's grammar maker does not know, as expressions of llama.cpp's grammar language (GBNF): ranges of numbers, patterns.

/** Digits that every whole number of so many can be told exactly with. */
const MOST_DIGITS = 15;
const LARGEST = 10 ** MOST_DIGITS - 1;
/** Characters and repetitions that an expression may stand for: llama.cpp writes all of them out. */
const MOST_SIZE = 1_000;
/** llama.cpp makes a rule of each group, and refuses more than this of them to be repeated together. */
const MOST_REPEATED = 1_000;
const MOST_PATTERN = 1_000;

/** Whole numbers from `low` to `high`, of at most 15 digits. Throws RangeError where there are none. */
export function integerRule(low: number, high: number): string {
  const parts = [
    ...(low < 0 ? wholes(Math.max(1, -high), -low).map((part) => `"-" ${part}`) : []),
    ...wholes(Math.max(0, low), high),
  ];
  if (parts.length === 0) throw new RangeError('no whole number of at most 15 digits lies between the bounds');
  return `( ${parts.join(' | ')} )`;
}

/** Numbers from `low` to `high`: whole ones, and fractions of up to 15 digits between two of them. Throws RangeError where there are none. */
export function numberRule(low: number, high: number): string {
  const fractions = `( "." [0-9]{1,${MOST_DIGITS}} )?`;
  const between = (from: number, to: number): string[] => [
    ...wholes(from, to - 1).map((part) => `${part} ${fractions}`),
    ...(from <= to ? wholes(to, to) : []),
  ];
  const parts = [
    ...between(Math.max(0, Math.ceil(-high)), Math.min(LARGEST, Math.floor(-low))).map((part) => `"-" ${part}`),
    ...between(Math.max(0, Math.ceil(low)), Math.min(LARGEST, Math.floor(high))),
  ];
  if (parts.length === 0) throw new RangeError('no whole number lies between the bounds');
  return `( ${parts.join(' | ')} )`;
}

/** Whole numbers of 0 or more from one to another, by their length in digits. */
function wholes(from: number, to: number): string[] {
  const most = Math.min(to, LARGEST);
  const parts: string[] = [];
  for (let digits = 1; digits <= MOST_DIGITS; digits++) {
    const low = Math.max(from, digits === 1 ? 0 : 10 ** (digits - 1));
    const high = Math.min(most, 10 ** digits - 1);
    if (low <= high) parts.push(`( ${sameLength(String(low), String(high))} )`);
  }
  return parts;
}

/** Texts of digits between two of one length. */
function sameLength(low: string, high: string): string {
  const [first, last] = [Number(low[0]), Number(high[0])];
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  if (lowRest === '') return `[${first}-${last}]`;
  if (first === last) return `"${first}" ( ${sameLength(lowRest, highRest)} )`;
  const [nines, zeros] = ['9'.repeat(lowRest.length), '0'.repeat(lowRest.length)];
  const from = lowRest === zeros ? first : first + 1;
  const to = highRest === nines ? last : last - 1;
  return [
    ...(from > first ? [`"${first}" ( ${sameLength(lowRest, nines)} )`] : []),
    ...(from <= to ? [`[${from}-${to}] [0-9]{${lowRest.length}}`] : []),
    ...(to < last ? [`"${last}" ( ${sameLength(zeros, highRest)} )`] : []),
  ].join(' | ');
}

type Ranges = readonly (readonly [from: number, to: number])[];
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

/** Escapes of JSON for what may not stand in a string as it is. */
const JSON_ESCAPES: Readonly<Record<number, string>> = {
  8: '\\\\b',
  9: '\\\\t',
  10: '\\\\n',
  12: '\\\\f',
  13: '\\\\r',
  34: '\\\\\\"',
  92: '\\\\\\\\',
};
const NOT_AS_THEY_ARE: Ranges = [
  [0, 31],
  [34, 34],
  [92, 92],
  [127, 127],
  [0xd800, 0xdfff],
];

const ANYTHING = classOf([[0, 0x10ffff]]);
const CLASSES: Readonly<Record<string, Ranges>> = {
  d: [[48, 57]],
  w: [
    [48, 57],
    [65, 90],
    [95, 95],
    [97, 122],
  ],
  s: [
    [9, 13],
    [32, 32],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ],
};
const LINE_ENDS: Ranges = [
  [10, 10],
  [13, 13],
  [0x2028, 0x2029],
];
const CONTROLS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, 0: 0 };

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
    if (character !== '\\') return single(character.codePointAt(0) as number);
    const escaped = this.#next();
    const known = CLASSES[escaped.toLowerCase()];
    if (known !== undefined) return escaped === escaped.toLowerCase() ? known : complement(known);
    const control = Object.hasOwn(CONTROLS, escaped) ? CONTROLS[escaped] : undefined;
    if (control !== undefined) return single(control);
    if (escaped === 'x' || escaped === 'u') return single(this.#hexadecimal(escaped === 'x' ? 2 : 4));
    if (escaped === 'b' && inBracket) return single(8);
    if (/[a-zA-Z1-9]/.test(escaped)) throw new RangeError(`has \\${escaped}, which is not supported`);
    return single(escaped.codePointAt(0) as number);
  }

  #hexadecimal(digits: number): number {
    let text = '';
    if (this.#take('{')) for (let next = this.#next(); next !== '}'; next = this.#next()) text += next;
    else for (let index = 0; index < digits; index++) text += this.#next();
    return Number.parseInt(text, 16);
  }
}

function single(code: number): Ranges {
  return [[code, code]];
}

/** All characters that are in none of the ranges. */
function complement(ranges: Ranges): Ranges {
  const found: [number, number][] = [];
  let next = 0;
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    if (from > next) found.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= 0x10ffff) found.push([next, 0x10ffff]);
  return found;
}

/** One character of the ranges, as it stands in a string of JSON. */
function classOf(ranges: Ranges): string {
  const plain = complement([...complement(ranges), ...NOT_AS_THEY_ARE]);
  const isIn = (code: number) => ranges.some(([from, to]) => code >= from && code <= to);
  const parts = [
    ...(plain.length === 0
      ? []
      : [`[${plain.map(([from, to]) => (from === to ? hex(from) : `${hex(from)}-${hex(to)}`)).join('')}]`]),
    ...Object.entries(JSON_ESCAPES).flatMap(([code, text]) => (isIn(Number(code)) ? [`"${text}"`] : [])),
  ];
  if (parts.length === 0) throw new RangeError('has a place at which no character can stand');
  return parts.length === 1 ? String(parts[0]) : `( ${parts.join(' | ')} )`;
}

function hex(code: number): string {
  return `\\U${code.toString(16).padStart(8, '0')}`;
}
