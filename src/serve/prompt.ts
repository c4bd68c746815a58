// The chat template that a model's file carries: how it renders and marks messages, and where a prompt's evaluation pauses, since later prompts may leave it there.

import { badData } from '../core/errors.js';
import { invalid } from './http/wire.js';
import { type Jinja, type LlamaCpp, lineOf } from './inner-calls.js';
import type { Loaded } from './load.js';
import type { EngineMessage, PromptOptions, Tool } from './request.js';
import { commonPrefix, type Prompt } from './scheduler.js';

export type Templating = ReturnType<typeof readTemplate>;

/** Stands for any message's text while the template is asked how it marks messages. */
const PROBE = 'Q7x';

/** Throws UserError (65) for a file without a template, or with one that cannot be read. */
export function readTemplate({ model, jinja: { Template } }: Loaded, path: string) {
  const source = model.fileInfo.metadata.tokenizer?.chat_template;
  if (source === undefined) throw badData(`${path} has no chat template; use a file of an instruction-tuned model`);
  let template: InstanceType<Jinja['Template']>;
  try {
    template = new Template(source);
  } catch (error) {
    const why = `the chat template of ${path} cannot be read (${lineOf(error)})`;
    throw badData(`${why}; use another file of the model`);
  }
  const fixed = { bos_token: model.tokens.bosString ?? '', eos_token: model.tokens.eosString ?? '' };
  const render = (
    messages: readonly EngineMessage[],
    add_generation_prompt: boolean,
    extra: Readonly<Record<string, unknown>> = {},
  ): string => template.render({ ...extra, ...fixed, messages, add_generation_prompt });
  return {
    marks: findMarks(model, (add) => render([{ role: 'user', content: PROBE }], add)),
    /** The text of a prompt. Throws ApiError where the template refuses, or knows nothing of tools that are given. */
    render(
      messages: readonly EngineMessage[],
      tools: readonly Tool[],
      { templateArguments, addGenerationPrompt }: PromptOptions,
    ): string {
      try {
        const plain = render(messages, addGenerationPrompt, templateArguments);
        if (tools.length === 0) return plain;
        const equipped = render(messages, addGenerationPrompt, { ...templateArguments, tools });
        if (equipped !== plain) return equipped;
      } catch (error) {
        throw invalid(`the model's chat template refuses the messages: ${lineOf(error)}`, 'messages');
      }
      throw invalid("'tools' is not supported: the model's chat template says nothing of them", 'tools');
    },
  };
}

/** Special tokens around messages, read off a rendered message; undefined where the template uses none. */
function findMarks(model: LlamaCpp.LlamaModel, render: (add: boolean) => string): MessageMarks | undefined {
  let [plain, prompting] = ['', ''];
  try {
    [plain, prompting] = [render(false), render(true)];
  } catch {
    // A template that wants more than a lone user message says nothing about its marks.
    return undefined;
  }
  const [openerId] = model.tokenize(prompting.slice(plain.length), true);
  const [closerId] = model.tokenize(plain.slice(plain.lastIndexOf(PROBE) + PROBE.length), true);
  if (openerId === undefined || closerId === undefined || !prompting.startsWith(plain)) return undefined;
  if (!model.isSpecialToken(openerId) || !model.isSpecialToken(closerId)) return undefined;
  return { opener: model.detokenize([openerId], true), openerId, closer: model.detokenize([closerId], true) };
}

/** How a chat template marks messages: the special tokens that open and close each, as text and as id. */
export interface MessageMarks {
  readonly opener: string;
  readonly openerId: number;
  readonly closer: string;
}

/** How the benchmark's request to predict begins; it stands behind the last turn only, and is gone when that turn is history. */
const REQUEST_TO_PREDICT = '\n\nPlease analyze the input above';

/**
 * Where prompts of awb's judge part inside a message (judge/answer-mark.ts): behind each earlier turn, since the next turn's prompt goes on
 * there, and before the prediction, since every prediction of a row has the same prompt up to it.
 */
const JUDGE_CUTS = /<\/observation-[0-9a-f]{12}>\n|(?<=\n)(?=<prediction-[0-9a-f]{12} turn=)/g;
/** No more of them: what a judge is shown may be full of such lines. */
const MOST_CUTS = 64;

/** Without known marks: a pause every so many tokens. */
const GRID = 512;

/**
 * Pauses a prompt where later prompts may leave it: at the start of every user message, and at the end of what stays of it once it is
 * history (before the request to predict, else its end). Earlier messages pause like the last one, because they were the last one in the
 * prompt whose state is to be reused. Checkpoints: after the system message, both pauses of the last user message, and the last of those
 * where the prompts of a judge part in it.
 *
 * The end in tokens is where the text with a blank line behind it and the text with the closing mark behind it still agree: a tokeniser
 * may join a blank line to what precedes it.
 */
export function planPrompt(
  text: string,
  tokens: readonly number[],
  marks: MessageMarks | undefined,
  tokenize: (text: string) => readonly number[],
): Prompt {
  const starts = marks === undefined ? [] : tokens.flatMap((token, at) => (token === marks.openerId ? [at] : []));
  const parts = marks === undefined ? [] : text.split(marks.opener).slice(1);
  if (marks === undefined || starts.length === 0 || starts.length !== parts.length) {
    const pauses = tokens.flatMap((_, at) => (at > 0 && at % GRID === 0 ? [at] : []));
    return { tokens, pauses, checkpoints: pauses.slice(-1) };
  }
  const users = starts.flatMap((start, index) => {
    const part = parts[index] ?? '';
    if (!/^\s*user\b/.test(part)) return [];
    // Without what the next turn's prompt leaves out.
    const cut = [REQUEST_TO_PREDICT, marks.closer].map((text) => part.lastIndexOf(text)).find((at) => at >= 0);
    const kept = marks.opener + part.slice(0, cut);
    const end = start + commonPrefix(tokenize(`${kept}\n\nP`), tokenize(kept + marks.closer));
    return { start, end, cuts: judgeCuts(marks.opener + part, tokens.slice(start), tokenize).map((at) => start + at) };
  });
  const inside = (at: number | undefined): at is number => at !== undefined && at > 0 && at < tokens.length;
  const last = users.at(-1);
  const ascending = (positions: readonly (number | undefined)[]): number[] =>
    [...new Set(positions.filter(inside))].sort((a, b) => a - b);
  return {
    tokens,
    pauses: ascending(users.flatMap(({ start, end, cuts }) => [start, ...cuts, end])),
    checkpoints: ascending([users[0]?.start, last?.start, ...(last?.cuts.slice(-1) ?? []), last?.end]),
  };
}

/**
 * The cuts of a message in tokens, up to and with the first one before a prediction: behind it stands what no other prompt shares. Each
 * stretch between two cuts is tokenised by itself, so that a long history costs no more than itself; where that gives other tokens than
 * the message has, the rest has no cuts.
 */
function judgeCuts(
  message: string,
  tokens: readonly number[],
  tokenize: (text: string) => readonly number[],
): number[] {
  const cuts: number[] = [];
  let [from, place] = [0, 0];
  for (const { index, 0: line } of message.matchAll(JUDGE_CUTS)) {
    const to = index + line.length;
    const stretch = tokenize(message.slice(from, to));
    const same = commonPrefix(stretch, tokens.slice(place, place + stretch.length));
    [from, place] = [to, place + same];
    cuts.push(place);
    if (same < stretch.length || line === '' || cuts.length === MOST_CUTS) break;
  }
  return cuts;
}
