// The action in a turn's prompt: where it stands, what it is, and how one more like it is written.

/** The last heading of an action with a fence behind it; observations repeated in front of it may quote others. */
const HEADING = /(?:^|\n)\*\*Action:\*\*[ \t]*\n(?=\s*(`{3,}|~{3,}))/g;

interface ActionPlace {
  /** Where its heading starts in the prompt. */
  readonly heading: number;
  /** What its fence names, such as `json`. */
  readonly language: string;
  /** Without the fence around it. */
  readonly text: string;
}

/** Where a prompt's action stands; undefined where it has none in a fence. */
export function actionIn(prompt: string): ActionPlace | undefined {
  const found = [...prompt.matchAll(HEADING)].at(-1);
  if (found === undefined) return undefined;
  const fence = found[1] ?? '';
  const behind = prompt.slice(found.index + found[0].length).trimStart();
  const [opening = '', ...lines] = behind.split('\n');
  const end = lines.findIndex((line) => line.trimEnd() === fence);
  const heading = found.index + (found[0].startsWith('\n') ? 1 : 0);
  return {
    heading,
    language: opening.slice(fence.length).trim(),
    text: (end < 0 ? lines : lines.slice(0, end)).join('\n'),
  };
}

/** An action under its heading, in a fence that it cannot close. */
export function actionSection(action: string, language: string): string {
  const longest = Math.max(0, ...Array.from(action.matchAll(/^`{3,}/gm), ([fence]) => fence.length));
  const fence = '`'.repeat(Math.max(3, longest + 1));
  return `**Action:**\n${fence}${language}\n${action}\n${fence}`;
}
