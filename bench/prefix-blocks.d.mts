// Types of prefix-blocks.mjs for tests.

import type { ChatMessage } from '../src/core/types.js';

interface Begun {
  readonly blocks: readonly string[];
  readonly cached: number;
}
export declare function promptOf(messages: readonly ChatMessage[]): string;
export declare function blocksOf(prompt: string): string[];
export declare function leastBlocks(prompts: Iterable<string>): number;
export declare class PrefixBlocks {
  readonly charged: number;
  constructor(room: number);
  begin(prompt: string): Begun;
  end(request: Begun): void;
}
