// Screens of recorded observations: every one that can be drawn is drawn whole, in whatever notation; and what two screens do not share.

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { ElementScreen } from '../../../src/benchmark/screens/elements.js';
import { screenOf, unshared } from '../../../src/benchmark/screens/screen.js';
import type { TerminalScreen } from '../../../src/benchmark/screens/terminal.js';
import type { TreeScreen } from '../../../src/benchmark/screens/tree.js';
import { withoutMarker } from '../../../src/core/reply.js';
import { groundTruthOf } from '../../../src/core/turn.js';
import { DOMAINS, type Sample } from '../../../src/core/types.js';
import { RECORDED } from '../../support/subjects.js';

function truthOf(sample: Sample): string {
  return withoutMarker(groundTruthOf(sample));
}

function observationsOf(domain: string): string[] {
  const truths = RECORDED.filter((sample) => sample.domain === domain).map(truthOf);
  expect(truths.length).toBeGreaterThan(5);
  return truths;
}

interface Kinds {
  readonly terminal: TerminalScreen;
  readonly elements: ElementScreen;
  readonly json: TreeScreen;
}

function screen<Kind extends keyof Kinds>(kind: Kind, domain: string, observation: string): Kinds[Kind] {
  const found = screenOf(domain, observation);
  if (found?.kind !== kind) throw new Error(`${kind} expected, not ${found?.kind}`);
  // Its kind has been compared.
  return found as Kinds[Kind];
}

/** The edges of those elements that have a place. */
function placesOf({ elements }: ElementScreen): (readonly number[])[] {
  return elements.flatMap(({ bounds }) => (bounds ? [[bounds.left, bounds.top, bounds.right, bounds.bottom]] : []));
}

describe('recorded observations', () => {
  test('of terminals are their own text, line by line', () => {
    for (const observation of observationsOf('terminal')) {
      const { lines, cut } = screen('terminal', 'terminal', observation);
      expect(lines.map((line) => line.map(({ text }) => text).join('')).join('\n')).toBe(observation);
      expect(lines.flat().filter(({ style }) => style !== '')).toEqual([]);
      expect(cut).toBe(false);
    }
  });

  test('of phones have all their bounds, in both recorded notations', () => {
    for (const observation of observationsOf('android')) {
      const drawn = screen('elements', 'android', observation);
      const bounds = Array.from(observation.matchAll(/bound(?:s|_box)=([\d,[\]]+)/g), ([, edges = '']) =>
        Array.from(edges.matchAll(/\d+/g), Number),
      );
      expect(placesOf(drawn)).toEqual(bounds);
      const ids = Array.from(observation.matchAll(/^ *\[(\d+)\]|^<\w+ id=(\d+)/gm), ([, one, other]) => one ?? other);
      expect(drawn.elements.flatMap(({ bounds, id }) => (bounds ? [id] : []))).toEqual(ids);
      expect(drawn.elements).toHaveLength(observation.split('\n').length);
      // All that stands in quotes or within markup is shown.
      const texts = Array.from(observation.matchAll(/"([^"\n]*)"|alt='([^'\n]*)'|>([^<\n]*)</g), (match) =>
        match.slice(1).find(Boolean),
      ).filter((text) => text !== undefined);
      expect(drawn.elements.map(({ text }) => text)).toEqual(expect.arrayContaining(texts));
    }
  });

  test('of desktops have every row with a place and a size', () => {
    for (const observation of observationsOf('os')) {
      const drawn = screen('elements', 'os', observation);
      const rows = observation.split('\n').slice(1);
      const placed = rows.map((row) => row.split('\t')).filter((cells) => cells[4] !== '');
      expect(drawn.elements).toHaveLength(rows.length);
      expect(placesOf(drawn)).toEqual(
        placed.map(([, , , , place = '', size = '']) => {
          const [left = 0, top = 0, width = 0, height = 0] = `${place}${size}`.match(/\d+/g)?.map(Number) ?? [];
          return [left, top, left + width, top + height];
        }),
      );
      expect(drawn.width).toBeLessThanOrEqual(1280);
      expect(drawn.height).toBeLessThanOrEqual(800);
    }
  });

  test('of tools are drawn if they are JSON, with every value that is not a container', () => {
    for (const observation of observationsOf('mcp')) {
      const { nodes } = screen('json', 'mcp', observation);
      const leaves = (value: unknown): unknown[] =>
        typeof value === 'object' && value !== null ? Object.values(value).flatMap(leaves) : [value];
      const inner = observation.includes('"text":"[') ? JSON.parse(JSON.parse(observation).text) : undefined;
      const expected = inner === undefined ? leaves(JSON.parse(observation)) : ['text', ...leaves(inner)];
      const drawn = nodes.filter(({ text }) => text !== '').map(({ text }) => JSON.parse(text));
      expect(drawn).toEqual(expected);
    }
    expect(observationsOf('search').map((each) => screenOf('search', each))).toEqual(Array(6).fill(undefined));
  });

  test('of one screen share everything with themselves, and little with those of another domain', () => {
    for (const sample of RECORDED) {
      const own = screenOf(sample.domain, truthOf(sample));
      if (own !== undefined) expect(unshared(own, own)).toEqual({ missing: new Set(), invented: new Set() });
    }
    const [android = '', mcp = ''] = [observationsOf('android')[0], observationsOf('mcp')[0]];
    expect(unshared(screen('elements', 'android', android), screen('json', 'mcp', mcp))).toBeUndefined();
  });
});

describe('what two screens do not share', () => {
  const phone = (...lines: string[]) => screen('elements', 'android', lines.join('\n'));
  const frame = '[0] FrameLayout "" bounds=[0,0][1000,2000]';

  it('is an element whose text or state is another, on either side', () => {
    const truth = phone(
      frame,
      '[1] Switch "Wifi" checked bounds=[0,0][100,100]',
      '[2] TextView "48%" bounds=[0,100][100,200]',
    );
    const prediction = phone(
      frame,
      '[1] Switch "Wifi" not-checked bounds=[0,0][100,100]',
      '[2] TextView "48%" bounds=[0,100][100,200]',
    );
    expect(unshared(truth, prediction)).toEqual({ missing: new Set([1]), invented: new Set([1]) });
  });

  it('is not an element with another number, at another place of the list, or up to 2 % of the screen away', () => {
    const truth = phone(frame, '[1] Button "A" bounds=[0,0][100,100]', '[2] Button "B" bounds=[0,100][100,200]');
    const near = phone(frame, '[7] Button "B" bounds=[20,140][120,240]', '[8] Button "A" bounds=[0,0][100,100]');
    expect(unshared(truth, near)).toEqual({ missing: new Set(), invented: new Set() });
    const far = phone(frame, '[1] Button "A" bounds=[0,0][100,100]', '[2] Button "B" bounds=[21,100][121,200]');
    expect(unshared(truth, far)).toEqual({ missing: new Set([2]), invented: new Set([2]) });
  });

  it('is one of two equal elements where the other side has one', () => {
    const twice = phone(frame, '[1] Button "A" bounds=[0,0][100,100]', '[2] Button "A" bounds=[0,0][100,100]');
    const once = phone(frame, '[1] Button "A" bounds=[0,0][100,100]');
    expect(unshared(twice, once)).toEqual({ missing: new Set([2]), invented: new Set() });
    expect(unshared(once, twice)).toEqual({ missing: new Set(), invented: new Set([2]) });
  });

  it('is a line of a terminal, whatever its colours', () => {
    const truth = screen('terminal', 'terminal', 'one\n\x1b[31mtwo\x1b[m  \nthree');
    const prediction = screen('terminal', 'terminal', 'one\ntwo\nfour\nthree');
    expect(unshared(truth, prediction)).toEqual({ missing: new Set(), invented: new Set([2]) });
  });
});

describe('hostile observations', () => {
  const MEGABYTE = 1_000_000;
  const hostile: readonly (readonly [name: string, observation: string])[] = [
    ['nothing', ''],
    ['a megabyte in one line', 'x'.repeat(3 * MEGABYTE)],
    ['a megabyte of lines', '\n'.repeat(MEGABYTE)],
    ['blanks before an element', `[1]${' '.repeat(MEGABYTE)}`],
    ['quotes that never close', `[1] A ${'"\\'.repeat(MEGABYTE / 4)}bounds=[0,0][1,1]`],
    ['quotes in lines', `[1] A ${'"\\"'.repeat(3000)} bounds=[0,0][1,1]\n`.repeat(100)],
    ['bounds upon bounds', 'bounds=[0,0][1,1] '.repeat(50_000)],
    ['a word without end', `[1] ${'a.'.repeat(MEGABYTE / 2)}`],
    ['words without end', `[1] ${'a.'.repeat(9000)}\n`.repeat(50)],
    ['tags that never close', '<a bound_box=0,0,1,1 '.repeat(50_000)],
    ['rows that never end', `tag\tname\ttext\tstates\tposition\tsize (w&h)\n${'frame\tx\n'.repeat(100_000)}`],
    ['escape bombs', '\x1b[9999B\x1b[9999C!'.repeat(50_000)],
    ['a style for each character', Array.from({ length: 100_000 }, (_, at) => `\x1b[3${at % 8}mx`).join('')],
    ['a sequence that never ends', `\x1b[${'1;'.repeat(MEGABYTE)}`],
    ['a control string that never ends', `\x1b]0;${'x'.repeat(MEGABYTE)}`],
    ['colours without end', `\x1b[${'38;5;'.repeat(100_000)}m`.repeat(2)],
    ['brackets', '['.repeat(MEGABYTE)],
    ['JSON as deep as it gets', `${'['.repeat(100_000)}1${']'.repeat(100_000)}`],
    ['a list of a hundred thousand', `[${'1,'.repeat(100_000)}1]`],
    ['a string of JSON', JSON.stringify([`[${'1,'.repeat(100_000)}1]`])],
    ['a long string', JSON.stringify(['x"\\'.repeat(80_000)])],
    ['tree lines', `\t[1] link '${"\\'".repeat(MEGABYTE / 2)}`],
    ['a deep tree', Array.from({ length: 2000 }, (_, at) => `${'\t'.repeat(at)}[1] a 'b'`).join('\n')],
    ['names of prototypes', '{"__proto__":1,"constructor":{"toString":2}}'],
  ];

  test.each(hostile)('%s: drawn within bounds, or not at all', (_, observation) => {
    for (const domain of [...DOMAINS, '__proto__', 'toString']) {
      const found = screenOf(domain, observation);
      if (found === undefined) continue;
      const size =
        found.kind === 'terminal'
          ? found.lines.length
          : found.kind === 'elements'
            ? found.elements.length
            : found.nodes.length;
      expect(size).toBeLessThanOrEqual(3000);
      expect(JSON.stringify(found).length).toBeLessThan(3 * MEGABYTE);
      if (observation.length > MEGABYTE / 2) expect(found.cut).toBe(true);
    }
  });

  test('nothing is thrown, and no two screens are too odd to be compared', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom(
        '[1] ',
        '- ',
        '| ',
        'bounds=',
        '[0,0][9,9]',
        'bound_box=1,2,3,4',
        '<a ',
        '>',
        '\n',
        '\t',
        "link 'x'",
        '"',
        '\\',
        '- (1,2,3,4)',
      ),
      fc.constantFrom(
        '\x1b[',
        '\x1b]',
        '\x9b',
        'm',
        '31;',
        'H',
        '2J',
        '\r',
        '\b',
        '{',
        '}',
        '[',
        ']',
        ':',
        '"a"',
        ',',
        '(1, 2)\t(3, 4)',
        'frame\t',
      ),
    );
    const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, text, fc.constantFrom(...DOMAINS), (one, other, domain) => {
        const [a, b] = [screenOf(domain, one), screenOf(domain, other)];
        if (a !== undefined && b !== undefined && a.kind === b.kind) expect(unshared(a, b)).toBeDefined();
      }),
      { numRuns: 2000 },
    );
  });
});
