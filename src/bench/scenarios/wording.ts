// The words in which instructions are put, and those that give them away: bundled, and changed by a suite where it has others.

import { type Never, PUTS, type Put } from '../../scenario.js';
import { ownWordsOf, slotsIn } from '../../scenario-slots.js';
import type { Field, FieldReader, Fields } from './fields.js';

export interface Wording {
  readonly framing: Readonly<Record<Put, string>>;
  readonly never: Pick<Never, 'phrases' | 'words'>;
}

/** The heading is the one by which the bundled system prompts know an instruction. */
export const BUNDLED_WORDING: Wording = {
  framing: {
    system: `# Simulation Instruction

From the coming action on, this holds in the environment. Show it in what the environment returns, in the form that such output always has there, and leave everything else as it would be without it. The observation never mentions that anybody asked for it.

{instruction}`,
    'before-action': `**Simulation Instruction:**
{instruction}
(Show it in what the environment returns, in the form that such output always has there, and leave everything else as it would be. The observation never mentions that anybody asked for it.)`,
  },
  never: {
    phrases: [
      'as requested',
      'as instructed',
      'as you asked',
      'as specified in the instruction',
      'per the instruction',
      'per your instruction',
      'according to the instruction',
      'following the instruction',
      'the instruction',
      'simulat',
      'hypothetical',
      'for the purpose of this',
      'world model',
      'language model',
      'in this scenario',
      'fictional',
      'pretend',
    ],
    words: 5,
  },
};

/** The wording with what a suite changes of it: `framing` replaces, phrases of `never` are added. */
export function readWording(reader: FieldReader, fields: Fields, bundled: Wording): Wording {
  const framing = fields.get('framing');
  const never = fields.get('never');
  return {
    framing: framing === undefined ? bundled.framing : { ...bundled.framing, ...readFraming(reader, framing) },
    never: never === undefined ? bundled.never : withNever(reader, [never], bundled.never),
  };
}

function readFraming(reader: FieldReader, field: Field): Partial<Record<Put, string>> {
  const fields = reader.fields(field, '"framing"', PUTS) ?? new Map<string, Field>();
  const found: Partial<Record<Put, string>> = {};
  for (const put of PUTS) {
    const given = fields.get(put);
    const text = given && reader.text(given, `the framing "${put}"`);
    if (given === undefined || text === undefined) continue;
    if (slotsIn(text).join() === 'instruction') found[put] = text;
    else reader.fault(given.line, `the framing "${put}" has to hold the slot {instruction}, and no other`);
  }
  return found;
}

const NEVER_KEYS = ['phrases', 'words'];

/** With the phrases that further fields add; the last that tells a number of words holds. */
export function withNever(reader: FieldReader, added: readonly Field[], before: Wording['never']): Wording['never'] {
  let { phrases, words } = before;
  for (const field of added) {
    if (!reader.isMap(field)) {
      phrases = [...phrases, ...(reader.texts(field, '"never"') ?? [])];
      continue;
    }
    const fields = reader.fields(field, '"never"', NEVER_KEYS);
    const [more, run] = [fields?.get('phrases'), fields?.get('words')];
    if (more !== undefined) phrases = [...phrases, ...(reader.texts(more, '"phrases"') ?? [])];
    if (run === undefined) continue;
    const value = reader.value(run);
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0) words = value;
    else
      reader.fault(
        run.line,
        '"words" has to be a whole number: so many words of the instruction in a row, or 0 for none',
      );
  }
  return { phrases, words };
}

/** What a scenario's predictions must not say. */
export function neverOf({ phrases, words }: Wording['never'], instruction: string, framing: string): Never {
  return { phrases, words, own: words === 0 ? [] : [...ownWordsOf(instruction), ...ownWordsOf(framing)] };
}
