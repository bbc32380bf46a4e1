/** A bounded list in the browser's storage: the newest entries survive a reload, on this device only. */
export class StoredList<Entry> {
  #name;
  #max;

  /**
   * @param name its key in the storage
   * @param max the oldest entries beyond this number are forgotten
   */
  constructor(name: string, max: number) {
    this.#name = name;
    this.#max = max;
  }

  /** The entries, oldest first; none when there are none, or what is stored cannot be read. */
  read(): Entry[] {
    try {
      return JSON.parse(localStorage.getItem(this.#name) ?? '[]');
    } catch {
      return [];
    }
  }

  /**
   * Stores these entries in place of the others. Where the storage is full or switched off, they are lost with the page.
   */
  write(entries: Entry[]) {
    try {
      localStorage.setItem(this.#name, JSON.stringify(entries.slice(-this.#max)));
    } catch {
      // Full, or switched off: the page goes on without.
    }
  }

  /** Removes all entries. */
  clear() {
    localStorage.removeItem(this.#name);
  }

  /** Calls back when another tab changes the list, until `signal` aborts. */
  follow(signal: AbortSignal, onChange: () => void) {
    addEventListener('storage', (event) => event.key === this.#name && onChange(), { signal });
  }
}
