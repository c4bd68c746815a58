// The chat messages that put one prediction to a judge under the five-dimension rubric.
import { UserError } from '../errors.js';
import { pythonStrip, withoutMarker } from '../reply.js';
import { type RubricPack, readTemplate, type TemplateSlot } from '../rubric.js';
import { actionOf, earlierTurns, groundTruthOf, type Turn } from '../turn.js';
import type { ChatMessage, Sample } from '../types.js';
import { framed, unusedMark } from './frame.js';
import type { Material } from './quotation.js';

/** Changes with the frame around the material: judgements of two frames must not mix in one judging. */
export const FRAME = 2;

/**
 * The judge's system and user message for a prediction (`readPrediction` of the reply).
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
  const material = readCase(sample, prediction);
  const slots = pack.official ? officialSlots(material) : framedSlots(material, sample);
  return [
    { role: 'system', content: system },
    { role: 'user', content: fillTemplate(pack.userTemplate, slots) },
  ];
}

/** The texts of the case as the judge is shown them, in whatever frame. */
export function materialOf(sample: Sample, prediction: string): Material {
  const { history, currentTurn, prediction: shown, truth } = readCase(sample, prediction);
  return {
    prediction: shown,
    others: [...history.flatMap(({ prompt, response }) => [prompt, response]), currentTurn, truth],
  };
}

interface Case {
  readonly history: readonly Turn[];
  readonly turn: number;
  readonly currentTurn: string;
  readonly prediction: string;
  readonly truth: string;
}

function readCase(sample: Sample, prediction: string): Case {
  return {
    history: earlierTurns(sample),
    turn: sample.turnIdx,
    currentTurn: actionOf(sample),
    prediction: withoutMarker(prediction),
    truth: withoutMarker(groundTruthOf(sample)),
  };
}

type Slots = Readonly<Record<TemplateSlot, string>>;

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
 * truth and prediction stand under another mark that depends on all of them, so that no prediction can hold its own mark.
 */
function framedSlots({ history, turn, currentTurn, prediction, truth }: Case, { key, trajectory }: Sample): Slots {
  const earlier = history.flatMap(({ prompt, response }) => [prompt, response]);
  const historyMark = unusedMark(trajectory, earlier);
  const mark = unusedMark([historyMark, key, truth, prediction].join('\n'), [currentTurn, truth, prediction]);
  const told = history.flatMap(({ prompt, response }, index) => [
    framed('input', historyMark, index + 1, prompt),
    framed('observation', historyMark, index + 1, response),
  ]);
  return {
    context: [`<history-${historyMark}>`, ...told, `</history-${historyMark}>`].join('\n'),
    world_model_input: framed('input', mark, turn, currentTurn),
    predicted_observation: framed('prediction', mark, turn, prediction),
    ground_truth: framed('truth', mark, turn, truth),
  };
}

function fillTemplate(template: string, slots: Slots): string {
  const read = readTemplate(template);
  if (read.status === 'bad') throw new UserError(`the rubric pack's user template has ${read.reason}`);
  return pythonStrip(read.parts.map((part) => ('slot' in part ? slots[part.slot] : part.text)).join(''));
}
