/** The limits of open streams: their number, the backlog of a reader, the silence before a ping. */
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { MAX_STREAM_LAG_MS, MAX_STREAMS, PING_MS, RESERVED_STREAMS } from '../../../channels/http/config.ts';
import { EventStream } from '../../../channels/http/event-stream.ts';
import { OpenStreams } from '../../../channels/http/open-streams.ts';
import { openSocket } from './raw-http.ts';

const OWNER = { caller: { tokenId: 'a', scopes: ['chat' as const] }, authorization: 'Bearer a' };
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A stream to a client on a real socket. */
async function connected(
  version = '1.1',
): Promise<{ stream: EventStream; socket: Socket; outgoing: ServerResponse }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const response = new Promise<ServerResponse>((resolve) =>
    server.once('request', (_, outgoing) => resolve(outgoing)),
  );
  const socket = await openSocket(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  socket.write(`GET / HTTP/${version}\r\nHost: a\r\n\r\n`);
  closers.push(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  const outgoing = await response;
  return {
    stream: new EventStream(OWNER, outgoing, performance.now(), (ready) => setImmediate(() => ready.flush())),
    socket,
    outgoing,
  };
}

describe('an event stream', () => {
  it('pings after 15 seconds of silence, and not before', async () => {
    const { stream, socket } = await connected();
    stream.write('data: 1\n\n');
    let read = '';
    socket.on('data', (chunk) => (read += chunk.toString()));
    stream.maintain(performance.now() + PING_MS - 1_000);
    stream.write('data: 2\n\n');
    stream.maintain(performance.now() + PING_MS);
    stream.end();
    await vi.waitFor(() => expect(read).toMatch(/\r\n0\r\n\r\n$/));
    expect(read.match(/: ping/g)).toHaveLength(1);
    expect(read.indexOf('data: 2')).toBeLessThan(read.indexOf(': ping'));
  });

  it('writes its first frames before any promise continues, and then all frames of one turn of the event loop as one HTTP chunk', async () => {
    const { stream, socket, outgoing } = await connected();
    let read = '';
    socket.on('data', (chunk) => (read += chunk.toString()));
    const bodyAfter = async (frames: string[]): Promise<string> => {
      read = '';
      for (const frame of frames) {
        stream.write(frame);
        await new Promise<void>((resolve) => process.nextTick(resolve));
      }
      await vi.waitFor(() => expect(read).toContain(frames.at(-1)));
      return read;
    };
    stream.write('data: 0\n\n');
    expect(outgoing.socket?.writableLength).toBe(0);
    await vi.waitFor(() => expect(read).toMatch(/\r\n\r\n9\r\ndata: 0\n\n\r\n$/));
    const many = ['data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n'];
    expect(await bodyAfter(many)).toBe(`1b\r\n${many.join('')}\r\n`);
    // This write goes directly to the socket, and a chunk's size counts bytes.
    expect(await bodyAfter(['data: é\n\n', 'data: 😀\n\n'])).toBe('16\r\ndata: é\n\ndata: 😀\n\n\r\n');
    stream.write('data: last\n\n');
    stream.end();
    await vi.waitFor(() => expect(read).toMatch(/c\r\ndata: last\n\n\r\n0\r\n\r\n$/));
  });

  it('sends no HTTP chunks to a client of HTTP/1.0', async () => {
    const { stream, socket } = await connected('1.0');
    let read = '';
    socket.on('data', (chunk) => (read += chunk.toString()));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    stream.write('data: 1\n\n');
    stream.end();
    await closed;
    expect(read).toMatch(/\r\n\r\ndata: 1\n\n$/);
  });

  it('is closed when its reader is 256 KiB behind, or reads nothing for 10 seconds', async () => {
    const framesUntilCut = async (aheadMs: number): Promise<number> => {
      const { stream, socket } = await connected();
      socket.pause();
      let written = 0;
      for (; stream.open && written < 5_000; written += 1) {
        stream.write(`data: ${'x'.repeat(8 * 1024)}\n\n`);
        await new Promise((resolve) => setImmediate(resolve));
        stream.maintain(performance.now() + aheadMs);
      }
      return written;
    };
    const byBacklog = await framesUntilCut(MAX_STREAM_LAG_MS - 5_000);
    const byLag = await framesUntilCut(MAX_STREAM_LAG_MS + 1_000);
    expect(byBacklog).toBeLessThan(5_000);
    expect(byLag).toBeLessThan(byBacklog - 8);
  });
});

describe('open streams', () => {
  const response = (): ServerResponse => new ServerResponse(new IncomingMessage(new Socket()));
  const openStreams = (streamsPerToken: number): OpenStreams => {
    const streams = new OpenStreams(() => Promise.resolve(new Map()), streamsPerToken);
    closers.push(() => streams.close());
    return streams;
  };

  it('are at most 4,096; the next is refused with a retry time, and the last ones are reserved for admins', () => {
    const streams = openStreams(MAX_STREAMS);
    const admin = { ...OWNER, caller: { tokenId: 'admin', scopes: ['admin' as const] } };
    const first = response();
    streams.add(OWNER, first);
    for (let i = 1; i < MAX_STREAMS - RESERVED_STREAMS; i += 1) streams.add(OWNER, response());
    expect(() => streams.add(OWNER, response())).toThrow(/4032 streams are already open/);
    for (let i = 0; i < RESERVED_STREAMS; i += 1) streams.add(admin, response());
    expect(() => streams.add(admin, response())).toThrow(/4096 streams are already open/);
    first.emit('close');
    expect(streams.size).toBe(MAX_STREAMS - 1);
    expect(streams.add(admin, response()).open).toBe(true);
  });

  it('of one token are limited, but not those of an admin token', () => {
    const streams = openStreams(2);
    const first = response();
    streams.add(OWNER, first);
    streams.add(OWNER, response());
    expect(() => streams.add(OWNER, response())).toThrow(/2 open streams, the maximum/);
    const other = { ...OWNER, caller: { tokenId: 'b', scopes: ['chat' as const] } };
    const admin = { ...OWNER, caller: { tokenId: 'c', scopes: ['admin' as const] } };
    for (const owner of [other, admin, admin, admin]) expect(streams.add(owner, response()).open).toBe(true);
    first.emit('close');
    expect(streams.add(OWNER, response()).open).toBe(true);
  });
});
