// The chat messages that put one prediction to a judge under the five-dimension rubric.
import { previousState } from '../baselines.js';
import { UserError } from '../errors.js';
import { pythonStrip, withIndent, withoutMarker } from '../reply.js';
import { type OptionalSlot, optionalSlots, type RubricPack, readTemplate, type TemplateSlot } from '../rubric.js';
import { actionOf, earlierTurns, groundTruthOf, type Turn, textsOf } from '../turn.js';
import type { ChatMessage, Sample } from '../types.js';
import { framed, framedHistory, unusedMark } from './answer-mark.js';
import { CHANGES_VERSION, changesOf } from './changes.js';
import { TOLD_VERSION, toldExcerpt } from './told.js';

/** Changes with the frame around the material: judgements of two frames must not mix in one judging. */
const FRAME_VERSION = 4;

/** The same of what stands in the optional slots of a pack. */
const SLOT_VERSIONS: Readonly<Record<OptionalSlot, number>> = { told: TOLD_VERSION, changes: CHANGES_VERSION };

/** The versions that a pack's messages depend on. Official messages never change, so they have none. */
export function messageVersions(pack: RubricPack): Readonly<Record<string, number>> {
  if (pack.official) return {};
  const slots = optionalSlots(pack).map((slot) => [slot, SLOT_VERSIONS[slot]] as const);
  return { frame: FRAME_VERSION, ...Object.fromEntries(slots) };
}

/**
 * The judge's system and user message for a prediction (`readPrediction` of the reply; `withIndent`, unless the pack is official).
 * With an official pack both are byte for byte what eval/eval.py of QwenLM/Qwen-AgentWorld (cd0aa83) sends.
 * With any other pack the material is framed so that nothing inside it can pass for its frame, and the rows of a trajectory share
 * their messages up to the end of the shorter row's history.
 * @throws UserError where the pack has no prompt for the sample's domain.
 */
export function buildJudgeMessages(pack: RubricPack, sample: Sample, prediction: string): ChatMessage[] {
  const system = pack.systemPrompt(sample.domain);
  if (system === undefined) {
    throw new UserError(
      `rubric pack ${pack.name} has no prompt for the domain "${sample.domain}"; it has ${pack.domains.join(', ')}`,
    );
  }
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
  // What is listed as changed stands in truth and prediction.
  const told = optionalSlots(pack).includes('told') ? [toldExcerpt(sample.systemPrompt, currentTurn)] : [];
  return [...textsOf(history), currentTurn, shown, ...(pack.hidesTruth ? [] : [truth]), ...told];
}

interface Case {
  readonly history: readonly Turn[];
  readonly turn: number;
  readonly currentTurn: string;
  readonly prediction: string;
  readonly truth: string;
}

function readCase({ official }: RubricPack, sample: Sample, prediction: string): Case {
  const shown = (text: string) => (official ? withoutMarker(text) : withIndent(withoutMarker(text), text));
  return {
    history: earlierTurns(sample),
    turn: sample.turnIdx,
    currentTurn: actionOf(sample),
    prediction: shown(prediction),
    truth: shown(groundTruthOf(sample)),
  };
}

/** What stands in the optional slots that the pack has. */
type Extras = Readonly<Partial<Record<OptionalSlot, string>>>;

function extrasOf(pack: RubricPack, sample: Sample, shown: Case): Extras {
  const before = previousState(sample);
  const previous = before === undefined ? undefined : withIndent(withoutMarker(before), before);
  const texts = {
    told: () => toldExcerpt(sample.systemPrompt, shown.currentTurn),
    changes: () => changesOf({ ...shown, previous }),
  };
  return Object.fromEntries(optionalSlots(pack).map((slot) => [slot, texts[slot]()]));
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
 * The history stands under a mark of its own that depends on the trajectory alone, so that cached prefixes hold over its turns. Turn,
 * truth and prediction stand under another mark, and what stands in optional slots bears the same. It is made of what no world model
 * knows, and is another one where the prediction holds it all the same: so no prediction can hold its own mark.
 */
function framedSlots(pack: RubricPack, shown: Case, sample: Sample): Slots {
  const { key, trajectory } = sample;
  const extras = extrasOf(pack, sample, shown);
  const { history, turn, currentTurn, prediction, truth } = shown;
  const historyMark = unusedMark(trajectory, textsOf(history));
  const mark = unusedMark([historyMark, key, truth].join('\n'), [
    currentTurn,
    truth,
    prediction,
    ...Object.values(extras),
  ]);
  return {
    context: framedHistory(historyMark, history),
    world_model_input: framed('input', mark, turn, currentTurn),
    predicted_observation: framed('prediction', mark, turn, prediction),
    ground_truth: framed('truth', mark, turn, truth),
    ...Object.fromEntries(Object.entries(extras).map(([slot, text]) => [slot, framed(slot, mark, turn, text)])),
  };
}

function fillTemplate({ userTemplate, hidesTruth }: RubricPack, slots: Slots): string {
  const read = readTemplate(userTemplate, hidesTruth);
  if (read.status === 'bad') throw new UserError(`the rubric pack's user template has ${read.reason}`);
  return pythonStrip(read.parts.map((part) => ('slot' in part ? (slots[part.slot] ?? '') : part.text)).join(''));
}
