// `awb infer --scenarios` recovers what was built into a scripted world model: what it follows, leaks and leaves undisturbed.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awb, startAwb, temporaryFolder } from '../support/cli.js';
import { type LoopbackServer, type SeenRequest, startLoopbackServer } from '../support/loopback-server.js';
import { readRows } from '../support/run-folder.js';
import {
  type Asked,
  askedIn,
  rowsFolder,
  STEPS,
  SUITE,
  startWorldModel,
  suiteFolder,
  truthOf,
} from '../support/scripted-scenarios.js';
import { documentsIn } from '../support/static-pages.js';

const ROWS = { mcp: 40, terminal: 40 };
const LEAK = 'done as requested';

interface Ran {
  readonly folder: string;
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into lines of any shape
  readonly lines: any[];
}

async function infer(
  server: Pick<LoopbackServer, 'url'> | undefined,
  flags: readonly string[] = [],
  { rows = ROWS, suite, folder }: { rows?: Record<string, number>; suite?: string; folder?: string } = {},
): Promise<Ran> {
  const dir = folder ?? (await temporaryFolder());
  const data = await rowsFolder(join(dir, 'data'), rows);
  const model = server === undefined ? [] : ['--model-base-url', server.url, '--model-name', 'scripted'];
  const named = flags.includes('--scenarios') ? [] : ['--scenarios', await suiteFolder(suite)];
  const out = join(dir, 'out');
  const ran = await awb(['infer', '--data-dir', data, '--output-dir', out, ...named, ...model, '--quiet', ...flags]);
  const lines = await readRows(join(out, 'scenarios.jsonl')).catch(() => []);
  return { folder: dir, ...ran, lines };
}

async function scored(folder: string) {
  const db = join(folder, 'awb.sqlite');
  const { stdout, code } = await awb(['score', join(folder, 'out'), '--db', db, '--json']);
  return { ...JSON.parse(stdout), code };
}

describe('a world model that follows 70 in 100 scenarios and leaks 10 in 100', () => {
  let server: LoopbackServer;
  let ran: Ran;
  let figures: Awaited<ReturnType<typeof scored>>;
  const follows = ({ row }: Asked) => row % 10 < 7;
  const leaks = ({ row }: Asked) => row % 10 === 3;

  beforeAll(async () => {
    server = await startWorldModel((asked) => [
      truthOf(asked),
      ...(asked.wanted !== undefined && follows(asked) ? [asked.wanted] : []),
      ...(asked.wanted !== undefined && leaks(asked) ? [LEAK] : []),
    ]);
    ran = await infer(server, ['--scenario-rows', '40']);
    figures = await scored(ran.folder);
  });
  afterAll(() => server.close());

  it('is measured to follow exactly 70 and to leak exactly 10, by domain, by scenario and overall', () => {
    expect(ran.code).toBe(0);
    const parts = [figures.overall, ...Object.values(figures.domains), ...Object.values(figures.scenarios)];
    expect(parts).toHaveLength(5);
    for (const part of parts as (typeof figures)['overall'][]) {
      expect(part.followed.value).toBeCloseTo(70, 9);
      expect(part.leaked.value).toBeCloseTo(10, 9);
      expect(part.twin_false_positives.value).toBe(0);
      expect(part.followed.low).toBeLessThan(70);
      expect(part.followed.high).toBeGreaterThan(70);
      expect(part.leaked.low).toBeLessThan(10);
      expect(part.leaked.high).toBeGreaterThan(10);
    }
  });

  it('leaves everything undisturbed that the twin predicts, and no line that should not change is missing', () => {
    expect(figures.scenarios['power-cut'].undisturbed).toMatchObject({ value: 100, rows: 80 });
    expect(figures.scenarios['slow-disk'].undisturbed).toBeNull();
  });

  it('is asked once for each row without the instruction, whatever the number of its scenarios', () => {
    const requests = server.requests.map(askedIn);
    expect(requests.filter(({ wanted }) => wanted === undefined)).toHaveLength(80);
    expect(requests.filter(({ wanted }) => wanted !== undefined)).toHaveLength(120);
    expect(new Set(requests.map(({ text }) => text)).size).toBe(200);
  });

  it('has a line for each call: the twin like any prediction of the row, the sample with instruction, verdicts and measures', () => {
    expect(ran.lines).toHaveLength(200);
    const sample = ran.lines.find((line) => line.scenario === 'power-cut' && line.awb.measures.followed === 0);
    expect(sample).toMatchObject({
      task: sample.task,
      turn_idx: expect.any(Number),
      instruction: 'The power fails: the line POWER CUT appears.',
      verdicts: [
        [
          { verifier: 'contains', met: false, why: 'it does not say "POWER CUT"' },
          { verifier: 'unchanged_elsewhere', met: true, why: '1 of 1 lines stayed' },
          { verifier: 'never', met: true, why: 'it gives nothing away' },
        ],
      ],
      awb: { measures: { followed: 0, leaked: 0, undisturbed: 100, twin_false_positives: 0 }, judge: { status: 'ok' } },
    });
    const twin = ran.lines.find((line) => line.twin && `${line.awb.key}:power-cut` === sample.awb.key);
    expect(twin.gen).toContain('result');
    expect(twin.awb).toMatchObject({ trajectory: sample.awb.trajectory, status: 'ok' });
  });

  it('appears in a table of 80 columns, at the end of asking and in score, which stores it by scenario and domain', async () => {
    const { stdout } = await awb([
      'score',
      join(ran.folder, 'out', 'scenarios.jsonl'),
      '--db',
      join(ran.folder, 'b.sqlite'),
    ]);
    expect(ran.stdout).toMatch(/^macro of 2 +120 +70\.0 +\d+–\d+ +10\.0 /m);
    expect(stdout).toMatch(/^power-cut +80 +70\.0 /m);
    expect(stdout).toMatch(/^slow-disk +40 +70\.0 /m);
    for (const line of [...stdout.split('\n'), ...ran.stdout.split('\n')].filter(
      (text) => !text.includes(ran.folder),
    )) {
      expect(line.length, line).toBeLessThanOrEqual(80);
    }
  });

  it('has a page with every sample, and its own block in leaderboards, where twins cost money but are not ranked', async () => {
    const db = join(ran.folder, 'boards.sqlite');
    const [source, page] = [join(ran.folder, 'out', 'scenarios.jsonl'), join(ran.folder, 'page.html')];
    const score = await awb(['score', source, '--db', db, '--label', 'step-1', '--json']);
    const { costs, chosen, coverage } = JSON.parse(score.stdout);
    expect({ chosen, coverage, rows: costs.world_model.rows }).toEqual({ chosen: 120, coverage: 1, rows: 200 });
    const board = await awb(['leaderboard', '--db', db]);
    expect(board.stdout).toMatch(/^Scenario measure followed, no judge, suite made [0-9a-f]{12}, protocol history$/m);
    expect(board.stdout).toMatch(/^step-1 +70\.00 +70\.00 +macro of 2: 70\.00 .* 100 %$/m);
    const shown = await awb(['report', '--run', 'step-1', '--db', db, '-o', page, '--json']);
    expect(JSON.parse(shown.stdout)).toMatchObject({ samples: 120, output: page });
    const { run } = await documentsIn(page);
    const folds = run.page.blocks.find(({ title }: { title?: string }) => title === 'Samples').folds;
    expect(folds.map(({ about }: { about: string[] }) => about[0]?.match(/^\d+ rows/)?.[0])).toEqual([
      '80 rows',
      '40 rows',
    ]);
    expect(run).toMatchObject({ mode: 'scenarios', page: { title: 'step-1' } });
    expect(run.page.facts).toContainEqual(['world model', 'scripted']);
    expect(run.page.facts).toContainEqual(['suite', expect.stringMatching(/^made [0-9a-f]{12}$/)]);
    const small = await awb(['report', '--run', source, '-o', page, '--inline-limit', '0.005', '--json']);
    expect(JSON.parse(small.stdout).samples).toBeLessThan(60);
    const compared = await awb(['report', '--run', source, '--compare', source, '-o', page]);
    expect([compared.code, compared.stderr]).toEqual([2, expect.stringContaining('awb leaderboard')]);
  });

  it('asks nothing again and writes the same bytes if the command is repeated', async () => {
    const asked = server.count;
    const again = await infer(server, ['--scenario-rows', '40', '--scenarios', await suiteFolder()], {
      folder: ran.folder,
    });
    expect(server.count).toBe(asked);
    expect(again.lines).toEqual(ran.lines);
  });
});

describe('a world model that decides by a hash of the request', () => {
  it('is measured by its counts, and the interval covers the true value', async () => {
    const counts = { asked: 0, followed: 0, leaked: 0 };
    const server = await startWorldModel((asked) => {
      if (asked.wanted === undefined) return [truthOf(asked)];
      const [follows, leaks] = [asked.lot < 70, asked.lot % 10 === 7];
      counts.asked++;
      counts.followed += Number(follows);
      counts.leaked += Number(leaks);
      return [truthOf(asked), ...(follows ? [asked.wanted] : []), ...(leaks ? [LEAK] : [])];
    });
    try {
      const { folder } = await infer(server, ['--scenario-rows', '100'], { rows: { terminal: 100 } });
      const { domains } = await scored(folder);
      expect(counts.asked).toBe(200);
      expect(domains.terminal.followed.value).toBeCloseTo((100 * counts.followed) / counts.asked, 9);
      expect(domains.terminal.leaked.value).toBeCloseTo((100 * counts.leaked) / counts.asked, 9);
      expect(domains.terminal.followed.low).toBeLessThan(70);
      expect(domains.terminal.followed.high).toBeGreaterThan(70);
      expect(domains.terminal.leaked.low).toBeLessThan(10);
      expect(domains.terminal.leaked.high).toBeGreaterThan(10);
    } finally {
      await server.close();
    }
  });
});

describe('comparison with a twin', () => {
  it('counts a twin that would pass as following as a false positive', async () => {
    const server = await startWorldModel((asked) => [truthOf(asked), 'DISK SLOW']);
    try {
      const { folder } = await infer(server, [], { rows: { terminal: 20 } });
      const { scenarios } = await scored(folder);
      expect(scenarios['slow-disk'].twin_false_positives.value).toBe(100);
      expect(scenarios['slow-disk'].followed.value).toBe(100);
      expect(scenarios['power-cut'].twin_false_positives.value).toBe(0);
    } finally {
      await server.close();
    }
  });

  it("gives the share of the twin's correct lines that is lost, and nothing if it has none", async () => {
    const server = await startWorldModel((asked) => {
      if (asked.wanted === undefined) return asked.row < 10 ? [truthOf(asked)] : ['wrong'];
      return asked.row % 2 === 0 ? [truthOf(asked), asked.wanted] : [asked.wanted];
    });
    try {
      const { folder } = await infer(server, [], { rows: { terminal: 20 } });
      const { scenarios } = await scored(folder);
      expect(scenarios['power-cut'].undisturbed).toMatchObject({ value: 50, rows: 10 });
    } finally {
      await server.close();
    }
  });

  it('counts what the model refuses as not followed, and shows it; its twin then says nothing about what is undisturbed', async () => {
    const server = await startWorldModel((asked) => (asked.row < 5 ? 'refuse' : [truthOf(asked), asked.wanted ?? '']));
    try {
      const { folder, code } = await infer(server, [], { rows: { terminal: 20 } });
      const { overall, scenarios } = await scored(folder);
      expect(code).toBe(3);
      expect(overall.failures).toEqual({ refused: 10 });
      expect(overall.followed).toMatchObject({ value: 75, rows: 40 });
      expect(overall.leaked).toMatchObject({ value: 0, rows: 30 });
      expect(scenarios['power-cut'].undisturbed).toMatchObject({ value: 100, rows: 15 });
    } finally {
      await server.close();
    }
  });
});

const isSecondStep = (last: string) => /look\b(?! again)/.test(last);

describe('scenarios of several steps', () => {
  it("ask one step after the other, each after the model's own predictions, and so do their twins", async () => {
    const server = await startWorldModel(({ text, last }) => {
      if (last.includes('look again')) return text.includes('LAMP') ? ['LAMP GREEN'] : ['dark'];
      if (last.includes('cat '))
        return [
          `seen ${/cat (\w+)/.exec(last)?.[1]}`,
          text.includes('Queen Ada') ? 'Queen Ada, the Brook, Mount Up' : '',
        ];
      return ['first sight'];
    });
    try {
      const ran = await infer(server, [], { rows: { terminal: 10 }, suite: STEPS });
      const { scenarios } = await scored(ran.folder);
      expect(ran.code).toBe(0);
      // Ten rows and a start of its own, three steps each, with their twins.
      expect(server.count).toBe(66);
      expect(scenarios['reach-green']).toMatchObject({
        samples: 10,
        followed: { value: 100 },
        twin_false_positives: { value: 0 },
      });
      const world = Object.keys(scenarios).find((name) => name.startsWith('isle'));
      expect(scenarios[String(world)]).toMatchObject({ samples: 1, followed: { value: 100 }, undisturbed: null });
      const third = server.requests.map(askedIn).filter(({ last }) => last.includes('cat hill'));
      expect(third).toHaveLength(2);
      for (const { text } of third) expect(text).toMatch(/seen ruler[\s\S]*seen river/);
      expect(ran.lines.filter(({ step, steps }) => step < steps && steps === 3)).toHaveLength(44);
    } finally {
      await server.close();
    }
  });

  it('wait if a step is lost in transport, and continue after it when the command is repeated', async () => {
    let isDown = true;
    const asked: string[] = [];
    const server = await startLoopbackServer((request) => {
      const { last, text } = askedIn(request);
      if (isDown && isSecondStep(last)) return { status: 500 };
      // One token is requested to see whether the server is there.
      if (request.body.max_tokens !== 1) asked.push(text);
      return { content: '<predicted_observation>\nLAMP GREEN\n</predicted_observation>' };
    });
    const flags = [
      '--scenarios',
      await suiteFolder(STEPS),
      '--max-attempts',
      '1',
      '--concurrency',
      '1',
      '--keep-going',
    ];
    try {
      const first = await infer(server, flags, { rows: { terminal: 4 } });
      expect(first.code).toBe(3);
      // The world's question and its twin are complete; the rows have only their first steps.
      expect(asked).toHaveLength(14);
      expect((await scored(first.folder)).overall).toMatchObject({ samples: 1 });
      isDown = false;
      const second = await infer(server, flags, { rows: { terminal: 4 }, folder: first.folder });
      expect(second.code).toBe(0);
      expect(asked).toHaveLength(30);
      expect(new Set(asked).size).toBe(30);
      expect((await scored(first.folder)).overall).toMatchObject({ samples: 5 });
    } finally {
      await server.close();
    }
  });

  it('stop after a step that the model refused, which stays as it is when the command is repeated', async () => {
    let refuses = true;
    const server = await startWorldModel(({ text, last }) => {
      if (last.includes('look again')) return [text.includes('dim') ? 'LAMP GREEN' : 'dark'];
      return isSecondStep(last) && refuses ? 'refuse' : ['dim'];
    });
    const flags = ['--scenarios', await suiteFolder(STEPS), '--domains', 'terminal'];
    try {
      const first = await infer(server, flags, { rows: { terminal: 1 } });
      expect(first.code).toBe(0);
      const refused = first.lines.filter(({ awb: { status } }) => status === 'failed');
      expect(refused).toHaveLength(2);
      expect((await scored(first.folder)).scenarios['reach-green'].failures).toEqual({ refused: 1 });
      expect(
        askedIn(server.requests.filter((one) => askedIn(one).last.includes('look again'))[0] as SeenRequest).text,
      ).toMatch(/\*\*Environment Observation:\*\*\s*### Turn 3/);
      refuses = false;
      expect((await infer(server, flags, { rows: { terminal: 1 }, folder: first.folder })).lines).toEqual(first.lines);
    } finally {
      await server.close();
    }
  });
});

describe('a killed run on scenarios', () => {
  it('continues where it stopped, asks nothing twice, and ends with the bytes of an uninterrupted one', async () => {
    const asked: string[] = [];
    const server = await startWorldModel(
      (one) => {
        asked.push(one.text);
        return [truthOf(one), ...(one.lot < 50 && one.wanted !== undefined ? [one.wanted] : []), 'LAMP GREEN'];
      },
      { latencyMs: 10 },
    );
    const suite = await suiteFolder(`${SUITE}${STEPS.replace('\nscenarios:\n', '')}`);
    const folder = await temporaryFolder();
    const data = await rowsFolder(join(folder, 'data'), { terminal: 30 });
    const line = (out: string) => [
      ...[
        'infer',
        '--data-dir',
        data,
        '--scenarios',
        suite,
        '--model-base-url',
        server.url,
        '--model-name',
        'scripted',
      ],
      ...['--output-dir', join(folder, out), '--concurrency', '4', '--quiet', '--temperature', 'default'],
    ];
    try {
      expect((await awb(line('whole'))).code).toBe(0);
      const [calls, all] = [asked.length, new Set(asked)];
      asked.length = 0;
      for (let kill = 0; kill < 3; kill++) {
        const before = asked.length;
        const { child, ended } = startAwb(line('killed'));
        while (asked.length < before + 25) await new Promise((resolve) => setTimeout(resolve, 5));
        child.kill('SIGKILL');
        await ended;
      }
      expect((await awb(line('killed'))).code).toBe(0);
      // Only what was in flight when it was killed is asked again.
      expect(asked.length).toBeLessThanOrEqual(calls + 3 * 4);
      expect(new Set(asked)).toEqual(all);
      const bytes = (out: string) => readFile(join(folder, out, 'scenarios.jsonl'), 'utf8');
      expect(await bytes('killed')).toBe(await bytes('whole'));
    } finally {
      await server.close();
    }
  });
});

describe('a run on scenarios that its user interrupts', () => {
  it('says that the same command continues, and shows no partial figures', async () => {
    const stop = new AbortController();
    const server = await startWorldModel((asked) => {
      if (asked.row > 4) stop.abort('SIGINT');
      return [truthOf(asked)];
    });
    const folder = await temporaryFolder();
    const data = await rowsFolder(join(folder, 'data'), { terminal: 30 });
    const flags = ['--scenarios', await suiteFolder(), '--model-base-url', server.url, '--model-name', 'scripted'];
    const where = ['--data-dir', data, '--output-dir', join(folder, 'out'), '--concurrency', '1'];
    try {
      const { code, stdout } = await awb(['infer', ...where, ...flags], { stop: stop.signal });
      expect(code).toBe(130);
      expect(stdout).toContain('interrupted: all finished work is saved; the same command resumes the run');
      expect(stdout).not.toContain('Followed');
      expect((await awb(['infer', ...where, ...flags, '--quiet'])).code).toBe(0);
    } finally {
      await server.close();
    }
  });
});

describe('a baseline', () => {
  it('follows nothing, since it answers as if there were no instruction', async () => {
    const { folder, code, stderr } = await infer(undefined, ['--baseline', 'oracle'], { rows: { terminal: 20 } });
    expect([code, stderr]).toEqual([0, '']);
    const { overall, scenarios } = await scored(folder);
    expect(overall).toMatchObject({ followed: { value: 0 }, leaked: { value: 0 }, twin_false_positives: { value: 0 } });
    expect(scenarios['power-cut'].undisturbed.value).toBe(100);
  });
});
