// A text after undoing everything that can hide words from a search.

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&', lowbar: '_' };
const ENTITY = /&(?:(lt|gt|quot|apos|amp|lowbar)|#(\d{1,7})|#x([\da-f]{1,6}));/gi;
const ESCAPE = /(?<!\\)\\+(?:u([\da-f]{4})|x([\da-f]{2}))/gi;
/** Letters of other scripts, and brackets, that look like those of a verdict. */
const LOOK_ALIKES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    a: 'аαɑ',
    c: 'сϲ',
    e: 'еεҽ',
    f: 'ƒϝ',
    i: 'іιıɩ',
    l: 'ӏǀⅼ',
    m: 'мμ',
    n: 'пηո',
    o: 'оοօ',
    q: 'ԛզ',
    r: 'гρ',
    s: 'ѕ',
    t: 'тτ',
    u: 'υսц',
    v: 'ѵν',
    y: 'уүγ',
    _: '‿⁀',
    '<': '‹〈⟨❮⦑',
    '>': '›〉⟩❯⦒',
  }).flatMap(([letter, others]) => Array.from(others, (other) => [other, letter] as const)),
);
const LOOK_ALIKE = new RegExp(`[${Object.keys(LOOK_ALIKES).join('')}]`, 'gu');

/**
 * The text without what can hide a tag or a name: entities, escapes, compatibility forms, marks, invisible characters, case,
 * look-alikes.
 */
export function folded(text: string): string {
  if (!/&|\\[ux]|[\x80-\uffff]/i.test(text)) return text.toLowerCase();
  return text
    .replace(ENTITY, (whole, name?: string, decimal?: string, hex?: string) => {
      if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole;
      return character(Number.parseInt(decimal ?? hex ?? '', decimal === undefined ? 16 : 10));
    })
    .replace(ESCAPE, (_, long?: string, short?: string) => character(Number.parseInt(long ?? short ?? '', 16)))
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}]+/gu, '')
    .toLowerCase()
    .replace(LOOK_ALIKE, (other) => LOOK_ALIKES[other] ?? other)
    .replace(/(?![0-9])\p{Nd}/gu, decimalDigit);
}

function character(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : '';
}

/** The ASCII digit of a decimal digit: Unicode encodes them in unbroken runs from 0 to 9. */
export function decimalDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let zero = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
  return String((code - zero) % 10);
}
