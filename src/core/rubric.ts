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
  /** The user message with a place for each of NEEDED_SLOTS, and maybe for OPTIONAL_SLOTS; `readTemplate` accepts it. */
  readonly userTemplate: string;
  /** Whether it asks for a checklist of facts in front of the scores. */
  readonly facts?: true | undefined;
  /** Set where its judge is shown no truth: its template has no place for one, nor for what is computed from it. */
  readonly hidesTruth?: true | undefined;
  /** The pack as it judges without the truth whether a rollout agrees with itself; absent where it has no texts for that. */
  readonly withoutTruth?: RubricPack;
}

/** The four things that every user template shows, by the names that the official template gives them. */
const NEEDED_SLOTS = ['context', 'world_model_input', 'predicted_observation', 'ground_truth'] as const;
/** What a user template may show beside them: what the world model was told of its environment, and a computed list of what changed. */
const OPTIONAL_SLOTS = ['told', 'changes'] as const;
const TEMPLATE_SLOTS = [...NEEDED_SLOTS, ...OPTIONAL_SLOTS] as const;
export type TemplateSlot = (typeof TEMPLATE_SLOTS)[number];
export type OptionalSlot = (typeof OPTIONAL_SLOTS)[number];

/** What tells of the truth. */
const TRUTH_SLOTS: readonly TemplateSlot[] = ['ground_truth', 'changes'];

type TemplatePart = { readonly text: string } | { readonly slot: TemplateSlot };

/**
 * Splits a user template into text and slots: `{name}` is a slot, `{{` and `}}` are single braces, as in Python's
 * `str.format` without its conversions, format specs and fields. Each of NEEDED_SLOTS has to occur at least once.
 * @param hidesTruth whether it has to do without the slots that tell of the truth
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

/** The optional slots that a pack's user template has. */
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
