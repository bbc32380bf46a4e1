/** An import that is killed in the middle: the gateway goes on with what is left, and reads nothing twice. */
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startParley } from '../../child.ts';
import { pdf } from '../../fakes/files/documents.ts';
import { describeGateway, type GatewayFixture } from '../setup.ts';

const DOCUMENTS = 16;
const LONG = { timeout: 90_000, interval: 50 };

const documentsOf = async ({ sql }: GatewayFixture): Promise<Map<string, string>> => {
  const rows = await sql<
    { id: string; name: string }[]
  >`select id, name from knowledge_document where problem is null`;
  return new Map(rows.map(({ id, name }) => [name, id]));
};

describeGateway('an import that is killed', {}, (fixture) => {
  it('is finished by the gateway, with each document read once', { timeout: 180_000 }, async () => {
    const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-killed-')));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    // Each is read in a process of its own, so that there is a middle.
    for (let n = 0; n < DOCUMENTS; n += 1)
      await writeFile(
        path.join(folder, `${String(n).padStart(2, '0')}.pdf`),
        pdf([`Clause ${n} of the lease.`]),
      );
    const command = startParley(['knowledge', 'add', folder], fixture().env);
    await vi.waitFor(async () => {
      const count = (await documentsOf(fixture())).size;
      if (count < 3) throw new Error(`${count} documents so far; ${command.stderr()}`);
    }, LONG);
    command.signal('SIGKILL');
    expect(await command.ended).toBeNull();
    expect(command.stderr()).toContain(`of ${DOCUMENTS} documents`);
    const read = await documentsOf(fixture());
    expect(read.size).toBeLessThan(DOCUMENTS);
    await vi.waitFor(async () => expect((await documentsOf(fixture())).size).toBe(DOCUMENTS), LONG);
    const all = await documentsOf(fixture());
    for (const [name, id] of read) expect(all.get(name)).toBe(id);
    await vi.waitFor(async () => {
      const [source] = await fixture().store.knowledge.sources();
      expect(source).toMatchObject({ state: 'ready', documents: DOCUMENTS, total: DOCUMENTS });
    }, LONG);
  });
});
