// Messages on their way to the engine, or refused by their place.

import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { clientOf, errorOf, HELLO, post, REPLY, scripted, serve } from '../../support/scripted-server.js';

const called = (text: string) => ({ id: 'c', type: 'function', function: { name: 'look', arguments: text } });

describe('messages', () => {
  test('text parts are joined, developer is system, and earlier thinking goes along', async () => {
    const engine = scripted(REPLY);
    const server = await serve(engine);
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b\n' },
    ];
    const messages = [
      { role: 'developer', content: 'be brief' },
      { role: 'user', content: parts },
      { role: 'assistant', content: 'ok', reasoning_content: 'hm', refusal: null, tool_calls: [], annotations: [] },
      { role: 'user', content: '' },
    ];
    expect((await post(server, { model: 'tiny', messages })).status).toBe(200);
    expect(engine.calls[0]?.messages).toEqual([
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'ab\n' },
      { role: 'assistant', content: 'ok', reasoning_content: 'hm' },
      { role: 'user', content: '' },
    ]);
  });

  test("a reply's own message can be sent back", async () => {
    const engine = scripted(REPLY);
    const client = clientOf(await serve(engine));
    const first = await client.chat.completions.create({ model: 'tiny', messages: HELLO });
    const message = first.choices[0]?.message as OpenAI.ChatCompletionMessage;
    await client.chat.completions.create({ model: 'tiny', messages: [...HELLO, message, ...HELLO] });
    expect(engine.calls[1]?.messages[1]).toEqual({ role: 'assistant', content: 'Hi there', reasoning_content: 'hmm.' });
  });

  test.each<[string, unknown, string]>([
    ['none', undefined, 'messages'],
    ['an empty list', [], 'messages'],
    ['no list', 'hello', 'messages'],
    ['no object', ['hello'], 'messages[0]'],
    ['no role', [{ role: 'function', content: 'x' }], 'messages[0].role'],
    ["a tool's answer without text", [{ role: 'tool', tool_call_id: 'c' }], 'messages[0].content'],
    [
      'arguments that are not JSON',
      [{ role: 'assistant', tool_calls: [called('{')] }],
      'messages[0].tool_calls[0].function.arguments',
    ],
    ["a user's tool calls", [{ role: 'user', content: '', tool_calls: [called('{}')] }], 'messages[0].tool_calls'],
    ['no content', [{ role: 'user' }], 'messages[0].content'],
    ['an image', [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }], 'messages[0].content[0].type'],
    [
      'audio behind text',
      [{ role: 'user', content: [{ type: 'text', text: '' }, { type: 'input_audio' }] }],
      'messages[0].content[1].type',
    ],
    ['a part without text', [{ role: 'user', content: [{ type: 'text' }] }], 'messages[0].content[0].text'],
    [
      'a marked part',
      [{ role: 'user', content: [{ type: 'text', text: '', mark: {} }] }],
      'messages[0].content[0].mark',
    ],
    ['an unknown key', [{ role: 'user', content: 'x', nam: 'Ann' }], 'messages[0].nam'],
    ['tool calls', [{ role: 'assistant', content: null, tool_calls: [{}] }], 'messages[0].tool_calls[0].id'],
    ["a user's thinking", [{ role: 'user', content: 'x', reasoning_content: 'y' }], 'messages[0].reasoning_content'],
    ['the second one wrong', [...HELLO, { role: 'system', content: 5 }], 'messages[1].content'],
  ])('%s is refused by its place', async (_, messages, param) => {
    const server = await serve(scripted(REPLY));
    const response = await post(server, { model: 'tiny', messages });
    expect(response.status).toBe(400);
    expect((await errorOf(response)).param).toBe(param);
  });
});
