// A cache of prompt prefixes like vLLM's automatic prefix caching: blocks of 16 tokens, each identified by itself and everything before
// it; the least recently used are dropped first. A token is four bytes.

import { createHash } from 'node:crypto';

const BLOCK_BYTES = 16 * 4;

/** Renders messages like an engine's chat template; enough to compare prefixes. */
export function promptOf(messages) {
  return messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`).join('');
}

/** The full blocks of a prompt, each as a hash of itself and everything before it. */
export function blocksOf(prompt) {
  const bytes = Buffer.from(prompt);
  const blocks = [];
  let before = '';
  for (let end = BLOCK_BYTES; end <= bytes.length; end += BLOCK_BYTES) {
    before = createHash('md5')
      .update(before)
      .update(bytes.subarray(end - BLOCK_BYTES, end))
      .digest('latin1');
    blocks.push(before);
  }
  return blocks;
}

/** The minimum of blocks charged in any order: the size of the tree of all prompts. */
export function leastBlocks(prompts) {
  const tree = new Set();
  for (const prompt of prompts) for (const block of blocksOf(prompt)) tree.add(block);
  return tree.size;
}

export class PrefixBlocks {
  /** How many requests use each cached block. `#free` has the unused ones in the order in which they are dropped. */
  #users = new Map();
  #free = new Set();
  charged = 0;

  /** @param room capacity in blocks */
  constructor(room) {
    this.room = room;
  }

  /**
   * Starts a request and charges it for the blocks that are not cached. The next request can use them at once, as in vLLM, where requests
   * of one step share what the step computes.
   */
  begin(prompt) {
    const blocks = blocksOf(prompt);
    let cached = 0;
    while (cached < blocks.length && this.#users.has(blocks[cached])) cached++;
    for (const block of blocks) {
      this.#users.set(block, (this.#users.get(block) ?? 0) + 1);
      this.#free.delete(block);
    }
    this.#makeRoom();
    this.charged += blocks.length - cached;
    return { blocks, cached };
  }

  /** Ends a request. The end of its prompt is dropped first. */
  end({ blocks }) {
    for (const block of blocks.toReversed()) {
      const users = this.#users.get(block) - 1;
      this.#users.set(block, users);
      if (users === 0) this.#free.add(block);
    }
    this.#makeRoom();
  }

  #makeRoom() {
    for (const block of this.#free) {
      if (this.#users.size <= this.room) return;
      this.#free.delete(block);
      this.#users.delete(block);
    }
  }
}
