// The chat template of a made-up model.

/**
 * Renders a conversation with the marks of Qwen3.5's template, without images: earlier turns lose their thinking, tools are in the system
 * message, and their answers in a user turn.
 */
export const CHAT_TEMPLATE = `{%- set last = namespace(query=-1) -%}
{%- for message in messages -%}
  {%- if message.role == 'user' -%}{%- set last.query = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{%- if tools -%}
  {{- '<|im_start|>system\\nTools:\\n' -}}
  {%- for tool in tools -%}{{- tool | tojson + '\\n' -}}{%- endfor -%}
  {{- '<|im_end|>\\n' -}}
{%- endif -%}
{%- if last.query < 0 -%}{{- raise_exception('a conversation needs a user message') -}}{%- endif -%}
{%- for message in messages -%}
  {%- set said = message.content | trim -%}
  {%- if message.role == 'assistant' -%}
    {%- set thought = '' -%}
    {%- if message.reasoning_content is string -%}
      {%- set thought = message.reasoning_content | trim -%}
    {%- elif '</think>' in said -%}
      {%- set thought = said.split('</think>')[0].split('<think>')[-1] | trim -%}
      {%- set said = said.split('</think>')[-1].lstrip('\\n') -%}
    {%- endif -%}
    {%- if loop.index0 > last.query -%}
      {%- set said = '<think>\\n' + thought + '\\n</think>\\n\\n' + said -%}
    {%- endif -%}
    {%- set called = namespace(text='') -%}
    {%- for call in message.tool_calls or [] -%}
      {%- set called.text = called.text + '\\n<tool_call>\\n<function=' + call.function.name + '>\\n' -%}
      {%- for name, value in call.function.arguments | items -%}
        {%- set called.text = called.text + '<parameter=' + name + '>\\n' + (value if value is string else value | tojson) + '\\n</parameter>\\n' -%}
      {%- endfor -%}
      {%- set called.text = called.text + '</function>\\n</tool_call>' -%}
    {%- endfor -%}
    {%- set said = said + called.text -%}
  {%- elif message.role == 'system' -%}
    {%- if not loop.first -%}{{- raise_exception('the system message comes first') -}}{%- endif -%}
  {%- elif message.role == 'tool' -%}
    {%- set said = '<tool_response>\\n' + said + '\\n</tool_response>' -%}
  {%- elif message.role != 'user' -%}
    {{- raise_exception('unknown role ' + message.role) -}}
  {%- endif -%}
  {{- '<|im_start|>' + ('user' if message.role == 'tool' else message.role) + '\\n' + said + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- '<|im_start|>assistant\\n<think>\\n' -}}
  {%- if enable_thinking is defined and enable_thinking is false -%}{{- '\\n</think>\\n\\n' -}}{%- endif -%}
{%- endif -%}`;
