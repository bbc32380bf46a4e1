/** The bus contract on both databases. */
import { busContract } from '../contracts/bus.ts';
import { describeStore } from '../database.ts';

describeStore('the message bus', (databases) => {
  busContract(async () => {
    const store = await databases.open();
    const beside = await databases.open({ beside: store });
    return { lanes: store.lanes, beside: beside.lanes };
  });
});
