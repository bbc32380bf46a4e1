/** Vectors of remembered facts: what a semantic search compares. */
import type { MemoryRecord, UserId } from './notes.ts';

/** A direction, one byte per dimension: a cosine of two differs from that of the full vectors by less than 0.01. Empty = none. */
export type Vector = Int8Array;

/** A fact with its vector. */
export interface MemoryVector {
  memory: MemoryRecord;
  vector: Vector;
}

/** One vector per fact, of the model that made it; deleted with its fact. Throws only `StoreError`. */
export interface MemoryVectorStore {
  /** The facts of a user that have a vector of this model. */
  vectorsOf(user: UserId, model: string): Promise<MemoryVector[]>;
  /** Facts of all users that have no vector of this model, newest first. */
  withoutVector(model: string, limit: number): Promise<{ id: number; text: string }[]>;
  /** Stores vectors, replacing those of other models; deleted facts are skipped. */
  setVectors(model: string, vectors: readonly { id: number; vector: Vector }[]): Promise<void>;
  /** Deletes the vectors of this model whose length differs from this; returns their number. */
  dropOtherLengths(model: string, length: number): Promise<number>;
}
