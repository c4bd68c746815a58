// Searches the texts of a run trajectory by trajectory, since all of them together exceed a browser's memory.

import { useEffect, useState } from 'preact/hooks';
import type { SampleList, SampleTexts, TrajectoryTexts } from '../documents.js';
import { load } from './source.js';

interface Search {
  /** Record ids of the matching samples. */
  readonly found: ReadonlySet<string>;
  /** Number of searched trajectories, and of those whose texts could not be read. */
  readonly searched: number;
  readonly unread: number;
}

/** Searches while it is shown. @param wanted empty for no search @param trajectories indices in the list's trajectories */
export function useTextSearch({ ref }: SampleList, wanted: string, trajectories: readonly number[]): Search {
  const [search, setSearch] = useState<Search>({ found: new Set(), searched: 0, unread: 0 });
  useEffect(() => {
    let isWanted = true;
    const run = async () => {
      const found = new Set<string>();
      let [searched, unread] = [0, 0];
      for (const trajectory of wanted === '' ? [] : trajectories) {
        setSearch({ found: new Set(found), searched, unread });
        // Between two trajectories the page stays responsive.
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

/** Rows whose truth, action, prediction or judgement contains the text. Histories are left out, since all later turns share them. */
function idsWith(wanted: string, { strings, rows }: TrajectoryTexts): string[] {
  const holds = (text: string | undefined) => text?.toLowerCase().includes(wanted) === true;
  const places = new Set(strings.flatMap((text, place) => (holds(text) ? [place] : [])));
  const isIn = ({ truth, action, prediction, reply, judgeThoughts, strengths, weaknesses, facts = [] }: SampleTexts) =>
    [truth, action, prediction, reply, judgeThoughts].some((place) => place !== undefined && places.has(place)) ||
    [...strengths, ...weaknesses, ...facts.map(({ claim }) => claim)].some(holds);
  return Object.entries(rows).flatMap(([id, row]) => (isIn(row) ? [id] : []));
}
