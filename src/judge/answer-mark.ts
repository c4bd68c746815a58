// Marks that no shown text can contain. The mark of the judge's answer is specific to the case, so that nothing in a prediction can pass
// for that answer. The marks of the frames around the material ensure that nothing inside can pass for the frame.

import { createHash } from 'node:crypto';
import { pythonStrip, tagSpans, VERDICT_TAG, withoutThinking } from '../core/reply.js';
import type { Turn } from '../core/turn.js';
import type { ChatMessage, Sample } from '../core/types.js';

/** Hexadecimal digits. */
export const MARK_LENGTH = 16;

/**
 * The mark of one question: the start of a SHA-256 over the whole case, including the texts to be judged, and the number of the attempt. A
 * prediction that planted it would have to be a fixed point of the hash. The same case has the same mark in every run.
 * @param texts the predictions to be judged, in the order shown
 * @param attempt 0-based
 */
export function answerMark(sample: Sample, texts: readonly string[], attempt: number): string {
  const { domain, systemPrompt, prompts, responses, turnIdx, currentPrompt } = sample;
  const source = [attempt, texts, domain, turnIdx, systemPrompt, currentPrompt, prompts, responses];
  return createHash('sha256').update(JSON.stringify(source)).digest('hex').slice(0, MARK_LENGTH);
}

/** The form of the answer: a JSON object between tags, a choice between them, or nothing but the object. */
export type AnswerForm = 'block' | 'choice' | 'object';

/** The messages, with lines appended to the last one that ask for the mark in the form in which it must be written. */
export function askingForMark(messages: readonly ChatMessage[], form: AnswerForm, mark: string, attempt: number) {
  const [open, close] = [`<${VERDICT_TAG}-${mark}>`, `</${VERDICT_TAG}-${mark}>`];
  const member = `"mark": "${mark}"`;
  const wanted = {
    block: `Put the JSON object between these two tags; without the mark it does not count:\n\n${open}\n${close}`,
    choice: `End your answer with A or B between these two tags; without the mark it does not count:\n\n${open}${close}`,
    object: `Your answer is the JSON object alone. Its first member is the mark of this case, without which it does not count: ${member}`,
  }[form];
  const again = attempt === 0 ? '' : `\n\n${AGAIN} ${form === 'object' ? member : open}`;
  return messages.map((message, place) =>
    place === messages.length - 1 ? { ...message, content: `${message.content}\n\n${wanted}${again}` } : message,
  );
}

const AGAIN = 'An earlier answer to this case could not be read. Take care to write';

/**
 * The contents of the reply's marked blocks outside of thinking, stripped and in order, without empty blocks. A block runs from its opening
 * tag to the next closing one; the last one may end at a closing tag without the mark, or with the reply. Thinking tags inside a block are
 * part of its text.
 */
export function markedBlocks(reply: string, mark: string): string[] {
  const bodies: string[] = [];
  let outline = '';
  let from = 0;
  const put = (start: number, inside: number, end: number, next: number) => {
    const place = bodies.push(pythonStrip(reply.slice(inside, end))) - 1;
    outline += `${reply.slice(from, start)}<${VERDICT_TAG}>${mark}:${place}</${VERDICT_TAG}>`;
    from = next;
  };
  let open: RegExpMatchArray | undefined;
  const endOf = (tag: RegExpMatchArray) => (tag.index ?? 0) + tag[0].length;
  for (const tag of reply.matchAll(new RegExp(`<(/?)${VERDICT_TAG}-${mark}>`, 'gi'))) {
    // If several opening tags precede one closing tag, the earlier ones are mentions.
    if (tag[1] === '') open = tag;
    else if (open !== undefined) {
      put(open.index ?? 0, endOf(open), tag.index, endOf(tag));
      open = undefined;
    }
  }
  if (open !== undefined) {
    const behind = reply.slice(endOf(open));
    const close = ANY_CLOSING.exec(behind);
    const end = endOf(open) + (close?.index ?? behind.length);
    put(open.index ?? 0, endOf(open), end, end + (close?.[0].length ?? 0));
  }
  // Only a judge knows the mark, so nothing that it quotes can pass for a block here.
  const left = withoutThinking(outline + reply.slice(from), VERDICT_TAG);
  return Array.from(
    left.matchAll(new RegExp(`${mark}:(\\d+)<`, 'g')),
    ([, place]) => bodies[Number(place)] ?? '',
  ).filter((body) => body !== '');
}

/** The closing tag of a judge that omits the mark there. */
const ANY_CLOSING = new RegExp(`</${VERDICT_TAG}[^<>]{0,40}>`, 'i');

/** The content of the single unmarked block that ends the reply, on lines of its own; undefined if there is none, or more than one. */
export function soleBlock(reply: string): string | undefined {
  const text = withoutThinking(reply, VERDICT_TAG);
  const [open, ...opens] = tagSpans(text, VERDICT_TAG);
  const [close, ...closes] = tagSpans(text, `/${VERDICT_TAG}`);
  if (open === undefined || opens.length + closes.length > 0 || (close?.start ?? text.length) < open.end)
    return undefined;
  const around = `${text.slice(text.lastIndexOf('\n', open.start) + 1, open.start)}${close === undefined ? '' : text.slice(close.end)}`;
  return /^[\s`]*$/.test(around) ? pythonStrip(text.slice(open.end, close?.start)) : undefined;
}

/** Hexadecimal digits in the mark of a frame. */
const FRAME_MARK_LENGTH = 12;

/** A text in a frame, whose opening and closing tags carry the mark. */
export function framed(name: string, mark: string, turn: number, text: string): string {
  return `<${name}-${mark} turn="${turn}">\n${text}\n</${name}-${mark}>`;
}

/** The first word in an endless sequence derived from the source that none of the texts contains, ignoring case. */
export function unusedMark(source: string, texts: readonly string[]): string {
  for (let attempt = 0; ; attempt++) {
    const mark = createHash('sha256').update(`${attempt}\n${source}`).digest('hex').slice(0, FRAME_MARK_LENGTH);
    // The texts are long: a pattern finds the mark without a lower-case copy of them.
    const pattern = new RegExp(mark, 'i');
    if (!texts.some((text) => pattern.test(text))) return mark;
  }
}

/** The turns before the judged one, framed with their own mark. */
export function framedHistory(mark: string, turns: readonly Turn[]): string {
  const parts = turns.flatMap(({ prompt, response }, index) => [
    framed('input', mark, index + 1, prompt),
    framed('observation', mark, index + 1, response),
  ]);
  return [`<history-${mark}>`, ...parts, `</history-${mark}>`].join('\n');
}
