// The bundled scenario suite: to which recorded rows it applies, its golden cases, and whether its fictional world is consistent.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { present, UserError } from '../../src/core/errors.js';
import { withoutMarker } from '../../src/core/reply.js';
import { earlierTurns, groundTruthOf, textsOf } from '../../src/core/turn.js';
import { DOMAINS, type Sample } from '../../src/core/types.js';
import { outcomeOf, type Scenario, scenarioAt } from '../../src/simulate/scenarios/scenario.js';
import { loadScenarioSuite } from '../../src/simulate/scenarios/suite.js';
import { ROOT } from '../support/cli.js';
import { folderOf } from '../support/folder.js';
import { RECORDED } from '../support/subjects.js';

const { scenarios: SCENARIOS } = await loadScenarioSuite('standard', { cwd: ROOT });
const AT_ROWS = SCENARIOS.filter(({ at }) => 'applies' in at);
const WORLD = SCENARIOS.filter(({ at }) => 'start' in at);

const truthOf = (sample: Sample) => withoutMarker(groundTruthOf(sample));

describe('the bundled suite', () => {
  test('has four scenarios or more for each of the seven domains', () => {
    const counts = DOMAINS.map((domain) => AT_ROWS.filter(({ domains }) => domains.includes(domain)).length);
    expect(counts).toEqual([6, 6, 5, 5, 5, 5, 5]);
  });

  test('applies to the listed numbers of recorded rows', () => {
    const counts = AT_ROWS.map((scenario) => {
      const rows = RECORDED.filter((sample) => scenarioAt(scenario, sample) !== undefined);
      return `${scenario.name} ${rows.length}`;
    });
    expect(counts).toMatchInlineSnapshot(`
      [
        "android-crash-dialog 7",
        "android-save-fails 2",
        "android-other-value 2",
        "android-other-label 2",
        "android-low-battery 3",
        "mcp-rate-limited 11",
        "mcp-missing-table 4",
        "mcp-changed-price 1",
        "mcp-tool-gone 11",
        "mcp-emptied-graph 2",
        "mcp-entity-appears 4",
        "os-update-dialog 7",
        "os-program-crash 7",
        "os-read-only-title 4",
        "os-extra-menu 7",
        "os-disk-notification 7",
        "search-page-gone 3",
        "search-rate-limited 1",
        "search-new-first-result 1",
        "search-page-notice 3",
        "search-forgotten-key 1",
        "search-maintenance 6",
        "swe-missing-file 2",
        "swe-out-of-memory 5",
        "swe-timeout 5",
        "swe-further-change 2",
        "swe-index-lock 5",
        "terminal-full-disk 1",
        "terminal-tool-removed 6",
        "terminal-missing-path 2",
        "terminal-exit-status 1",
        "terminal-reboot-notice 14",
        "web-consent-dialog 8",
        "web-service-unavailable 8",
        "web-changed-price 2",
        "web-session-expired 4",
        "web-announcement 8",
      ]
    `);
  });

  test('is neither followed nor leaked by the truth at any recorded row', () => {
    for (const scenario of AT_ROWS) {
      for (const sample of RECORDED) {
        const told = scenarioAt(scenario, sample);
        if (told === undefined) continue;
        const prediction = truthOf(sample);
        const step = { domain: sample.domain, prediction, truth: prediction, action: '', seen: '' };
        const { followed, leaked } = outcomeOf(told, [step]);
        expect([scenario.name, sample.key, followed, leaked]).toEqual([scenario.name, sample.key, false, false]);
      }
    }
  });
});

type Edit = readonly [from: string, to: string];
type Prediction = string | { readonly edits: readonly Edit[] };
interface Case {
  readonly at?: readonly [id: number, turn: number];
  readonly follows: readonly Prediction[];
  readonly misses: readonly Prediction[];
  readonly leaks: readonly Prediction[];
  readonly twin?: readonly Prediction[];
}

describe('golden cases', () => {
  // The file was written for this test.
  const cases = parse(readFileSync(`${ROOT}/fixtures/scenarios/cases.yaml`, 'utf8')) as Record<string, Case>;
  const byName = (name: string): Scenario => present(SCENARIOS.find((scenario) => scenario.name === name));

  test('exist for every scenario at rows, and for the world', () => {
    const names = Object.keys(cases).filter((name) => !name.startsWith('harrow-quay'));
    expect(names.toSorted()).toEqual(AT_ROWS.map(({ name }) => name).toSorted());
    expect(Object.keys(cases)).toContain(present(WORLD[0]).name);
  });

  describe.each(Object.keys(cases))('of %s', (name) => {
    const { at, follows, misses, leaks, twin = ['truth'] } = present(cases[name]);
    const row = at && rowAt(byName(name), ...at);
    const told = row === undefined ? byName(name) : present(scenarioAt(byName(name), row));
    const outcome = (predictions: readonly Prediction[]): ReturnType<typeof outcomeOf> =>
      outcomeOf(
        told,
        predictions.map((prediction, step) => predicted(prediction, step, told, row)),
      );

    test('a text that follows counts as followed, and leaks nothing', () => {
      expect(outcome(follows)).toMatchObject({ followed: true, leaked: false });
    });

    test('a text that misses does not count as followed, and leaks nothing', () => {
      expect(outcome(misses)).toMatchObject({ followed: false, leaked: false });
    });

    test('a text that leaks is detected', () => {
      expect(outcome(leaks)).toMatchObject({ leaked: true });
    });

    test('an untouched twin does not count as followed', () => {
      expect(outcome(twin)).toMatchObject({ followed: false, leaked: false });
    });
  });
});

/** The row of a domain by its id and turn, from fixtures/recorded. */
function rowAt({ domains }: Scenario, id: number, turn: number): Sample {
  const domain = present(domains[0]);
  const lines = readFileSync(`${ROOT}/fixtures/recorded/${domain}_test.jsonl`, 'utf8').split('\n').filter(Boolean);
  const index = lines.findIndex((line) => {
    const row: unknown = JSON.parse(line);
    return (
      typeof row === 'object' &&
      row !== null &&
      'id' in row &&
      'turn_idx' in row &&
      row.id === id &&
      row.turn_idx === turn
    );
  });
  expect(index).toBeGreaterThanOrEqual(0);
  return present(RECORDED.filter((sample) => sample.domain === domain)[index]);
}

function predicted(prediction: Prediction, step: number, told: Scenario, row: Sample | undefined) {
  const truth = row && truthOf(row);
  return {
    domain: present(told.domains[0]),
    prediction: textOf(prediction, truth ?? ''),
    action: told.steps[step]?.action ?? (row ? present(row.prompts[row.turnIdx - 1]) : ''),
    seen: row ? [...textsOf(earlierTurns(row)), present(row.prompts[row.turnIdx - 1])].join('\n') : '',
    ...(truth === undefined || step > 0 ? {} : { truth }),
  };
}

function textOf(prediction: Prediction, truth: string): string {
  if (typeof prediction === 'string') return prediction === 'truth' ? truth : prediction;
  return prediction.edits.reduce((text, [from, to]) => {
    expect(text).toContain(from);
    return text.replace(from, () => to);
  }, truth);
}

describe('the fictional world', () => {
  const parsed = parse(readFileSync(`${ROOT}/scenarios/standard/world.yaml`, 'utf8')) as {
    world: {
      facts: { subject: string; relation: string; object: string }[];
      questions: { name: string; steps: { action: string; asks: [string, string] }[] }[];
    };
  };
  const { facts, questions } = parsed.world;

  test('has thirty facts, no two of which contradict each other', () => {
    expect(facts).toHaveLength(30);
    const objects = new Map(facts.map(({ subject, relation, object }) => [`${subject}/${relation}`, object]));
    expect(objects.size).toBe(30);
    // A value shared by two facts could be right for the wrong reason.
    expect(new Set(objects.values()).size).toBe(30);
  });

  test('answers every question from its facts alone: each step continues from what the previous one found', () => {
    const find = (subject: string, relation: string) =>
      facts.filter((fact) => fact.subject === subject && fact.relation === relation).map(({ object }) => object);
    for (const { steps } of questions) {
      expect(steps).toHaveLength(3);
      const call = JSON.parse(present(steps.at(-1)).action) as { arguments: { start: string; path: string[] } };
      let at = call.arguments.start;
      for (const [index, step] of steps.entries()) {
        const { start, path } = (JSON.parse(step.action) as typeof call).arguments;
        expect([start, path]).toEqual([call.arguments.start, call.arguments.path.slice(0, index + 1)]);
        expect(step.asks).toEqual([at, path.at(-1)]);
        const found = find(at, present(path.at(-1)));
        expect(found).toHaveLength(1);
        at = present(found[0]);
      }
    }
  });

  test('is asked for each of its facts once', () => {
    const asked = questions.flatMap(({ steps }) => steps.map(({ asks }) => asks.join('/')));
    expect(asked.toSorted()).toEqual(facts.map(({ subject, relation }) => `${subject}/${relation}`).toSorted());
  });

  test('names no answer in any action, so the answer can only come from the facts', () => {
    const actions = questions.flatMap(({ steps }) => steps.map(({ action }) => action)).join('\n');
    for (const { object } of facts) expect(actions).not.toContain(object);
  });

  test('states every fact in the instruction of every question, and has each answer', () => {
    expect(WORLD).toHaveLength(questions.length);
    for (const { instruction, steps } of WORLD) {
      for (const { subject, relation, object } of facts) {
        expect(instruction).toContain(`- ${subject}, ${relation}: ${object}`);
      }
      expect(steps).toHaveLength(3);
    }
  });
});

describe('docs/scenarios.md', () => {
  const page = readFileSync(`${ROOT}/docs/scenarios.md`, 'utf8');
  const examples = new Map(
    Array.from(page.matchAll(/```yaml\n(# (\S+)\n.*?)```/gs), ([, text = '', name = '']) => [name, text]),
  );

  test('lists the bundled scenarios of each domain', () => {
    for (const domain of DOMAINS) {
      const names = AT_ROWS.filter(({ domains }) => domains.includes(domain)).map(({ name, holds }) =>
        holds === 'any' ? `\`${name}\` (within three steps)` : `\`${name}\``,
      );
      expect(page).toContain(`| ${domain} | ${names.join(', ')} |`);
    }
    expect(page).toContain(`holds ${AT_ROWS.length} scenarios at rows`);
  });

  test('shows suites that are valid as printed', async () => {
    const folder = await folderOf(Object.fromEntries(examples));
    const names = await Promise.all(
      [...examples.keys()].map(async (file) =>
        (await loadScenarioSuite(file, { cwd: folder })).scenarios.map(({ name }) => name),
      ),
    );
    expect(names).toEqual([['shop-sold-out', 'shop-closing-soon'], ['old-mill-mule']]);
  });

  test('shows the errors that are really reported', async () => {
    const broken = present(examples.get('shop.yaml')).replace('[web]', '[webb]').replace('contains: [', 'contain: [');
    const folder = await folderOf({ 'shop.yaml': broken });
    const shown = present(/```\n(the scenario suite shop\.yaml.*?)\n```/s.exec(page)?.[1]);
    await expect(loadScenarioSuite('shop.yaml', { cwd: folder })).rejects.toThrow(new UserError(shown, 65));
  });
});
