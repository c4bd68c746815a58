// A cache of prompt prefixes as vLLM's automatic prefix caching has one: blocks of 16 tokens, each known by all that stands before it,
// the least recently used dropped first. A token is four bytes.

import { createHash } from 'node:crypto';

const BLOCK_BYTES = 16 * 4;

/** What the chat template of an engine makes of messages, as far as prefixes go. */
export function promptOf(messages) {
  return messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`).join('');
}

/** The whole blocks of a prompt, each by a hash of itself and all before it. */
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

/** The fewest blocks that any order could be charged: those of the tree that all prompts make. */
export function leastBlocks(prompts) {
  const tree = new Set();
  for (const prompt of prompts) for (const block of blocksOf(prompt)) tree.add(block);
  return tree.size;
}

export class PrefixBlocks {
  /** How many requests use each block that is held; those that none uses are in the order in which they go. */
  #users = new Map();
  #free = new Set();
  charged = 0;

  /** @param room how many blocks it holds */
  constructor(room) {
    this.room = room;
  }

  /**
   * A request begins: it is charged with the blocks that are not there. They are there for whoever comes next, as vLLM has it: what is
   * computed in one step, others of the same step may use.
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

  /** A request has ended. The end of its prompt goes first. */
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
