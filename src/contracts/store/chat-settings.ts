/**
 * What is stored about individual chats and people: settings that they made, and what channels have learned about them.
 */

/**
 * The rows behind it, by the address of the chat, for some settings with its topic, or by the user id of the person.
 * Throws only `StoreError`.
 */
export interface ChatSettingStore {
  /** Undefined if nothing is stored, and once it has expired. */
  chatSetting(chat: string, name: string): Promise<string | undefined>;
  /** Undefined removes it; with `forMs` it expires after that many milliseconds. */
  setChatSetting(chat: string, name: string, value: string | undefined, forMs?: number): Promise<void>;
}
