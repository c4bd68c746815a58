// What a judge is asked with: the rubric pack, and the template language of its user message.

/** The judge's instructions for every domain, and what they can be recognised by. */
export interface RubricPack {
  /** `name` of pack.json, or `official` for a checkout of the official repository. */
  readonly name: string;
  /** SHA-256 in hex over all that a judge is told: names, version, system prompts, user template. */
  readonly fingerprint: string;
  /** Whether the judge's messages have to be built as the official script builds them. */
  readonly official: boolean;
  readonly domains: readonly string[];
  /** The judge's system prompt for a domain, or undefined where the pack has none. */
  systemPrompt(domain: string): string | undefined;
  /** The user message with a place for each of TEMPLATE_SLOTS; `readTemplate` accepts it. */
  readonly userTemplate: string;
}

/** The four things that a user template shows, by the names that the official template gives them. */
const TEMPLATE_SLOTS = ['context', 'world_model_input', 'predicted_observation', 'ground_truth'] as const;
export type TemplateSlot = (typeof TEMPLATE_SLOTS)[number];

type TemplatePart = { readonly text: string } | { readonly slot: TemplateSlot };
type Template =
  | { readonly status: 'ok'; readonly parts: readonly TemplatePart[] }
  | { readonly status: 'bad'; readonly reason: string };

/**
 * Splits a user template into text and slots: `{name}` is a slot, `{{` and `}}` are single braces, as in Python's
 * `str.format` without its conversions, format specs and fields. Each slot has to occur at least once.
 */
export function readTemplate(template: string): Template {
  const parts: TemplatePart[] = [];
  for (const [token] of template.matchAll(/\{\{|\}\}|\{[^{}]*\}|[{}]|[^{}]+/g)) {
    if (token === '{' || token === '}') return { status: 'bad', reason: `a single "${token}" (write it twice)` };
    const part = readToken(token);
    if (part === undefined) {
      return { status: 'bad', reason: `the unknown slot ${token}; the slots are ${braced(TEMPLATE_SLOTS)}` };
    }
    parts.push(part);
  }
  const missing = TEMPLATE_SLOTS.filter((slot) => !parts.some((part) => 'slot' in part && part.slot === slot));
  return missing.length > 0 ? { status: 'bad', reason: `no slot ${braced(missing)}` } : { status: 'ok', parts };
}

function readToken(token: string): TemplatePart | undefined {
  if (token === '{{') return { text: '{' };
  if (token === '}}') return { text: '}' };
  if (!token.startsWith('{')) return { text: token };
  const slot = TEMPLATE_SLOTS.find((name) => token === `{${name}}`);
  return slot && { slot };
}

function braced(slots: readonly string[]): string {
  return slots.map((slot) => `{${slot}}`).join(', ');
}
