// Graded corruption: shares of the tokens that action and history determine, and light and heavy corruption of any content.

import { describe, expect, it } from 'vitest';
import { readPrediction, withoutMarker } from '../../../src/core/reply.js';
import { CORRUPTIONS } from '../../../src/judge/calibrate/corruptions.js';
import { tokensOf } from '../../../src/judge/calibrate/tokens.js';
import { observationOf, type Subject } from '../../../src/judge/calibrate/variant.js';
import { answered, recordedSubjects, subjectOf } from '../../support/subjects.js';

const SUBJECTS = recordedSubjects(1);
const ENOUGH = SUBJECTS.filter((subject) => tokensOf(subject().sample).determined.length >= 8);
const SHARES = { 'determined-1of8': 1 / 8, 'determined-1of3': 1 / 3, 'determined-2of3': 2 / 3 } as const;
const NAMES = ['determined-1of8', 'determined-1of3', 'determined-2of3'] as const;

interface Place {
  readonly start: number;
  readonly end: number;
}

/**
 * What replaces each of these tokens. Found by walking the truth and the corrupted text together, since the parts between tokens are the
 * same in both. Undefined if such a part differs.
 */
function replacements(
  name: keyof typeof CORRUPTIONS,
  subject: Subject,
  tokens: readonly Place[] = tokensOf(subject.sample).determined,
): string[] | undefined {
  const { text } = tokensOf(subject.sample);
  const made = CORRUPTIONS[name].make(subject) ?? '';
  const parts = tokens.map(({ end }, place) => text.slice(end, tokens[place + 1]?.start));
  const head = text.slice(0, tokens[0]?.start);
  const escaped = (part: string) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const pattern = `\\n${escaped(head)}${tokens
    .map(({ start, end }, place) => {
      const token = text.slice(start, end);
      return `(${escaped(token)}|(?!${escaped(token)}${escaped(parts[place] ?? '')})[^\\n]*?)${escaped(parts[place] ?? '')}`;
    })
    .join('')}\\n</predicted_observation>$`;
  return new RegExp(pattern).exec(made)?.slice(1);
}

/** The wrong parts of the content, by position. */
function wrong(name: 'light' | 'heavy', subject: Subject): Map<number, string> {
  const { text, content } = tokensOf(subject.sample);
  const now = replacements(name, subject, content);
  expect(now, `${name} of ${subject.sample.domain} ${subject.sample.turnIdx}`).toBeDefined();
  return new Map(
    content.flatMap(({ start, end }, place) => {
      const by = now?.[place] ?? '';
      return by === text.slice(start, end) ? [] : [[start, by] as const];
    }),
  );
}

/** What a judge sees. */
function shown(name: 'light' | 'heavy', subject: Subject): string {
  return withoutMarker(readPrediction(CORRUPTIONS[name].make(subject) ?? ''));
}

describe('a share, on every recorded row', () => {
  it('a row with fewer than eight determined tokens has no dose, and every other row has all three', () => {
    expect(ENOUGH.length).toBeGreaterThan(20);
    for (const subject of SUBJECTS) {
      const enough = tokensOf(subject().sample).determined.length >= 8;
      expect(NAMES.map((name) => CORRUPTIONS[name].make(subject()) !== undefined)).toEqual([enough, enough, enough]);
    }
  });

  it('the same streams give the same bytes, and another stream gives others', () => {
    for (const subject of ENOUGH) {
      const [one, again] = [
        CORRUPTIONS['determined-1of3'].make(subject()),
        CORRUPTIONS['determined-1of3'].make(subject()),
      ];
      expect(again).toBe(one);
      const { sample, random, donor } = subject();
      expect(CORRUPTIONS['determined-1of3'].make({ sample, random, donor, rowRandom: random })).not.toBe(one);
    }
  });

  it('exactly the given share of the tokens is corrupted, and the rest is the truth byte for byte', () => {
    for (const subject of ENOUGH) {
      const { text, determined } = tokensOf(subject().sample);
      for (const name of NAMES) {
        const now = replacements(name, subject());
        expect(now, `${subject().sample.domain} ${subject().sample.turnIdx} ${name}`).toBeDefined();
        const corrupted = determined.filter(({ start, end }, place) => now?.[place] !== text.slice(start, end));
        expect(corrupted).toHaveLength(Math.round(determined.length * SHARES[name]));
      }
    }
  });

  it('a larger dose corrupts the tokens of a smaller one in the same way', () => {
    for (const subject of ENOUGH) {
      const { text, determined } = tokensOf(subject().sample);
      const [small, middle, large] = NAMES.map((name) => replacements(name, subject()) ?? []);
      for (const [place, { start, end }] of determined.entries()) {
        const token = text.slice(start, end);
        if (small?.[place] !== token) expect(middle?.[place]).toBe(small?.[place]);
        if (middle?.[place] !== token) expect(large?.[place]).toBe(middle?.[place]);
      }
    }
  });

  it('the replacement of a path, name or number appears nowhere else in the row', () => {
    for (const subject of ENOUGH) {
      const { text, determined, told } = tokensOf(subject().sample);
      const row = [...told, text].join('\n');
      const now = replacements('determined-2of3', subject()) ?? [];
      for (const [place, { kind, start, end }] of determined.entries()) {
        const other = now[place] ?? '';
        if (other === text.slice(start, end) || kind === 'state') continue;
        if (kind === 'line') expect(other).toBe('');
        else if (kind === 'number') expect(row.match(/\d+(?:[.,]\d+)*/g)).not.toContain(other.replace(/^-/, ''));
        else expect(row).not.toContain(other);
      }
    }
  });
});

describe('a share, of a made-up row', () => {
  it('JSON stays JSON, a state stays a state, and a number keeps its count of digits', () => {
    const record = {
      user_name: 'ann_w',
      home_dir: '/home/ann_w/docs',
      is_open: true,
      is_old: false,
      account: 48151623,
      balance: 1234.5,
      note: 'line one\nfile a_b.txt is 777 here',
      mail: 'ann@example.org',
      tag: 'Kestrel',
    };
    const truth = JSON.stringify(record, null, 2);
    const action = `**Action:**\n\`\`\`json\n${JSON.stringify({ name: 'put', arguments: record })}\n\`\`\``;
    for (let seed = 0; seed < 50; seed++) {
      const made = CORRUPTIONS['determined-2of3'].make(subjectOf(answered(truth, { action }), undefined, seed)) ?? '';
      const now = JSON.parse(made.replace(/<\/?predicted_observation>/g, ''));
      expect(Object.keys(now)).toEqual(Object.keys(record));
      expect([true, false]).toContain(now.is_open);
      expect(String(now.account)).toMatch(/^[1-9]\d{7}$/);
      expect(String(now.balance.toFixed(1))).toMatch(/^[1-9]\d{3}\.\d$/);
      const changes = Object.entries(record).filter(([key, value]) => now[key] !== value);
      expect(changes.length).toBeGreaterThanOrEqual(5);
    }
  });

  it('a line is dropped as a whole', () => {
    const lines = [
      'one two',
      'three four',
      'five six',
      'seven eight',
      'nine ten',
      'eleven twelve',
      'last words',
      'the end',
    ];
    const before = ['look', ...lines].join('\n');
    const row = answered(`${before}\nfatal: no\n[exit status 128]`, { before: [before] });
    for (let seed = 0; seed < 40; seed++) {
      const made = CORRUPTIONS['determined-2of3'].make(subjectOf(row, undefined, seed)) ?? '';
      const now = made.split('\n').slice(1, -1);
      expect(now).toHaveLength(6);
      expect(now.filter((line) => !lines.includes(line))).toEqual(['look', 'fatal: no', '[exit status 128]']);
    }
  });

  it('a row that contains every replacement word gets one that it does not contain', () => {
    const words =
      'oak elm fig yew birch maple cedar hazel larch aspen willow laurel poplar walnut spruce acacia juniper cypress sycamore magnolia hawthorn chestnut tamarisk blackthorn boxwood redwood dogwood rosewood sandalwood cottonwood';
    const names = ['a_one', 'b_two', 'c_three', 'd_four', 'e_five', 'f_six', 'g_seven', 'h_eight'];
    const row = answered(names.join('\n'), { action: `**Action:**\n\`\`\`\n${names.join(' ')}\n\`\`\`\n${words}` });
    const made = CORRUPTIONS['determined-2of3'].make(subjectOf(row, undefined)) ?? '';
    const fresh = made
      .split('\n')
      .slice(1, -1)
      .filter((name) => !names.includes(name));
    expect(fresh).toHaveLength(5);
    for (const name of fresh) expect(`${words} ${names.join(' ')}`).not.toContain(name);
  });
});

/** An observation of each notation that environments print, and a donor in the same notation. */
const NOTATIONS: Readonly<Record<string, readonly [truth: string, donor: string]>> = {
  JSON: [
    '{"id": 7, "name": "Robin", "tags": ["a_b", "new"], "open": true}',
    '{"id": 9, "name": "Wren", "open": false}',
  ],
  'JSON in JSON': [
    '{"type":"text","text":"[{\\"left_over\\": 12, \\"title\\": \\"Short Days\\"}]"}',
    '{"type":"text","text":"Error: no such table"}',
  ],
  'a shell': [
    'root@box:/app# make install\nbuilt target\nmake: *** [Makefile:4: install] Error 2\nroot@box:/app#',
    'root@box:/app# ls\na.txt\nroot@box:/app#',
  ],
  'an interpreter': ['> xs.toSorted(); xs\n[ 1, 10, 2, 3 ]\n>', "> 'abc'.at(-1)\n'c'\n>"],
  'a table of elements': [
    'tag\tname\ttext\tstates\nmenu\tFile\t\tselected\nmenu\tEdit\t\t\ntext\t\tDear team\tactive',
    'tag\tname\ttext\tstates\nmenu\tView\t\t\nbutton\tEquals\t\tactive',
  ],
  'a tree of roles': [
    "RootWebArea 'Shop', focused\n\t[7] link 'Kitchen'\n\t[8] radio '5 stars', checked=false",
    "RootWebArea 'Desk', focused\n\t[3] link 'Tickets'",
  ],
  elements: [
    "<p id=0 bound_box=42,90,700,190>Groceries</p>\n<button id=1 alt='More options' bound_box=1,2,3,4></button>",
    '<p id=0 bound_box=42,90,700,190>Edit item</p>',
  ],
  tests: [
    'test_a (t.T.test_a) ... ok\ntest_b (t.T.test_b) ... FAIL\nRan 2 tests in 0.001s\n\nOK',
    'Error: no such file',
  ],
  'a diff': ['--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-total = 1\n+total = count(rows)', 'Edited x.py.'],
  Markdown: ['# File formats\n\n* `netrc.hosts()` lists hosts\n* nothing else', '# Other\n\n* an item'],
  'one line': ['Error: spans.py already exists', 'ok'],
};

describe.each([
  ['on every recorded row', SUBJECTS],
  [
    'on an observation of every notation',
    Object.values(NOTATIONS).flatMap(([truth, donor]) =>
      [1, 2, 3, 4, 5].map((seed) => () => subjectOf(answered(truth), answered(donor), seed)),
    ),
  ],
])('light and heavy, %s', (_where, subjects) => {
  it('can both be made, and neither leaves the truth unchanged', () => {
    expect(SUBJECTS).toHaveLength(63);
    for (const subject of subjects) {
      const truth = withoutMarker(observationOf(subject().sample));
      const texts = [truth, shown('light', subject()), shown('heavy', subject())];
      expect(new Set(['', ...texts]).size, truth).toBe(4);
    }
  });

  it('light gets one token wrong, heavy half of the content, and the rest is the truth byte for byte', () => {
    for (const subject of subjects) {
      const { content } = tokensOf(subject().sample);
      expect(wrong('light', subject()).size).toBe(1);
      expect(wrong('heavy', subject()).size).toBe(Math.max(2, Math.round(content.length / 2)));
    }
  });

  it('heavy includes the mistake of light', () => {
    for (const subject of subjects) {
      const heavy = wrong('heavy', subject());
      for (const [place, by] of wrong('light', subject())) expect(heavy.get(place)).toBe(by);
    }
  });

  it('JSON stays JSON with the same keys', () => {
    const keys = (text: string) => text.match(/\\?"\w+\\?":/g);
    const texts = subjects.filter((subject) => /^[{[]/.test(withoutMarker(observationOf(subject().sample))));
    const whole = texts.filter((subject) => !/\n[{[]|[^}\]]$/.test(withoutMarker(observationOf(subject().sample))));
    expect(whole.length).toBeGreaterThanOrEqual(9);
    for (const subject of whole) {
      for (const name of ['light', 'heavy'] as const) {
        expect(() => JSON.parse(shown(name, subject()))).not.toThrow();
        expect(keys(shown(name, subject()))).toEqual(keys(withoutMarker(observationOf(subject().sample))));
      }
    }
  });

  it('the same streams give the same bytes', () => {
    for (const subject of subjects) {
      for (const name of ['light', 'heavy'] as const) expect(shown(name, subject())).toBe(shown(name, subject()));
    }
  });
});

it('on every turn of the recorded trajectories, the result differs from the truth, has as many lines, and JSON stays JSON', () => {
  let made = 0;
  const isJson = (text: string) => /^[{[]/.test(text) && text.includes('"') && !/\n[{[]|[^}\]]$/.test(text);
  const last = new Map(SUBJECTS.map((subject) => [subject().sample.trajectory, subject()]));
  for (const { sample: row, donor } of last.values()) {
    for (let turnIdx = 1; turnIdx < row.turnIdx; turnIdx++) {
      const sample = { ...row, turnIdx, currentPrompt: '' };
      const subject = () => subjectOf(sample, donor, turnIdx);
      if (CORRUPTIONS.heavy.make(subject()) === undefined) continue;
      made++;
      const truth = withoutMarker(observationOf(sample));
      const texts = [truth, shown('light', subject()), shown('heavy', subject())];
      expect(new Set(texts).size, truth).toBe(3);
      expect(new Set(texts.map((text) => text.split('\n').length)).size, truth).toBe(1);
      if (isJson(truth)) for (const text of texts) expect(() => JSON.parse(text), text).not.toThrow();
    }
  }
  expect(made).toBeGreaterThan(150);
});

it('another seed gives another light and another heavy corruption', () => {
  const made = [1, 2].map((seed) =>
    recordedSubjects(seed).map((subject) => [shown('light', subject()), shown('heavy', subject())]),
  );
  expect(made[1]).not.toEqual(made[0]);
});

describe('light corruption', () => {
  const light = (text: string, about: Parameters<typeof answered>[1] = {}) =>
    shown('light', subjectOf(answered(text, about), answered('nothing of the kind\nat all')));

  it('flips a state if there is one', () => {
    expect(light('{"ok": true}\n{"id": "Kestrel"}')).toBe('{"ok": false}\n{"id": "Kestrel"}');
    expect(light('test_a ... ok\nRan 1 test')).toBe('test_a ... FAIL\nRan 1 test');
  });

  it('prefers what action or history determine, and prefers a name to a word of a sentence', () => {
    expect(light('wrote fresh.txt to other.txt\nand something else', { action: 'save fresh.txt' })).toMatch(
      /^wrote (?!fresh)\w+\.txt to other\.txt\nand something else$/,
    );
    expect(light('wrote fresh.txt\nand something else')).toMatch(/^wrote (?!fresh)\w+\.txt\nand something else$/);
  });

  it('prefers text unique to this row over text that another row of the domain also contains', () => {
    const subject = subjectOf(answered('Title Kestrel_b\nTitle Robin_a'), answered('Title Robin_a'));
    expect(shown('light', subject)).toMatch(/^Title (?!Kestrel_b)\w+\nTitle Robin_a$/);
  });

  it('leaves times, hashes, positions and line numbers unchanged', () => {
    const text = '12:30:45 1f1803f 2024-05-31\n   22\t(10, 20)\n[7] <a id=5 at=1,2>';
    expect(CORRUPTIONS.light.make(subjectOf(answered(text), undefined))).toBeUndefined();
  });

  it('cannot be made from a text without tokens, and heavy corruption cannot be made from a single token', () => {
    expect(CORRUPTIONS.light.make(subjectOf(answered('- -'), undefined))).toBeUndefined();
    expect(CORRUPTIONS.heavy.make(subjectOf(answered('42'), undefined))).toBeUndefined();
  });
});
