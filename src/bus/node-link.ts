/** Sends and receives records between the nodes of one database, in batches. */
import type { Fanout } from '../contracts/bus.ts';
import type { Log } from '../contracts/log.ts';
import { BatchCutter, BatchJoiner, parseBatch, RECORD_BYTES } from './batches.ts';
import type { Clock } from '../lib/clock.ts';
import { type NodeRecord, parseRecord } from './node-records.ts';

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
    this.#unsubscribe = await this.#options.fanout.subscribe((batch) => this.#receive(batch));
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
    const left = this.#dropped + records.length - fitting.length;
    this.#dropped = 0;
    if (left > 0) this.#options.log.warn({ records: left }, 'node_records_dropped');
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
