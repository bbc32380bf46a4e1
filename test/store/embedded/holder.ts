/**
 * A process for the tests to kill: opens the store of a home, reports it on standard output, and with `write` accepts
 * messages as fast as it can, naming each one that was acknowledged. Ends cleanly on SIGTERM.
 */
import { createLog } from '../../../src/ops/log.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { request } from '../requests.ts';

const [home = '', mode = 'hold', from = '0'] = process.argv.slice(2);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

try {
  const log = createLog({ level: 'silent', redact: (text) => text });
  const store = await openStore({ home, log, lockWaitMs: 0 });
  const leaving = new AbortController();
  process.once('SIGTERM', () => {
    leaving.abort();
    void store.close().then(() => say('closed'));
  });
  say('open');
  const node = await store.lanes.register(store.instance, 60_000);
  const count = mode === 'write' ? 1_000_000 : 0;
  for (let i = Number(from); i < count && !leaving.signal.aborted; i += 1) {
    const result = await store.ledger.accept(request(`m${i}`, {}, node));
    if (result.kind === 'full') await store.lanes.stop('telegram:42', { fresh: false });
    else say(`acknowledged m${i}`);
  }
} catch (error) {
  say(`refused ${error instanceof Error ? error.message : String(error)}`);
}
