// The judgings of a panel: each judged file read, its predictions told apart, and the files held against each other.

import { basename } from 'node:path';
import { readJudged } from '../../benchmark/judged.js';
import { judgedFilesOf, manifestBeside } from '../../benchmark/judged-path.js';
import { stampOf } from '../../benchmark/predictions.js';
import { EXIT, UserError } from '../../core/errors.js';
import { canonicalJson, isObject } from '../../core/json.js';
import { readPredictionRow } from '../../core/prediction.js';
import { oneLine, printable } from '../../core/printable.js';
import { rowId } from '../../core/row-id.js';
import type { Io, JudgedRow } from '../../core/types.js';
import { type MadeWith, madeWith } from '../../run/made-with.js';
import { changeSince, type Manifest, readManifest } from '../../run/manifest.js';
import { shownPath } from '../../settings/shown-path.js';
import { ratesDimensions } from '../modes.js';

/** A judgement, and where its line lies in the judged file. */
export interface PlacedRow {
  readonly row: JudgedRow;
  readonly line: number;
  readonly offset: number;
  readonly length: number;
  /** Changes whenever the prediction changes that was judged. */
  readonly stamp: string;
}

/** One judging of a panel. */
export interface Member {
  readonly path: string;
  /** The file as people are shown it. */
  readonly shown: string;
  /** Who judged, in one name that no other member has. */
  readonly name: string;
  readonly sha256: string;
  readonly manifest: Manifest;
  readonly made: MadeWith;
  /** The judgements of each prediction, by the id of the prediction, in the order of the file. */
  readonly predictions: ReadonlyMap<string, readonly PlacedRow[]>;
}

/**
 * Reads the judgings of a panel. @throws UserError: 66 and 65 for a file or its manifest, 78 where they are not judgings of the same
 * predictions under the same rubrics.
 */
export async function readMembers(files: readonly string[], io: Io): Promise<readonly Member[]> {
  const members: Member[] = [];
  const note = (text: string) => io.stderr.write(`note: ${text}\n`);
  for (const file of judgedFilesOf(files, io, note)) members.push(await readMember(file, io));
  requireSeveral(members);
  const [first, ...others] = members;
  for (const other of others) if (first !== undefined) requireAlike(first, other);
  return named(members);
}

async function readMember(path: string, io: Io): Promise<Member> {
  const shown = shownPath(path, io);
  const predictions = new Map<string, PlacedRow[]>();
  const { sha256 } = await readJudged(path, io.stop, (row, fields, { number: line, offset, bytes }) => {
    const { gen = '', failure } = readPredictionRow(fields) ?? {};
    const id = rowId(row.key, row.repeat);
    const placed = { row, line, offset, length: bytes.length, stamp: stampOf(gen, failure) };
    const before = predictions.get(id);
    if (before === undefined) predictions.set(id, [placed]);
    else before.push(placed);
  });
  const manifest = await readManifest(manifestBeside(path));
  if (manifest === undefined) {
    throw new UserError(
      `${shown} has no manifest beside it, so nobody knows who judged what in it; a panel takes the files that awb judge wrote`,
      EXIT.inputMissing,
    );
  }
  const made = madeWith(manifest);
  if (!ratesDimensions(made.mode) || manifest.identity.members !== undefined) {
    const what =
      manifest.identity.members === undefined
        ? `comes from --mode ${made.mode}, which rates no dimension`
        : 'is a panel itself';
    throw new UserError(`${shown} ${what}; a panel joins ordinary judgings by rubrics`, EXIT.badData);
  }
  const change = changeSince(manifest, shown, sha256);
  if (change !== undefined) io.stderr.write(`note: ${printable(change)}\n`);
  return { path, shown, name: made.judgeName ?? basename(path), sha256, manifest, made, predictions };
}

/** @throws UserError (2) for fewer than two judgings, or one that is named twice: it would count twice. */
function requireSeveral(members: readonly Member[]): void {
  if (members.length < 2) throw new UserError('a panel has at least two judges; name two judged files or more');
  for (const [at, { sha256, manifest, shown }] of members.entries()) {
    const twin = members
      .slice(0, at)
      .find((other) => other.sha256 === sha256 || isSameJudging(other.manifest, manifest));
    if (twin !== undefined) {
      throw new UserError(
        `${twin.shown} and ${shown} hold one and the same judging, which would count twice; leave one out`,
      );
    }
  }
}

function isSameJudging(a: Manifest, b: Manifest): boolean {
  return a.fingerprint === b.fingerprint && a.startedAt === b.startedAt;
}

/** What all judgings of a panel have to share, by field. Where the files lie makes no difference. */
function sharedFields({ manifest, made }: Member): ReadonlyMap<string, string> {
  const { rubrics, predictions } = manifest.identity;
  const fields = {
    mode: made.mode,
    ...Object.fromEntries(
      Object.entries(isObject(rubrics) ? rubrics : {}).map(([name, value]) => [`rubrics.${name}`, value]),
    ),
    'predictions.run': isObject(predictions) ? predictions.run : undefined,
    'predictions.begun': made.predictedAt,
  };
  return new Map(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, canonicalJson(value)]])),
  );
}

const MOST_NAMED = 3;

/** @throws UserError (78) with the fields that differ, or with rows whose prediction is another one. */
function requireAlike(first: Member, other: Member): void {
  const [a, b] = [sharedFields(first), sharedFields(other)];
  const fields = [...new Set([...a.keys(), ...b.keys()])].filter((name) => a.get(name) !== b.get(name));
  const differing = fields.map(
    (name) => `${name}: ${fieldText(a.get(name))} in ${first.shown}, ${fieldText(b.get(name))} in ${other.shown}`,
  );
  const changed = fields.length > 0 ? [] : changedRows(first, other);
  if (differing.length === 0 && changed.length === 0) return;
  const remedy =
    fields.length > 0
      ? 'Judge the same predictions under the same rubrics by every judge.'
      : 'Give the awb judge command of the older file again, which judges anew what has changed since.';
  throw new UserError(
    [
      'a panel joins judgings of the same predictions under the same rubrics, and these are not:',
      ...[...differing, ...changed].map((line) => `  ${line}`),
      remedy,
    ].join('\n'),
    EXIT.identityDiffers,
  );
}

function fieldText(value: string | undefined): string {
  return value === undefined ? 'nothing' : oneLine(value, 80);
}

/** The first rows of both files that hold another prediction in each. */
function changedRows(first: Member, other: Member): string[] {
  const changed: string[] = [];
  let shared = 0;
  for (const [id, [own]] of first.predictions) {
    const [theirs] = other.predictions.get(id) ?? [];
    if (own === undefined || theirs === undefined) continue;
    shared++;
    if (own.stamp !== theirs.stamp) {
      changed.push(
        `the prediction of ${first.shown}:${own.line} is another one than that of ${other.shown}:${theirs.line}`,
      );
    }
  }
  if (shared === 0) return [`${first.shown} and ${other.shown} have no prediction in common`];
  const more = changed.length - MOST_NAMED;
  return [...changed.slice(0, MOST_NAMED), ...(more > 0 ? [`and ${more} more`] : [])];
}

/** The members under names that are theirs alone: judges of one name are numbered. */
function named(members: readonly Member[]): Member[] {
  return members.map((member, at) => {
    const before = members.slice(0, at).filter(({ name }) => name === member.name).length;
    return before === 0 ? member : { ...member, name: `${member.name} (${before + 1})` };
  });
}
