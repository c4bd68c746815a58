// How large a question is, in characters and tokens, and how much of it a prefix cache could serve.

import { messagesOf, PrefixCache } from '../../billing/prefix-cache.js';
import { charactersOf } from '../../question.js';
import type { Domain, Question } from '../../types.js';

interface Size {
  readonly characters: number;
  /** Not rounded. */
  readonly promptTokens: number;
  readonly cachedTokens: number;
}

/** Tokens of a text in a prompt of this domain. Where it is only estimated, the text itself does not matter. */
interface TokenCount {
  tokens(text: string, domain: Domain): number;
}

/** Sizes of questions in the order in which they would be asked. */
export function sizer(count: TokenCount): (question: Question, domain: Domain) => Size {
  const cache = new PrefixCache();
  return (question, domain) => {
    const shared = cache.take(question);
    let promptTokens = 0;
    let cachedTokens = 0;
    for (const [place, { content }] of messagesOf(question).entries()) {
      const tokens = count.tokens(content, domain);
      promptTokens += tokens;
      if (place < shared.messages) cachedTokens += tokens;
      else if (place === shared.messages && shared.characters > 0) {
        cachedTokens += Math.min(tokens, count.tokens(content.slice(0, shared.characters), domain));
      }
    }
    return { characters: charactersOf(question), promptTokens, cachedTokens };
  };
}

/** By characters a token. */
export function byRatio(charactersPerToken: (domain: Domain) => number): TokenCount {
  return { tokens: ({ length }, domain) => length / charactersPerToken(domain) };
}

/** By a tokenizer, which remembers the texts that it counted last. */
export function byTokenizer(tokenizer: { count(text: string): number }): TokenCount {
  return { tokens: (text) => tokenizer.count(text) };
}
