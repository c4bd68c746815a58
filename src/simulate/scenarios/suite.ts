// Scenario suites on disk: the bundled one, and the user's own, which are checked completely before anything is asked. A file is read by its
// form, then checked for what the form cannot express: whether its slots, domains and facts fit together.

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
 * The scenarios in a suite's files, all checked, in order of file names. The fingerprint is a SHA-256 in hex of the suite's contents;
 * comments and layout do not count.
 */
export type ScenarioSuite = Awaited<ReturnType<typeof loadScenarioSuite>>;

const YAML_FILE = /\.ya?ml$/;
/** A device never ends, and YAML with very many keys takes minutes. */
const MOST_BYTES = 1_000_000;

/**
 * Reads a suite by bundled name, folder (all its YAML files) or file. A bundled suite takes precedence over a folder of the same name;
 * `./NAME` names the folder. docs/scenarios.md describes the format.
 * @param domains known to the user's own prompts or rubrics, in addition to the seven
 * @throws UserError: 66 if there is none, 65 with every fault by file and line
 */
export async function loadScenarioSuite(
  given: string,
  { cwd, domains = [] }: { readonly cwd: string; readonly domains?: readonly Domain[] },
) {
  const { name, files } = await filesOf(given, cwd);
  const known = [...new Set([...DOMAINS, ...domains])];
  const wordingPath = bundled('wording.yaml');
  const { plain, document } = await parseYaml(await readText(wordingPath), wordingPath, EXIT.badData);
  // A file of this program.
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
      else fault(at, `the name "${scenario.name}" is already used at ${before}; choose another`);
      scenarios.push(scenario);
    }
    faults.push(...found.sort((a, b) => a.line - b.line).map(({ line, what }) => `${shown}:${line}: ${what}`));
  }
  if (faults.length > 0) throw badData([`the scenario suite ${given} cannot be used:`, ...faults].join('\n'));
  return { name, fingerprint: fingerprintOf([SCENARIOS_VERSION, canonicalJson(scenarios)]), scenarios };
}

/** The suite's name and files; `shown` is the path in messages, as the user gave it. */
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
  if (!found.isDirectory()) throw badData(`${given} is not a scenario file: not a regular file, or over 1 MB`);
  const files = (await listFolder(path)).filter((file) => YAML_FILE.test(file)).sort();
  if (files.length === 0) throw inputMissing(`the folder ${given} has no YAML file; a suite needs at least one`);
  return { name, files: files.map((file) => ({ path: join(path, file), shown: join(given, file) })) };
}

/** From src and from dist, the package's root is three folders up. */
function bundled(name: string): string {
  return fileURLToPath(new URL(`../../../scenarios/${name}`, import.meta.url));
}

/** Defaults for a file. */
interface Wording {
  readonly framing: Readonly<Record<Put, string>>;
  readonly never: Pick<Never, 'phrases' | 'words'>;
}

/** Called with a fault and its place. */
type Tell = (at: Path, what: string) => void;

/** The scenarios of a file; `tell` is called with all its faults. Faulty scenarios are left out. */
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

  /** A scenario for each question of a world, named by the world and the question. */
  function questionsOf(form: z.infer<typeof worldForm>, at: Path) {
    const { name, about, put, domain, system, task, state, instruction, questions } = form;
    const before = faults;
    requireKnown([domain], [...at, 'domain']);
    const factKey = (subject: string, relation: string) => canonicalJson([subject, relation]);
    const facts = new Map(form.facts.map((fact) => [factKey(fact.subject, fact.relation), fact]));
    for (const [index, fact] of form.facts.entries()) {
      if (facts.get(factKey(fact.subject, fact.relation)) === fact) continue;
      fault([...at, 'facts', index], `the ${fact.relation} of ${fact.subject} appears twice; remove one`);
    }
    const forms: VerifierForms = form.verify ?? [{ kind: 'contains', texts: ['{object}'] }];
    const verify = forms.filter((each) => each.kind !== 'never');
    if (slotsIn(JSON.stringify(verify)).join() !== 'object') {
      fault([...at, 'verify'], '"verify" must contain the slot {object} for the fact, and no other');
    }
    if (slotsIn(instruction).join() !== 'facts') {
      fault([...at, 'instruction'], '"instruction" must contain the slot {facts}, and no other');
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

/** Checks that a group fills every slot. */
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

/** Adds the phrases of further fields; the last number of words applies. */
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
