// Under which bundled pack a judging goes on that names none: the default has changed, and judgings begun under the one before stay there.

import { BUNDLED_PACKS } from '../../bench/rubric-pack.js';
import type { Method } from '../../judge/mode.js';
import { findBegun } from './judged-files.js';
import { type Judging, judgeIdentity } from './judging.js';

/** Where a judging stands that was begun under the default pack of earlier versions. */
export interface PackPlace {
  /** What to tell the user where it goes on under that pack. */
  readonly notice?: string;
  /** Its name where it starts anew under today's default. */
  readonly inPlaceOf?: string;
}

/**
 * The work as it was given; or, where the user names no pack and the folder holds a judging that differs in its bundled pack alone, as
 * that judging needs it. A judging that starts anew takes today's default, and that judging's place.
 */
export async function atItsPack(
  given: Judging,
  openMethod: (pack: string) => Promise<Method>,
): Promise<PackPlace & { readonly work: Judging }> {
  const { settings, dir, method } = given;
  const isNamed = settings.rubrics !== undefined || settings.judgeSees !== 'history';
  if (isNamed || method.identity.rubrics === undefined) return { work: given };
  const begun = (work: Judging) => findBegun(dir, (stored) => judgeIdentity(work, stored), settings.label);
  if ((await begun(given)) !== undefined) return { work: given };
  const [today, ...earlier] = BUNDLED_PACKS;
  for (const pack of earlier) {
    const work = { ...given, method: await openMethod(pack) };
    const judging = await begun(work);
    if (judging === undefined) continue;
    if (settings.fresh && settings.recheck === undefined) return { work: given, inPlaceOf: judging.name };
    const notice = `${judging.name}.jsonl was begun under the rubric pack ${pack} and goes on under it; --rubrics ${today} judges under today's default, into a file of its own`;
    return { work, notice };
  }
  return { work: given };
}
