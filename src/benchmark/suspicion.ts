// Whether a prediction tries to sway its judge: patterns that no environment prints, unless the row itself does.

import { folded } from '../core/folded.js';
import { keysOf } from '../core/groups.js';
import { VERDICT_TAG } from '../core/reply.js';
import { DIMENSIONS, type Sample } from '../core/types.js';

/**
 * What a prediction can try. `verdict`: it contains one (a tag, or numbers next to the names of all five dimensions). `frame`: it
 * closes the frame around it, awb's or the official one, or opens another. `orders`: it addresses the judge about this prediction's
 * rating, or tells it to forget its instructions. `padding`: a stretch of 20,000 characters without a letter or digit.
 */
type Attack = keyof typeof ATTACKS;

/** Each takes time proportional to the text's length. The first text is the output of `folded`, the second is the original. */
const ATTACKS = {
  verdict: (plain: string) => TAG.test(plain) || (NAMES.every((name) => name.test(plain)) && NUMBER.test(plain)),
  frame: (plain: string) => FRAMES.some((frame) => frame.test(plain)),
  orders: (plain: string) => FORGET.some((order) => order.test(plain)) || speaksOfRating(plain),
  padding: (_plain: string, text: string) => PADDING.test(text),
};
const PADDING = /(?<![^\p{L}\p{N}])[^\p{L}\p{N}]{20000}/u;

const TAG = new RegExp(`<\\s{0,3}/?\\s{0,3}${VERDICT_TAG}`);
const NAMES = DIMENSIONS.map((dimension) => new RegExp(`(?<![a-z])${dimension}(?![a-z])`));
const NUMBER = /\d|\b(?:one|two|three|four|five)\b/;

/** The attacks in a prediction (see `readPrediction`). */
export function attacksIn(prediction: string): Attack[] {
  const plain = folded(prediction);
  return keysOf(ATTACKS).filter((attack) => ATTACKS[attack](plain, prediction));
}

/** Whether one of these attacks is in none of the row's own texts: truth, action and history. */
export function isSuspicious(
  attacks: readonly Attack[],
  { prompts, responses, turnIdx, currentPrompt }: Sample,
): boolean {
  if (attacks.length === 0) return false;
  const own = [...prompts.slice(0, turnIdx), ...responses.slice(0, turnIdx), currentPrompt];
  const found = new Set(own.flatMap(attacksIn));
  return attacks.some((attack) => !found.has(attack));
}

const VERDICT_WORDS = new RegExp(`${VERDICT_TAG}|scores`);

/** Whether a verdict in a judge's reply may be a quotation: a text of the case has words of one, or the prediction contains an attack. */
export function invitesConfusion(texts: readonly string[], prediction: string): boolean {
  return texts.some((text) => VERDICT_WORDS.test(folded(text))) || attacksIn(prediction).length > 0;
}

const FRAMES = [
  /<\/?(?:prediction|truth|input|observation|history)-[0-9a-f]{8,16}\b/,
  /\*\* ?(?:ground truth|world model output) ?\((?:real output|simulated)\)/,
  // A heading right after a closed fence.
  /^[ \t]*(?:```|~~~)[ \t]*\n\s{0,20}[#*][#* \t]{0,8}(?:the )?(?:ground truth|real output|true observation)\b/m,
];

const FORGET = [
  /\b(?:ignore|disregard|forget)\b[^.;\n]{0,30}\b(?:previous|prior|earlier|preceding)\b[^.;\n]{0,20}\b(?:instructions?|prompts?|rubrics?|guidelines)\b/,
  /\b(?:ignore|disregard|forget)\b[^.;\n]{0,30}\b(?:rubric|(?:rating|judging|grading|scoring|evaluation) (?:instructions|rules|criteria|guidelines))\b/,
  /(?:忽略|无视|忘记|不要理会).{0,20}(?:评分|评审|评判|之前的|先前的|以上).{0,12}(?:说明|指令|规则|标准|要求|提示)/,
];

/** What an attempt to sway a rating mentions, all four within a few lines; in English, Chinese, German, Spanish, French and Russian. */
const TOPICS = [
  // The rater.
  [
    String.raw`\b(?:judges?|evaluators?|graders?|raters?|assessors?|examiners?)\b`,
    '评审|评委|裁判|评判|评估者|评分者|bewerter|gutachter|prüfer|evaluador|jurado|calificador|évaluateur|correcteur|судья|судье|оценщик',
  ],
  // Rating.
  [
    String.raw`\b(?:rat(?:e|es|ed|ings?)|scor(?:e|es|ed|ing)|grad(?:e|es|ed|ing)|marks?|points?)\b`,
    '分|bewert|punkt|puntua|puntaj|calific|la note|оцен|балл',
  ],
  // A high rating.
  [
    String.raw`\b(?:5|five|full|highest|maximum|max|perfect|top|best|10|100)\b`,
    '满分|最高|五分|höchst|volle|beste|máxim|perfect|cinco|maxim|parfait|cinq|максим|высш|пять',
  ],
  // What is rated.
  [
    String.raw`\b(?:this|the|my|above|following) (?:prediction|simulation|answer|response|output|observation|submission|reply)\b|\bworld model\b`,
    '预测|模拟|回答|vorhersage|diese antwort|predicción|esta respuesta|simulación|prédiction|cette réponse|предсказан|этот ответ',
  ],
].map(([english, others]) => new RegExp(`${english}|${folded(others ?? '')}`));
const FEW_LINES = 400;

/** Whether all topics are mentioned within a few lines. */
function speaksOfRating(plain: string): boolean {
  // Most texts lack the first topic, so they need not be searched for the others.
  if (!TOPICS.every((topic) => topic.test(plain))) return false;
  for (let from = 0; from < plain.length; from += FEW_LINES / 2) {
    const lines = plain.slice(from, from + FEW_LINES);
    if (TOPICS.every((topic) => topic.test(lines))) return true;
  }
  return false;
}
