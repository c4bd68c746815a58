// The parts of undici that calls without a proxy need, loaded by themselves: the whole package takes three times as long, most of it for a
// fetch and a WebSocket that are not used, and in one turn of the event loop. Its own types name no parts.

declare module 'undici/lib/dispatcher/agent.js' {
  export { Agent as default } from 'undici';
}

declare module 'undici/lib/api/api-request.js' {
  import type { Dispatcher } from 'undici';

  export default function request(
    this: Dispatcher,
    options: Dispatcher.RequestOptions,
  ): Promise<Dispatcher.ResponseData>;
}
