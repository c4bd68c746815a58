// Scenario suites on disk: the bundled one, and those of a user's own, which are checked whole before anything is asked. A file is read by its
// form, and checked for what no form says: whether its slots, domains and facts fit together.

import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import { fingerprintOf, listFolder, readText } from '../../benchmark/prompts.js';
import { badData, EXIT, inputMissing } from '../../core/errors.js';
import { canonicalJson } from '../../core/json.js';
import { faultsOf, type Path, unknownName } from '../../core/schema.js';
import { DOMAINS, type Domain } from '../../core/types.js';
import { parseYaml } from '../../disk/yaml-file.js';
import {
  compilePattern,
  fileForm,
  filled,
  type NeverForm,
  ownWordsOf,
  type Put,
  scenarioForm,
  slotsIn,
  type Verifier,
  type VerifierForms,
  withSlots,
  worldForm,
} from './forms.js';
import { BUNDLED_SUITES, type Never, SCENARIOS_VERSION, type Scenario } from './scenario.js';

/**
 * Scenarios as a suite's files describe them, every one of them checked, in the order of the files' names. The fingerprint is a SHA-256
 * in hex over all that the suite says: comments and layout do not count.
 */
export type ScenarioSuite = Awaited<ReturnType<typeof loadScenarioSuite>>;

const YAML_FILE = /\.ya?ml$/;
/** A device has no end, and YAML of many keys takes minutes. */
const MOST_BYTES = 1_000_000;

/**
 * Reads the suite of that name, in that folder (all of its YAML files) or in that file. A bundled suite's name comes before a folder
 * of the same name, which `./NAME` reaches. docs/scenarios.md describes the format.
 * @param domains that the user's own prompts or rubrics know beside the seven
 * @throws UserError: 66 where there is none, 65 with every fault by file and line
 */
export async function loadScenarioSuite(
  given: string,
  { cwd, domains = [] }: { readonly cwd: string; readonly domains?: readonly Domain[] },
) {
  const { name, files } = await filesOf(given, cwd);
  const known = [...new Set([...DOMAINS, ...domains])];
  const wordingPath = bundled('wording.yaml');
  const { plain, document } = await parseYaml(await readText(wordingPath), wordingPath, EXIT.badData);
  // The program's own file.
  const wording = plain(document) as Wording;
  const scenarios: Scenario[] = [];
  const faults: string[] = [];
  const places = new Map<string, string>();
  for (const { path, shown } of files) {
    const file = await parseYaml(await readText(path), shown, EXIT.badData);
    const found: { readonly line: number; readonly what: string }[] = [];
    const fault: Tell = (at, what) => void found.push({ line: file.lineOf(at), what });
    for (const { scenario, at } of scenariosIn(file.plain(file.document), known, wording, fault)) {
      const before = places.get(scenario.name);
      if (before === undefined) places.set(scenario.name, `${shown}:${file.lineOf(at)}`);
      else fault(at, `the name "${scenario.name}" stands at ${before} already; choose another`);
      scenarios.push(scenario);
    }
    faults.push(...found.sort((a, b) => a.line - b.line).map(({ line, what }) => `${shown}:${line}: ${what}`));
  }
  if (faults.length > 0) throw badData([`the scenario suite ${given} cannot be used:`, ...faults].join('\n'));
  return { name, fingerprint: fingerprintOf([SCENARIOS_VERSION, canonicalJson(scenarios)]), scenarios };
}

/** The suite's name, and its files; `shown` is the path as messages name it: as the user gave it. */
async function filesOf(given: string, cwd: string) {
  const known = BUNDLED_SUITES.find((name) => name === given);
  const path = known === undefined ? resolve(cwd, given) : bundled(known);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) {
    throw inputMissing(
      `there is no scenario suite "${given}": name a folder, a file, or a bundled one (${BUNDLED_SUITES.join(', ')})`,
    );
  }
  const name = basename(path).replace(YAML_FILE, '');
  if (found.isFile() && found.size <= MOST_BYTES) return { name, files: [{ path, shown: given }] };
  if (!found.isDirectory()) throw badData(`${given} is not a file of scenarios: not a regular file, or over 1 MB`);
  const files = (await listFolder(path)).filter((file) => YAML_FILE.test(file)).sort();
  if (files.length === 0) throw inputMissing(`the folder ${given} holds no YAML file; a suite is one or more of them`);
  return { name, files: files.map((file) => ({ path: join(path, file), shown: join(given, file) })) };
}

/** Seen from src as from dist, the package's root is three folders up. */
function bundled(name: string): string {
  return fileURLToPath(new URL(`../../../scenarios/${name}`, import.meta.url));
}

/** What holds where a file says nothing else. */
interface Wording {
  readonly framing: Readonly<Record<Put, string>>;
  readonly never: Pick<Never, 'phrases' | 'words'>;
}

/** Is told what is wrong, and where. */
type Tell = (at: Path, what: string) => void;

/** What a file holds; `tell` hears of all that is wrong in it at once. What a scenario at fault is like, nobody knows. */
function scenariosIn(
  value: unknown,
  known: readonly Domain[],
  bundledWording: Wording,
  tell: Tell,
): { readonly scenario: Scenario; readonly at: Path }[] {
  let faults = 0;
  const fault: Tell = (at, what) => {
    faults++;
    tell(at, what);
  };
  const read = <Form extends z.ZodType>(form: Form, given: unknown, at: Path): z.infer<Form> | undefined => {
    const found = form.safeParse(given);
    if (found.success) return found.data;
    for (const { path, text } of faultsOf(found.error)) fault([...at, ...path], text);
    return undefined;
  };
  const requireKnown = (domains: readonly Domain[] = [], at: Path) => {
    const stranger = domains.find((domain) => !known.includes(domain));
    if (stranger !== undefined) fault(at, unknownName(`domain "${stranger}"`, stranger, known));
  };
  const file = read(fileForm, value, []);
  if (file === undefined) return [];
  requireKnown(file.domains, ['domains']);
  const { framing: framings } = bundledWording;
  const wording = withNever(bundledWording.never, file.never === undefined ? [] : [file.never]);
  const found = file.scenarios.flatMap((item, index) => {
    const at = ['scenarios', index];
    const form = read(scenarioForm, item, at);
    return form === undefined ? [] : { scenario: scenarioOf(form, at), at };
  });
  const world = file.world === undefined ? undefined : read(worldForm, file.world, ['world']);
  return world === undefined ? found : [...found, ...questionsOf(world, ['world'])];

  function scenarioOf(form: z.infer<typeof scenarioForm>, at: Path): Scenario {
    const { name, about, put, instruction, applies, then, domains = file?.domains ?? [] } = form;
    const before = faults;
    requireKnown(form.domains, [...at, 'domains']);
    if (domains.length === 0) fault(at, 'the scenario has no "domains"; name them here or at the top of the file');
    const verify = form.verify.filter((each) => each.kind !== 'never');
    const framing = framings[put];
    const nevers = form.verify.filter((each) => each.kind === 'never');
    const never = neverOf(withNever(wording, nevers), instruction, framing);
    if (faults === before) checkSlots(form, verify, (key, what) => fault([...at, key], what));
    return {
      ...{ name, about, put, instruction, domains, framing, at: { applies } },
      steps: [{ verify }, ...then.map((action) => ({ action, verify }))],
      holds: then.length > 0 ? 'any' : 'each',
      never,
    };
  }

  /** A scenario for each of a world's questions, under the world's name and its own. */
  function questionsOf(form: z.infer<typeof worldForm>, at: Path) {
    const { name, about, put, domain, system, task, state, instruction, questions } = form;
    const before = faults;
    requireKnown([domain], [...at, 'domain']);
    const factKey = (subject: string, relation: string) => canonicalJson([subject, relation]);
    const facts = new Map(form.facts.map((fact) => [factKey(fact.subject, fact.relation), fact]));
    for (const [index, fact] of form.facts.entries()) {
      if (facts.get(factKey(fact.subject, fact.relation)) === fact) continue;
      fault([...at, 'facts', index], `the ${fact.relation} of ${fact.subject} is told twice; leave one of them out`);
    }
    const forms: VerifierForms = form.verify ?? [{ kind: 'contains', texts: ['{object}'] }];
    const verify = forms.filter((each) => each.kind !== 'never');
    if (slotsIn(JSON.stringify(verify)).join() !== 'object') {
      fault([...at, 'verify'], '"verify" has to hold the slot {object}, and no other: what the fact says');
    }
    if (slotsIn(instruction).join() !== 'facts') {
      fault([...at, 'instruction'], '"instruction" has to hold the slot {facts}, and no other');
    }
    if (faults > before) return [];
    const framing = framings[put];
    const told = form.facts.map(({ subject, relation, object }) => `- ${subject}, ${relation}: ${object}`).join('\n');
    return questions.map((question, index) => {
      const place = [...at, 'questions', index];
      const steps = question.steps.map(({ action, asks }, number) => {
        const object = facts.get(canonicalJson(asks))?.object;
        if (object === undefined) {
          const [subject = '', relation = ''] = asks;
          const way = 'name the subject and the relation of a fact, as [SUBJECT, RELATION]';
          fault([...place, 'steps', number, 'asks'], `there is no fact of the ${relation} of ${subject}; ${way}`);
        } else if (action.includes(object)) {
          const way = 'ask for it in other words';
          fault([...place, 'steps', number], `the action names what it asks for ("${object}"); ${way}`);
        }
        return { action, verify: filled(verify, { object: object ?? '' }) };
      });
      const scenario: Scenario = {
        ...{ about, put, framing, steps, holds: 'each' },
        name: `${name}-${question.name}`,
        domains: [domain],
        instruction: withSlots(instruction, { facts: told }),
        at: { start: { domain, systemPrompt: system, task, state } },
        never: neverOf(wording, instruction, framing),
      };
      return { scenario, at: place };
    });
  }
}

/** Every slot is filled by a group. */
function checkSlots(
  { instruction, then, applies: { not: _, ...wanted } }: z.infer<typeof scenarioForm>,
  verify: readonly Verifier[],
  fault: (key: string, what: string) => void,
) {
  const groups = [...new Set(Object.values(wanted).flatMap((pattern) => compilePattern(pattern).names))];
  const used = Object.entries({ instruction, then, verify }).flatMap(([key, value]) =>
    slotsIn(JSON.stringify(value)).map((slot) => ({ key, slot })),
  );
  for (const { key, slot } of used.filter(({ slot }) => !groups.includes(slot))) {
    fault(key, `nothing fills the slot {${slot}} in "${key}"; name a group (?<${slot}>...) in "applies"`);
  }
}

/** With the phrases that further fields add; the last that tells a number of words holds. */
function withNever(before: Wording['never'], added: readonly NeverForm[]): Wording['never'] {
  return {
    phrases: [...before.phrases, ...added.flatMap(({ phrases }) => phrases ?? [])],
    words: added.findLast(({ words }) => words !== undefined)?.words ?? before.words,
  };
}

/** What a scenario's predictions must not say. */
function neverOf({ phrases, words }: Wording['never'], instruction: string, framing: string): Never {
  return { phrases, words, own: words === 0 ? [] : [...ownWordsOf(instruction), ...ownWordsOf(framing)] };
}
