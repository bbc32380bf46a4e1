/** Event batches between nodes over LISTEN/NOTIFY. */
import { expect, it, onTestFinished } from 'vitest';
import {
  createFanout,
  MAX_BATCHES_UNDER_WAY,
  MAX_NOTIFY_BYTES,
} from '../../../src/store/database/notify-fanout.ts';
import { openStoreAt } from '../../../src/store/store.ts';
import { proxyTo } from './proxied.ts';
import { describeStore, idleFor, silentLog, type TestDatabases, type TestStore } from '../../database.ts';

/** The address of a home's database; a store connects only when it is used. */
const OWN_DATABASE = { socketPath: '/nowhere/pg.sock', schema: 'public' };

function fanout(store: TestStore) {
  const made = createFanout(store.place, silentLog);
  onTestFinished(() => made.close());
  return made;
}

describeStore('fanout', (databases: TestDatabases) => {
  it('exists on a server of several nodes, not in the database of a home', async () => {
    const store = await databases.open();
    expect(store.fanout).toBeDefined();
    const home = await openStoreAt(OWN_DATABASE, { log: silentLog, migrate: false });
    onTestFinished(() => home.close());
    expect(home.fanout).toBeUndefined();
  });

  it('carries batches to the other nodes, not back, not to other databases', async () => {
    const store = await databases.open();
    const [one, two, stranger] = [fanout(store), fanout(store), fanout(await databases.open())];
    const heard: Record<string, string[]> = { one: [], two: [], stranger: [] };
    await one.subscribe((batch) => heard.one?.push(batch));
    await stranger.subscribe((batch) => heard.stranger?.push(batch));
    const end = await two.subscribe((batch) => heard.two?.push(batch));
    const long = 'x'.repeat(7_500);
    for (const batch of ['a', 'a', long]) one.publish(batch);
    await expect.poll(() => heard.two).toEqual(['a', 'a', long]);
    expect(heard).toMatchObject({ one: [], stranger: [] });
    await end();
    one.publish('after');
    two.publish('back');
    await expect.poll(() => heard.one).toEqual(['back']);
    expect(heard.two).toHaveLength(3);
  });

  it('keeps listening although the server ends idle sessions', async () => {
    const store = await databases.open();
    await idleFor(store, 50);
    const [one, two] = [fanout(store), fanout(store)];
    const heard: string[] = [];
    await two.subscribe((batch) => heard.push(batch));
    for (const batch of ['a', 'b', 'c', 'd']) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(two.isUp()).toBe(true);
      one.publish(batch);
    }
    await expect.poll(() => heard).toEqual(['a', 'b', 'c', 'd']);
    expect(one.dropped()).toBe(0);
  });

  it('listens again after its connections are terminated', async () => {
    const store = await databases.open();
    const [one, two] = [fanout(store), fanout(store)];
    const heard: string[] = [];
    await two.subscribe((batch) => heard.push(batch));
    await store.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = ${store.place.applicationName} and pid <> pg_backend_pid()`;
    const publish = () => {
      one.publish('again');
      return heard.length;
    };
    await expect.poll(publish, { timeout: 10_000 }).toBeGreaterThan(0);
  });

  it('listens again after a firewall has dropped its connection without telling, and says that it does', async () => {
    const store = await databases.open();
    const { proxy, url } = await proxyTo(store.place.url);
    const check = { everyMs: 50, answerMs: 100 };
    const listener = createFanout({ ...store.place, url }, silentLog, check);
    onTestFinished(() => listener.close());
    const heard: string[] = [];
    let resumed = 0;
    await listener.subscribe(
      (batch) => heard.push(batch),
      () => (resumed += 1),
    );
    const sender = fanout(store);
    proxy.forget();
    sender.publish('lost');
    await expect.poll(() => resumed, { timeout: 10_000 }).toBe(1);
    sender.publish('heard');
    await expect.poll(() => heard).toEqual(['heard']);
  });

  it('drops and counts records that are too many or too large', async () => {
    const one = fanout(await databases.open());
    for (let i = 0; i < MAX_BATCHES_UNDER_WAY + 5; i += 1) one.publish(`b${i}`);
    one.publish('x'.repeat(MAX_NOTIFY_BYTES));
    expect(one.dropped()).toBe(6);
  });
});
