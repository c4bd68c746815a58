// The messages of a request, and the functions that it lets a model call, read strictly.

import * as z from 'zod';
import { isObject } from '../../core/json.js';
import type { EngineMessage, Tool } from '../engine-contract.js';
import { marked, must, object, served, shown } from './parameters.js';

const ROLES: Readonly<Record<string, EngineMessage['role']>> = {
  system: 'system',
  // OpenAI's newer name for the same place in the conversation.
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
};
const isRole = (value: unknown) => typeof value === 'string' && Object.hasOwn(ROLES, value);
const aString = z.string(must('be a string'));
const anObject = must('be an object');

const part = marked(
  z.strictObject(
    {
      type: served((value) => value === 'text', ': only text is'),
      text: aString,
    },
    anObject,
  ),
);

/** Parts are joined without a separator, as the templates of Qwen's models do. */
const content = z
  .preprocess(
    (value) => (typeof value === 'string' ? [{ type: 'text', text: value }] : value),
    z.array(part, must('be a string or a list of text parts')),
  )
  .transform((parts) => parts.map(({ text }) => text).join(''));

interface GivenCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments?: unknown };
}

/** Calls as a reply has them, their arguments as text; templates render them as an object. */
const call = z
  .custom<GivenCall>((value) => {
    const { id, type, function: called } = isObject(value) ? value : {};
    return typeof id === 'string' && type === 'function' && isObject(called) && typeof called.name === 'string';
  }, must("be a function's call, with 'id' and 'function.name'"))
  .transform(({ id, function: { name, arguments: given } }, context) => {
    const parsed = typeof given === 'string' ? parsedText(given) : given;
    if (isObject(parsed)) return { id, type: 'function' as const, function: { name, arguments: parsed } };
    context.addIssue({ code: 'custom', path: ['function', 'arguments'], message: 'must be a JSON object as text' });
    return z.NEVER;
  });

function parsedText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const message = marked(
  z.strictObject(
    {
      role: z.custom<string>(isRole, {
        error: ({ input }) =>
          `is not supported with the value ${shown(input)}; it has ${Object.keys(ROLES).join(', ')}`,
      }),
      content: content.optional(),
      reasoning_content: aString.optional(),
      reasoning: aString.optional(),
      tool_calls: z.array(call, must("be a list, on an assistant's message")).default([]),
      tool_call_id: aString.optional(),
    },
    anObject,
  ),
).transform((given, context): EngineMessage => {
  const role = ROLES[given.role] ?? 'user';
  const misplaced = (name: string, be: string) =>
    context.addIssue({ code: 'custom', path: [name], message: `must ${be} message` });
  const thinking = given.reasoning_content ?? given.reasoning;
  if (thinking !== undefined && role !== 'assistant') misplaced('reasoning_content', "be a string, on an assistant's");
  if (given.tool_calls.length > 0 && role !== 'assistant') misplaced('tool_calls', "be a list, on an assistant's");
  if (given.tool_call_id !== undefined && role !== 'tool') misplaced('tool_call_id', "be a string, on a tool's");
  if (given.content === undefined && role !== 'assistant')
    context.addIssue({ code: 'custom', path: ['content'], message: 'must be a string or a list of text parts' });
  return {
    role,
    content: given.content ?? '',
    ...(thinking !== undefined && { reasoning_content: thinking }),
    ...(given.tool_calls.length > 0 && { tool_calls: given.tool_calls }),
    ...(given.tool_call_id !== undefined && { tool_call_id: given.tool_call_id }),
  };
});

export const messages = z.array(message, must('be a list of at least one')).min(1, must('be a list of at least one'));

/** A function that a model may call. What the server could not keep to is refused. */
const tool = z
  .custom((value) => isObject(value) && value.type === 'function', must('be of the type function'))
  .pipe(
    marked(
      z.strictObject({
        type: z.literal('function'),
        function: marked(
          z.strictObject(
            {
              name: z
                .string(must('be made of letters, digits, _, . and -'))
                .regex(/^[\w.-]{1,128}$/, must('be made of letters, digits, _, . and -')),
              description: aString.optional(),
              parameters: object.optional(),
              strict: served((value) => value === false, ': no grammar holds the arguments').optional(),
            },
            anObject,
          ),
        ),
      }),
    ),
  )
  .transform(
    ({ function: { name, description, parameters } }): Tool => ({
      type: 'function',
      function: { name, ...(description !== undefined && { description }), ...(parameters && { parameters }) },
    }),
  );

export const tools = z.array(tool, must('be a list')).default([]);
