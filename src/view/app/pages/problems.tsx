// What went wrong in a run, in groups that link to their samples.

import { count } from '../../figures.js';
import { type Group, groupsOf } from '../../query.js';
import { Block, Loaded, Table } from '../parts.js';
import { href } from '../route.js';
import { useDocument } from '../source.js';
import { visible } from '../text.js';

const KINDS: Readonly<Record<Group['kind'], string>> = {
  rollout: 'Rollouts',
  domain: 'Domains',
  dimension: 'Dimensions',
  fact: 'Determined facts',
  failure: 'Failures',
  flag: 'Flags',
  word: 'Words of unmet facts',
};

export function ProblemsPage({ runRef }: { readonly runRef: string }) {
  const list = useDocument(`samples/${runRef}`);
  return (
    <Loaded of={list}>
      {(value) => {
        const groups = groupsOf(value);
        if (groups.length === 0) return <p class="empty soft">No known problem was found in this run.</p>;
        return [...new Set(groups.map(({ kind }) => kind))].map((kind) => (
          <Block title={KINDS[kind]}>
            <Table
              columns={[{ heading: '' }, { heading: 'Samples', kind: 'figure' }]}
              rows={groups
                .filter((group) => group.kind === kind)
                .map(({ title, count: samples, query }) => ({
                  cells: [
                    <a href={href(['run', runRef, 'samples'], { ...query })}>{visible(title)}</a>,
                    count(samples),
                  ],
                }))}
            />
          </Block>
        ));
      }}
    </Loaded>
  );
}
