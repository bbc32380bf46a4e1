/** Sends and receives records between the nodes of one database, in batches. */
import type { Fanout } from '../protocol/bus.ts';
import type { Log } from '../protocol/log.ts';

import type { Clock } from '../lib/clock.ts';
import { type NodeRecord, parseRecord } from './node-records.ts';

/** Most bytes of one batch, header included (a Postgres notification is limited to less than 8,000). */
export const BATCH_BYTES = 7_500;

/** Longest record that is sent, in about 35 batches. A longer one is dropped, and readers on other nodes get a snapshot. */
export const RECORD_BYTES = 256 * 1024;

/** Room for the header: node id, number, mark and newline. */
const HEADER_BYTES = 64;

/**
 * A batch is `<node> <number> <mark>\n` and a piece of the stream of records, which end in newlines. Mark `+`: the piece
 * begins inside a record. Numbers reveal losses, and keep Postgres from dropping equal pieces.
 */
export class BatchCutter {
  readonly #node: string;
  #number = 0;

  constructor(node: string) {
    this.#node = node;
  }

  /** The batches that contain these records (JSON without newlines), in order. */
  cut(records: readonly string[]): string[] {
    const stream = Buffer.from(records.map((record) => `${record}\n`).join(''));
    const batches: string[] = [];
    for (let start = 0; start < stream.length;) {
      let end = Math.min(stream.length, start + BATCH_BYTES - HEADER_BYTES);
      // A piece ends between characters: continuation bytes of UTF-8 are 10xxxxxx.
      while (end < stream.length && (stream[end]! & 0xc0) === 0x80) end -= 1;
      const inside = start > 0 && stream[start - 1] !== 0x0a;
      this.#number += 1;
      batches.push(
        `${this.#node} ${this.#number} ${inside ? '+' : '-'}\n${stream.toString('utf8', start, end)}`,
      );
      start = end;
    }
    return batches;
  }
}

/** Joins the batches of one other node. */
export class BatchJoiner {
  #number: number | undefined;
  /** The beginning of a record whose rest has not arrived yet. */
  #open = '';

  /** The records that this batch completes; a record with a lost piece is dropped. */
  join(number: number, inside: boolean, piece: string): string[] {
    const follows = this.#number === undefined ? !inside : number === this.#number + 1;
    if (!follows || !inside) this.#open = '';
    let text = this.#open + piece;
    if (inside && !(follows && this.#open !== '')) {
      const next = piece.indexOf('\n');
      text = next < 0 ? '' : piece.slice(next + 1);
    }
    this.#number = number;
    const lines = text.split('\n');
    this.#open = lines.pop() ?? '';
    if (this.#open.length > RECORD_BYTES) this.#open = '';
    return lines;
  }
}

/** Records are collected this long before they are sent as batches, in milliseconds. */
export const BATCH_EVERY_MS = 50;
/** A node sends a hello this often, and counts as gone after three missed ones, in milliseconds. */
export const HELLO_EVERY_MS = 10_000;
export const PEER_GONE_MS = 3 * HELLO_EVERY_MS;
/** Records that may wait for the next batch; beyond it new ones are dropped, and their readers get a snapshot. */
export const MAX_WAITING_RECORDS = 20_000;
/** Other nodes known at once; further ones are ignored. */
export const MAX_PEERS = 256;

interface Peer {
  joiner: BatchJoiner;
  heardAt: number;
}

export interface NodeLinkOptions {
  fanout: Fanout;
  /** Unique for this process: batches that carry it are this node's own. At most 40 characters without spaces. */
  nodeId: string;
  clock: Clock;
  log: Log;
  /** Called with each record of another node; must not throw. */
  onRecord: (record: NodeRecord) => void;
  /** Called after each lost connection once there is a new one; must not throw. */
  onResumed: () => void;
}

export class NodeLink {
  readonly #options: NodeLinkOptions;
  readonly #cutter: BatchCutter;
  #peers = new Map<string, Peer>();
  #waiting: NodeRecord[] = [];
  #dropped = 0;
  #flushTimer: NodeJS.Timeout | undefined;
  #helloTimer: NodeJS.Timeout | undefined;
  #unsubscribe: (() => Promise<void>) | undefined;

  constructor(options: NodeLinkOptions) {
    this.#options = options;
    this.#cutter = new BatchCutter(options.nodeId);
  }

  /** True when another node said hello recently. A lone node serializes nothing to JSON. */
  get any(): boolean {
    return this.#peers.size > 0;
  }

  /** Starts to listen and says hello. Throws what the fan-out throws when it cannot connect. */
  async start(): Promise<void> {
    this.#unsubscribe = await this.#options.fanout.subscribe(
      (batch) => this.#receive(batch),
      () => this.#options.onResumed(),
    );
    this.send({ hello: true });
    this.#helloTimer = setInterval(() => {
      this.#removeSilent();
      this.send({ hello: true });
    }, HELLO_EVERY_MS);
    this.#helloTimer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#helloTimer);
    this.#flush();
    const unsubscribe = this.#unsubscribe;
    this.#unsubscribe = undefined;
    await unsubscribe?.();
  }

  /** Queues a record for the next batch. Never throws. */
  send(record: NodeRecord): void {
    if (this.#unsubscribe === undefined) return;
    if (this.#waiting.length >= MAX_WAITING_RECORDS) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(record);
    this.#flushTimer ??= setTimeout(() => this.#flush(), BATCH_EVERY_MS).unref();
  }

  #flush(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    const records = this.#waiting.map((record) => JSON.stringify(record));
    this.#waiting = [];
    const fitting = records.filter((record) => Buffer.byteLength(record) <= RECORD_BYTES);
    const omitted = this.#dropped + records.length - fitting.length;
    this.#dropped = 0;
    if (omitted > 0) this.#options.log.warn({ records: omitted }, 'node_records_dropped');
    for (const batch of this.#cutter.cut(fitting)) this.#options.fanout.publish(batch);
  }

  #receive(batch: string): void {
    const parsed = parseBatch(batch);
    if (parsed === undefined || parsed.node === this.#options.nodeId) return;
    const peer = this.#peerOf(parsed.node);
    for (const line of peer?.joiner.join(parsed.number, parsed.inside, parsed.piece) ?? []) {
      const record = parseRecord(line);
      if (record !== undefined) this.#options.onRecord(record);
    }
  }

  /** The sender; a new one is greeted, so that it learns about this node at once. */
  #peerOf(node: string): Peer | undefined {
    let peer = this.#peers.get(node);
    if (peer === undefined) {
      if (this.#peers.size >= MAX_PEERS) return undefined;
      this.#peers.set(node, (peer = { joiner: new BatchJoiner(), heardAt: 0 }));
      this.send({ hello: true });
    }
    peer.heardAt = this.#options.clock.monotonicMs();
    return peer;
  }

  #removeSilent(): void {
    const now = this.#options.clock.monotonicMs();
    for (const [node, peer] of this.#peers) {
      if (now - peer.heardAt >= PEER_GONE_MS) this.#peers.delete(node);
    }
  }
}

/** Parses a batch; undefined when it is malformed. Never throws. */
export function parseBatch(
  batch: string,
): { node: string; number: number; inside: boolean; piece: string } | undefined {
  const match = /^(\S{1,40}) (\d{1,15}) ([+-])\n/.exec(batch);
  if (match === null) return undefined;
  const [header, node = '', number, mark] = match;
  return { node, number: Number(number), inside: mark === '+', piece: batch.slice(header.length) };
}
