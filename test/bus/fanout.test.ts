/** The fan-out contract in this process and over Postgres; over NATS it runs with the NATS tests. */
import { describe } from 'vitest';
import { fanoutContract } from '../contracts/fanout.ts';
import { describeStore } from '../database.ts';
import { TestNetwork } from './events.ts';

describe('a fan-out in this process', () => {
  fanoutContract(() => {
    const network = new TestNetwork();
    return Promise.resolve([network.fanout(), network.fanout()]);
  });
});

describeStore('a fan-out over the database', (databases) => {
  describe('of two nodes', () => {
    fanoutContract(async () => {
      const store = await databases.open();
      const beside = await databases.open({ beside: store });
      if (store.fanout === undefined || beside.fanout === undefined)
        throw new Error('Postgres has a fan-out');
      return [store.fanout, beside.fanout];
    });
  });
});
