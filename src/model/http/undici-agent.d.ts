// The part of undici that calls without a proxy need, loaded by itself: the whole package takes three times as long, most of it for a
// fetch and a WebSocket that are not used, and in one turn of the event loop. Its own types name no parts.

declare module 'undici/lib/dispatcher/agent.js' {
  export { Agent as default } from 'undici';
}
