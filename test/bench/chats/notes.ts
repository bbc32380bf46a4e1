/** Row `notes`: how long only the platform knows the id of a first message, when many chats start at once. */
import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { connect } from '../../crash/rows.ts';
import { FAKE_TOKEN, FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { type Figure, quantile } from '../figures.ts';
import type { RunningGateway } from '../gateway-setup.ts';

/** Chats that start at the same moment, as after a restart. */
const CHATS = [25, 64];
const ROUNDS = 4;
/** Longest wait for the notes of a round, and time between two checks, in milliseconds. */
const ROUND_MS = 60_000;
const LOOK_MS = 50;

/** From the platform's answer to the execution of the note: a crash in this time shows the message twice. */
export async function answerToNote(gateway: RunningGateway): Promise<Figure[]> {
  const telegram = await FakeTelegram.start();
  const answeredAt = watchAnswers(telegram);
  const sql = connect(gateway.place);
  const windows: number[] = [];
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const env = { TELEGRAM_BOT_TOKEN: FAKE_TOKEN, TELEGRAM_API_ROOT: telegram.root };
      await gateway.restart(env);
      if (round === 0) await recordNotes(sql);
      for (const chats of CHATS) windows.push(...(await begin(telegram, sql, answeredAt, chats)));
    }
  } finally {
    await sql.end();
    await gateway.restart();
    await telegram.close();
  }
  const note = `${windows.length} first messages, ${CHATS.join(' or ')} chats at once, the first right after a start`;
  const of = (share: number): Figure => ({
    what: `answer of the platform to the note of its id, p${share * 100}`,
    on: gateway.on,
    value: quantile(windows, share),
    unit: 'ms',
    note,
  });
  return [of(0.5), { ...of(0.95), bar: { atMost: 10 } }];
}

/** When each chat's newest first message was answered, in epoch milliseconds. */
function watchAnswers(telegram: FakeTelegram): Map<string, number> {
  const answeredAt = new Map<string, number>();
  const send = telegram.chats.send.bind(telegram.chats);
  telegram.chats.send = (params) => {
    const sent = send(params);
    answeredAt.set(sent.chat.id, performance.timeOrigin + performance.now());
    return sent;
  };
  return answeredAt;
}

/** Makes the database record the time at which it executes each turn's first note. */
async function recordNotes(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    create table bench_note (ref text primary key, at_ms float8 not null);
    create function bench_note() returns trigger language plpgsql as $$ begin
      insert into bench_note values (new.ref, extract(epoch from clock_timestamp()) * 1000) on conflict do nothing;
      return new;
    end $$;
    create trigger bench_note after insert on delivery for each row execute function bench_note();`);
}

/** One message in this many chats at once; returns the time from answer to note for each. */
async function begin(
  telegram: FakeTelegram,
  sql: postgres.Sql,
  answeredAt: Map<string, number>,
  chats: number,
): Promise<number[]> {
  answeredAt.clear();
  await sql`truncate bench_note`;
  const people = Array.from({ length: chats }, (_, nth) => String(8_001 + nth));
  for (const person of people) telegram.says(person, 'pace 20 40', person);
  const end = performance.now() + ROUND_MS;
  for (;;) {
    const notes = await sql<{ address: string; atMs: number }[]>`
      select turn.address, bench_note.at_ms as "atMs" from bench_note join turn on turn.id = bench_note.ref`;
    const open = await sql<{ key: string }[]>`
      select key from lane where tail > head and class in ('in', 'out') and split_part(key, ':', 2) = 'telegram'`;
    if (notes.length >= chats && open.length === 0)
      return notes.map(
        ({ address, atMs }) => atMs - (answeredAt.get(address.slice('telegram:'.length)) ?? 0),
      );
    if (performance.now() > end)
      throw new Error(
        `${notes.length} of ${chats} first messages were noted; open: ${open.map(({ key }) => key).join(', ')}.`,
      );
    await pause(LOOK_MS);
  }
}
