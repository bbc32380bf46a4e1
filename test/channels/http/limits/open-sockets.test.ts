/** Which connection closes when all are taken, at the edges of the totals. */
import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { MAX_CONNECTIONS, RESERVED_CONNECTIONS } from '../../../../channels/http/config.ts';
import { OpenSockets } from '../../../../channels/http/limits/open-sockets.ts';
import type { Caller } from '../../../../src/protocol/access.ts';
import { HTTP_CONFIG } from '../client.ts';

const callerOf = (tokenId: string, ...scopes: Caller['scopes']): Caller => ({
  tokenId,
  name: tokenId,
  scopes,
});

/** `count` new connections, each of another address. */
function connect(open: OpenSockets, count: number, first = 0): Socket[] {
  return Array.from({ length: count }, (_, n) => {
    const socket = new Socket();
    open.add(socket, `address-${first + n}`);
    return socket;
  });
}

describe(`with ${MAX_CONNECTIONS} connections`, () => {
  it('the oldest without a token closes, and none before', () => {
    const open = new OpenSockets(HTTP_CONFIG.limits);
    const sockets = connect(open, MAX_CONNECTIONS - 1);
    open.identify(sockets[0]!, callerOf('one', 'chat'), new EventEmitter());
    expect(sockets.filter(({ destroyed }) => destroyed)).toEqual([]);
    sockets.push(...connect(open, 1, MAX_CONNECTIONS));
    expect(sockets.filter(({ destroyed }) => destroyed)).toEqual([sockets[1]]);
  });

  it(`tokens keep at most all but ${RESERVED_CONNECTIONS} busy; an admin has no such limit`, () => {
    const open = new OpenSockets(HTTP_CONFIG.limits);
    const work = Array.from({ length: MAX_CONNECTIONS - RESERVED_CONNECTIONS }, () => new EventEmitter());
    const sockets = connect(open, work.length + 2);
    for (const [n, one] of work.entries()) open.identify(sockets[n]!, callerOf(`token-${n}`, 'chat'), one);
    const [one, other] = sockets.slice(-2) as [Socket, Socket];
    const late = callerOf('late', 'chat');
    expect(() => open.identify(one, late, new EventEmitter())).toThrow(/All connections .* are busy/);
    expect(() => open.identify(other, callerOf('owner', 'admin'), new EventEmitter())).not.toThrow();
    work[0]!.emit('close');
    work[1]!.emit('close');
    expect(() => open.identify(one, late, new EventEmitter())).not.toThrow();
  });
});

it('a connection of a trusted proxy counts for a token only while its request is answered', () => {
  const open = new OpenSockets({ ...HTTP_CONFIG.limits, socketsPerToken: 1 });
  const [one, other] = [new Socket(), new Socket()];
  for (const socket of [one, other]) open.add(socket, undefined);
  const [work, token] = [new EventEmitter(), callerOf('one', 'chat')];
  open.identify(one, token, work);
  expect(open.isServed(one)).toBe(true);
  expect(() => open.identify(other, token, new EventEmitter())).toThrow(/1 connections busy/);
  expect(() => open.identify(other, callerOf('other', 'chat'), new EventEmitter())).not.toThrow();
  work.emit('close');
  expect(open.isServed(one)).toBe(false);
  expect(() => open.identify(one, token, new EventEmitter())).not.toThrow();
  expect([one.destroyed, other.destroyed]).toEqual([false, false]);
});
