// The chat template that a model's file carries: how it renders messages, and how it marks them.

import { EXIT, UserError } from '../core/errors.js';
import { EngineError, type EngineMessage, type PromptOptions, type Tool } from './engine-contract.js';
import type { Loaded } from './load.js';
import type { MessageMarks } from './prompt-plan.js';
import { type Jinja, type LlamaCpp, lineOf } from './runtime.js';

export interface Templating {
  /** The text of a prompt. Throws EngineError where the template refuses, or knows nothing of tools that are given. */
  render(messages: readonly EngineMessage[], tools: readonly Tool[], options: PromptOptions): string;
  readonly marks: MessageMarks | undefined;
}

/** Stands for any message's text while the template is asked how it marks messages. */
const PROBE = 'Q7x';

/** Throws UserError (65) for a file without a template, or with one that cannot be read. */
export function readTemplate({ model }: Loaded, { Template }: Jinja, path: string): Templating {
  const source = model.fileInfo.metadata.tokenizer?.chat_template;
  if (source === undefined)
    throw new UserError(`${path} has no chat template; use a file of an instruction-tuned model`, EXIT.badData);
  const template = parseTemplate(Template, source, path);
  const fixed = { bos_token: model.tokens.bosString ?? '', eos_token: model.tokens.eosString ?? '' };
  const render = (
    messages: readonly EngineMessage[],
    add_generation_prompt: boolean,
    extra: Readonly<Record<string, unknown>> = {},
  ): string => template.render({ ...extra, ...fixed, messages, add_generation_prompt });
  return {
    marks: findMarks(model, (add) => render([{ role: 'user', content: PROBE }], add)),
    render(messages, tools, { templateArguments, addGenerationPrompt }) {
      try {
        const plain = render(messages, addGenerationPrompt, templateArguments);
        if (tools.length === 0) return plain;
        const equipped = render(messages, addGenerationPrompt, { ...templateArguments, tools });
        if (equipped !== plain) return equipped;
      } catch (error) {
        throw new EngineError({
          reason: 'invalid-request',
          message: `the model's chat template refuses the messages: ${lineOf(error)}`,
          param: 'messages',
        });
      }
      const message = "'tools' is not supported: the model's chat template says nothing of them";
      throw new EngineError({ reason: 'invalid-request', message, param: 'tools' });
    },
  };
}

function parseTemplate(Template: Jinja['Template'], source: string, path: string): InstanceType<Jinja['Template']> {
  try {
    return new Template(source);
  } catch (error) {
    throw new UserError(
      `the chat template of ${path} cannot be read (${lineOf(error)}); use another file of the model`,
      EXIT.badData,
    );
  }
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
