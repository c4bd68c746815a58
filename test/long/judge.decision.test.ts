// awb judge --mode decision: agents that read what they see, and agents that do not, from the endpoint to score, SQLite and report.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { randomOf } from '../../src/core/random.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { jsonOf, type Row, rowsOf } from '../support/judging.js';
import { type LoopbackServer, type SeenRequest, startLoopbackServer } from '../support/loopback-server.js';
import { rowText, writeText } from '../support/rows.js';
import { documentsIn } from '../support/static-pages.js';

let server: LoopbackServer;
afterEach(() => server.close());
const start = async (agent: (request: SeenRequest) => string) => {
  server = await startLoopbackServer((request) => ({ content: agent(request) }));
};

const action = (keys: string) => `\`\`\`json\n${JSON.stringify([{ keystrokes: `${keys}\n`, duration: 0.4 }])}\n\`\`\``;
/** The last thing that an agent sees. */
const seen = ({ body }: SeenRequest): string => body.messages.at(-1).content;
/** Opens the file that the last observation names; lists the folder if it names none. */
const reading = (request: SeenRequest) => action(/file-\d+/.exec(seen(request))?.[0] ?? 'ls');

/** Predictions over 60 trajectories of two turns each, exactly 7 in 10 of which name the file that the true observation names. */
async function predictions(change: (row: Row, at: number) => void = () => undefined) {
  const dir = await temporaryFolder();
  const lines = Array.from({ length: 120 }, (_, at) => {
    const [trajectory, turn] = [Math.floor(at / 2), 1 + (at % 2)];
    const truth = (of: number) => `**Environment Observation:**\nroot@box:~# ls\nfile-${of}\nroot@box:~# `;
    const prompts = [1, 2].map((number) => `### Turn ${number}\n**Action:**\n${action(`ls ${trajectory}`)}`);
    const shown = (3 * at) % 10 < 7 ? at : `none`;
    const row = {
      ...JSON.parse(rowText({ task: 'terminal', id: trajectory, turn_idx: turn, total_turns: 2 })),
      prompt: prompts
        .slice(0, turn)
        .map((prompt, place) => (place === turn - 1 ? `${prompt}\n\nPlease analyze` : prompt)),
      response: [truth(2 * trajectory), truth(2 * trajectory + 1)].slice(0, turn),
      current_prompt: prompts[turn - 1],
      gen: `<predicted_observation>root@box:~# ls\nfile-${shown}\nroot@box:~# </predicted_observation>`,
    };
    change(row, at);
    return JSON.stringify(row);
  });
  return { dir, path: await writeText(dir, 'predictions.jsonl', lines) };
}

const decide = ({ dir, path }: { dir: string; path: string }, options: readonly string[] = []) =>
  awb([
    ...['judge', '--predictions', path, '--output-dir', dir, '--mode', 'decision', '--concurrency', '4'],
    ...['--judge-base-url', server.url, '--judge-model', 'actor', ...options],
  ]);
const score = (dir: string, options: readonly string[] = []) =>
  awb(['score', dir, '--db', join(dir, 'runs.sqlite'), ...options]);
const equivalenceOf = async (dir: string) => JSON.parse((await score(dir, ['--json'])).stdout).decision_equivalence;

describe('an agent that reads what it sees', () => {
  it('gives the share of predictions that lead where the truth leads, in table, JSON, SQLite and report', async () => {
    await start(reading);
    const given = await predictions();
    const judged = await decide(given);
    expect(judged.code).toBe(0);
    expect(server.requests).toHaveLength(4 * 120);
    const { overall, domains } = await equivalenceOf(given.dir);
    expect(overall).toMatchObject({
      agreement: 70,
      agent_ceiling: 100,
      agent_floor: 0,
      value: 70,
      rows: 120,
      clusters: 60,
    });
    expect(overall.low).toBeGreaterThan(58);
    expect(overall.high).toBeLessThan(82);
    expect(domains.terminal).toEqual(overall);
    const { stdout } = await score(given.dir, ['--explain']);
    expect(stdout).toMatch(/Terminal\s+│?\s*120\s+│?\s*70\.00\s+│?\s*100\.00\s+│?\s*0\.00\s+│?\s*70\.00/);
    expect(stdout).toContain('agent actor');
    expect(stdout).not.toContain('uncalibrated');
    expect(stdout.replace(/\s+/g, ' ')).toContain('the part of transfer that needs no training');
    const db = new Database(join(given.dir, 'runs.sqlite'), { readonly: true });
    const stored = db
      .prepare('select domain, predicted, ceiling, floor, value, n from decision_equivalence order by domain')
      .all();
    db.close();
    const figures = { predicted: 70, ceiling: 100, floor: 0, value: 70, n: 120 };
    expect(stored).toEqual([
      { domain: '', ...figures },
      { domain: 'terminal', ...figures },
    ]);
    const board = await awb(['leaderboard', '--db', join(given.dir, 'runs.sqlite'), '--json']);
    const [block] = JSON.parse(board.stdout).blocks;
    expect(block.title).toContain('agent actor');
    const options = ['--columns', 'terminal,decision-equivalence', '--json'];
    const asked = await awb(['leaderboard', '--db', join(given.dir, 'runs.sqlite'), ...options]);
    expect(JSON.parse(asked.stdout).blocks[0].rows[0].figures['decision-equivalence']).toMatchObject({
      value: 70,
      low: overall.low,
      high: overall.high,
    });
    const shown = await awb(['runs', 'show', '1', '--db', join(given.dir, 'runs.sqlite')]);
    expect(shown.stdout).toContain('Dec');
    expect(shown.stdout).toMatch(/agent\s+actor/);
    const page = join(given.dir, 'report.html');
    await awb(['report', '--run', given.dir, '--output', page]);
    const { run } = await documentsIn(page);
    expect(JSON.stringify(run.page.blocks)).toContain('the part of transfer that needs no training');
    expect(run.page.facts).toContainEqual(['agent', expect.stringContaining('actor')]);
  });

  it('gives it within the interval if the agent itself is noisy', async () => {
    // Two of ten replies are practically random.
    await start((request) => {
      const { uniform } = randomOf(
        createHash('sha256')
          .update(`${request.body.seed} ${seen(request)}`)
          .digest()
          .readInt32BE(),
      );
      return uniform() < 0.2 ? action(`echo ${uniform()}`) : reading(request);
    });
    const given = await predictions();
    expect((await decide(given, ['--seed', '5'])).code).toBe(0);
    const { overall } = await equivalenceOf(given.dir);
    expect(overall.agent_ceiling).toBeGreaterThan(45);
    expect(overall.agent_ceiling).toBeLessThan(80);
    expect(overall.agent_floor).toBe(0);
    expect(overall.low).toBeLessThan(70);
    expect(overall.high).toBeGreaterThan(70);
    const seeds = server.requests.map(({ body }) => body.seed);
    expect(new Set(seeds).size).toBeGreaterThan(3);
  });

  it('is asked one after the other about a row, with everything but the observation equal', async () => {
    await start(reading);
    const given = await predictions();
    await decide(given, ['--concurrency', '1']);
    const rows = server.requests.map(({ body }) => body.messages);
    for (let at = 0; at < rows.length; at += 4) {
      const four = rows.slice(at, at + 4);
      expect(new Set(four.map((messages) => JSON.stringify(messages.slice(0, -1)))).size).toBe(1);
      expect(four[0]).toEqual(four[1]);
      expect(four[3].at(-1).content).toMatch(/file-\d+/);
      expect(four[3].at(-1)).not.toEqual(four[0].at(-1));
    }
  });
});

describe('an agent that does not look', () => {
  it.each([
    ['always does the same', () => action('ls')],
    ['does something else each time', ({ index }: SeenRequest) => action(`echo ${index}`)],
    ['tosses a coin', ({ index }: SeenRequest) => action(randomOf(index).uniform() < 0.5 ? 'ls' : 'pwd')],
  ])('and %s gets no equivalence, but still its raw figures', async (_, agent) => {
    await start(agent);
    const given = await predictions();
    // Asked sequentially, so the coin gives the same results in every run.
    expect((await decide(given, ['--concurrency', '1'])).code).toBe(0);
    const { overall } = await equivalenceOf(given.dir);
    expect(overall).toMatchObject({ value: null, low: null, high: null, why_none: 'does not look' });
    expect(Math.abs(overall.agent_ceiling - overall.agent_floor)).toBeLessThan(15);
    const { stdout } = await score(given.dir);
    expect(stdout.replace(/\s+/g, ' ')).toContain('None: the interval of ceiling minus floor contains 0');
    const db = new Database(join(given.dir, 'runs.sqlite'), { readonly: true });
    const stored = db.prepare('select value, why_none from decision_equivalence where domain = ?').all('terminal');
    db.close();
    expect(stored).toEqual([{ value: null, why_none: 'does not look' }]);
  });
});

describe('what can go wrong', () => {
  it('an agent without an action is asked again; after the truth the row is missing, after the prediction it counts as disagreement', async () => {
    await start((request) => {
      const file = /file-\w+/.exec(seen(request))?.[0];
      return file === 'file-0' || file === 'file-none' ? 'I am lost.' : reading(request);
    });
    const given = await predictions();
    const { code, stdout } = await decide(given, ['--max-retries', '2']);
    expect(code).toBe(3);
    expect(stdout).toContain('unreadable 1');
    const rows = await rowsOf(join(given.dir, 'judged.jsonl'));
    expect(rows[0]?.awb.judge).toMatchObject({
      status: 'failed',
      class: 'unreadable',
      reason: 'after the true observation no fence, and the action is not JSON',
    });
    const lost = rows.filter(({ gen, awb: { measures } }) => gen.includes('file-none') && measures?.agreement === 0);
    expect(lost.length).toBe(36);
  });

  it('a prediction that is empty because of its model counts as agreement 0, and the agent is not asked', async () => {
    await start(reading);
    const given = await predictions((row, at) => {
      if (at < 10) row.gen = '';
    });
    await decide(given);
    expect(server.requests).toHaveLength(4 * 110);
    const { overall } = await equivalenceOf(given.dir);
    expect(overall.agreement).toBeLessThan(70);
    expect(overall).toMatchObject({ agent_ceiling: 100, agent_floor: 0, rows: 120 });
    expect(overall.value).toBe(overall.agreement);
  });

  it('--dry-run bills four calls per prediction and asks no model', async () => {
    await start(reading);
    const given = await predictions();
    const bill = JSON.parse((await decide(given, ['--dry-run', '--json'])).stdout);
    expect(server.requests).toHaveLength(0);
    expect(bill.total.calls).toBe(4 * 120);
  });

  it("a user's own domain is accepted with its own prompt, and refused without one", async () => {
    await start(reading);
    const given = await predictions((row) => {
      row.task = 'mine/kitchen';
    });
    const without = await decide(given);
    expect(without).toMatchObject({
      code: 65,
      stderr: expect.stringContaining('predictions.jsonl:1: there is no agent prompt'),
    });
    await writeText(given.dir, 'own/agent/kitchen.txt', ['You cook.']);
    const own = ['--domain-prompts', join(given.dir, 'own')];
    expect((await decide(given, own)).code).toBe(0);
    expect(server.requests[0]?.body.messages[0].content).toBe('You cook.');
    expect((await equivalenceOf(given.dir)).domains.kitchen).toMatchObject({ agreement: 70, value: 70 });
    const turing = await awb(['judge', '--predictions', given.path, '--mode', 'metrics', ...own]);
    expect(turing).toMatchObject({ code: 2, stderr: expect.stringContaining('no effect with --mode metrics') });
  });

  it('a stopped run continues, and another agent gives another judging', async () => {
    const stop = new AbortController();
    await start((request) => {
      if (request.index === 30) stop.abort('SIGINT');
      return reading(request);
    });
    const given = await predictions();
    const args = ['judge', '--predictions', given.path, '--output-dir', given.dir, '--mode', 'decision'];
    const judging = [...args, '--judge-base-url', server.url, '--judge-model', 'actor', '--concurrency', '1'];
    await awb(judging, { stop: stop.signal });
    const asked = server.requests.length;
    expect((await awb(judging)).code).toBe(0);
    expect(server.requests.length - asked).toBeLessThan(4 * 120 - 20);
    expect((await equivalenceOf(given.dir)).overall.value).toBe(70);
    const { identity } = await jsonOf(join(given.dir, 'judged.manifest.json'));
    expect(identity).toMatchObject({ mode: 'decision', judge: 'actor', prompts: expect.any(String), frame: 1 });
    const other = await awb([...args, '--judge-base-url', server.url, '--judge-model', 'another']);
    expect(other.stdout + other.stderr).toContain('judged.jsonl contains another judging');
  });
});
