// Progress on stderr: what a person sees on a terminal, and what a log file contains.

import { afterEach, describe, expect, test, vi } from 'vitest';
import type { BackendStatus } from '../../../src/core/types.js';
import { openProgress, type Progress } from '../../../src/run/progress.js';
import { holdText } from '../../support/messages.js';

/** A terminal of a given size that knows only the control sequences that the block needs. */
class Screen {
  readonly isTTY = true;
  columns: number;
  rows: number;
  writes = 0;
  widest = 0;
  readonly lines: string[] = [''];
  #row = 0;

  constructor(columns = 80, rows = 24) {
    this.columns = columns;
    this.rows = rows;
  }

  write(text: string): void {
    this.writes++;
    for (const [part] of text.matchAll(/\x1b\[(\d+)([AJm])|\r|\n|[^\x1b\r\n]+/g)) this.#take(part);
  }

  #take(part: string): void {
    if (part === '\n') this.lines[++this.#row] ??= '';
    else if (part === '\r') return;
    else if (part.endsWith('m') && part.startsWith('\x1b')) return;
    else if (part === '\x1b[0J') this.lines.splice(this.#row, Number.POSITIVE_INFINITY, '');
    else if (part.startsWith('\x1b')) {
      const up = Number.parseInt(part.slice(2), 10);
      if (up > this.#row || up >= this.rows) throw new Error(`${up} rows up leave the screen`);
      this.#row -= up;
    } else {
      this.lines[this.#row] += part;
      this.widest = Math.max(this.widest, part.length);
    }
  }

  get text(): string {
    return this.lines.join('\n');
  }
}

const NOON = new Date(2026, 10, 2, 12, 0, 0).getTime();

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

interface Bench {
  readonly progress: Progress;
  /** Sets the backend's status from now on. */
  watch(status: BackendStatus): void;
  pass(ms: number): void;
  running(): boolean;
}

function open(
  stderr: Parameters<typeof openProgress>[0]['stderr'],
  options: Partial<Parameters<typeof openProgress>[1]> = {},
  env: Parameters<typeof openProgress>[0]['env'] = { LANG: 'C' },
): Bench {
  let backend: BackendStatus | undefined;
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  vi.spyOn(Date, 'now').mockReturnValue(NOON);
  const progress = openProgress(
    { stderr, env },
    {
      title: 'infer',
      totals: new Map([['mcp', 100]]),
      already: new Map(),
      status: () => backend,
      quiet: false,
      verbose: false,
      color: false,
      ...options,
    },
  );
  return {
    progress,
    watch(status) {
      backend = status;
    },
    pass: (ms) => void vi.advanceTimersByTime(ms),
    running: () => vi.getTimerCount() > 0,
  };
}

function log() {
  const lines: string[] = [];
  return { lines, isTTY: false, columns: 80, write: (text: string) => void lines.push(text.trimEnd()) };
}

const OK = { status: 'ok', tokens: 100 } as const;
const FAILED = { status: 'failed', tokens: 0, reason: 'row 7: timeout' } as const;

function settle(progress: Progress, rows: number, row: Parameters<Progress['settled']>[1] = OK, domain = 'mcp'): void {
  for (let i = 0; i < rows; i++) progress.settled(domain, row);
}

describe('on a terminal', () => {
  test('one block shows rows, failures, rates, calls in flight, pause and time left, redrawn in place', () => {
    const screen = new Screen();
    // Rows arrive in the order of the files; the block lists domains in the order of the tables.
    const totals = new Map([
      ['terminal', 50],
      ['mcp', 100],
    ]);
    const { progress, pass, watch } = open(screen, { totals });
    watch({ inFlight: 8, limit: 64, pausedMs: 12_000, outages: [] });
    for (let second = 0; second < 10; second++) {
      settle(progress, 2);
      if (second === 5) settle(progress, 1, FAILED, 'terminal');
      pass(1000);
    }
    expect(screen.text).toBe(
      [
        'infer    ##..................  21/150  14 %  1 failed',
        'MCP      ####................  20/100  20 %',
        'Terminal ....................    1/50   2 %  1 failed',
        '2.1 rows/s, 200 tokens/s, about 1 min 2 s left',
        '8 in flight, limit 64, paused by the server for 12 s',
        '',
      ].join('\n'),
    );
  });

  test.each([80, 60])('a screen of %d columns', async (columns) => {
    const totals = new Map(Object.entries({ terminal: 354, mcp: 286, swe: 300, 'my-own': 9, web: 1_200 }));
    let text = '';
    for (const [color, LANG] of [
      [false, 'C'],
      [false, 'C.UTF-8'],
      [true, 'C.UTF-8'],
    ] as const) {
      const screen = new Screen(columns);
      let raw = '';
      const write = (part: string) => {
        screen.write(part);
        raw = part;
      };
      const sink = { isTTY: true, columns, rows: 24, write };
      const spending = () => '$4.10 of $5.00';
      const { progress, pass, watch } = open(sink, { totals, color, spending }, { LANG });
      const show = (state: string) => {
        text += `${state}\n${color ? JSON.stringify(raw).replace(/\\n/g, '$&\n') : screen.text}\n`;
      };
      show('at first');
      watch({ inFlight: 8, paced: 3, limit: 64, pausedMs: 0, outages: [] });
      for (let second = 0; second < 30; second++) {
        for (const domain of ['terminal', 'mcp', 'web']) settle(progress, 2, OK, domain);
        if (second % 5 === 0) settle(progress, 1, FAILED, 'my-own');
        pass(1000);
      }
      show('at work');
      const outage = { host: '127.0.0.1:8000', hasAnswered: true, forMs: 20_000, nextMs: 4_200, leftMs: 580_000 };
      const failure = { text: `127.0.0.1:8000: ${'connection refused '.repeat(6)}`, agoMs: 3_100 };
      watch({ inFlight: 1, limit: 8, pausedMs: 12_000, failure, outages: [outage] });
      settle(progress, 300, OK, 'swe');
      pass(1000);
      show('in an outage');
    }
    await holdText(`progress-${columns}`, text);
  });

  test('a burst of rows and notices causes at most ten redraws per second', () => {
    const screen = new Screen();
    const { progress, pass } = open(screen);
    const before = screen.writes;
    for (let i = 0; i < 50; i++) {
      settle(progress, 1);
      progress.notice(`notice ${i}`);
      pass(20);
    }
    pass(1000);
    expect(screen.writes - before).toBeLessThanOrEqual(20);
    expect(screen.lines.filter((line) => line.startsWith('notice'))).toHaveLength(50);
  });

  test('nothing is written while nothing changes', () => {
    const screen = new Screen();
    const { pass } = open(screen);
    pass(60_000);
    expect(screen.writes).toBe(1);
  });

  test('notices appear above the block, in order, and stay when the block is gone', () => {
    const screen = new Screen();
    const { progress, pass } = open(screen);
    progress.notice('first');
    pass(100);
    settle(progress, 3);
    progress.notice('second\x1b]0;title\x07');
    pass(100);
    expect(screen.lines.slice(0, 3)).toEqual(['first', 'second', 'infer ....................   3/100   3 %']);
    progress.notice('third');
    progress.finish();
    expect(screen.text).toBe('first\nsecond\nthird\n');
  });

  test('finish stops the timer, and calling it again changes nothing', () => {
    const screen = new Screen();
    const { progress, running } = open(screen);
    progress.finish();
    const after = screen.text;
    progress.finish();
    expect(running()).toBe(false);
    expect(screen.text).toBe(after);
  });

  test('an outage is shown with its times of day, and the latest failure in one line that cannot harm a terminal', () => {
    const screen = new Screen();
    const { pass, watch } = open(screen);
    const outage = { host: '127.0.0.1:8000', hasAnswered: true, forMs: 20_000, nextMs: 4_200, leftMs: 580_000 };
    const failure = { text: '127.0.0.1:8000: oops\x1b[2J\nsecond \x07line', agoMs: 3_100 };
    watch({ inFlight: 1, limit: 8, pausedMs: 0, failure, outages: [outage] });
    pass(1000);
    expect(screen.text).toBe(
      [
        'infer ....................   0/100   0 %',
        '1 in flight, limit 8',
        '127.0.0.1:8000 silent since 11:59:40, given up at 12:09:40, next try in 5 s',
        'latest failure, 4 s ago: 127.0.0.1:8000: oops second line',
        '',
      ].join('\n'),
    );
  });

  test('an engine that is still starting is shown as not ready', () => {
    const screen = new Screen();
    const { pass, watch } = open(screen);
    const outage = { host: 'gpu:8000', hasAnswered: false, forMs: 60_000, nextMs: 9_000, leftMs: 840_000 };
    watch({ inFlight: 0, limit: 8, pausedMs: 0, outages: [outage] });
    pass(1000);
    expect(screen.lines[2]).toBe('gpu:8000 not ready since 11:59:00, given up at 12:14:00, next try in 9 s');
  });

  test.each([
    [30, 24],
    [80, 5],
    [12, 3],
    [200, 50],
  ])('the block fits a terminal of %d columns and %d rows', (columns, rows) => {
    const screen = new Screen(columns, rows);
    const totals = new Map(Array.from({ length: 12 }, (_, i) => [`domain-${i}`, 1000]));
    const outage = { host: 'a.long.name.example:8000', hasAnswered: true, forMs: 0, nextMs: 0, leftMs: 1 };
    const failure = { text: 'x'.repeat(900), agoMs: 0 };
    const { progress, pass, watch } = open(screen, { totals });
    watch({ inFlight: 100, limit: 256, pausedMs: 90_000, outages: [outage, outage], failure });
    settle(progress, 500, FAILED, 'domain-3');
    pass(5000);
    expect(screen.widest).toBeLessThan(columns);
    expect(screen.lines.length).toBeLessThanOrEqual(rows);
  });

  test('rows that are settled again because their records became stale are counted once', () => {
    const screen = new Screen();
    const { progress, pass } = open(screen);
    settle(progress, 50);
    settle(progress, 40, { ...OK, isAgain: true });
    pass(2000);
    expect(screen.lines[0]).toBe('infer ##########..........  50/100  50 %');
  });

  test('colours appear only if they are wanted', () => {
    const written: string[] = [];
    const stderr = { isTTY: true, columns: 80, write: (text: string) => void written.push(text) };
    for (const color of [false, true]) {
      written.length = 0;
      const { progress, pass } = open(stderr, { color });
      settle(progress, 1, FAILED);
      pass(100);
      expect(written.join('').includes('\x1b[31m')).toBe(color);
      expect(written.join('').includes('\x1b[1minfer ')).toBe(color);
    }
  });
});

describe('without a terminal', () => {
  test('a line every half minute says that an endpoint is silent, since when and until when', () => {
    const out = log();
    const { pass, watch } = open(out);
    const outage = { host: 'a:8000', hasAnswered: true, forMs: 60_000, nextMs: 4_000, leftMs: 540_000 };
    watch({ inFlight: 1, limit: 8, pausedMs: 0, outages: [outage] });
    pass(30_000);
    expect(out.lines.slice(1)).toEqual(['infer 0/100 rows; a:8000 silent since 11:59:00, given up at 12:09:00']);
  });

  test('there is a line for every 5 % of the rows', () => {
    const stderr = log();
    const { progress, pass } = open(stderr);
    for (let row = 0; row < 100; row++) {
      pass(250);
      settle(progress, 1);
    }
    progress.finish();
    expect(stderr.lines).toHaveLength(21);
    expect(stderr.lines.at(-1)).toMatch(/^infer 100\/100 rows/);
  });

  test('a run that ends at once has one line for its start and one for its end', () => {
    const stderr = log();
    const { progress } = open(stderr);
    settle(progress, 100);
    progress.finish();
    expect(stderr.lines).toEqual([
      expect.stringMatching(/^infer 0\/100 rows/),
      expect.stringMatching(/^infer 100\/100 rows/),
    ]);
  });

  test('there is a line every 30 s while rows are slow', () => {
    const stderr = log();
    const { progress, pass } = open(stderr);
    settle(progress, 1);
    pass(95_000);
    expect(stderr.lines).toHaveLength(4);
  });

  test('an interrupted run ends with a line about its progress', () => {
    const stderr = log();
    const { progress } = open(stderr);
    settle(progress, 7);
    progress.finish();
    expect(stderr.lines.at(-1)).toMatch(/^infer 7\/100 rows/);
  });

  test('no control sequence is ever written', () => {
    const stderr = log();
    const { progress, pass } = open(stderr, { color: true });
    progress.notice('\x1b[31mred');
    settle(progress, 100, FAILED);
    pass(60_000);
    progress.finish();
    expect(stderr.lines.join('')).not.toMatch(/\x1b/);
  });
});

describe('rate and time left', () => {
  test('rows done before this session are not counted', () => {
    const stderr = log();
    const { progress, pass } = open(stderr, { already: new Map([['mcp', 80]]) });
    settle(progress, 3);
    pass(30_000);
    expect(stderr.lines[0]).toBe('infer 80/100 rows');
    expect(stderr.lines.at(-1)).toBe('infer 83/100 rows, 0.10 rows/s, 10 tokens/s, about 2 min 50 s left');
  });
});

describe('verbosity', () => {
  test('quiet prints nothing, on a terminal or elsewhere', () => {
    for (const stderr of [new Screen(), log()]) {
      const { progress, pass } = open(stderr, { quiet: true, verbose: true });
      settle(progress, 100, FAILED);
      progress.notice('a notice');
      pass(60_000);
      progress.finish();
      expect('lines' in stderr && stderr.lines.join('')).toBe('');
    }
  });

  test('verbose adds a line for each failed row and for no other', () => {
    for (const [verbose, lines] of [
      [true, 2],
      [false, 0],
    ] as const) {
      const stderr = log();
      const { progress } = open(stderr, { verbose });
      settle(progress, 5);
      settle(progress, 2, FAILED);
      expect(stderr.lines.filter((line) => line === 'failed: row 7: timeout')).toHaveLength(lines);
    }
  });
});
