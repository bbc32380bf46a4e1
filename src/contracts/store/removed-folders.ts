/** The folders of deleted sessions, which every node removes from its own machine. */

/** Throws only `StoreError`. */
export interface RemovedFolders {
  /**
   * Those of sessions deleted within the last `withinMs`, by name, starting after the name `after`; at most `limit`.
   */
  removedFolders(page: { withinMs: number; after: string; limit: number }): Promise<string[]>;
}
