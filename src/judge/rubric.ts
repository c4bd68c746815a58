// The mode `rubric`: a judge rates five dimensions under a rubric pack; and the messages that put a prediction to it.

import { previousState } from '../benchmark/baselines.js';
import { invitesConfusion } from '../benchmark/suspicion.js';
import { equalRuns } from '../core/edits.js';
import { badData, EXIT, present, UserError } from '../core/errors.js';
import { FACTS_VERSION } from '../core/facts.js';
import { FACTS_RECALL, QUOTES_FOUND, rated, unrated } from '../core/judgement.js';
import { counted, escaped } from '../core/printable.js';
import { pythonStrip, readPrediction, withIndent, withoutMarker } from '../core/reply.js';
import { type OptionalSlot, optionalSlots, type RubricPack, readTemplate, type TemplateSlot } from '../core/rubric.js';
import { actionOf, earlierTurns, groundTruthOf, textsOf } from '../core/turn.js';
import type { ChatMessage, Sample, Verdict } from '../core/types.js';
import { answerMark, askingForMark, framed, framedHistory, unusedMark } from './answer-mark.js';
import type { Mode, Part, VerdictReading } from './mode.js';
import { readOfficialVerdict, readStrictVerdict, SCHEMA_VERSION, STRICT_VERSION, verdictFormat } from './verdicts.js';

const RECALL = { one: 'recall of determined facts', many: 'shares of determined facts met' };
const FOUND = { one: 'share of quotes found', many: 'shares of checklist quotes found in the truth or the prediction' };

export const rubric: Mode<readonly [Verdict & { status: 'ok' }]> = {
  help: 'an LLM rates five dimensions',
  noun: 'judgements',
  asksJudge: true,
  rates: true,
  judgesWithoutTruth: true,
  measures: {
    [FACTS_RECALL]: { range: [0, 100], better: 'larger', words: RECALL },
    [QUOTES_FOUND]: { range: [0, 100], better: 'neither', words: FOUND },
  },
  async open({ verdicts: wanted, rubrics, holdsReplies = false, sees = 'history' }) {
    const pack = sees === 'history' ? await rubrics() : withoutTruth(await rubrics());
    const verdicts = readingFor(pack, wanted);
    const isStrict = verdicts === 'strict';
    // The official rubrics ask for text around the JSON.
    const isHeld = holdsReplies && !pack.official;
    return {
      name: pack.hidesTruth ? `${pack.name}-rollout` : pack.name,
      identity: {
        rubrics: { name: pack.name, fingerprint: pack.fingerprint, ...messageVersions(pack) },
        verdicts,
        ...(sees === 'history' ? {} : { sees }),
        ...(isStrict && { reading: STRICT_VERSION }),
        ...(isHeld && { verdict_schema: SCHEMA_VERSION }),
      },
      ...(isHeld && { replyForm: verdictFormat(pack, isStrict) }),
      refusal: (domain) =>
        pack.systemPrompt(domain) === undefined
          ? `the rubric pack ${pack.name} has no prompt for the domain "${domain}", only for ${pack.domains.join(', ')}; add one, or choose another pack with --rubrics`
          : undefined,
      parts({ sample, gen }) {
        const read = readPrediction(gen);
        const prediction = pack.official ? read : withIndent(read, gen);
        const markOf = (attempt: number) => answerMark(sample, [prediction], attempt);
        const part: Part<Verdict & { status: 'ok' }> = {
          request(attempt) {
            const messages = buildJudgeMessages(pack, sample, prediction);
            if (!isStrict) return { messages };
            return { messages: askingForMark(messages, isHeld ? 'object' : 'block', markOf(attempt), attempt) };
          },
          read({ content, finishReason }, attempt) {
            if (!isStrict) return readOfficialVerdict(content);
            return readStrictVerdict(content, {
              mark: markOf(attempt),
              isHeld,
              isCut: finishReason === 'length',
              countsUnmarked: () => !invitesConfusion(textsShown(pack, sample, prediction), prediction),
            });
          },
        };
        return [part];
      },
      join([{ reading, reply }], { sample, gen }) {
        const quotable = [groundTruthOf(sample), withoutMarker(readPrediction(gen))];
        return rated(reading, { rubrics: pack, reply, asksFacts: pack.facts === true, quotable });
      },
      fail: (failure, _subject, reply) => unrated(failure, { rubrics: pack, reply }),
    };
  },
};

/** Official rubrics are read as the official script reads them. @throws UserError (2) if another reading is requested. */
function readingFor(pack: RubricPack, wanted: VerdictReading | undefined): VerdictReading {
  if (!pack.official) return wanted ?? 'strict';
  if (wanted !== 'strict') return 'official';
  throw new UserError(
    'the official rubrics do not ask for the answer mark that --verdicts strict needs; leave --verdicts out, or use the bundled rubrics',
    EXIT.usage,
  );
}

/** @throws UserError (65) for a pack without texts for it. */
function withoutTruth(pack: RubricPack): RubricPack {
  if (pack.withoutTruth !== undefined) return pack.withoutTruth;
  throw badData(
    `the rubric pack ${pack.name} has no texts for judging without a truth, which --judge-sees rollout needs; use a pack whose pack.json names them under "without_truth" (the bundled one does), or leave --judge-sees out`,
  );
}

// The chat messages that put one prediction to a judge under the five-dimension rubric: the framed material, and, if the pack has slots for
// it, what the world model was told about its environment and what changed.

/** Changes with the frame around the material: judgements of two frames must not be mixed in one judging. */
const FRAME_VERSION = 4;

/** The same for the optional slots of a pack: changes with what goes into the excerpt, and with what is listed. */
const SLOT_VERSIONS: Readonly<Record<OptionalSlot, number>> = { told: 1, changes: 1 };

/** The versions that a pack's messages depend on. Official messages never change, so they have none. */
function messageVersions(pack: RubricPack) {
  if (pack.official) return {};
  const slots = optionalSlots(pack).map((slot) => [slot, SLOT_VERSIONS[slot]] as const);
  return { frame: FRAME_VERSION, ...Object.fromEntries(slots), ...(pack.facts && { facts: FACTS_VERSION }) };
}

/**
 * The judge's system and user message for a prediction (`readPrediction` of the reply; `withIndent`, unless the pack is official). With an
 * official pack both are byte for byte what eval/eval.py of QwenLM/Qwen-AgentWorld (cd0aa83) sends. With any other pack the material is
 * framed so that nothing inside it can pass for its frame, and the rows of a trajectory share their messages up to the end of the shorter
 * row's history.
 */
export function buildJudgeMessages(pack: RubricPack, sample: Sample, prediction: string): ChatMessage[] {
  // Domains without a prompt have been refused.
  const system = present(pack.systemPrompt(sample.domain));
  const shown = readCase(pack, sample, prediction);
  const slots = pack.official ? officialSlots(shown) : framedSlots(pack, shown, sample);
  return [
    { role: 'system', content: system },
    { role: 'user', content: fillTemplate(pack, slots) },
  ];
}

/** The texts of the case that the pack shows, in whatever frame. */
export function textsShown(pack: RubricPack, sample: Sample, prediction: string): string[] {
  const { history, currentTurn, prediction: shown, truth } = readCase(pack, sample, prediction);
  // Lines listed as changed are already in truth and prediction.
  const told = optionalSlots(pack).includes('told') ? [toldExcerpt(sample.systemPrompt, currentTurn)] : [];
  return [...textsOf(history), currentTurn, shown, ...(pack.hidesTruth ? [] : [truth]), ...told];
}

type Case = ReturnType<typeof readCase>;

function readCase({ official }: RubricPack, sample: Sample, prediction: string) {
  const shown = (text: string) => (official ? withoutMarker(text) : withIndent(withoutMarker(text), text));
  return {
    history: earlierTurns(sample),
    turn: sample.turnIdx,
    currentTurn: actionOf(sample),
    prediction: shown(prediction),
    truth: shown(groundTruthOf(sample)),
  };
}

type Slots = Readonly<Partial<Record<TemplateSlot, string>>>;

function officialSlots({ history, currentTurn, prediction, truth }: Case): Slots {
  const context = history.map(({ prompt, response }) => `${prompt}\n${response}\n\n`).join('');
  return {
    context: context && `# Context (Historical Interactions):\n\n${context}`,
    world_model_input: `# Current Turn:\n\n${currentTurn}`,
    predicted_observation: `**World Model Output (Simulated):**\n\`\`\`\n${prediction}\n\`\`\``,
    ground_truth: `**Ground Truth (Real Output):**\n\`\`\`\n${truth}\n\`\`\``,
  };
}

/**
 * The history has its own mark that depends only on the trajectory, so that prefix caches hit across its turns. Turn, truth and prediction
 * have another mark, shared by the optional slots. It is made from data that no world model knows, and is changed if a prediction contains
 * it anyway: so no prediction can contain its own mark.
 */
function framedSlots(pack: RubricPack, shown: Case, sample: Sample): Slots {
  const { history, turn, currentTurn, prediction, truth } = shown;
  const before = previousState(sample);
  const previous = before === undefined ? undefined : withIndent(withoutMarker(before), before);
  const optional = {
    told: () => toldExcerpt(sample.systemPrompt, currentTurn),
    changes: () => changesOf({ truth, prediction, previous }),
  };
  const extras = optionalSlots(pack).map((slot) => [slot, optional[slot]()] as const);
  const historyMark = unusedMark(sample.trajectory, textsOf(history));
  const texts = [currentTurn, truth, prediction, ...extras.map(([, text]) => text)];
  const mark = unusedMark([historyMark, sample.key, truth].join('\n'), texts);
  return {
    context: framedHistory(historyMark, history),
    world_model_input: framed('input', mark, turn, currentTurn),
    predicted_observation: framed('prediction', mark, turn, prediction),
    ground_truth: framed('truth', mark, turn, truth),
    ...Object.fromEntries(extras.map(([slot, text]) => [slot, framed(slot, mark, turn, text)])),
  };
}

function fillTemplate({ userTemplate, hidesTruth }: RubricPack, slots: Slots): string {
  const parts = readTemplate(userTemplate, hidesTruth);
  if (typeof parts === 'string') throw new UserError(`the rubric pack's user template has ${parts}`);
  return pythonStrip(parts.map((part) => ('slot' in part ? (slots[part.slot] ?? '') : part.text)).join(''));
}

/** A range of a text, in UTF-16 units; `end` is exclusive. */
type Span = Readonly<Record<'start' | 'end', number>>;

/** The longest excerpt, in UTF-16 units. */
const TOLD_LENGTH = 6_000;

/** How many places of names are checked, so that the time stays bounded for any text. */
const MOST_PLACES = 20;
const LEFT_OUT = (count: number) => `\n[... ${count} characters left out ...]`;
/** No excerpt is long enough for a longer notice. */
const NOTICE_LENGTH = LEFT_OUT(Number.MAX_SAFE_INTEGER).length;

/**
 * The system prompt, complete if it is short enough. Of a longer one, the schemas of the tools that the action names come first, followed
 * by as much of its beginning as fits; a notice says how much is left out.
 */
export function toldExcerpt(systemPrompt: string, action: string): string {
  if (systemPrompt.length <= TOLD_LENGTH) return systemPrompt;
  const schemas = namedSchemas(systemPrompt, action);
  const first = schemas.map(({ start, end }) => systemPrompt.slice(start, end)).join('\n');
  const rest = schemas
    .toSorted((a, b) => b.start - a.start)
    .reduce((text, { start, end }) => text.slice(0, start) + text.slice(end), systemPrompt);
  const whole = first === '' ? rest : `${first}\n\n${rest}`;
  const head = wholeLines(whole, TOLD_LENGTH - NOTICE_LENGTH);
  return `${head}${LEFT_OUT(whole.length - head.length)}`;
}

/** As many lines of the text as fit; if the first line is too long, as much of it as fits. */
function wholeLines(text: string, room: number): string {
  const end = text.lastIndexOf('\n', room);
  return end > 0 ? text.slice(0, end) : startOf(text, room);
}

/** The start of a text, in UTF-16 units, without splitting a character. */
function startOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}

const NAME = /"name"\s*:\s*"([^"\\]{1,200})"/g;

/** The places of the JSON objects that describe a tool named by the action, in the order in which the action names them. */
function namedSchemas(systemPrompt: string, action: string): Span[] {
  const objects = objectsIn(systemPrompt);
  const found: { readonly span: Span; readonly at: number }[] = [];
  let places = 0;
  for (const { index, 1: name = '' } of systemPrompt.matchAll(NAME)) {
    const at = placeOfName(action, name);
    if (at === -1) continue;
    if (++places > MOST_PLACES) break;
    // An object ends before those that contain it.
    const span = objects.find(({ start, end }) => start < index && index < end);
    const isNew = span !== undefined && !found.some(({ span: { start, end } }) => span.start < end && start < span.end);
    if (isNew) found.push({ span, at });
  }
  return found.sort((a, b) => a.at - b.at || a.span.start - b.span.start).map(({ span }) => span);
}

/** The ranges between matching braces, ordered by their ends; braces in strings do not count, and no string extends beyond its line. */
function objectsIn(text: string): Span[] {
  const open: number[] = [];
  return Array.from(text.matchAll(/"(?:[^"\\\n]|\\.)*"|[{}]/g)).flatMap(({ index, 0: token }) => {
    if (token === '{') open.push(index);
    const start = token === '}' ? open.pop() : undefined;
    return start === undefined ? [] : [{ start, end: index + 1 }];
  });
}

/** Where the action contains the name as a separate word; -1 if it does not. */
function placeOfName(action: string, name: string): number {
  return action.search(new RegExp(`(?<![\\p{L}\\p{N}_-])${escaped(name)}(?![\\p{L}\\p{N}_-])`, 'u'));
}

/** UTF-16 units available for the lines of one section, and for one line. */
const SECTION_LENGTH = 1_800;
const LINE_LENGTH = 200;

/** A line of the first text, of the second, or of both if they are equal. */
interface Aligned {
  readonly first?: string;
  readonly second?: string;
  /** Its number in the text that contains it; in the first if both do. */
  readonly at: number;
}

/**
 * The list, in sections of lines prefixed with a sign: `=` new in the truth, and the prediction has it; `-` in the truth, and the
 * prediction lacks it; `!` gone in the truth, and the prediction still has it; `+` only in the prediction. Blank lines, and white space at
 * line ends, do not count. `previous` is undefined if the row shows no state before the turn.
 */
export function changesOf(texts: { previous: string | undefined; truth: string; prediction: string }): string {
  const { previous, truth, prediction } = texts;
  const against = aligned(truth, prediction);
  const differing = against.flatMap(({ first, second }) => {
    if (first !== undefined && second !== undefined) return [];
    return [first === undefined ? `+ ${second}` : `- ${first}`];
  });
  const many = counted(differing.length, 'line that differs', 'lines that differ');
  const difference = section(`the prediction against the truth: ${many}`, differing);
  const numbers = `truth ${linesIn(truth)}, prediction ${linesIn(prediction)}`;
  if (previous === undefined) return [numbers, ...difference].join('\n');

  const met = new Set(
    against.filter(({ first, second }) => first !== undefined && second !== undefined).map(({ at }) => at),
  );
  const beyond = new Set(against.filter(({ first }) => first === undefined).map(({ second }) => second));
  const turn = aligned(previous, truth);
  const added = turn.filter(({ first }) => first === undefined);
  const gone = turn.filter(({ second }) => second === undefined);
  const has = added.filter(({ at }) => met.has(at)).length;
  const kept = gone.flatMap(({ first }) => (beyond.has(first) ? [`! ${first}`] : []));
  return [
    `previous state ${linesIn(previous)}, ${numbers}`,
    ...section(
      `new in the truth: ${counted(added.length, 'line')}, of which the prediction has ${has}`,
      added.map(({ second, at }) => `${met.has(at) ? '=' : '-'} ${second}`),
    ),
    ...section(
      `gone in the truth: ${counted(gone.length, 'line')}, of which the prediction still has ${kept.length}`,
      kept,
    ),
    ...difference,
  ].join('\n');
}

/** The lines of both texts that are not blank, in order: between common lines come those of the first only, then those of the second. */
function aligned(first: string, second: string): Aligned[] {
  const [a, b] = [bare(first), bare(second)];
  const lines: Aligned[] = [];
  let [atA, atB] = [0, 0];
  for (const run of [...equalRuns(a, b), { a: a.length, b: b.length, length: 0 }]) {
    for (; atA < run.a; atA++) lines.push({ first: a[atA] ?? '', at: atA });
    for (; atB < run.b; atB++) lines.push({ second: b[atB] ?? '', at: atB });
    for (const end = run.a + run.length; atA < end; atA++)
      lines.push({ first: a[atA] ?? '', second: b[atB++] ?? '', at: atA });
  }
  return lines;
}

/** The text's lines without blank ones and without trailing white space. */
function bare(text: string): string[] {
  return text.split('\n').flatMap((line) => line.trimEnd() || []);
}

/** A heading, and as many lines below it as fit. */
function section(heading: string, lines: readonly string[]): string[] {
  const shown: string[] = [];
  let room = SECTION_LENGTH;
  for (const line of lines) {
    const short = line.length <= LINE_LENGTH ? line : `${startOf(line, LINE_LENGTH)} [...]`;
    if (short.length >= room) break;
    room -= short.length + 1;
    shown.push(short);
  }
  const left = lines.length - shown.length;
  return [heading, ...shown, ...(left > 0 ? [`[... ${left} more]`] : [])];
}

function linesIn(text: string): string {
  return counted(bare(text).length, 'line');
}
