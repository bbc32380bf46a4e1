/** A press of a button under one of the house's messages: who pressed what, and where. */
import type { Address } from './message.ts';

export interface Press {
  /** As it was sent with the button; whoever can edit requests can send any other. */
  value: string;
  /** The chat the button stands in. */
  address: Address;
  place: 'private' | 'group';
  /** From the transport. */
  userId: string;
  /** Display only. */
  senderName?: string | undefined;
  owner: boolean;
}

/**
 * Acts on a button of its own kind, and gives what the presser reads, at most 200 characters; undefined for any other
 * button. What it does is committed when it resolves. Throws only `StoreError`.
 */
export type PressHandler = (press: Press) => Promise<string | undefined>;
