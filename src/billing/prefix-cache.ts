// What a prefix cache could serve: each request against the latest ones before it.

import { present } from '../present.js';
import type { ChatMessage, Question } from '../types.js';

/**
 * The cache holds the latest prompts, up to so many characters: about a million tokens, as the memory of a GPU does for a while and a
 * provider for some minutes.
 */
const CACHE_CHARACTERS = 4_000_000;
/** No more prompts than that, as each is compared with all. */
const MOST_PROMPTS = 256;
const BLOCK = 4_096;

/** How a question begins as one before it did. */
interface Shared {
  /** Messages that are whole in both. */
  readonly messages: number;
  /** UTF-16 units of the message behind them that both begin with. */
  readonly characters: number;
}

type Messages = readonly Pick<ChatMessage, 'role' | 'content'>[];

interface Kept {
  readonly messages: Messages;
  readonly size: number;
}

/** An ideal cache: it serves the longest start that any of its prompts has in common with the new one, to the character. */
export class PrefixCache {
  readonly #kept: Kept[] = [];
  #size = 0;

  constructor(private readonly most = CACHE_CHARACTERS) {}

  /** What the cache holds of a question, which it then takes in, in place of the oldest ones. */
  take(question: Question): Shared {
    const messages = messagesOf(question);
    let best: Shared = { messages: 0, characters: 0 };
    // The latest is the likeliest to share most.
    for (let at = this.#kept.length - 1; at >= 0; at--) {
      const kept = present(this.#kept[at]).messages;
      if (mayExceed(kept, messages, best)) best = longer(sharedBy(kept, messages), best);
    }
    this.#keep(messages);
    return best;
  }

  #keep(messages: Messages): void {
    const size = messages.reduce((sum, { content }) => sum + content.length, 0);
    this.#kept.push({ messages, size });
    this.#size += size;
    while (this.#kept.length > 1 && (this.#size > this.most || this.#kept.length > MOST_PROMPTS)) {
      this.#size -= this.#kept.shift()?.size ?? 0;
    }
  }
}

/** A completion's prompt counts as one message. */
export function messagesOf(question: Question): Messages {
  return 'messages' in question ? question.messages : [{ role: 'user', content: question.prompt }];
}

/** Whether prompts may share more than the best so far: one character tells of most that they do not. */
function mayExceed(kept: Messages, messages: Messages, { messages: whole, characters }: Shared): boolean {
  const [one, other] = [kept[whole]?.content, messages[whole]?.content];
  if (one === undefined || other === undefined) return false;
  return one.charCodeAt(characters) === other.charCodeAt(characters) || one === other;
}

function longer(a: Shared, b: Shared): Shared {
  return a.messages > b.messages || (a.messages === b.messages && a.characters > b.characters) ? a : b;
}

function sharedBy(a: Messages, b: Messages): Shared {
  const most = Math.min(a.length, b.length);
  for (let messages = 0; messages < most; messages++) {
    const [one, other] = [present(a[messages]), present(b[messages])];
    if (one.role !== other.role) return { messages, characters: 0 };
    if (one.content === other.content) continue;
    return { messages, characters: commonLength(one.content, other.content) };
  }
  return { messages: most, characters: 0 };
}

/** UTF-16 units that both texts begin with. Whole blocks are compared many times as fast as characters one by one. */
function commonLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let at = 0;
  while (at + BLOCK <= most && a.slice(at, at + BLOCK) === b.slice(at, at + BLOCK)) at += BLOCK;
  while (at < most && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at;
}
