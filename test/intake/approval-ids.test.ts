/** Ids of approval requests, before anything is looked up. */
import { quietBus } from '../fakes/gateway/quiet-bus.ts';
import { partial } from '../fakes/partial.ts';
import { expect, it } from 'vitest';
import { createApprovals } from '../../src/intake/approvals/approvals.ts';
import { silentLog } from '../database.ts';

it('decides nothing from text that cannot be the id of a request, and does not query the store for it', async () => {
  const asked: string[] = [];
  const logged: unknown[] = [];
  const log = Object.assign(Object.create(silentLog), { info: (fields: unknown) => logged.push(fields) });
  const no = (): never => {
    throw new Error('nothing is pending');
  };
  const none = { pendingApprovals: no, rules: no, removeRule: no, hasRule: no };
  const approvals = createApprovals(
    partial({ approval: (id) => Promise.resolve(void asked.push(id)), ...none }),
    partial({ decide: no }),
    quietBus({ sweepSoon: no }),
    no,
    log,
  );
  const by = { userId: 'token:1', owner: true };
  for (const id of ['', 'x'.repeat(51), 'a.'.repeat(131_072), 'a\nb', 'a b', 'é']) {
    expect(await approvals.decide(id, 'approved', by)).toEqual({ kind: 'unknown' });
  }
  expect([asked, logged]).toEqual([[], []]);
  expect(await approvals.decide('x'.repeat(50), 'denied', by)).toEqual({ kind: 'unknown' });
  expect(asked).toEqual(['x'.repeat(50)]);
});
