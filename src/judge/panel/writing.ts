// A panel's judged file: rows like those of any judging, with what each judge gave, and a manifest beside them.

import type { FileHandle } from 'node:fs/promises';
import { decoded, openToRead, readSpan } from '../../benchmark/line-file.js';
import { withMembers } from '../../benchmark/row-text.js';
import { EXIT, UserError } from '../../core/errors.js';
import { type JsonObject, parseObject } from '../../core/json.js';
import { JUDGEMENT_KEYS, judgementMembers, remarksIn } from '../../core/judged-row.js';
import { type JudgementRecord, rated, unrated } from '../../core/judgement.js';
import { readPredictionRow } from '../../core/prediction.js';
import { present } from '../../core/present.js';
import type { Flag } from '../../core/types.js';
import { writeLines } from '../../disk/files.js';
import type { Offsets } from '../../stats/agreement/panel.js';
import type { PanelRow, Voice } from './joining.js';
import type { Member, PlacedRow } from './members.js';

/** Writes the file, whole or not at all. @throws UserError: 74, 66, or 65 where a member was changed meanwhile. */
export async function writePanel(
  path: string,
  rows: readonly PanelRow[],
  members: readonly Member[],
  offsets: Offsets | undefined,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const handles: FileHandle[] = [];
  try {
    for (const member of members) handles.push(await openToRead(member.path, 'a panel reads it twice'));
    const lines = async function* () {
      for (const row of rows) if (row.outcome !== undefined) yield await lineOf(row, members, handles, offsets);
    };
    return await writeLines(path, lines(), 'mend that, or name another file with --output');
  } finally {
    for (const handle of handles) await handle.close();
  }
}

async function lineOf(
  row: PanelRow,
  members: readonly Member[],
  handles: readonly FileHandle[],
  offsets: Offsets | undefined,
): Promise<string> {
  const texts: (string | undefined)[] = [];
  for (const [at, lines] of row.lines.entries()) {
    const [first] = lines;
    texts.push(first && (await textAt(present(handles[at]), first, present(members[at]))));
  }
  const text = present(texts.find((each) => each !== undefined));
  const fields = parseObject(text) ?? {};
  const { gen = '', awb = {} } = readPredictionRow(fields) ?? {};
  const { key, trajectory, repeat, flags } = present(row.lines.find((lines) => lines.length > 0)?.[0]).row;
  // Flags of later versions are kept as they stand there.
  const prediction = { key, trajectory, repeat, gen, awb, flags: flags as Flag[] };
  return withMembers(text, JUDGEMENT_KEYS, judgementMembers(prediction, recordOf(row, members, texts, offsets), 0));
}

async function textAt(handle: FileHandle, { offset, length, line }: PlacedRow, { shown }: Member): Promise<string> {
  const text = decoded(await readSpan(handle, offset, length));
  if (text !== undefined && parseObject(text) !== undefined) return text;
  throw new UserError(`${shown}:${line} was changed while it was read; run the same command again`, EXIT.badData);
}

function recordOf(
  { domain, outcome, voices }: PanelRow,
  members: readonly Member[],
  texts: readonly (string | undefined)[],
  offsets: Offsets | undefined,
): JudgementRecord {
  const panel = voices.map((voice, at) => {
    const taken = voice.status === 'rated' ? offsets?.get(domain)?.judges[at] : undefined;
    return { judge: present(members[at]).name, ...voiceDocument(voice), ...(taken && { offsets: taken }) };
  });
  const { rubricPack: name, rubricFingerprint: fingerprint } = present(members[0]).made;
  const rubrics = name === undefined || fingerprint === undefined ? {} : { rubrics: { name, fingerprint } };
  const asked = { ...rubrics, panel };
  if (outcome?.status !== 'rated') return unrated(present(outcome).failure, asked);
  const { ratings, total } = outcome.rating;
  const record = rated({ status: 'ok', ratings, total, ...remarksOf(members, texts) }, asked);
  const { measures } = outcome;
  return Object.keys(measures).length === 0 ? record : { ...record, measures };
}

/** What the judges said in words, each under its name. */
function remarksOf(members: readonly Member[], texts: readonly (string | undefined)[]) {
  const remarks = texts.map((text) => remarksIn((text === undefined ? undefined : parseObject(text)) ?? {}));
  const under = (name: 'strengths' | 'weaknesses') =>
    remarks.flatMap((own, at) => own[name].map((remark) => `${present(members[at]).name}: ${remark}`));
  return { strengths: under('strengths'), weaknesses: under('weaknesses') };
}

function voiceDocument(voice: Voice): JsonObject {
  switch (voice.status) {
    case 'rated':
      return {
        status: 'ok',
        ratings: voice.ratings,
        ...(Object.keys(voice.measures).length === 0 ? {} : { measures: voice.measures }),
      };
    case 'failed':
      return { status: 'failed', class: voice.failure.class, reason: voice.failure.reason };
    case 'absent':
      return { status: 'absent' };
    default:
      return voice satisfies never;
  }
}
