/** The embedded server's promise: many clients, one session, and no client ever gets another's rows. */
import { createConnection, type Socket } from 'node:net';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PGlite } from '@electric-sql/pglite';
import { createPgServer, type PgServer } from '../../../src/store/embedded/pglite-server.ts';
import { makeEmbeddedHome } from '../../database.ts';

describe('embedded server', () => {
  let home: string;
  let db: PGlite;
  let server: PgServer;
  const clients: postgres.Sql[] = [];

  beforeAll(async () => {
    home = await makeEmbeddedHome();
    db = await PGlite.create({ dataDir: path.join(home, 'pg') });
  });

  beforeEach(() => serve());

  afterEach(async () => {
    for (const client of clients.splice(0)) await client.end({ timeout: 1 });
    await server.close();
  });

  afterAll(async () => {
    await db.close();
    await rm(home, { recursive: true, force: true });
  });

  async function serve(silenceMs?: number): Promise<void> {
    const exec = async (messages: Buffer) => Buffer.from(await db.execProtocolRaw(messages));
    server = createPgServer({ exec }, silenceMs);
    await server.listen(path.join(home, 's'));
  }

  function client(max = 1, searchPath = 'public'): postgres.Sql {
    const connection = { search_path: searchPath };
    const sql = postgres({
      path: path.join(home, 's'),
      user: 'postgres',
      max,
      fetch_types: false,
      connection,
    });
    clients.push(sql);
    return sql;
  }

  it('gives 3 clients with 5 connections each their own results over 3,000 statements', async () => {
    const pools = [client(5), client(5), client(5)];
    await pools[0]!`create table kept (id int primary key)`;
    const wrong: string[] = [];
    let statements = 0;
    const ask = async (sql: postgres.Sql, i: number): Promise<void> => {
      const tag = `${i}-${Math.random()}`;
      switch (i % 5) {
        case 0: {
          const rows =
            await sql`select ${tag} as tag, ${i}::int as i from generate_series(1, ${(i % 7) + 1}::int)`;
          if (rows.length !== (i % 7) + 1 || rows.some((row) => row.tag !== tag || row.i !== i))
            wrong.push(tag);
          break;
        }
        case 1: {
          const error = await sql`select ${i}::int / 0 as boom`.catch((thrown: unknown) => thrown);
          if (!(error instanceof postgres.PostgresError) || error.code !== '22012') wrong.push(tag);
          break;
        }
        case 2:
          await sql.begin(async (tx) => {
            await tx`insert into kept values (${i})`;
            const [row] = await tx`select id from kept where id = ${i}`;
            if (row?.id !== i) wrong.push(tag);
          });
          break;
        case 3: {
          const undone = sql.begin(async (tx) => {
            await tx`insert into kept values (${i})`;
            await tx.unsafe('not sql at all');
          });
          if ((await undone.catch((thrown: unknown) => thrown)) === undefined) wrong.push(tag);
          break;
        }
        default: {
          const [row] = await sql.unsafe(`select '${tag}' as tag`);
          if (row?.tag !== tag) wrong.push(tag);
        }
      }
      statements += 1;
    };
    const queue = Array.from({ length: 3000 }, (_, i) => i);
    const worker = async (sql: postgres.Sql): Promise<void> => {
      for (let i = queue.pop(); i !== undefined; i = queue.pop()) await ask(sql, i);
    };
    await Promise.all(pools.flatMap((sql) => Array.from({ length: 8 }, () => worker(sql))));
    expect(wrong).toEqual([]);
    expect(statements).toBe(3000);
    const [kept] = await pools[1]!`select count(*)::int as n, bool_and(id % 5 = 2) as right from kept`;
    expect(kept).toEqual({ n: 600, right: true });
  });

  it('keeps prepared statements of the same name apart', async () => {
    const first = await rawClient();
    const second = await rawClient();
    await first.send(parse('same', `select 'first'`), sync());
    await second.send(parse('same', `select 'second'`), sync());
    expect(await first.send(bindAndRun('same'), sync())).toContain('first');
    expect(await second.send(bindAndRun('same'), sync())).toContain('second');
    first.socket.destroy();
    second.socket.destroy();
    const later = client();
    const left = () =>
      later`select count(*)::int as n from pg_prepared_statements where name like '%\\_same'`;
    await expect.poll(async () => (await left())[0]?.n).toBe(0);
  });

  it('rolls back the open transaction of a dropped client', async () => {
    const sql = client();
    await sql`create table if not exists half (id int)`;
    const dropped = await rawClient();
    await dropped.send(query('begin; insert into half values (1)'));
    dropped.socket.destroy();
    expect(await sql`select * from half`).toEqual([]);
  });

  it('drops a client that idles inside a transaction, so that the others can continue', async () => {
    await server.close();
    await serve(50);
    const silent = await rawClient();
    await silent.send(query('begin'));
    const closed = once(silent.socket, 'close');
    expect([...(await client()`select 1 as one`)]).toEqual([{ one: 1 }]);
    await closed;
  });

  it('gives each client its own search_path', async () => {
    const [one, two] = [client(1, 'one'), client(1, 'two')];
    await one`create schema one`;
    await two`create schema two`;
    await one`create table place as select 'one' as name`;
    await two`create table place as select 'two' as name`;
    for (let i = 0; i < 3; i += 1) {
      expect((await one`select name from place`)[0]?.name).toBe('one');
      expect((await two`select name from place`)[0]?.name).toBe('two');
    }
  });

  it('declines encryption, ignores a cancel request, and disconnects on malformed packets', async () => {
    const socket = createConnection(path.join(home, 's'));
    socket.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]));
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toBe('N');
    socket.destroy();
    for (const bytes of [
      'GET / HTTP/1.1\r\n\r\n',
      Buffer.from([0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 1, 0, 0, 0, 1]),
    ]) {
      const rude = createConnection(path.join(home, 's'));
      rude.on('error', () => rude.destroy());
      rude.write(bytes);
      await once(rude, 'close');
    }
    expect([...(await client()`select 1 as one`)]).toEqual([{ one: 1 }]);
  });

  /** A client that speaks the raw protocol; `send` resolves with the answer up to ReadyForQuery. */
  async function rawClient(): Promise<{ socket: Socket; send(...messages: Buffer[]): Promise<string> }> {
    const socket = createConnection(path.join(home, 's'));
    const answer = (): Promise<string> =>
      new Promise((resolve) => {
        let heard = Buffer.alloc(0);
        const hear = (chunk: Buffer): void => {
          heard = Buffer.concat([heard, chunk]);
          if (heard.at(-6) !== 0x5a) return;
          socket.off('data', hear);
          resolve(heard.toString('latin1'));
        };
        socket.on('data', hear);
      });
    const startup = Buffer.from('\0\0\0\0\0\x03\0\0user\0postgres\0\0', 'latin1');
    startup.writeInt32BE(startup.length, 0);
    const welcomed = answer();
    socket.write(startup);
    await welcomed;
    return {
      socket,
      send(...messages) {
        const heard = answer();
        socket.write(Buffer.concat(messages));
        return heard;
      },
    };
  }
});

function frame(kind: string, body: string): Buffer {
  const bytes = Buffer.from(`${kind}\0\0\0\0${body}`, 'latin1');
  bytes.writeInt32BE(bytes.length - 1, 1);
  return bytes;
}

const sync = (): Buffer => frame('S', '');
const query = (text: string): Buffer => frame('Q', `${text}\0`);
const parse = (name: string, text: string): Buffer => frame('P', `${name}\0${text}\0\0\0`);
const bindAndRun = (name: string): Buffer =>
  Buffer.concat([frame('B', `\0${name}\0\0\0\0\0\0\0`), frame('E', '\0\0\0\0\0')]);
