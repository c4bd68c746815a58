// Scenario suites on disk: the bundled one, and those of a user's own, which are checked whole before anything is asked. A file is read by its
// form, and checked for what no form says: whether its slots, domains and facts fit together.

import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import { fingerprintOf, listFolder, readText } from '../../benchmark/prompts.js';
import { badData, EXIT, inputMissing, nearest } from '../../core/errors.js';
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
import {
  BUNDLED_SUITES,
  leakIn,
  type Never,
  SCENARIOS_VERSION,
  type Scenario,
  type ScenarioStep,
  type ScenarioSuite,
} from './scenario.js';

const YAML_FILE = /\.ya?ml$/;
/** Of a suite in which everything is wrong, the first faults are enough. */
const MOST_FAULTS = 20;
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
): Promise<ScenarioSuite> {
  const { name, files } = await filesOf(given, cwd);
  const known = [...new Set([...DOMAINS, ...domains])];
  const wording = await bundledWording();
  const scenarios: Scenario[] = [];
  const faults: string[] = [];
  const places = new Map<string, string>();
  for (const { path, shown } of files) {
    const file = new SuiteFile(await parseYaml(await readText(path), shown, EXIT.badData), known, wording);
    for (const { scenario, at } of file.scenarios()) {
      const before = places.get(scenario.name);
      if (before === undefined) places.set(scenario.name, `${shown}:${file.lineOf(at)}`);
      else file.fault(at, `the name "${scenario.name}" stands at ${before} already; choose another`);
      scenarios.push(scenario);
    }
    faults.push(
      ...file.faults.toSorted((a, b) => a.line - b.line).map(({ line, what }) => `${shown}:${line}: ${what}`),
    );
  }
  const more = faults.length > MOST_FAULTS ? [`and ${faults.length - MOST_FAULTS} more`] : [];
  const said = [`the scenario suite ${given} cannot be used:`, ...faults.slice(0, MOST_FAULTS), ...more];
  if (faults.length > 0) throw badData(said.join('\n'));
  return { name, fingerprint: fingerprintOf([SCENARIOS_VERSION, canonicalJson(scenarios)]), scenarios };
}

/** The suite's name, and its files; `shown` is the path as messages name it: as the user gave it. */
async function filesOf(given: string, cwd: string) {
  const known = BUNDLED_SUITES.find((name) => name === given);
  const path = known === undefined ? resolve(cwd, given) : bundled(known);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) {
    const near = /[/\\]/.test(given) ? undefined : nearest(given, BUNDLED_SUITES);
    const hint = near === undefined ? '' : ` (did you mean ${near}?)`;
    throw inputMissing(
      `there is no scenario suite "${given}": the bundled ones are ${BUNDLED_SUITES.join(', ')}${hint}, and no file or folder of that name can be read; name one of them`,
    );
  }
  const name = basename(path).replace(YAML_FILE, '');
  if (found.isFile() && found.size <= MOST_BYTES) return { name, files: [{ path, shown: given }] };
  if (!found.isDirectory()) {
    throw badData(`${given} is no file of scenarios: it is no plain file, or larger than 1 MB`);
  }
  const files = (await listFolder(path)).filter((file) => YAML_FILE.test(file)).sort();
  if (files.length === 0) {
    throw inputMissing(`the folder ${given} holds no YAML file; a suite is one or more of them`);
  }
  return { name, files: files.map((file) => ({ path: join(path, file), shown: join(given, file) })) };
}

/** Seen from src as from dist, the package's root is three folders up. */
function bundled(name: string): string {
  return fileURLToPath(new URL(`../../../scenarios/${name}`, import.meta.url));
}

interface Wording {
  readonly framing: Readonly<Record<Put, string>>;
  readonly never: Pick<Never, 'phrases' | 'words'>;
}

/** What holds where a file says nothing else. */
async function bundledWording(): Promise<Wording> {
  const path = bundled('wording.yaml');
  const { plain, document } = await parseYaml(await readText(path), path, EXIT.badData);
  // The program's own file.
  return plain(document) as Wording;
}

/** Domains in which no command ends with a status that could be seen. */
const WITHOUT_STATUS: readonly Domain[] = ['search', 'android', 'web', 'os'];

interface Placed {
  readonly scenario: Scenario;
  readonly at: Path;
}

type ScenarioForm = z.infer<typeof scenarioForm>;
type WorldForm = z.infer<typeof worldForm>;

/** A file while it is read: what it says for all of its scenarios, and what is wrong in it, all of it at once. */
class SuiteFile {
  readonly faults: { readonly line: number; readonly what: string }[] = [];
  #domains: readonly Domain[] | undefined;

  constructor(
    private readonly file: Awaited<ReturnType<typeof parseYaml>>,
    private readonly known: readonly Domain[],
    private wording: Wording,
  ) {}

  lineOf(at: Path): number {
    return this.file.lineOf(at);
  }

  fault(at: Path, what: string): undefined {
    this.faults.push({ line: this.lineOf(at), what });
    return undefined;
  }

  scenarios(): Placed[] {
    const form = this.#read(fileForm, this.file.plain(this.file.document), []);
    if (form === undefined) return [];
    this.#domains = form.domains;
    this.wording = {
      framing: { ...this.wording.framing, ...form.framing },
      never: withNever(this.wording.never, form.never === undefined ? [] : [form.never]),
    };
    this.#requireKnown(form.domains, ['domains']);
    const found = form.scenarios.flatMap((item, index) => {
      const at = ['scenarios', index];
      const read = this.#read(scenarioForm, item, at);
      const scenario = read && this.#scenario(read, at);
      return scenario === undefined ? [] : [{ scenario, at }];
    });
    const world = form.world === undefined ? undefined : this.#read(worldForm, form.world, ['world']);
    return world === undefined ? found : [...found, ...this.#questions(world, ['world'])];
  }

  #read<Form extends z.ZodType>(form: Form, value: unknown, at: Path): z.infer<Form> | undefined {
    const found = form.safeParse(value);
    if (found.success) return found.data;
    for (const { path, text } of faultsOf(found.error)) this.fault([...at, ...path], text);
    return undefined;
  }

  #requireKnown(domains: readonly Domain[] = [], at: Path): void {
    const stranger = domains.find((domain) => !this.known.includes(domain));
    if (stranger !== undefined) this.fault(at, unknownName(`domain "${stranger}"`, stranger, this.known));
  }

  #scenario(form: ScenarioForm, at: Path): Scenario | undefined {
    const { name, about, put, instruction, applies, then } = form;
    const before = this.faults.length;
    this.#requireKnown(form.domains, [...at, 'domains']);
    const domains = form.domains ?? this.#domains;
    if (domains === undefined) {
      return this.fault(at, 'the scenario has no "domains"; name them here or at the top of the file');
    }
    const { verify, never } = this.#sortedOut(form.verify, [...at, 'verify'], domains);
    const framing = this.wording.framing[put];
    const scenario: Scenario = {
      ...{ name, about, put, instruction, domains, framing },
      at: { applies },
      steps: [{ verify }, ...then.map((action) => ({ action, verify }))],
      holds: then.length > 0 ? 'any' : 'each',
      never: neverOf(withNever(this.wording.never, never), instruction, framing),
    };
    // What a scenario wants to see must not count as a leak.
    for (const wanted of verify.flatMap((each) => (each.kind === 'contains' ? each.texts : []))) {
      const why = leakIn(scenario.never, wanted, []);
      const remedy = 'put it in quotes in the instruction';
      if (why !== undefined) {
        this.fault([...at, 'verify'], `what "contains" wants counts as a leak, since ${why}; ${remedy}`);
      }
    }
    if (this.faults.length === before) this.#checkSlots(form, verify, at);
    return scenario;
  }

  /** The verifiers of a list, and what stands among them of what must not be said. */
  #sortedOut(forms: VerifierForms, at: Path, domains: readonly Domain[]) {
    const without = domains.find((domain) => WITHOUT_STATUS.includes(domain));
    for (const [index, { kind }] of forms.entries()) {
      if (kind !== 'exit_status' || without === undefined) continue;
      this.fault([...at, index], `the domain ${without} shows no exit status; use "contains" or "matches"`);
    }
    return {
      verify: forms.filter((form) => form.kind !== 'never'),
      never: forms.filter((form) => form.kind === 'never'),
    };
  }

  /** Every slot is filled by a group, and every group fills one. */
  #checkSlots(
    { instruction, then, applies: { not: _, ...wanted } }: ScenarioForm,
    verify: readonly Verifier[],
    at: Path,
  ) {
    const groups = [...new Set(Object.values(wanted).flatMap((pattern) => compilePattern(pattern).names))];
    const used = Object.entries({ instruction, then, verify }).flatMap(([key, value]) =>
      slotsIn(JSON.stringify(value)).map((slot) => ({ key, slot })),
    );
    const unfilled = used.filter(({ slot }) => !groups.includes(slot));
    for (const { key, slot } of unfilled) {
      const way = `name a group (?<${slot}>...) in "applies"`;
      this.fault([...at, key], `nothing fills the slot {${slot}} in "${key}"; ${way}`);
    }
    if (unfilled.length > 0) return;
    for (const group of groups.filter((name) => !used.some(({ slot }) => slot === name))) {
      const way = `write {${group}} where it belongs, or (?:...) instead of the group`;
      this.fault([...at, 'applies'], `no text uses the group "${group}"; ${way}`);
    }
  }

  /** A scenario for each of a world's questions, under the world's name and its own. */
  #questions(form: WorldForm, at: Path): Placed[] {
    const { name, about, put, domain, system, task, state, instruction, facts, questions } = form;
    const before = this.faults.length;
    this.#requireKnown([domain], [...at, 'domain']);
    const places = new Map<string, Path>();
    for (const [index, { subject, relation }] of facts.entries()) {
      const place = [...at, 'facts', index];
      const other = places.get(canonicalJson([subject, relation]));
      const what = `the ${relation} of ${subject} is told twice (line ${other && this.lineOf(other)}); leave one of them out`;
      if (other === undefined) places.set(canonicalJson([subject, relation]), place);
      else this.fault(place, what);
    }
    const forms: VerifierForms = form.verify ?? [{ kind: 'contains', texts: ['{object}'] }];
    const { verify } = this.#sortedOut(forms, [...at, 'verify'], [domain]);
    if (slotsIn(JSON.stringify(verify)).join() !== 'object') {
      this.fault([...at, 'verify'], '"verify" has to hold the slot {object}, and no other: what the fact says');
    }
    if (slotsIn(instruction).join() !== 'facts') {
      this.fault([...at, 'instruction'], '"instruction" has to hold the slot {facts}, and no other');
    }
    if (this.faults.length > before) return [];
    const framing = this.wording.framing[put];
    const told = facts.map(({ subject, relation, object }) => `- ${subject}, ${relation}: ${object}`).join('\n');
    const asked = new Set<string>();
    const stepOf = ({ action, asks }: WorldForm['questions'][number]['steps'][number], place: Path): ScenarioStep => {
      const fact = facts.find(({ subject, relation }) => canonicalJson([subject, relation]) === canonicalJson(asks));
      asked.add(canonicalJson(asks));
      if (fact === undefined) {
        const [subject = '', relation = ''] = asks;
        const way = 'name the subject and the relation of a fact, as [SUBJECT, RELATION]';
        this.fault([...place, 'asks'], `there is no fact of the ${relation} of ${subject}; ${way}`);
      } else if (action.includes(fact.object)) {
        this.fault(place, `the action names what it asks for ("${fact.object}"); ask for it in other words`);
      }
      return { action, verify: filled(verify, { object: fact?.object ?? '' }) };
    };
    const found = questions.map((question, index): Placed => {
      const place = [...at, 'questions', index];
      const scenario: Scenario = {
        ...{ about, put, framing },
        name: `${name}-${question.name}`,
        domains: [domain],
        instruction: withSlots(instruction, { facts: told }),
        at: { start: { domain, systemPrompt: system, task, state } },
        steps: question.steps.map((step, number) => stepOf(step, [...place, 'steps', number])),
        holds: 'each',
        never: neverOf(this.wording.never, instruction, framing),
      };
      return { scenario, at: place };
    });
    for (const { subject, relation } of this.faults.length > before ? [] : facts) {
      const key = canonicalJson([subject, relation]);
      const what = `no question asks for the ${relation} of ${subject}; ask for it, or leave it out`;
      if (!asked.has(key)) this.fault(places.get(key) ?? at, what);
    }
    return found;
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
