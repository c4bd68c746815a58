// Sends the same requests to each engine and records its answers verbatim: status, headers and body.

const SAY = [{ role: 'user', content: 'ls -la\n' }];
const OFF = { enable_thinking: false };
const FREE = { chat_template_kwargs: { ...OFF, task: 'free' } };
/** Longer than the context: the tiny model's tokenizer makes at least one token per word. */
const LONG = 'drwxr-xr-x 2 root root 4096 folder\n'.repeat(1_400);
const SCHEMA = {
  type: 'object',
  properties: { a: { enum: [1, 2] }, b: { type: 'boolean' } },
  required: ['a', 'b'],
  additionalProperties: false,
};
const TOOL = {
  type: 'function',
  function: { name: 'run', description: 'Runs a command', parameters: { type: 'object', properties: {} } },
};

const chat = (extra, messages = SAY) => ({
  path: '/v1/chat/completions',
  body: { messages, max_tokens: 12, ...extra },
});
const completion = (extra) => ({
  path: '/v1/completions',
  body: { prompt: 'root@host:/app#', max_tokens: 4, ...extra },
});
const streamed = { stream: true, stream_options: { include_usage: true } };

/** By name: a path and the body to post (by default with the model's name and temperature 0). */
const PROBES = {
  models: { path: '/v1/models' },
  health: { path: '/health' },
  props: { path: '/props' },
  ordinary: chat({}),
  streamed: chat(streamed),
  'streamed, usage not asked for': chat({ stream: true }),
  'cut by max_tokens': chat({ ...FREE, max_tokens: 3 }),
  'streamed, cut by max_tokens': chat({ ...FREE, max_tokens: 3, ...streamed }),
  'random tokens': chat({ ...FREE, max_tokens: 24 }),
  'random tokens again': chat({ ...FREE, max_tokens: 24 }),
  'thinking switched off': chat({ chat_template_kwargs: OFF }),
  'random tokens where a thought may come': chat({ chat_template_kwargs: { task: 'free' } }),
  max_completion_tokens: chat({ ...FREE, max_tokens: undefined, max_completion_tokens: 3 }),
  'no budget': chat({ max_tokens: undefined }),
  'max_tokens 0': chat({ max_tokens: 0 }),
  'temperature as text': chat({ temperature: 'warm' }),
  'prompt over context': chat({}, [{ role: 'user', content: LONG }]),
  'prompt over context, streamed': chat(streamed, [{ role: 'user', content: LONG }]),
  'max_tokens over context': chat({ max_tokens: 40_000 }),
  'max_tokens over context, streamed': chat({ max_tokens: 40_000, ...streamed }),
  'prompt and max_tokens over context': chat({ max_tokens: 32_760 }),
  'completion over context': completion({ prompt: LONG }),
  'unknown model': chat({ model: 'no-such-model' }),
  'wrong key': { ...chat({}), key: 'another-key' },
  'no key': { ...chat({}), key: '' },
  'unknown parameter': chat({ awb_unknown: 1 }),
  'sampling parameters': chat({
    top_p: 0.9,
    top_k: 20,
    min_p: 0.01,
    presence_penalty: 0.1,
    frequency_penalty: 0.1,
    repetition_penalty: 1.1,
  }),
  reasoning_effort: chat({ reasoning_effort: 'low' }),
  'seed 1 at temperature 1': chat({ ...FREE, temperature: 1, seed: 1 }),
  'seed 1 again': chat({ ...FREE, temperature: 1, seed: 1 }),
  'seed 2': chat({ ...FREE, temperature: 1, seed: 2 }),
  json_schema: chat({
    ...FREE,
    response_format: { type: 'json_schema', json_schema: { name: 'v', schema: SCHEMA } },
    max_tokens: 40,
  }),
  'json_schema behind a thought': chat({
    response_format: { type: 'json_schema', json_schema: { name: 'v', schema: SCHEMA } },
    max_tokens: 40,
  }),
  json_object: chat({ ...FREE, response_format: { type: 'json_object' } }),
  'a schema that makes no sense': chat({
    response_format: { type: 'json_schema', json_schema: { name: 'v', schema: { type: 'nothing' } } },
  }),
  guided_json: chat({ ...FREE, guided_json: SCHEMA, max_tokens: 40 }),
  structured_outputs: chat({ ...FREE, structured_outputs: { json: SCHEMA }, max_tokens: 40 }),
  logprobs: chat({ logprobs: true, top_logprobs: 2, max_tokens: 2 }),
  'prompt_logprobs of a reply': chat({ prompt_logprobs: 0, add_generation_prompt: false, max_tokens: 1 }, [
    ...SAY,
    { role: 'assistant', content: 'total 0 é' },
  ]),
  'prompt_logprobs of a reply, streamed': chat(
    { prompt_logprobs: 0, add_generation_prompt: false, max_tokens: 1, ...streamed },
    [...SAY, { role: 'assistant', content: 'total 0' }],
  ),
  completion: completion({}),
  'completion, streamed': completion(streamed),
  'completion, echo and logprobs': completion({ echo: true, logprobs: 1, max_tokens: 1 }),
  'no messages': chat({}, []),
  'messages left out': chat({ messages: undefined }),
  'message without content': chat({}, [{ role: 'user' }]),
  'content in parts': chat({}, [{ role: 'user', content: [{ type: 'text', text: 'ls' }] }]),
  'system message': chat({}, [{ role: 'system', content: 'You are a terminal.' }, ...SAY]),
  'two system messages': chat({}, [{ role: 'system', content: 'One.' }, { role: 'system', content: 'Two.' }, ...SAY]),
  'system message in between': chat({}, [...SAY, { role: 'system', content: 'Two.' }, ...SAY]),
  'unknown role': chat({}, [{ role: 'narrator', content: 'ls' }]),
  'reply last': chat({}, [...SAY, { role: 'assistant', content: 'total' }]),
  stop: chat({ stop: ['ok'] }),
  'stop of 100 texts': chat({ stop: Array.from({ length: 100 }, (_, at) => `never-${at}`) }),
  'stop of 1,000 texts': chat({ stop: Array.from({ length: 1_000 }, (_, at) => `never-${at}`) }),
  'two choices': chat({ n: 2 }),
  tools: chat({ tools: [TOOL], tool_choice: 'auto' }),
  'tool required': chat({ tools: [TOOL], tool_choice: 'required' }),
  'a null byte and an emoji': chat({}, [{ role: 'user', content: 'a\u0000b 🙂' }]),
  'half a surrogate pair': chat({}, [{ role: 'user', content: 'a\ud800' }]),
  'not JSON': { path: '/v1/chat/completions', text: '{"model": "tiny", "messages": [' },
  'wrong path': { path: '/chat/completion', body: { messages: SAY } },
};

/** Answers used by tests. */
export const KEPT = [
  ...['models', 'ordinary', 'streamed', 'cut by max_tokens', 'streamed, cut by max_tokens', 'completion'],
  ...['prompt over context', 'prompt over context, streamed', 'max_tokens over context', 'unknown model', 'wrong key'],
  ...['sampling parameters', 'prompt_logprobs of a reply', 'half a surrogate pair'],
];

/** More requests in flight than the engine has slots. */
const CROWD = 24;
/** Longest recorded answer, in characters. */
const MOST = 20_000;

/** Sends all probes to a server. `said` gets each answer. */
export async function probe({ url, model, key }, said) {
  const ask = ({ path, body, text, key: other }) =>
    post(`${url}${path}`, body && { model, temperature: 0, ...body }, text, other ?? key);
  const answers = {};
  for (const [name, what] of Object.entries(PROBES)) {
    answers[name] = await ask(what);
    said(name, answers[name]);
  }
  answers['cancelled stream, then another'] = await cancelled(ask, { url, model, key });
  said('cancelled stream, then another', answers['cancelled stream, then another']);
  const crowd = await Promise.all(Array.from({ length: CROWD }, () => ask(chat({ ...FREE, max_tokens: 200 }))));
  const unlike = crowd.find(({ status }) => status !== 200) ?? crowd[0];
  answers[`${CROWD} at once`] = unlike;
  said(`${CROWD} at once`, unlike);
  return answers;
}

async function post(url, body, text, key) {
  const headers = { ...(key !== '' && { authorization: `Bearer ${key}` }) };
  const sent = text ?? (body && JSON.stringify(body));
  if (sent !== undefined) headers['content-type'] = 'application/json';
  const started = performance.now();
  try {
    const response = await fetch(url, {
      method: sent === undefined ? 'GET' : 'POST',
      headers,
      body: sent,
      signal: AbortSignal.timeout(120_000),
    });
    const said = await response.text();
    return {
      status: response.status,
      headers: kept(response.headers),
      body: said.length > MOST ? `${said.slice(0, MOST)}[cut]` : said,
      seconds: Number(((performance.now() - started) / 1000).toFixed(2)),
    };
  } catch (error) {
    return {
      status: 0,
      headers: {},
      body: `${error.name}: ${error.cause?.code ?? error.message}`,
      seconds: (performance.now() - started) / 1000,
    };
  }
}

/** The headers that describe the answer. */
function kept(headers) {
  return Object.fromEntries(
    [...headers].filter(([name]) =>
      ['content-type', 'server', 'retry-after', 'www-authenticate', 'content-encoding'].includes(name),
    ),
  );
}

/** Cancels a long stream after its first chunk, then sends a short request. */
async function cancelled(ask, { url, model, key }) {
  const left = new AbortController();
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: SAY, ...FREE, stream: true, max_tokens: 8_000 }),
    signal: left.signal,
  });
  await response.body.getReader().read();
  left.abort();
  return ask(chat({}));
}
