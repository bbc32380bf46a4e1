/** The files of a message on their way into the session's folder: limits, refusals, and attempts ended by a crash. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { textRef } from '../../src/protocol/texts/say.ts';
import { ChannelError } from '../../src/protocol/errors.ts';
import type { FilesOfMessage, StoredFiles, Media, Transcriber } from '../../src/protocol/media.ts';
import type { Channel } from '../../src/protocol/channel.ts';
import type { MediaContext } from '../../src/media/fetch-file.ts';
import { createInbox } from '../../src/media/inbox.ts';
import { createReader } from '../../src/media/reader/reader.ts';
import { createSessionFiles } from '../../src/tools/index.ts';
import { partial } from '../fakes/partial.ts';
import { silentLog } from '../database.ts';
import { dyingAt, notOfDeath } from '../fakes/agent/dying-store.ts';

const never = new AbortController().signal;
const settings = { maxFileMb: 1, maxFilesPerMessage: 2, maxMbPerPerson: 3, keepDays: 30 };

let root = '';
beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'parley-inbox-'));
});
afterEach(() => rm(root, { recursive: true }));

const keptBytes = (bytes: number) => partial<StoredFiles>({ keptBytes: async () => bytes });

/** A channel that serves these bytes by reference, or throws. */
function inbox(served: Record<string, Uint8Array | Error>, over: Partial<MediaContext> = {}) {
  const fetched: string[] = [];
  const download = async ({ url }: Media) => {
    fetched.push(url);
    const bytes = served[url];
    if (bytes === undefined || bytes instanceof Error) throw bytes ?? new Error('no such file');
    return (async function* pieces() {
      yield bytes;
    })();
  };
  const receive = createInbox({
    channels: new Map([['telegram', partial<Channel>({ download })]]),
    files: createSessionFiles(root, silentLog),
    keptFiles: keptBytes(0),
    settings,
    reader: createReader(),
    log: silentLog,
    ...over,
  });
  const message = (media: Media[]): FilesOfMessage => ({
    channel: 'telegram',
    media,
    userId: 'telegram:42',
    folder: 'folder',
    laneSeq: 7,
  });
  return { fetched, receive: (...media: Media[]) => receive(message(media), never) };
}

const text = (url: string, name = `${url}.txt`): Media => ({ kind: 'file', url, name });

describe('the files of a message', () => {
  it('have unique names, and are fetched once however often it is tried', async () => {
    const { fetched, receive } = inbox({ a: Buffer.from('first'), b: Buffer.from('second') });
    const once = await receive(text('a', 'same.txt'), text('b', 'same.txt'));
    expect(await receive(text('a', 'same.txt'), text('b', 'same.txt'))).toEqual(once);
    expect(fetched).toEqual(['a', 'b']);
    expect(once.map(({ attachment }) => attachment?.file)).toEqual([
      'inbox/7-same.txt',
      'inbox/7.2-same.txt',
    ]);
    expect(await readdir(path.join(root, 'folder', 'inbox'))).toEqual(['7-same.txt', '7.2-same.txt']);
  });

  it('say what is missing when a file with the name of a text is none', async () => {
    const { receive } = inbox({
      a: Buffer.from([0, 1, 2, 255]),
      b: Buffer.from('Stra\xdfe;K\xf6ln', 'latin1'),
    });
    const [binary, table] = await receive(text('a', 'list.csv'), text('b', 'list.csv'));
    expect(binary?.problemText).toEqual(textRef('upload.no_text'));
    expect(binary?.problem).toContain('save it as UTF-8');
    expect(table?.document?.text).toBe('[not UTF-8: read as windows-1252]\nStraße;Köln');
  });

  it.each([0, 1, 2].flatMap((at) => (['before', 'after'] as const).map((when) => ({ at, when }))))(
    'are neither lost nor doubled by a death $when step $at of storing them',
    async ({ at, when }) => {
      const served = { a: Buffer.from('first'), b: Buffer.from('second') };
      const death = dyingAt(at, when, ['put', 'read']);
      const dying = inbox(served, { files: death.of(createSessionFiles(root, silentLog)) });
      await dying.receive(text('a'), text('b')).catch(notOfDeath);
      expect(death.died()).toBe(true);
      const { receive } = inbox(served);
      const received = await receive(text('a'), text('b'));
      expect(received.map(({ document }) => document?.text)).toEqual(['first', 'second']);
      expect(await readdir(path.join(root, 'folder', 'inbox'))).toEqual(['7-a.txt', '7.2-b.txt']);
    },
  );

  it('are refused one by one: too many, too large, too much for one user, gone', async () => {
    const large = Buffer.alloc(1_000_001, 'x');
    const { receive } = inbox({
      fits: large.subarray(1),
      large,
      gone: new ChannelError('rejected', 'Telegram no longer has this file.'),
    });
    const problems = async (...media: Media[]) => (await receive(...media)).map(({ problem }) => problem);
    expect(await problems(text('fits'), text('large'), text('third'))).toEqual([
      undefined,
      'it is larger than 1 MB (media.maxFileMb in config.json)',
      'only 2 files of a message are read',
    ]);
    expect(await problems({ ...text('claims'), bytes: 1_000_001 })).toEqual([
      expect.stringContaining('larger than 1 MB'),
    ]);
    expect(await problems(text('gone'))).toEqual([
      'it could not be fetched: Telegram no longer has this file.',
    ]);
    const full = inbox({ a: Buffer.from('x') }, { keptFiles: keptBytes(3_000_000) });
    expect((await full.receive(text('a')))[0]?.problem).toMatch(
      /add up to 3 MB, the limit; they are removed after 30 days/,
    );
    const nearlyFull = { keptFiles: keptBytes(2_999_999) };
    const last = inbox({ small: Buffer.from('x'), unannounced: Buffer.from('xx') }, nearlyFull);
    expect((await last.receive(text('small')))[0]?.problem).toBeUndefined();
    expect((await last.receive(text('unannounced')))[0]?.problem).toMatch(/add up to 3 MB/);
  });

  it('are retried when the platform is briefly down', async () => {
    let tries = 0;
    const download = async () => {
      tries += 1;
      if (tries < 3) throw new ChannelError('unavailable', 'away', { retryable: true });
      return (async function* pieces() {
        yield Buffer.from('here');
      })();
    };
    const { receive } = inbox({}, { channels: new Map([['telegram', partial<Channel>({ download })]]) });
    expect((await receive(text('a')))[0]?.document?.text).toBe('here');
  });

  it('are read in place when they were uploaded, and nothing else in the folder is', async () => {
    const files = createSessionFiles(root, silentLog);
    const chunks = (async function* pieces() {
      yield Buffer.from('uploaded');
    })();
    await files.put('folder', { chunks, maxBytes: 100, pathOf: () => 'inbox/abc-notes.txt' });
    const { receive, fetched } = inbox({});
    const [found, secret, escape] = [
      (await receive(text('session:inbox/abc-notes.txt')))[0],
      (await receive(text('session:secret.txt')))[0],
      (await receive(text('session:inbox/../../other/x')))[0],
    ];
    expect(found).toMatchObject({
      document: { text: 'uploaded' },
      attachment: { file: 'inbox/abc-notes.txt' },
    });
    expect(secret?.problem).toBe('it is not a file of this session');
    expect(escape?.problem).toMatch(/leads out of the workspace/);
    expect(fetched).toEqual([]);
  });

  it('are transcribed when they are recordings; a server error becomes a sentence', async () => {
    const voice: Media = { kind: 'voice', url: 'v', name: 'ignored.ogg', seconds: 3 };
    const served = { v: Buffer.from('OggS\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x13OpusHead') };
    const heard = inbox(served, {
      transcriber: partial<Transcriber>({ transcribe: async ({ name }) => ` said in ${name} ` }),
    });
    expect((await heard.receive(voice))[0]).toMatchObject({
      spoken: 'said in voice',
      attachment: { seconds: 3 },
    });
    const away = async () => {
      throw new ChannelError('unavailable', 'The speech server is unavailable.');
    };
    const failed = inbox(served, { transcriber: partial<Transcriber>({ transcribe: away }) });
    expect((await failed.receive(voice))[0]?.problem).toBe(
      'it could not be transcribed: The speech server is unavailable.',
    );
    const [deaf] = await inbox(served).receive(voice);
    expect(deaf?.problem).toContain('transcription.baseUrl');
    expect(deaf?.problemText).toEqual(textRef('hear.none'));
  });
});
