/** `parley dead-letters` the way users type it: without a gateway, and next to a running one. */
import { rm } from 'node:fs/promises';
import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { parley, startGatewayProcess } from '../child.ts';
import { makeEmbeddedHome, silentLog } from '../database.ts';
import { request } from '../store/requests.ts';
import { accepted, finished, LEASE_MS, only } from '../store/lanes/turns.ts';

it('lists a turn that was given up and has a running gateway resume it', async () => {
  const home = await makeEmbeddedHome();
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const run = (...args: string[]) => parley(['dead-letters', ...args], { GATEWAY_HOME: home });
  const store = await openStore({ home, log: silentLog });
  const node = await store.lanes.register(store.instance, LEASE_MS);
  const message = request('m1', { channel: 'http', chatId: 'desk' }, node);
  const result = accepted(await store.ledger.accept(message));
  const { turnId } = result;
  const end = { isError: true, deadLetter: 'The model fell over.', reason: 'failed' as const };
  await store.ledger.finishTurn(only(result), finished(turnId, 'It failed.', end));
  await store.close();

  expect((await run()).stdout).toMatch(/^in:http:desk#1 .* The model fell over\.$/m);
  expect(await run('replay', 'in:http:desk#2')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is no dead letter in:http:desk#2.'),
  });

  const gateway = await startGatewayProcess({ GATEWAY_HOME: home, OLLAMA_HOST: 'http://127.0.0.1:9' });
  expect((await run('replay', '--all')).stdout).toBe('Queued again: 1.\n');
  const beside = await openStore({ home, log: silentLog, attach: true });
  onTestFinished(() => beside.close());
  const state = async () => (await beside.ledger.turn(turnId))?.state;
  await expect.poll(state, { timeout: 20_000 }).toBe('running');
  expect((await run()).stdout).toBe('There are no dead letters.\n');
  gateway.signal('SIGTERM');
  expect(await gateway.ended).toBe(0);
});
