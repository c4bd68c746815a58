// The chat messages that put one prediction to a judge under the five-dimension rubric.
import { UserError } from '../errors.js';
import { pythonStrip, withoutMarker } from '../reply.js';
import { type RubricPack, readTemplate, type TemplateSlot } from '../rubric.js';
import type { ChatMessage, Sample } from '../types.js';

/**
 * The judge's system and user message for a prediction (`readPrediction` of the reply).
 * With an official pack both are byte for byte what eval/eval.py of QwenLM/Qwen-AgentWorld (cd0aa83) sends.
 * With any other pack the material is delimited so that nothing inside it can pass for a delimiter, and the rows of a
 * trajectory share their messages up to the end of the shorter row's history.
 * Throws a UserError when the pack has no prompt for the sample's domain.
 */
export function buildJudgeMessages(pack: RubricPack, sample: Sample, prediction: string): ChatMessage[] {
  const system = pack.systemPrompt(sample.domain);
  if (system === undefined) {
    throw new UserError(
      `rubric pack ${pack.name} has no prompt for the domain "${sample.domain}"; it has ${pack.domains.join(', ')}`,
    );
  }
  const material = readMaterial(sample, prediction);
  const slots = pack.official ? officialSlots(material) : delimitedSlots(material, sample.trajectory);
  return [
    { role: 'system', content: system },
    { role: 'user', content: fillTemplate(pack.userTemplate, slots) },
  ];
}

interface Material {
  readonly history: readonly { readonly prompt: string; readonly response: string }[];
  readonly turn: number;
  readonly currentTurn: string;
  readonly prediction: string;
  readonly truth: string;
}

function readMaterial(sample: Sample, prediction: string): Material {
  const last = sample.turnIdx - 1;
  return {
    history: sample.prompts
      .slice(0, last)
      .map((prompt, index) => ({ prompt, response: sample.responses[index] as string })),
    turn: sample.turnIdx,
    currentTurn: sample.currentPrompt || (sample.prompts[last] as string),
    prediction: withoutMarker(prediction),
    truth: withoutMarker(sample.responses[last] as string),
  };
}

type Slots = Readonly<Record<TemplateSlot, string>>;

function officialSlots({ history, currentTurn, prediction, truth }: Material): Slots {
  const context = history.map(({ prompt, response }) => `${prompt}\n${response}\n\n`).join('');
  return {
    context: context && `# Context (Historical Interactions):\n\n${context}`,
    world_model_input: `# Current Turn:\n\n${currentTurn}`,
    predicted_observation: `**World Model Output (Simulated):**\n\`\`\`\n${prediction}\n\`\`\``,
    ground_truth: `**Ground Truth (Real Output):**\n\`\`\`\n${truth}\n\`\`\``,
  };
}

function delimitedSlots({ history, turn, currentTurn, prediction, truth }: Material, trajectory: string): Slots {
  const texts = [...history.flatMap(({ prompt, response }) => [prompt, response]), currentTurn, prediction, truth];
  const mark = unusedMark(trajectory, texts);
  const delimit = (name: string, ofTurn: number, text: string) =>
    `<${name}-${mark} turn="${ofTurn}">\n${text}\n</${name}-${mark}>`;
  const earlier = history.flatMap(({ prompt, response }, index) => [
    delimit('input', index + 1, prompt),
    delimit('observation', index + 1, response),
  ]);
  return {
    context: [`<history-${mark}>`, ...earlier, `</history-${mark}>`].join('\n'),
    world_model_input: delimit('input', turn, currentTurn),
    predicted_observation: delimit('prediction', turn, prediction),
    ground_truth: delimit('truth', turn, truth),
  };
}

/**
 * A word for the delimiters that none of the texts contains in any case of letters. It starts as a piece of the
 * trajectory's key: the same for all turns, so that cached prefixes hold, and a hash, so that no model can guess it.
 */
function unusedMark(trajectory: string, texts: readonly string[]): string {
  const haystack = texts.join('\n').toLowerCase();
  const base = trajectory.slice(0, 12);
  let mark = base;
  for (let next = 2; haystack.includes(mark.toLowerCase()); next++) mark = `${base}-${next}`;
  return mark;
}

function fillTemplate(template: string, slots: Slots): string {
  const read = readTemplate(template);
  if (read.status === 'bad') throw new UserError(`the rubric pack's user template has ${read.reason}`);
  return pythonStrip(read.parts.map((part) => ('slot' in part ? slots[part.slot] : part.text)).join(''));
}
