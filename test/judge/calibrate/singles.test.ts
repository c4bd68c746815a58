// The single corruptions: to which rows they apply, and what they change.

import { describe, expect, it } from 'vitest';
import { readPrediction, withoutMarker } from '../../../src/core/reply.js';
import { DOMAINS } from '../../../src/core/types.js';
import { SINGLES } from '../../../src/judge/calibrate/singles.js';
import { observationOf, type Subject } from '../../../src/judge/calibrate/variant.js';
import { answered, recordedSubjects, subjectOf } from '../../support/subjects.js';

type Name = keyof typeof SINGLES;
const NAMES = Object.keys(SINGLES) as Name[];
const SUBJECTS = recordedSubjects(1);

/** What a judge sees; undefined if the corruption does not apply. */
function shown(name: Name, subject: Subject): string | undefined {
  const reply = SINGLES[name].make(subject);
  return reply === undefined ? undefined : withoutMarker(readPrediction(reply));
}

describe('on the recorded rows', () => {
  it('each corruption applies to the expected number of rows of each domain', () => {
    const counts = NAMES.map((name) => {
      const by = DOMAINS.map((domain) => {
        const rows = SUBJECTS.filter((subject) => subject().sample.domain === domain);
        return rows.filter((subject) => shown(name, subject()) !== undefined).length;
      });
      return `${name.padEnd(16)} ${by.map((count) => String(count).padStart(8)).join('')}`;
    });
    const rows = DOMAINS.map((domain) => SUBJECTS.filter((subject) => subject().sample.domain === domain).length);
    expect(counts.join('\n')).toBe(
      `error-to-success        1       1       6       3       0       0       0
lost-fence             11       0       2       1       4       0       0
renamed-keys           11       1       0       0       7       8       7
contrary-path           0       2      14       5       0       4       3
foreign-tool           11       6      16       8       7       8       7
truncated              11       6      16       8       7       8       7
extra-prose            11       6      16       8       7       8       7`,
    );
    expect(rows).toEqual([11, 6, 16, 8, 7, 8, 7]);
  });

  it.each(NAMES)('%s never shows the truth, and never an empty text', (name) => {
    for (const subject of SUBJECTS) {
      const truth = withoutMarker(observationOf(subject().sample));
      expect(['', truth]).not.toContain(shown(name, subject()));
    }
  });

  it('the same seed gives the same bytes', () => {
    const made = () => recordedSubjects(7).map((subject) => NAMES.map((name) => shown(name, subject())));
    expect(made()).toEqual(made());
  });
});

function corrupted(name: Name, text: string, about: Parameters<typeof answered>[1] = {}): string | undefined {
  return shown(name, subjectOf(answered(text, about), undefined));
}

const call = (name: string, args: unknown) =>
  `### Turn 2\n**Action:**\n\`\`\`json\n${JSON.stringify({ name, arguments: args })}\n\`\`\``;

describe('error-to-success', () => {
  it.each([
    ["$ ls /x\nls: cannot access '/x': No such file or directory\n$", '$ ls /x\n$'],
    ['a\nTraceback (most recent call last):\n  File "x.py", line 1\nValueError: bad\nb', 'a\nb'],
    ["main.c:3:5: error: expected ';'\nrc=2", 'rc=0'],
    [
      'test_a (t.T.test_a) ... FAIL\nRan 1 test in 0.1s\nFAILED (failures=1)',
      'test_a (t.T.test_a) ... ok\nRan 1 test in 0.1s\nOK',
    ],
    ['not ok 1 - a\nok 2 - b', 'ok 1 - a\nok 2 - b'],
    ['HTTP/1.1 404 Not Found\nserver: x', 'HTTP/1.1 200 OK\nserver: x'],
    ['{"isError": true, "code": 500}', '{"isError": false, "code": 200}'],
    ['{"status": "failed", "error": "no space"}', '{"status": "success", "message": "Completed successfully."}'],
  ])('turns %j', (text, success) => {
    expect(corrupted('error-to-success', text)).toBe(success);
  });

  it('says that the tool succeeded instead of its error message', () => {
    const row = answered('Error: b.txt not found', { action: call('read', { path: 'b.txt' }) });
    expect(shown('error-to-success', subjectOf(row, undefined))).toBe('read completed successfully.');
  });

  it.each([
    ['no error', 'total 4\na.txt', {}],
    ['an error that an earlier screen showed', '$ a\nfatal: no\n$ ls\nx', { before: ['$ a\nfatal: no'] }],
    ['a page about errors', 'ValueError: raised where\nfatal: what git says', { domain: 'search' }],
    ['code that handles errors', '  12\tthrow new Error("bad");\n+  error: no', {}],
    ['JSON of something that succeeded', '{"ok": true, "code": 201}', {}],
  ])('leaves %s unchanged', (_, text, about) => {
    expect(corrupted('error-to-success', text, about)).toBeUndefined();
  });
});

describe('lost-fence', () => {
  it.each([
    ['a\n```json\n1\n```\nb', 'a\n```json\n1\nb'],
    ['{\n  "a": [1]\n}', '{\n  "a": [1]'],
    ['+----+\n| ab |\n+----+\n$', '+----+\n| ab |\n$'],
    ['<p>a</p>\n<p>b</p>', '<p>a</p>\n<p>b'],
  ])('of %j leaves %j', (text, without) => {
    expect(corrupted('lost-fence', text)).toBe(without);
  });

  it.each(['plain text', 'f(x) {\n}\nreturn [a]', '- a\n- b', 'a <b>c</b> d'])('leaves %j unchanged', (text) => {
    expect(corrupted('lost-fence', text)).toBeUndefined();
  });
});

describe('renamed-keys', () => {
  it.each([
    [
      '{"name": "name", "userId": 5, "last_seen": null}',
      '{"title": "name", "userId_value": 5, "last_seen_value": null}',
    ],
    ['Title: a\nDate: b\nTitle: c\nDate: d', 'heading: a\nday: b\nheading: c\nday: d'],
    ['tag\tname\tstates\nmenu\tFile\t\nmenu\tEdit\ton', 'role\ttitle\tflags\nmenu\tFile\t\nmenu\tEdit\ton'],
    ['<a id=1 x_y=2>\n<b id=2>\n<c id=3>', '<a identifier=1 x_y=2>\n<b identifier=2>\n<c identifier=3>'],
  ])('of %j makes %j', (text, renamed) => {
    expect(corrupted('renamed-keys', text)).toBe(renamed);
  });

  it('renames a label that this environment has shown before', () => {
    expect(corrupted('renamed-keys', 'Url: a', { before: ['Url: b'] })).toBe('link: a');
    expect(corrupted('renamed-keys', 'Url: a')).toBeUndefined();
  });

  it.each(['ValueError: a\nValueError: b', 'x = 1\ny = 2\nz = 3', 'bash: a\nbash: b'])(
    'leaves %j unchanged',
    (text) => {
      expect(corrupted('renamed-keys', text)).toBeUndefined();
    },
  );
});

describe('contrary-path', () => {
  it('changes every mention of a path that the history names, and no other', () => {
    const text = 'root@a:/srv/app# ls /srv/app/x\n/srv/app and /etc/new';
    const changed = corrupted('contrary-path', text, { before: ['root@a:/srv/app#'] });
    expect(changed).toMatch(/^root@a:\/srv\/(\w+)\/app# ls \/srv\/app\/x\n\/srv\/\1\/app and \/etc\/new$/);
    expect(changed).not.toContain('/srv/app#');
  });

  it('keeps an address an address of the same host', () => {
    const changed = corrupted('contrary-path', 'see http://a.test/b/c.html', { action: 'open http://a.test/b/c.html' });
    expect(changed).toMatch(/^see http:\/\/a\.test\/b\/\w+\/c\.html$/);
  });

  it.each([
    ['a path that the history does not name', 'wrote /srv/new.txt'],
    ['no path', 'HTTP/1.1 and application/json and 3/4 and </input> and and/'],
  ])('leaves %s unchanged', (_, text) => {
    const before = ['HTTP/1.1 and application/json and 3/4 and </input> and and/'];
    expect(corrupted('contrary-path', text, { before })).toBeUndefined();
  });
});

describe('foreign-tool', () => {
  it.each([
    ['{"a": {"b": [1, "x"]}}', /^\{ a: \{ b: \[ 1, 'x' \] \} \}$/],
    ['done', /^\{\n {2}"stdout": "done"/],
  ])('says %j as %s', (text, other) => {
    expect(corrupted('foreign-tool', text)).toMatch(other);
  });
});

describe('truncated', () => {
  it('ends in mid-word after about three fifths, without the closing tag', () => {
    const words = 'abcdefgh '.repeat(50);
    const reply = SINGLES.truncated.make(subjectOf(answered(words), undefined)) ?? '';
    expect(reply).not.toContain('</predicted_observation>');
    expect(readPrediction(reply)).toMatch(/ [a-h]{1,7}$/);
    expect(readPrediction(reply).length / words.length).toBeCloseTo(0.6, 1);
  });

  it('leaves text that is too short to cut unchanged', () => {
    expect(corrupted('truncated', 'short')).toBeUndefined();
  });
});

it('extra-prose contains the complete truth between the explanations', () => {
  for (const subject of SUBJECTS) {
    const text = shown('extra-prose', subject()) ?? '';
    const at = text.indexOf(observationOf(subject().sample).trim());
    expect(at).toBeGreaterThan(50);
    expect(text.length - at - observationOf(subject().sample).trim().length).toBeGreaterThan(50);
  }
});
