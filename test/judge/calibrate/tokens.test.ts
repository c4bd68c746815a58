// What action and history determine of a true observation, and what only a run can know.

import { describe, expect, it } from 'vitest';
import type { Sample } from '../../../src/core/types.js';
import { tokensOf } from '../../../src/judge/calibrate/tokens.js';
import { SAMPLE } from '../../support/sample.js';
import { RECORDED } from '../../support/subjects.js';

/** Determined tokens as `text (kind, ground)`, and runtime tokens as `text (kind)`. */
function found(sample: Sample): { determined: string[]; runtime: string[] } {
  const { text, determined, runtime } = tokensOf(sample);
  return {
    determined: determined.map(
      ({ start, end, kind, ground }) => `${text.slice(start, end).trim()} (${kind}, ${ground})`,
    ),
    runtime: runtime.map(({ start, end, kind }) => `${text.slice(start, end)} (${kind})`),
  };
}

/** A row whose last turn has this action and this answer. */
function row(
  action: string,
  truth: string,
  ...history: readonly (readonly [action: string, answer: string])[]
): Sample {
  const asked = (text: string, turn: number) => `### Turn ${turn + 1}\n\n**Action:**\n\`\`\`\n${text}\n\`\`\``;
  return {
    ...SAMPLE,
    turnIdx: history.length + 1,
    prompts: [...history.map(([text], turn) => asked(text, turn)), asked(action, history.length)],
    responses: [...history.map(([, answer]) => answer), truth],
  };
}

describe('determined is', () => {
  it('a path, a name or a long number that appears in the action', () => {
    const { determined } = found(
      row('cp src/old_name.py out/v2 --port 8191', "cp: cannot stat 'src/old_name.py': port 8191 of 7000, flag 12"),
    );
    expect(determined).toEqual(['src/old_name.py (path, action-token)', '8191 (number, action-token)']);
  });

  it('the value of a key that has the same value in the action, and no other value of that key', () => {
    const action = '{"name":"set","arguments":{"page":3,"open":true,"title":"Kestrel","size":9}}';
    const { determined } = found(row(action, '{"page": 3, "open": true, "title": "Kestrel", "total": 3, "size": 8}'));
    expect(determined).toEqual(['3 (number, action-line)', 'true (state, action-line)', 'Kestrel (name, action-line)']);
  });

  it('the content of a line that follows the same line as it did last time', () => {
    const history = ['look', 'Users of this host:\nalice_b 4711\nnothing else here'] as const;
    const { determined } = found(row('look', 'Users of this host:\nalice_b 4711\nnothing else here', history));
    expect(determined).toEqual([
      'Users of this host: (line, history-line)',
      'alice_b (name, history-line)',
      '4711 (number, history-line)',
      'nothing else here (line, history-line)',
    ]);
  });

  it('nothing in a line that was replaced since it last appeared', () => {
    const first = ['look', 'Users of this host:\nuser alice_b'] as const;
    const second = ['look', 'Users of this host:\nuser bob_c'] as const;
    expect(found(row('look', 'Users of this host:\nuser alice_b', first, second)).determined).toEqual([
      'Users of this host: (line, history-line)',
    ]);
  });

  it('nothing in a line that once had two different followers, unless the line before says which', () => {
    const history = ['look', 'first row of it\nthe same\nuser ann_1\nsecond row of it\nthe same\nuser bob_2'] as const;
    expect(found(row('look', 'the same\nuser bob_2', history)).determined).toEqual([]);
    expect(found(row('look', 'second row of it\nthe same\nuser bob_2', history)).determined).toEqual([
      'the same (line, history-line)',
      'bob_2 (name, history-line)',
    ]);
  });

  it('what last followed the same words of a line, except a state: one of two states is right by chance', () => {
    const history = ['run', 'listening on port 8191\nservice is: running'] as const;
    expect(
      found(row('run', 'again listening\nlistening on port 8191\nx\nservice is: running', history)).determined,
    ).toEqual(['8191 (number, history-label)']);
  });

  it("a shell's prompt as it ended the last observation", () => {
    const { determined } = found(row('cd x', 'root@box:/srv/app# cd x\nno', ['ls', 'a\nroot@box:/srv/app#']));
    expect(determined).toEqual(['root@box (name, prompt)']);
  });
});

describe('runtime tokens match a runtime pattern, and are never determined', () => {
  it.each([
    ['drwxr-xr-x 2 root root 4096 Nov 20 10:15 a', ['4096 (size)', 'Nov 20 (date)', '10:15 (time)']],
    ['[main 53d3585] fix, 2026-11-20T10:15:33.123Z', ['53d3585 (hash)', '2026-11-20 (date)', '10:15:33.123 (time)']],
    ['index 4f5e513..3902085 100644', ['4f5e513 (hash)', '3902085 (hash)']],
    [
      'Ran 7 tests in 0.001s, pid 4711 in /tmp/tmpab12cd/x',
      ['0.001s (duration)', '4711 (process)', '/tmp/tmpab12cd/x (temporary)'],
    ],
    [
      '550e8400-e29b-41d4-a716-446655440000 at 0x7f3a2b1c',
      ['550e8400-e29b-41d4-a716-446655440000 (uuid)', '0x7f3a2b1c (address)'],
    ],
    ['"request_id": "abc-123-def" of 12.5 MB', ['abc-123-def (session)', '12.5 MB (size)']],
  ])('%s', (truth, expected) => {
    const { determined, runtime } = found(row(truth, truth, [truth, truth]));
    expect(runtime).toEqual(expected);
    for (const token of expected) expect(determined.join()).not.toContain(token.split(' (')[0]);
  });
});

describe('of a recorded row in each domain', () => {
  it.each<[string, number, string[]]>([
    [
      'mcp',
      10,
      [
        'Kestrel (name, action-token)',
        'service (name, history-line)',
        'Kestrel (name, action-token)',
        'Orchard (name, history-line)',
        'depends on (name, history-line)',
      ],
    ],
    ['search', 6, ['http://pydocs.test/library/csvs.html (path, action-token)']],
    [
      'terminal',
      17,
      [
        'root@sandbox (name, prompt)',
        'sha1sum (name, action-token)',
        'archive/2025/*.txt (path, action-token)',
        'archive/*/*.txt (path, action-token)',
        'root@sandbox (name, prompt)',
      ],
    ],
    ['swe', 3, ['text (name, action-token)', 'naïve (name, action-token)']],
    [
      'android',
      3,
      [
        'org.example.groceries (name, history-line)',
        'Navigate up (name, history-line)',
        '140 (number, history-line)',
        '160 (number, history-line)',
        'New item (name, history-line)',
        '240 (number, history-label)',
        '450 (number, history-label)',
        'Amount (optional) (name, history-label)',
        '780 (number, history-line)',
        'SAVE (name, history-line)',
      ],
    ],
    [
      'web',
      21,
      [
        'Open tabs: (line, history-line)',
        'http://desk.test/# (path, history-line)',
        'Accessibility tree: (line, history-line)',
        'Tickets – Service desk (name, history-line)',
        'New ticket (name, history-line)',
        'New ticket (name, history-line)',
        'Title (name, history-line)',
        'Priority (name, history-line)',
        'normal (name, history-line)',
        'false (state, history-line)',
        'low (name, history-line)',
        'false (state, history-line)',
        'normal (name, history-line)',
        'true (state, history-line)',
        'high (name, history-line)',
        'false (state, history-line)',
        '686 (number, action-token)',
      ],
    ],
    [
      'os',
      5,
      [
        'name (name, history-line)',
        'text (name, history-line)',
        'states (name, history-line)',
        'top-left (name, history-line)',
        'application\tmousepad (line, history-line)',
        '700 (number, history-label)',
        'File (name, history-line)',
        'Edit (name, history-line)',
        '100 (number, history-line)',
        'Search (name, history-line)',
        '141 (number, history-line)',
        'View (name, history-line)',
        '201 (number, history-line)',
        'Document (name, history-line)',
        '249 (number, history-line)',
        'Help (name, history-line)',
        '332 (number, history-line)',
        '107 (number, history-line)',
        '108 (number, history-label)',
      ],
    ],
  ])('%s, turn %i, these are determined', (domain, turn, expected) => {
    const sample = RECORDED.find((row) => row.domain === domain && row.turnIdx === turn);
    expect(sample && found(sample).determined).toEqual(expected);
  });
});

describe('on every recorded row', () => {
  it('tokens are in order, do not overlap, and each is a part of the text', () => {
    for (const sample of RECORDED) {
      const { text, determined, runtime } = tokensOf(sample);
      const places = [...determined, ...runtime].sort((a, b) => a.start - b.start);
      let at = 0;
      for (const { start, end } of places) {
        expect(start).toBeGreaterThanOrEqual(at);
        expect(end).toBeGreaterThan(start);
        at = end;
      }
      expect(at).toBeLessThanOrEqual(text.length);
    }
  });
});
