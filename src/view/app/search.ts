// A search through the texts of a run: trajectory by trajectory, since all of them are more than a browser holds.

import { useEffect, useState } from 'preact/hooks';
import type { SampleList, SampleTexts, TrajectoryTexts } from '../documents.js';
import { load } from './source.js';

interface Search {
  /** Record ids of the samples whose texts hold what is looked for. */
  readonly found: ReadonlySet<string>;
  /** Trajectories that were searched, and those whose texts could not be read. */
  readonly searched: number;
  readonly unread: number;
}

/** Searches while it is shown. @param wanted empty while nothing is looked for @param trajectories places in the list's */
export function useTextSearch({ ref }: SampleList, wanted: string, trajectories: readonly number[]): Search {
  const [search, setSearch] = useState<Search>({ found: new Set(), searched: 0, unread: 0 });
  useEffect(() => {
    let isWanted = true;
    const run = async () => {
      const found = new Set<string>();
      let [searched, unread] = [0, 0];
      for (const trajectory of wanted === '' ? [] : trajectories) {
        setSearch({ found: new Set(found), searched, unread });
        // The page answers to its reader between two of them.
        await new Promise((done) => setTimeout(done));
        if (!isWanted) return;
        try {
          for (const id of idsWith(wanted.toLowerCase(), await load(`texts/${ref}/${trajectory}`))) found.add(id);
        } catch {
          unread++;
        }
        searched++;
      }
      if (isWanted) setSearch({ found, searched, unread });
    };
    run();
    return () => {
      isWanted = false;
    };
  }, [ref, wanted, trajectories.join()]);
  return search;
}

/** Rows with a text in what is true, done, predicted or said of them. Histories are left out: all later turns share them. */
function idsWith(wanted: string, { strings, rows }: TrajectoryTexts): string[] {
  const holds = (text: string | undefined) => text?.toLowerCase().includes(wanted) === true;
  const places = new Set(strings.flatMap((text, place) => (holds(text) ? [place] : [])));
  const isIn = ({ truth, action, prediction, reply, judgeThoughts, strengths, weaknesses, facts = [] }: SampleTexts) =>
    [truth, action, prediction, reply, judgeThoughts].some((place) => place !== undefined && places.has(place)) ||
    [...strengths, ...weaknesses, ...facts.map(({ claim }) => claim)].some(holds);
  return Object.entries(rows).flatMap(([id, row]) => (isIn(row) ? [id] : []));
}
