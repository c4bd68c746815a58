// What a judge is asked with: the rubric pack, and the template language of its user message.

/** The judge's instructions for every domain, and how to identify them. */
export interface RubricPack {
  /** `name` of pack.json, or `official` for a checkout of the official repository. */
  readonly name: string;
  /** SHA-256 in hex over everything that a judge is told: names, version, system prompts, user template. */
  readonly fingerprint: string;
  /** Whether the judge's messages must be built as the official script builds them. */
  readonly official: boolean;
  readonly domains: readonly string[];
  /** The judge's system prompt for a domain; undefined if the pack has none. */
  systemPrompt(domain: string): string | undefined;
  /** The user message with each of NEEDED_SLOTS and optionally OPTIONAL_SLOTS; `readTemplate` accepts it. */
  readonly userTemplate: string;
  /** Whether it asks for a checklist of facts before the scores. */
  readonly facts?: true | undefined;
  /** Set if its judge does not see the truth: its template has no slot for it, nor for anything computed from it. */
  readonly hidesTruth?: true | undefined;
  /**
   * The variant of the pack that judges, without the truth, whether a rollout agrees with itself; absent if the pack has no texts for
   * that.
   */
  readonly withoutTruth?: RubricPack;
}

/** The four slots of every user template, with the names of the official template. */
const NEEDED_SLOTS = ['context', 'world_model_input', 'predicted_observation', 'ground_truth'] as const;
/** Optional slots of a user template: what the world model was told about its environment, and a computed list of what changed. */
const OPTIONAL_SLOTS = ['told', 'changes'] as const;
const TEMPLATE_SLOTS = [...NEEDED_SLOTS, ...OPTIONAL_SLOTS] as const;
export type TemplateSlot = (typeof TEMPLATE_SLOTS)[number];
export type OptionalSlot = (typeof OPTIONAL_SLOTS)[number];

/** The slots that reveal the truth. */
const TRUTH_SLOTS: readonly TemplateSlot[] = ['ground_truth', 'changes'];

type TemplatePart = { readonly text: string } | { readonly slot: TemplateSlot };

/**
 * Splits a user template into text and slots: `{name}` is a slot, `{{` and `}}` are single braces, as in Python's `str.format` without
 * its conversions, format specs and fields. Each of NEEDED_SLOTS must occur at least once.
 * @param hidesTruth whether slots that reveal the truth are forbidden
 * @returns its parts, or what is wrong with it
 */
export function readTemplate(template: string, hidesTruth = false): readonly TemplatePart[] | string {
  const isShown = (slot: TemplateSlot) => !hidesTruth || !TRUTH_SLOTS.includes(slot);
  const slots = TEMPLATE_SLOTS.filter(isShown);
  const parts: TemplatePart[] = [];
  for (const [token] of template.matchAll(/\{\{|\}\}|\{[^{}]*\}|[{}]|[^{}]+/g)) {
    const slot = slots.find((name) => token === `{${name}}`);
    if (token === '{' || token === '}') return `a single "${token}" (write it twice)`;
    if (slot !== undefined) parts.push({ slot });
    else if (token === '{{' || token === '}}') parts.push({ text: token.charAt(0) });
    else if (!token.startsWith('{')) parts.push({ text: token });
    else return `the unknown slot ${token}; the slots are ${braced(slots)}`;
  }
  const missing = NEEDED_SLOTS.filter((slot) => isShown(slot) && !holds(parts, slot));
  return missing.length > 0 ? `no slot ${braced(missing)}` : parts;
}

/** The optional slots in a pack's user template. */
export function optionalSlots(pack: Pick<RubricPack, 'userTemplate' | 'hidesTruth'>): OptionalSlot[] {
  const parts = readTemplate(pack.userTemplate, pack.hidesTruth);
  return typeof parts === 'string' ? [] : OPTIONAL_SLOTS.filter((slot) => holds(parts, slot));
}

function holds(parts: readonly TemplatePart[], slot: TemplateSlot): boolean {
  return parts.some((part) => 'slot' in part && part.slot === slot);
}

function braced(slots: readonly string[]): string {
  return slots.map((slot) => `{${slot}}`).join(', ');
}
